"""Chains on any executor: segments are computed by workers in other processes, on this machine or others."""

"""Compiled functions looked at: reports, stages, times and bytes of their kernels, and values checked one by one."""

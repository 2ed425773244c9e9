"""Chains on workers of a cluster: what faults cost, and where more workers stop paying."""

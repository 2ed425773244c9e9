"""Thirteen kinds of model that are hard for every sampler: `python -m benchmarks.hard_posteriors`.

`models` has them as functions of (pm, pt, np), which build the same in PyMC; `one` is a process that samples one;
`scaling` lets a walk and a field grow; `calibration` has simulations from known truths.
"""

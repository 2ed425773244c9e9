"""What each status of a run is worth: many runs of posteriors that are known, and how many of them are wrong.

`python -m benchmarks.certificates --help` says how; `targets/` has the posteriors, `truths.json` what is known of them.
"""

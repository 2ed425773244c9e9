"""How often results of each status were wrong in the study of `docs/certificates.md`: (wrong, runs).

Written by `python -m benchmarks.certificates --publish`; targets without a posterior are left out.
"""

from __future__ import annotations

TARGETS = 124
RATES: dict[str, tuple[int, int]] = {
    "converged": (79, 5210),
    "converged_with_divergences": (24, 680),
    "not_converged": (36, 628),
    "chains_disagree": (47, 131),
}

"""How often results of each status were wrong in the study of `docs/certificates.md`: (wrong, runs).

Written by `python -m benchmarks.certificates --publish`; targets without a posterior are left out.
"""

from __future__ import annotations

TARGETS = 81
RATES: dict[str, tuple[int, int]] = {
    "converged": (4, 57),
    "converged_with_divergences": (0, 5),
    "not_converged": (2, 12),
    "chains_disagree": (3, 7),
}

"""How often results of each status were wrong in the study of `docs/understand/certificates.md`: (wrong, runs).

Written by `python -m benchmarks.certificates --publish`; those without a posterior are in IMPROPER.
"""

from __future__ import annotations

VERSION, COMMIT = "0.2.0", "dc248b7020"
TARGETS = 140
RATES: dict[str, tuple[int, int]] = {
    "converged": (4, 553),
    "converged_with_divergences": (0, 3),
    "not_converged": (0, 4),
}
IMPROPER = (0, 44)

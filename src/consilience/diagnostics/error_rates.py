"""How often results of each status were wrong in the study of `docs/understand/certificates.md`: (wrong, runs).

Written by `python -m benchmarks.certificates --publish`; those without a posterior are in IMPROPER.
"""

from __future__ import annotations

VERSION, COMMIT = "0.1.0", "c63d551c"
TARGETS = 132
RATES: dict[str, tuple[int, int]] = {
    "converged": (24, 5058),
    "converged_with_divergences": (0, 155),
    "not_converged": (14, 168),
    "chains_disagree": (1, 2),
}
IMPROPER = (0, 370)

"""How often results of each status were wrong in the study of `docs/understand/certificates.md`: (wrong, runs).

Written by `python -m benchmarks.certificates --publish`; those without a posterior are in IMPROPER.
"""

from __future__ import annotations

VERSION, COMMIT = "0.2.0", "41247c19c3"
TARGETS = 141
RATES: dict[str, tuple[int, int]] = {
    "converged": (44, 5608),
    "converged_with_divergences": (0, 21),
    "not_converged": (2, 11),
}
IMPROPER = (0, 440)

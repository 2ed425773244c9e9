"""Every target of the study by kind and name."""

from __future__ import annotations

from benchmarks.certificates.target import Target
from benchmarks.certificates.targets.aliases import ALIASES
from benchmarks.certificates.targets.discrete import DISCRETE
from benchmarks.certificates.targets.hierarchies import HIERARCHIES
from benchmarks.certificates.targets.improper import IMPROPER
from benchmarks.certificates.targets.learning import LEARNING
from benchmarks.certificates.targets.mixtures import MIXTURES
from benchmarks.certificates.targets.one_mode import ONE_MODE
from benchmarks.certificates.targets.several_modes import SEVERAL_MODES
from benchmarks.certificates.targets.switches import SWITCHES

KINDS: dict[str, dict[str, Target]] = {
    "mixtures": MIXTURES,
    "several modes": SEVERAL_MODES,
    "aliases": ALIASES,
    "learning": LEARNING,
    "change points and other switches": SWITCHES,
    "discrete variables": DISCRETE,
    "hierarchies and regressions": HIERARCHIES,
    "one mode": ONE_MODE,
    "improper": IMPROPER,
}
TARGETS: dict[str, Target] = {name: target for rows in KINDS.values() for name, target in rows.items()}

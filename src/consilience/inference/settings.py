"""Checks of kernel settings."""

from __future__ import annotations

from numbers import Real

from consilience.errors import SamplingError


def check_number(name: str, value: object) -> None:
    """Raise SamplingError unless value is a real number; kernels have settings, and no variables of their own."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise SamplingError(
            f"{name} needs a number, got {value!r}; give settings by name. A kernel moves all variables of a model, so "
            "it takes none."
        )


def check_fraction(name: str, value: float) -> None:
    """Raise SamplingError unless 0 < value < 1."""
    check_number(name, value)
    if not 0.0 < value < 1.0:
        raise SamplingError(f"{name} needs a number between 0 and 1, both excluded, got {value}.")


def check_positive(name: str, value: float) -> None:
    """Raise SamplingError unless value is finite and greater than 0."""
    check_number(name, value)
    if not 0.0 < value < float("inf"):
        raise SamplingError(f"{name} needs a finite number greater than 0, got {value}.")

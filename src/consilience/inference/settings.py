"""Checks of kernel settings."""

from __future__ import annotations

from consilience.errors import SamplingError


def check_fraction(name: str, value: float) -> None:
    """Raise SamplingError unless 0 < value < 1."""
    if not 0.0 < value < 1.0:
        raise SamplingError(f"{name} needs a number between 0 and 1, both excluded, got {value}.")


def check_positive(name: str, value: float) -> None:
    """Raise SamplingError unless value is finite and greater than 0."""
    if not 0.0 < value < float("inf"):
        raise SamplingError(f"{name} needs a finite number greater than 0, got {value}.")

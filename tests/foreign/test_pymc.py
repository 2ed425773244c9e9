"""Live models of PyMC have the same density here: the gallery, at random points, to rounding."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.foreign import from_pymc
from tests.foreign.gallery import MODELS

pymc = pytest.importorskip("pymc")
pytestmark = pytest.mark.filterwarnings("ignore")  # PyMC's own, and those of its dependencies

# PyMC leaves constants out of the densities of autoregressions in space.
UP_TO_A_CONSTANT = {"conditional_autoregression", "intrinsic_autoregression"}


@contextmanager
def double_precision() -> Iterator[None]:
    """PyTensor keeps constants in as few bits as they fit, and computes the logarithm of 2.0 in single precision."""
    from pytensor.scalar.basic import autocast_float, autocast_int

    before = autocast_float.dtypes, autocast_int.dtypes
    autocast_float.dtypes, autocast_int.dtypes = ("float64",), ("int64",)
    try:
        yield
    finally:
        autocast_float.dtypes, autocast_int.dtypes = before


def points(theirs: Any, count: int) -> list[dict[str, Any]]:
    """Random points of PyMC's value variables; whole numbers stay where they are."""
    rng = np.random.default_rng(5)
    start = theirs.initial_point()
    return [
        {
            name: v if v.dtype.kind in "iu" else np.asarray(np.asarray(v) + 0.5 * rng.normal(size=np.shape(v)))
            for name, v in start.items()
        }
        for _ in range(count)
    ]


def compared(theirs: Any, ours: pm.Model, count: int = 5, normalised: bool = False) -> None:
    """Log density and gradient are the same; up to a constant where PyMC's is not normalised."""
    density = ours.log_density()
    logp = theirs.compile_logp(mode="FAST_COMPILE")
    slopes = theirs.compile_dlogp(mode="FAST_COMPILE")
    names = {rv.name: theirs.rvs_to_values[rv].name for rv in theirs.free_RVs}
    continuous = [theirs.values_to_rvs[v].name for v in theirs.continuous_value_vars]
    stretches = {s.variable.name: s for s in density.layout.stretches}
    constant: float | None = None if normalised else 0.0
    for point in points(theirs, count):
        position = np.empty(density.dimension)
        for name, stretch in stretches.items():
            position[stretch.slice] = np.ravel(point[names[name]])
        value, gradient = density(position)
        if constant is None:
            constant = value - float(logp(point))
        value -= constant
        assert value == pytest.approx(float(logp(point)), rel=1e-9, abs=1e-9)
        if not np.isfinite(value):
            continue  # PyMC has slopes outside of the support
        own = np.concatenate([gradient[stretches[name].slice] for name in continuous])
        assert np.allclose(own, slopes(point), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_densities_and_gradients_of_the_gallery_are_pymcs(name: str) -> None:
    with double_precision():
        theirs = MODELS[name](pymc)
        compared(theirs, from_pymc(theirs), normalised=name in UP_TO_A_CONSTANT)

"""Bases of Hilbert spaces beside PyMC 6.4: order of the functions, conditions at the ends of the box, dims."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import consilience as pm
import consilience.tensor as pt

X = np.array([[0.0, 1.0], [0.4, -0.3], [1.0, 0.2], [0.7, 0.9], [0.2, 0.1]])
# Numbers of PyMC 6.4.
EIGENVALUES_OF_THREE = [
    [2.4674011, 1.09662271, 0.616850275], [2.4674011, 1.09662271, 2.4674011], [9.8696044, 1.09662271, 0.616850275],
    [9.8696044, 1.09662271, 2.4674011], [2.4674011, 4.38649084, 0.616850275], [2.4674011, 4.38649084, 2.4674011],
    [9.8696044, 4.38649084, 0.616850275], [9.8696044, 4.38649084, 2.4674011], [2.4674011, 9.8696044, 0.616850275],
    [2.4674011, 9.8696044, 2.4674011], [9.8696044, 9.8696044, 0.616850275], [9.8696044, 9.8696044, 2.4674011],
]  # fmt: skip
FUNCTIONS_OF_TWO = [
    [0.459876763, 0.4300934, -0.0815122174, -0.556082167, -0.520068178, 0.098564429],
    [0.437051299, 0.0581668309, -0.60713591, 0.571156648, 0.0760148116, -0.793430226],
]


def test_functions_of_several_columns_have_pymcs_order() -> None:
    """The first column runs fastest, then the third; sines and cosines of norm 1 on the box."""
    functions = pm.gp.hsgp_approx
    assert_allclose(functions.set_boundary(X, np.array([1.5, 2.0])), [0.75, 1.3])
    eigenvalues = functions.calc_eigenvalues(np.array([1.0, 1.5, 2.0]), [2, 3, 2])
    assert_allclose(eigenvalues, EIGENVALUES_OF_THREE, rtol=1e-8)
    both = ("neumann", "dirichlet")
    box = np.array([1.0, 1.5])
    values = functions.calc_eigenvalues(box, [3, 2], boundary=both)
    basis = functions.calc_eigenvectors(X[:2] - X.mean(0), box, values, [3, 2], boundary=both).eval()
    assert_allclose(basis, FUNCTIONS_OF_TWO, rtol=1e-8)


def test_values_of_a_process_are_pymcs() -> None:
    """Twelve functions of two columns less the first, with dims; values at new inputs too."""
    with pm.Model(coords={"place": range(5), "function": range(11)}) as model:
        process = pm.gp.HSGP(
            m=[4, 3], L=[1.2, 1.6], drop_first=True, parametrization="non-centered",
            cov_func=pm.gp.cov.ExpQuad(2, ls=0.5), mean_func=pm.gp.mean.Constant(0.3),
        )  # fmt: skip
        f = process.prior("f", X=X, dims="place", hsgp_coeffs_dims="function")
        g = process.conditional("g", X[:2] + 0.01)
    assert process.n_basis_vectors == 12
    assert model.named_vars_to_dims == {"f_hsgp_coeffs": ("function",), "f": ("place",)}
    evaluate = model.compile_fn(model.replace_rvs_by_values([f, g]), inputs=model.value_vars)
    values = evaluate({"f_hsgp_coeffs": np.linspace(-1.0, 1.0, 11)})
    assert_allclose(values[0], [0.240576549, 0.152046985, 0.602739692, 0.786745056, -0.170390436], rtol=1e-7)
    assert_allclose(values[1], [0.268467017, 0.166383080], rtol=1e-7)


@pytest.mark.parametrize(
    ("boundary", "lower", "upper"),
    [("dirichlet", -1, -1), ("neumann", 1, 1), ("dirichlet-neumann", -1, 1), ("neumann-dirichlet", 1, -1)],
)
def test_covariances_have_the_mirror_images_that_the_ends_ask_for(boundary: Any, lower: int, upper: int) -> None:
    """The covariance is that of the free process with images behind each end, of opposite sign behind a zero."""
    inputs = np.linspace(-1.0, 1.0, 9)[:, None]
    covariance = pm.gp.cov.ExpQuad(1, 0.5)
    process = pm.gp.HSGP(m=[60], c=1.0 if "neumann" in boundary else 1.5, boundary=boundary, cov_func=covariance)
    phi, spread = process.prior_linearized(inputs)
    basis = (phi * spread).eval()
    half = float(process.L.eval()[0])

    def kernel(images: np.ndarray) -> np.ndarray:
        return np.exp(-0.5 * ((inputs - images.T) / 0.5) ** 2)

    expected = kernel(inputs) + lower * kernel(-2.0 * half - inputs) + upper * kernel(2.0 * half - inputs)
    expected += lower * upper * (kernel(inputs + 4.0 * half) + kernel(inputs - 4.0 * half))
    assert_allclose(basis @ basis.T, expected, atol=1e-7)


def test_harmonics_have_dims_and_carry_the_scale() -> None:
    """f = cosines @ (sd a) + sines @ (sd b), as programs that take the basis write it."""
    with pm.Model(coords={"place": range(5), "harmonic": range(5)}) as model:
        process = pm.gp.HSGPPeriodic(m=3, scale=1.5, cov_func=pm.gp.cov.Periodic(1, period=1.2, ls=0.6))
        f = process.prior("f", X=X[:, :1], dims="place", hsgp_coeffs_dims="harmonic")
        (cosines, sines), spread = process.prior_linearized(X[:, :1])
    assert model.named_vars_to_dims == {"f_hsgp_coeffs_": ("harmonic",), "f": ("place",)}
    point = {"f_hsgp_coeffs_": np.linspace(-1.0, 1.0, 5)}
    by_hand = pt.dot(cosines, spread * point["f_hsgp_coeffs_"][:3])
    by_hand = by_hand + pt.dot(sines[:, 1:], spread[1:] * point["f_hsgp_coeffs_"][3:])
    evaluate = model.compile_fn(model.replace_rvs_by_values([f]), inputs=model.value_vars)
    assert_allclose(evaluate(point)[0], by_hand.eval(), rtol=1e-12)
    arrays = pm.gp.hsgp_approx.calc_basis_periodic(X[:, :1] - 0.5, 1.2, 3)
    assert all(isinstance(array, np.ndarray) for array in arrays)
    assert_allclose(arrays, [cosines.eval(), sines.eval()], atol=1e-14)


def test_dims_of_the_process_have_two_names() -> None:
    """`gp_dims`, as some releases of PyMC call them, is `dims`."""
    with pm.Model(coords={"place": range(len(X))}) as model:
        pm.gp.HSGP(m=[4, 3], c=1.5, cov_func=pm.gp.cov.ExpQuad(2, ls=0.5)).prior("f", X, gp_dims="place")
        pm.gp.HSGPPeriodic(m=3, cov_func=pm.gp.cov.Periodic(1, period=1.0, ls=1.0)).prior(
            "g", X[:, :1], gp_dims="place"
        )
    assert model.named_vars_to_dims["f"] == model.named_vars_to_dims["g"] == ("place",)


def test_mistakes_are_named() -> None:
    """Conditions, dims of older programs, a box narrower than its inputs, inputs without range."""
    covariance = pm.gp.cov.ExpQuad(2, ls=0.5)
    for boundary, said in (("free", "must be one of dirichlet, neumann"), (("neumann",), "one condition, or 2")):
        with pytest.raises(pm.ParameterError, match=said):
            pm.gp.HSGP(m=[4, 3], c=1.5, boundary=boundary, cov_func=covariance)  # type: ignore[arg-type]
    with pm.Model(), pytest.raises(TypeError, match="`dims` and `gp_dims` are names of one argument"):
        pm.gp.HSGP(m=[4, 3], c=1.5, cov_func=covariance).prior("f", X, dims="place", gp_dims="place")
    with pm.Model(), pytest.raises(TypeError, match=r"`prior` takes name, X, dims .* got `dim`"):
        pm.gp.HSGP(m=[4, 3], c=1.5, cov_func=covariance).prior("f", X, dim="place")
    with pytest.warns(pm.ConsilienceWarning, match=re.escape("with c = 1.1 the process is nearly 0 where the inputs")):
        pm.gp.HSGP(m=[4, 3], c=1.1, cov_func=covariance)
    with pytest.raises(pm.ParameterError, match="half of the range of X times c must be finite and above 0"):
        pm.gp.hsgp_approx.set_boundary(np.ones((3, 1)), 1.5)


def test_beyond_the_box_there_are_no_values() -> None:
    """Where the functions only repeat themselves: known inputs are refused, and exchanged data have NaN there alone."""
    days = np.arange(20.0)
    with pm.Model() as model:
        x = pm.Data("x", days)
        gp = pm.gp.HSGP(m=[6], c=2.0, cov_func=pm.gp.cov.ExpQuad(1, ls=5.0))
        gp.prior("f", x[:, None])  # half of the range is 9.5, the box from -9.5 to 28.5
        with pytest.raises(
            pm.ParameterError, match=re.escape("which is -9.5 to 28.5; a greater `c` or `L` makes room")
        ):
            gp.conditional("g", np.array([[10.0], [29.0]]))
        gp.conditional("h", np.array([[28.5], [-9.5]]))
    pm.set_data({"x": np.array([-9.6, -9.5, 0.0, 28.5, 28.6])}, model=model)
    drawn = pm.draw(model["f"], random_seed=1)
    np.testing.assert_array_equal(np.isnan(drawn), [True, False, False, False, True])

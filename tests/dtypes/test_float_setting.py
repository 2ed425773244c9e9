"""`config.floatX` decides the dtype of floats that are given none, and float32 graphs compute in float32."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import DtypeError
from consilience.ir import Node, topological
from consilience.lower import entry
from consilience.lower.expand import expand
from consilience.lower.program import lower
from consilience.native import target
from consilience.native.emit import emit
from tests.dtypes.numbers import check

X = np.random.default_rng(3).normal(size=301).astype("float32")
Y = np.random.default_rng(4).normal(size=301).astype("float32")

# Graphs of float32 and NumPy's value. The units in the last place are those of a product and a sum rounded once or
# twice, of an inverse that is rounded before it is multiplied, of functions computed in double precision and rounded.
EXPRESSIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any], int]] = {
    "sum": (lambda x, y: x + y, lambda x, y: x + y, 0),
    "product": (lambda x, y: x * y * 1.5, lambda x, y: x * y * np.float32(1.5), 1),
    "quotient": (lambda x, y: 2 * x / (y * y + 1), lambda x, y: 2 * x / (y * y + 1), 3),
    "where": (lambda x, y: pt.where(x > 0.1, x, -y), lambda x, y: np.where(x > np.float32(0.1), x, -y), 0),
    "exp": (lambda x, y: pt.exp(x), lambda x, y: np.exp(x), 2),
    "log1p": (lambda x, y: pt.log1p(pt.abs(y)), lambda x, y: np.log1p(np.abs(y)), 2),
    "sqrt": (lambda x, y: pt.sqrt(x * x), lambda x, y: np.sqrt(x * x), 1),
    "round": (lambda x, y: pt.floor(x) + pt.round(4 * y), lambda x, y: np.floor(x) + np.rint(4 * y), 0),
    "zeros": (lambda x, y: x + pt.zeros(301) + pt.ones(301), lambda x, y: x + np.float32(1), 0),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
@pytest.mark.parametrize("backend", ["llvm", "reference"])
def test_values_are_those_of_numpy_in_float32(name: str, backend: str) -> None:
    """Python numbers are weak and zeros take the setting, so nothing is widened."""
    ours, numpys, ulps = EXPRESSIONS[name]
    with pm.config.change_flags(floatX="float32"):
        x, y = pt.vector("x"), pt.vector("y")
        function = pt.function([x, y], ours(x, y), backend=backend, on_unused_input="ignore")
    check(name, function(X, Y), np.asarray(numpys(X, Y)), ulps)


def test_arithmetic_is_emitted_in_float32() -> None:
    """Machine code of a graph without mathematics holds no double."""
    x, y = pt.fvector("x", shape=(64,)), pt.fvector("y", shape=(64,))
    graph = expand([pt.where(x > y, x * y + 0.5, x / y), (x - y).sum(), pt.sqrt(pt.maximum(x, 0.0))])
    host = target.host()
    text = emit(entry.write(lower([x, y], graph, []), host).module, host)
    assert f"<{host.lanes} x float>" in text
    assert "double" not in text


def test_sums_of_float32_are_as_good_as_those_of_numpy() -> None:
    """Pairs of partial sums: error grows with the logarithm of the length in NumPy, with a part of it here."""
    values = np.random.default_rng(5).random(100_000).astype("float32")
    x = pt.fvector("x")
    exact = float(values.astype("float64").sum())
    found = x.sum().eval({x: values})
    assert found.dtype == np.float32
    assert abs(float(found) - exact) < 1e-5 * exact


def dtypes_of_new_values() -> set[str]:
    """Dtypes of what is made without one."""
    made: list[Node] = [
        pt.scalar(), pt.vector(), pt.matrix(), pt.tensor3(), pt.tensor(shape=(2,)), pt.zeros(2), pt.ones((2, 3)),
        pt.eye(3), pt.full(3, 0.5), pt.constant(0.1), pt.as_tensor(2.5), pt.vector().astype("floatX"),
        pt.vector(dtype="floatX"), pt.exp(0.5), pt.as_tensor([1, 2]).astype("floatX"),
    ]  # fmt: skip
    return {node.dtype for node in made}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_values_without_a_dtype_take_the_setting(dtype: str) -> None:
    """Inside the block, or the decorated function, and not after it."""
    with pt.config.change_flags(floatX=dtype):
        assert dtypes_of_new_values() == {dtype}
        assert pm.floatX(np.arange(3)).dtype == pm.floatX(pt.lvector()).dtype == dtype
        assert pm.floatX([1.5]).dtype == dtype
    assert pt.config.change_flags(floatX=dtype)(dtypes_of_new_values)() == {dtype}
    assert dtypes_of_new_values() == {"float64"}


def test_what_has_a_dtype_keeps_it() -> None:
    """Arrays, named types, integers; types that are mixed are promoted as ever."""
    with pt.config.change_flags(floatX="float32"):
        assert pt.as_tensor(np.float64(0.1)).dtype == pt.dvector().dtype == "float64"
        assert pt.as_tensor(np.zeros(3)).dtype == "float64"
        assert pt.as_tensor(3).dtype == pt.lvector().dtype == "int64"
        assert (pt.vector() + pt.dvector()).dtype == "float64"
        assert (pt.vector() + 0.1).dtype == "float32"
        assert (pt.vector() / pt.bvector()).dtype == "float32"


def test_setting_by_name_lasts_and_is_checked() -> None:
    """As an attribute, for all threads; a block is one thread's own. What is no float is refused."""
    try:
        pm.config.floatX = "float32"
        with pm.config.change_flags(floatX="float16"), ThreadPoolExecutor(1) as pool:
            assert pt.vector().dtype == "float16"
            assert pool.submit(lambda: pt.vector().dtype).result() == "float32"
        assert pt.vector().dtype == "float32"
    finally:
        pm.config.floatX = "float64"
    for wrong in ("int64", "float8", None):
        with pytest.raises(DtypeError, match="floatX must be one of float64, float32"):
            pm.config.floatX = wrong  # type: ignore[assignment]  # what is tested
    assert pt.vector().dtype == "float64"


def test_gradients_of_float32_are_float32() -> None:
    """No node of the gradient is wider."""
    x = pt.fvector("x")
    slope = pt.grad(pt.sum(pt.exp(x) * x + pt.sigmoid(x)), x)
    assert {n.dtype for n in topological([slope])} <= {"float32", "bool", "int64"}
    e = np.exp(X)
    s = 1 / (1 + np.exp(-X))
    np.testing.assert_allclose(slope.eval({x: X}), e * X + e + s * (1 - s), rtol=2e-6, atol=1e-6)


def test_models_keep_the_dtypes_of_data_and_sample_in_float64() -> None:
    """The setting is for expressions; a log density does not lose digits to it."""

    def density() -> Any:
        with pm.Model() as model:
            mu = pm.Normal("mu", 0, 0.1)
            pm.Normal("y", mu, 0.3, observed=[0.1, 0.2, 0.4])
        return pm.model.model_density(model)([0.7])

    wanted = density()
    with pm.config.change_flags(floatX="float32"):
        found = density()
    assert found[0] == wanted[0]
    np.testing.assert_array_equal(found[1], wanted[1])


def test_flags_of_pytensors_compiler_have_no_influence() -> None:
    """They are taken, with and without `floatX`, and what is no flag is refused by name."""
    with pm.config.change_flags(mode="NUMBA", compute_test_value="off"):
        assert pt.vector("x").dtype == "float64"
    with pm.config.change_flags(floatX="float32"), pm.config.change_flags(exception_verbosity="high"):
        assert pt.vector("x").dtype == "float32"
    with pytest.raises(TypeError, match=r"no flag `floatx`.* did you mean floatX"):
        pm.config.change_flags(floatx="float32").__enter__()


def test_flags_of_pytensor_are_read_and_set() -> None:
    """Each has its default, and inside a block another value; what is unknown is refused, as are other policies."""
    assert (pm.config.linker, pm.config.on_unused_input, pm.config.cast_policy) == ("auto", "raise", "custom")
    with pm.config.change_flags(exception_verbosity="high"):
        assert pm.config.exception_verbosity == "high"
    assert pm.config.exception_verbosity == "low"
    for wrong in ("flaotX", "_flag"):
        with pytest.raises(AttributeError, match=f"no flag `{wrong}`"):
            getattr(pm.config, wrong)
        with pytest.raises(AttributeError, match=f"no flag `{wrong}`"):
            setattr(pm.config, wrong, 1)
    with pytest.raises(DtypeError, match="`cast_policy` is one of custom"):
        pm.config.cast_policy = "other"


def test_mode_of_functions_that_are_given_none() -> None:
    """`config.mode` decides, inside its block; a mode given to a function comes first."""
    x = pt.vector("x")
    with pm.config.change_flags(mode="FAST_COMPILE"):
        inner, given = pm.function([x], x + 1), pm.function([x], x + 1, mode="FAST_RUN")
    outer = pm.function([x], x + 1)
    assert [f.mode.backend for f in (inner, given, outer)] == ["reference", "llvm", "llvm"]
    assert [list(f([1.0])) for f in (inner, given, outer)] == [[2.0]] * 3
    with pytest.raises(ValueError, match="unknown `mode` 'QUICK'"), pm.config.change_flags(mode="QUICK"):
        pm.function([x], x + 1)


def test_models_are_in_double_precision_whatever_the_setting() -> None:
    """Sampling says so, as PyMC's models follow the setting."""
    with pm.config.change_flags(floatX="float32"):
        with pm.Model() as model:
            pm.Normal("y", pm.Normal("x"), observed=np.zeros(3, "float32"))
        assert {v.dtype for v in (*model.basic_RVs, *model.value_vars, model.logp())} == {"float64"}
        with pytest.warns(pm.errors.ConsilienceWarning, match="variables of models are float64"):
            draws = pm.sample(10, tune=50, chains=1, model=model, progressbar=False, compute_convergence_checks=False)
    assert draws.posterior["x"].dtype == np.float64

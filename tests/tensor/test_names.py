"""PyTensor's and PyMC's names: the listing is true, missing names say what serves, keywords are taken or explained."""

from __future__ import annotations

import importlib.util
import inspect
import pickle
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import ShapeError
from consilience.names import absent
from tests.backends.agreement import run_reference

TOOLS = Path(__file__).resolve().parent.parent.parent / "tools"


def tool(name: str) -> ModuleType:
    """A file of tools/ as a module."""
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


names, stubs = tool("names"), tool("stubs")
LISTED = list(names.listed())


def test_the_listing_of_names_is_true() -> None:
    """docs/reference/names.md is what `python tools/names.py` writes."""
    assert names.LISTING.read_text(encoding="utf-8") == names.listing(), "run `python tools/names.py`"


def test_type_checkers_see_what_is_made_from_tables() -> None:
    """The stubs are what `python tools/names.py` writes."""
    for path, text in stubs.STUBS.items():
        assert path.read_text(encoding="utf-8") == text(), "run `python tools/names.py`"


@pytest.mark.slow
def test_type_checkers_see_every_public_name(tmp_path: Path) -> None:
    """mypy finds all that `__all__` lists, and the arity of scalar functions."""
    places = {"pt": pt, "pt.linalg": pt.linalg, "pt.special": pt.special, "pm.math": pm.math}
    uses = [f"{place}.{name}" for place, module in places.items() for name in module.__all__]
    source = ["import consilience as pm", "import consilience.tensor as pt", *uses, "pt.exp(1.0, 2.0)"]
    (tmp_path / "uses.py").write_text("\n".join(source), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--cache-dir",
        str(tmp_path / "cache"),
        str(tmp_path / "uses.py"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=TOOLS.parent)
    errors = [line for line in done.stdout.splitlines() if "error:" in line and "uses.py" in line]
    assert errors
    assert all(f"uses.py:{len(source)}:" in line for line in errors), done.stdout


def test_every_missing_name_says_what_serves_in_its_place() -> None:
    """No name of PyTensor or PyMC is unknown here."""
    assert not [(place, name) for place, name, state, _ in LISTED if state == "not yet" and absent.known(name) is None]
    for place, name, state, reason in LISTED:
        if state == "not yet":
            with pytest.raises(AttributeError) as caught:
                getattr(names.PLACES[place][1], name) if place != "pytensor.TensorVariable" else getattr(
                    pt.vector(), name
                )
            assert reason in str(caught.value)


def test_no_reason_is_left_for_a_name_that_is_there() -> None:
    """What is there in every place where PyTensor or PyMC have it is no longer called missing."""
    missing = {name for _, name, state, _ in LISTED if state == "not yet"}
    recorded = {name for _, name, _, _ in LISTED}
    there = {*dir(pt), *dir(pt.linalg)}
    stale = [name for name in absent._REASONS if (name not in missing if name in recorded else name in there)]
    assert not stale


def test_no_difference_is_explained_for_a_name_that_is_not_there() -> None:
    """Explanations of differences belong to names that are there."""
    different = {(place, name) for place, name, state, _ in LISTED if state == "different"}
    stale = {(place, name) for place, told in names.DIFFERENT.items() for name in told} - different
    assert not stale


@pytest.mark.parametrize("place", ["pytensor.tensor", "pytensor.TensorVariable", "pytensor.tensor.linalg", "pymc.math"])
def test_functions_take_pytensors_parameters_in_their_order(place: str) -> None:
    """Functions called alike have the parameters of PyTensor, in its order, but those of derivatives and of weights."""
    without = {name for at, name, _, reason in LISTED if at == place and "without `" in reason}
    derivatives = {"grad", "jacobian", "hessian"}
    assert not without - derivatives - {"cov", "pad", "log1mexp"}


X = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("found", "meant"),
    [
        (
            lambda: pt.sum(input=X, axis=0, dtype="float32", keepdims=True, acc_dtype="float64"),
            X.sum(0, "float32", keepdims=True),
        ),
        (lambda: pt.sum(a=X, axis=0), X.sum(0)),
        (lambda: pt.concatenate(tensor_list=[X, X], axis=1), np.concatenate([X, X], 1)),
        (lambda: pt.concatenate(arrays=[X, X]), np.concatenate([X, X])),
        (lambda: pt.clip(X, a_min=1, a_max=3), X.clip(1, 3)),
        (lambda: pt.clip(a=X, min=1, max=3), X.clip(1, 3)),
        (lambda: pt.reshape(a=X, shape=(3, 2)), X.reshape(3, 2)),
        (lambda: pt.where(condition=X > 2, x=X, y=0.0), np.where(X > 2, X, 0)),
        (lambda: pt.where(cond=X > 2, ift=X, iff=0.0), np.where(X > 2, X, 0)),
        (lambda: pt.tile(A=X, reps=2), np.tile(X, 2)),
        (lambda: pt.std(a=X, correction=1), X.std(ddof=1)),
        (lambda: pt.unravel_index(np.arange(6), shape=(2, 3))[1], np.arange(6) % 3),
        (lambda: pt.as_tensor(X, "x", 2), X),
        (lambda: pt.exp(X, name="y"), np.exp(X)),
    ],
)  # fmt: skip
def test_keywords_of_pytensor_and_of_numpy_are_taken(found: Any, meant: Any) -> None:
    """One thing under both names."""
    np.testing.assert_allclose(found().eval(backend="reference"), meant)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pt.sum(X, kepdims=True), r"`sum` does not take the keyword `kepdims`; did you mean `keepdims`\?"),
        (lambda: pt.sum(X, out=X), r"`sum` does not take the keyword `out`.*It takes input, axis, dtype"),
        (lambda: pt.exp(X, where=X), r"`exp` does not take the keyword `where`"),
        (lambda: pt.linalg.solve(X, X, assumea="pos"), r"did you mean `assume_a`\?"),
        (lambda: pm.math.logsumexp(X, axs=0), r"did you mean `axis`\?"),
        (lambda: pt.sum(X, a=X), r"`sum` does not take the keyword `a`"),
    ],
)
def test_other_keywords_name_the_nearest(call: Any, message: str) -> None:
    """A refused keyword says which ones there are."""
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: pt.exq, "did you mean"),
        (
            lambda: pt.vector("x").transfer("gpu"),
            "a tensor has no attribute 'transfer': everything is computed in main memory",
        ),
        (lambda: pt.vector("x").meen(), "did you mean 'mean'"),
        (lambda: pm.math.transfer, "main memory"),
        (lambda: pt.special.gamm, "did you mean 'gamma'"),
        (lambda: pm.Normall, "did you mean 'Normal'"),
    ],
)
def test_missing_names_help(ask: Any, message: str) -> None:
    """Whoever asks for a name that is not there learns what is."""
    with pytest.raises(AttributeError, match=message):
        ask()


def test_public_functions_are_pickled_by_name() -> None:
    """A process pool finds the same function."""
    for place in (pt, pt.linalg, pt.special, pm.math):
        for name in place.__all__:
            if inspect.isfunction(thing := getattr(place, name)):
                assert pickle.loads(pickle.dumps(thing)) is thing, name


METHODS: dict[str, tuple[Any, Any]] = {
    "sum": (lambda x: x.sum(0, "float32", True), lambda x: x.sum(0, "float32", keepdims=True)),
    "prod": (lambda x: x.prod(axis=1), lambda x: x.prod(1)),
    "mean": (lambda x: x.mean(axis=0, keepdims=True), lambda x: x.mean(0, keepdims=True)),
    "var": (lambda x: x.var(0, 1), lambda x: x.var(0, ddof=1)),
    "std": (lambda x: x.std(axis=1), lambda x: x.std(1)),
    "max": (lambda x: x.max(axis=0), lambda x: x.max(0)),
    "min": (lambda x: x.min(0, True), lambda x: x.min(0, keepdims=True)),
    "ptp": (lambda x: x.ptp(0), lambda x: np.ptp(x, 0)),
    "any": (lambda x: x.any(0), lambda x: x.any(0)),
    "all": (lambda x: x.all(0), lambda x: x.all(0)),
    "argmax": (lambda x: x.argmax(0, keepdims=True), lambda x: x.argmax(0, keepdims=True)),
    "argmin": (lambda x: x.argmin(1), lambda x: x.argmin(1)),
    "cumsum": (lambda x: x.cumsum(0), lambda x: x.cumsum(0)),
    "cumprod": (lambda x: x.cumprod(1), lambda x: x.cumprod(1)),
    "reshape": (lambda x: x.reshape((3, -1), ndim=2), lambda x: x.reshape(3, 2)),
    "ravel": (lambda x: x.ravel(), lambda x: x.ravel()),
    "flatten": (lambda x: x[None].flatten(2), lambda x: x.reshape(1, 6)),
    "transpose": (lambda x: x.transpose(1, 0), lambda x: x.T),
    "T": (lambda x: x.T, lambda x: x.T),
    "mT": (lambda x: x.mT, lambda x: x.T),
    "dimshuffle": (lambda x: x.dimshuffle(1, "x", 0), lambda x: x.T[:, None]),
    "swapaxes": (lambda x: x.swapaxes(0, 1), lambda x: x.T),
    "squeeze": (lambda x: x[:, None].squeeze(1), lambda x: x),
    "repeat": (lambda x: x.repeat(2, axis=1), lambda x: x.repeat(2, 1)),
    "nonzero": (lambda x: x.nonzero(return_matrix=True), lambda x: np.array(np.nonzero(x))),
    "sort": (lambda x: (-x).sort(0), lambda x: np.sort(-x, 0)),
    "argsort": (lambda x: (-x).argsort(axis=1), lambda x: np.argsort(-x, 1)),
    "searchsorted": (lambda x: x[0].searchsorted(x, side="right"), lambda x: x[0].searchsorted(x, "right")),
    "take": (lambda x: x.take([1, 0], axis=1), lambda x: x.take([1, 0], 1)),
    "diagonal": (lambda x: x.diagonal(1), lambda x: x.diagonal(1)),
    "trace": (lambda x: x.trace(), lambda x: x.trace()),
    "astype": (lambda x: x.astype(np.int32), lambda x: x.astype("int32")),
    "copy": (lambda x: x.copy(), lambda x: x),
    "fill": (lambda x: x.fill(2), lambda x: np.full_like(x, 2)),
    "zeros_like": (lambda x: x.zeros_like("int64"), lambda x: np.zeros_like(x, "int64")),
    "ones_like": (lambda x: x.ones_like(), np.ones_like),
    "dot": (lambda x: x.dot(right=x.T), lambda x: x @ x.T),
    "clip": (lambda x: x.clip(a_min=1, a_max=2) + x.clip(max=3), lambda x: x.clip(1, 2) + x.clip(None, 3)),
    "round": (lambda x: (x / 4).round("half_to_even"), lambda x: np.rint(x / 4)),
    "set": (lambda x: x[0].set(y=1.0), lambda x: np.vstack([np.ones(3), x[1]])),
    "inc": (lambda x: x[[0, 0]].inc(1.0, ignore_duplicates=True), lambda x: x + np.array([[1.0], [0.0]])),
    "choose": (lambda x: (x > 0).choose([x, x * 2]), lambda x: np.choose(x > 0, [x, x * 2])),
    "compress": (lambda x: pt.as_tensor([False, True]).compress(x, 0), lambda x: x[1:]),
    "nonzero_values": (lambda x: x.nonzero_values(), lambda x: x[np.nonzero(x)]),
    "size": (lambda x: pt.as_tensor(x.size), lambda x: np.int64(6)),
    "type": (lambda x: pt.as_tensor([x.type.ndim, len(x.type.shape)]), lambda x: np.array([2, 2])),
    "ndim": (lambda x: pt.as_tensor(x.ndim), lambda x: np.int64(2)),
    "real": (lambda x: x.real, lambda x: x.real),
    "imag": (lambda x: x.imag, lambda x: x.imag),
    "conj": (lambda x: x.conj(), lambda x: x.conj()),
    "conjugate": (lambda x: x.conjugate(), lambda x: x.conjugate()),
    **{
        name: (lambda x, name=name: getattr(x / 9, name)(), lambda x, name=name: getattr(np, name)(x / 9))
        for name in [
            "arccos",
            "arcsin",
            "arcsinh",
            "arctan",
            "arctanh",
            "ceil",
            "cos",
            "cosh",
            "deg2rad",
            "exp",
            "exp2",
            "expm1",
            "floor",
            "log1p",
            "rad2deg",
            "sin",
            "sinh",
            "sqrt",
            "tan",
            "tanh",
            "trunc",
        ]
    },
    **{
        name: (lambda x, name=name: getattr(x + 1, name)(), lambda x, name=name: getattr(np, name)(x + 1))
        for name in ("arccosh", "log", "log2", "log10")
    },
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("symbolic", [False, True])
def test_methods_mean_what_numpy_means(name: str, symbolic: bool) -> None:
    """PyTensor's methods of tensors."""
    ours, numpys = METHODS[name]
    x = pt.matrix("x") if symbolic else pt.matrix("x", shape=(2, 3))
    (found,) = run_reference([x], [ours(x)], [X])
    meant = np.asarray(numpys(X))
    assert found.dtype == meant.dtype
    np.testing.assert_allclose(found, meant, rtol=1e-13)


def test_every_method_that_pytensor_has_is_tried() -> None:
    """No method of the listing is left out."""
    there = {name for place, name, state, _ in LISTED if place == "pytensor.TensorVariable" and state != "not yet"}
    assert there - set(METHODS) == {"broadcastable", "dtype", "shape"}


def test_shapes_that_are_promised_are_checked_when_called() -> None:
    """`specify_shape` gives a static length, and refuses arrays of another."""
    x = pt.matrix("x")
    y = pt.specify_shape(x, (None, 3))
    assert y.broadcastable == (False, False)
    assert y.static_shape[1] == 3
    with pytest.raises(ShapeError):
        y.eval({x: np.ones((2, 4))})
    with pytest.raises(ShapeError, match="axis 0 has length 3, not 2"):
        pt.specify_shape(pt.as_tensor(np.ones(3)), (2,))


def test_split_says_which_of_two_meanings_was_meant() -> None:
    """PyTensor's lengths and NumPy's positions are told apart."""
    with pytest.raises(ShapeError, match=r"do not make up axis 0 of length 4[^$]*indices_or_sections"):
        pt.split(np.arange(4.0), [1, 2])
    with pytest.raises(TypeError, match="splits_size"):
        pt.split(np.arange(4.0))
    x = pt.vector("x")
    with pytest.raises(ShapeError):
        pt.split(x, [1, 2])[0].eval({x: np.arange(4.0)})


@pytest.mark.parametrize("first", ["pm.scan.scan", "pt.scan", "pm.gradient.jacobian", "pt.jacobian", "pm.math.sum"])
def test_functions_are_the_same_whichever_package_shows_them_first(first: str) -> None:
    """Each takes the synonyms of its package, and is another function only where packages differ in that."""
    code = (
        f"import consilience as pm, consilience.tensor as pt; {first}\n"
        "print(pt.scan is pm.math.scan, pt.scan is pm.scan.scan, pt.jacobian is pm.gradient.jacobian)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False", "False"]

"""The rows of functions.txt, and those of scalar functions: how a function is called, and NumPy's way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.interpolate
import scipy.linalg
import scipy.signal
import scipy.special as sp

import consilience as pm
import consilience.tensor as pt
from consilience.ops.elementwise import REFUSED_OF_TRUTH
from consilience.ops.scalar import TABLE
from consilience.tensor.elementwise import ROWS as ELEMENTWISE

Array = npt.NDArray[Any]
DTYPES = {"f": ("float64", "float32"), "i": ("int64", "int32"), "b": ("bool",)}


_AS_INTEGERS = {"b": "int64"}  # NumPy refuses bool
_AS_FLOATS = {"b": "float64", "i": "float64"}  # PyTensor's rule; NumPy keeps integers
# Functions that compute integers (i) or bool (b) in another dtype than NumPy.
DEVIATIONS = {
    **dict.fromkeys(["neg", "negative", "sgn", "sign", "sub", "subtract"], _AS_INTEGERS),
    "reciprocal": _AS_FLOATS,
}


class Row(NamedTuple):
    """One way to call a function; see functions.txt."""

    ours: Callable[..., Any]
    meaning: Callable[..., Any]
    text: str
    shapes: tuple[str, ...]
    kinds: str
    ranges: tuple[tuple[float, float], ...]
    remarks: frozenset[str]

    @property
    def dtypes(self) -> list[str]:
        """The dtypes to try."""
        return [dtype for kind in self.kinds for dtype in DTYPES[kind]]

    def results(self, *arrays: Array) -> list[Array]:
        """NumPy's results, in the dtypes of this library."""
        meant_for = DEVIATIONS.get(self.text.removeprefix("pt."), {})
        given = [a.astype(meant_for.get(a.dtype.kind, a.dtype)) for a in arrays]
        with np.errstate(all="ignore"):
            found = as_list(self.meaning(*given))
            if given[:1] and given[0].dtype == bool and {str(f.dtype) for f in found} & {"float16", "float32"}:
                found = as_list(self.meaning(*(a.astype("float64") if a.dtype == bool else a for a in given)))
        return found

    def arrays(self, dtype: str, lengths: dict[str, int], rng: np.random.Generator) -> list[Array]:
        """Arguments of a dtype, with a length for each letter."""
        return [self._array(s, dtype, lengths, rng, r) for s, r in zip(self.shapes, self.ranges, strict=True)]

    def _array(
        self, word: str, dtype: str, lengths: dict[str, int], rng: np.random.Generator, bounds: tuple[float, float]
    ) -> Array:
        prefix, _, letters = word.rpartition(":")
        shape = tuple(int(c) if c.isdigit() else lengths[c] for c in letters if c != ".")
        low, high = bounds
        if prefix:
            dtype, low, high = {"b": ("bool", 0, 1), "i": ("int64", -2, 2), "k": ("int64", 0, 1)}[prefix]
        if dtype == "bool":
            return rng.random(shape) < 0.5 if shape else np.array(rng.random() < 0.5)
        if dtype.startswith("int"):
            return np.asarray(rng.integers(int(np.ceil(low)), int(np.floor(high)) + 1, shape), dtype)
        return np.asarray(rng.uniform(low, high, shape), dtype)


def as_list(results: Any) -> list[Array]:
    """One result or several as a list of arrays."""
    return [np.asarray(r) for r in (results if isinstance(results, list | tuple) else [results])]


def regular(x: Any) -> Any:
    """A well conditioned matrix from any, here and in NumPy."""
    return x + 7.0 * np.eye(3, dtype=x.dtype)


def symmetric(x: Any) -> Any:
    """A positive definite matrix from any, here and in NumPy."""
    return x @ x.mT + 3.0 * np.eye(3, dtype=x.dtype)


# What is the same for factors that may be turned, here and in NumPy.


def projected(u: Any, s: Any, v: Any) -> Any:
    """Products of left and right singular vectors, weighted by their numbers."""
    return (u * np.arange(1, u.shape[-1] + 1, dtype=u.dtype)) @ v


def spectral(values: Any, vectors: Any) -> Any:
    """Products of eigenvectors with themselves, weighted by their numbers."""
    return (vectors * np.arange(1, vectors.shape[-1] + 1, dtype=vectors.dtype)) @ vectors.mT


def directions(values: Any, vectors: Any) -> Any:
    """Squares of the sizes of elements of eigenvectors, weighted by eigenvalues in any order."""
    return (abs(vectors) ** 2 * values.real[..., None, :]).sum(-1)


def powers(values: Any) -> Any:
    """Sums of the first powers of complex numbers in any order."""
    return [values.real.sum(-1), (values * values).real.sum(-1), (values * values * values).real.sum(-1)]


def rebuilt(form: Any, basis: Any) -> Any:
    """The matrix of a Schur form."""
    return (basis @ form @ basis.conj().mT).real


def rebuilt_pair(first: Any, second: Any, left: Any, right: Any) -> Any:
    """The matrices of a generalised Schur form."""
    return [(left @ form @ right.conj().mT).real for form in (first, second)]


def replaced(x: Array, index: Any, values: Any, add: bool = False) -> Array:
    """A copy with other values at `index`."""
    result = x.copy()
    if add:
        np.add.at(result, index, values)
    else:
        result[index] = values
    return result


def half_away(x: Array) -> Array:
    """Rounding of halves away from zero."""
    return np.asarray(np.copysign(np.floor(np.abs(x) + 0.5), x), x.dtype)


def pairs(numbers: Array) -> Array:
    """Real and imaginary parts on a last axis."""
    return np.stack([numbers.real, numbers.imag], -1)


_SHARED = {
    "np": np,
    "regular": regular,
    "symmetric": symmetric,
    "projected": projected,
    "spectral": spectral,
    "directions": directions,
    "powers": powers,
    "rebuilt": rebuilt,
    "rebuilt_pair": rebuilt_pair,
}
OURS = _SHARED | {"pt": pt, "la": pt.linalg, "pm": pm.math}
NUMPYS = _SHARED | {
    "pt": np,
    "la": np.linalg,
    "sl": scipy.linalg,
    "sp": sp,
    "replaced": replaced,
    "half_away": half_away,
    "pairs": pairs,
    "si": scipy.interpolate,
    "ss": scipy.signal,
}


def _row(line: str) -> Row:
    expressions, shapes, remarks = (part.strip() for part in line.split(" | "))
    ours, _, theirs = expressions.partition(" ~ ")
    words, (kinds, *rest) = tuple(shapes.split()), remarks.split()
    low, high = next((map(float, word.split("..")) for word in rest if ".." in word), (-2.0, 2.0))
    parameters = ", ".join("xyzw"[: len(words)])
    call, meaning = (
        eval(f"lambda {parameters}: {text}", names) for text, names in ((ours, OURS), (theirs or ours, NUMPYS))
    )
    return Row(call, meaning, ours, words, kinds, ((low, high),) * len(words), frozenset(rest))


def read() -> dict[str, list[Row]]:
    """The rows of functions.txt by name."""
    rows: dict[str, list[Row]] = {}
    name = ""
    for line in (Path(__file__).parent / "functions.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            rows[name].append(_row(line))
        elif line and not line.startswith("#"):
            name = line
            rows[name] = []
    return rows


# What scalar functions mean whose name is in neither NumPy nor SciPy.
_MEANINGS: dict[str, Callable[..., Any]] = {
    "and_": np.bitwise_and,
    "eq": np.equal,
    "expn": lambda n, x: TABLE["expn"].numpy(*(np.asarray(a, np.result_type(n, x, np.float32)) for a in (n, x))),
    "floor_div": np.floor_divide,
    "ge": np.greater_equal,
    "gt": np.greater,
    "int_div": np.floor_divide,
    "invlogit": sp.expit,
    "kn": sp.kv,
    "le": np.less_equal,
    "log1mexp": lambda x: np.log(-np.expm1(x)),
    "log1pexp": lambda x: np.logaddexp(0, x),
    "log_gammainc": lambda a, x: np.log(sp.gammainc(a, x)),
    "log_gammaincc": lambda a, x: np.log(sp.gammaincc(a, x)),
    "lt": np.less,
    "mul": np.multiply,
    "neg": np.negative,
    "neq": np.not_equal,
    "or_": np.bitwise_or,
    "probit": sp.ndtri,
    "round_half_to_even": np.rint,
    "sgn": np.sign,
    "sigmoid": sp.expit,
    "softplus": lambda x: np.logaddexp(0, x),
    "sqr": np.square,
    "sub": np.subtract,
    "tri_gamma": lambda x: sp.polygamma(1, x).astype(sp.gammaln(x).dtype),
    "trigamma": lambda x: sp.polygamma(1, x).astype(sp.gammaln(x).dtype),
    "true_div": np.true_divide,
    "xor": np.bitwise_xor,
}


def elementwise(name: str) -> Row:
    """The row of a scalar function: NumPy's or SciPy's function of that name, on numbers inside its domain."""
    entry = TABLE[ELEMENTWISE[name]]
    arity = entry.arity or 2
    meaning = _MEANINGS.get(name) or getattr(np, name, None) or getattr(sp, name)
    ranges = tuple((max(low + 0.01, -3.0), min(high - 0.01, 3.0)) for low, high in entry.domain)
    integers = all(np.ceil(low) <= np.floor(high) for low, high in ranges)
    smooth = "float" in entry.accepts and entry.result != "bool" and name != "expn"
    numbers = "fi" if ELEMENTWISE[name] in REFUSED_OF_TRUTH else "fib"
    floats = set(entry.accepts) & {"float", "bool"}
    kinds = "".join(k for k in numbers if (k != "i" or integers) and (k != "f" or floats))
    return Row(
        getattr(pt, name),
        meaning,
        f"pt.{name}",
        ("nm", "m", ".", "m")[:arity],
        kinds,
        ranges,
        frozenset() if smooth else frozenset({"flat"}),
    )


FUNCTIONS = read() | {name: [elementwise(name)] for name in ELEMENTWISE}

# Public names that are no functions of arrays, or are tested where they are at home.
ELSEWHERE = {
    name: reason
    for reason, names in {
        "a class or a type": "Context Function Op TensorLike TensorType TensorVariable Variable",
        "a module": "extra_ops fft interpolate linalg nlinalg optimize random signal slinalg special",
        "a number": "e euler_gamma inf nan newaxis pi",
        "the setting of floats: tests/dtypes/test_float_setting.py": "config floatX",
        "compiling and its inputs: tests/backends/test_function.py": "eval function shared key",
        "derivatives: test_tensor_names.py and tests/transforms": "grad gradient hessian jacobian value_and_grad",
        "functions of graphs: test_tensor_names.py, tests/backends and tests/transforms": (
            "cond ifelse vectorize vmap broadcast_dynamic psum pmean pmax pmin axis_index"
        ),
        "lazy branches: test_branches.py": "switch_case",
        "loops: test_loops.py": "scan map reduce foldl foldr until while_loop",
        "functions with rules of the user's: test_functions.py": "OpFromGraph as_op custom_vjp custom_vmap wrap_py",
        "writing graphs: tests/printing": "dprint",
        "answers about shapes: test_table.py": "is_flat get_vector_length slice_at_axis",
    }.items()
    for name in names.split()
}

# Other names of functions in functions.txt.
ALIASES = {
    "as_tensor": "as_tensor_variable",
    "concat": "concatenate",
    "fill": "second",
    "identity": "positive",
    "matrix_inverse": "inv",
    "pow": "power",
    "tensor_copy": "positive",
    "tround": "round",
}

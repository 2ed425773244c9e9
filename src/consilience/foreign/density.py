"""Models of a log density that is computed elsewhere: by a Python function, or by machine code at an address.

A function of a vector that gives the log density and its gradient in; a model of flat variables with that function as
its potential out. How a library is found and what its functions mean stays outside.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

import consilience.tensor as pt
from consilience.distributions import Flat
from consilience.errors import InitialPointError, ModelError, ShapeError
from consilience.foreign.addresses import MachineCode, given
from consilience.ir import Node, TensorType
from consilience.model import Model, Potential
from consilience.ops import Item
from consilience.ops.python_call import NativeCall, PythonCall, PythonFunction

Floats: TypeAlias = npt.NDArray[np.float64]
Names: TypeAlias = Sequence[str] | Mapping[str, int | str | Sequence[int | str]] | None

STEP: Final = 1e-3  # of differences that gradients are compared with
ARGUMENTS: Final = ("operand 0", "result 1", "result 0")  # position, gradient, log density


def from_density(
    dimension: int,
    logp_and_grad: Any,
    *,
    names: Names = None,
    initial: npt.ArrayLike | None = None,
    coords: Mapping[str, Sequence[Any]] | None = None,
    data: Any = None,
) -> Model:
    """A model with a log density of your own, for `pm.sample` and everything else that takes a model.

    dimension: Number of coordinates, at least 1; each is any real number.
    logp_and_grad: What computes the log density and its gradient: a Python callable of a vector float64[dimension],
        read-only, that gives (number, float64[dimension]). It holds the interpreter's lock, so that chains wait for
        each other; or machine code, which chains call side by side: a function of ctypes, a `cfunc` of Numba, a
        function pointer of cffi or an address (int) of `int f(double const *x, double *gradient, double *logp, void
        *data)`, which gives 0 for success, may be called from several threads at once and leaves `x` as it is.
    names: Names of the coordinates, one each; or names of variables with their shapes, in the order in which they lie
        in the vector: `{"mu": (), "theta": 8}`, or dimensions of `coords`: `{"theta": "school"}`. By default one
        vector, `x`.
    initial: Where chains begin before noise, float64[dimension]; 0 by default.
    coords (mapping of str to sequence): Labels of dimensions, as in `pm.Model`.
    data: What machine code gets as its last argument: an address, an array, or an instance of ctypes; it is kept as
        long as the model.
    Returns: A `pm.Model`. Points where the function raises, gives NaN or reports a failure have density 0.
    Raises ModelError: Where the function, tried at `initial` and beside it, raises or gives another gradient than that
        of its log density.
    Raises ShapeError: Where shapes do not fit the dimension.
    See from_bridgestan: Of a Stan program.
    See from_jax: Of a function of JAX.
    >>> import numpy as np
    >>> import consilience as pm
    >>> model = pm.from_density(2, lambda x: (-0.5 * float(x @ x), -x), names=["a", "b"])
    >>> with model:
    ...     result = pm.sample(random_seed=1, progressbar=False)
    >>> result.status
    'converged'
    """
    if not isinstance(dimension, int | np.integer) or isinstance(dimension, bool) or dimension < 1:
        raise ModelError(f"`dimension` must be an integer of at least 1, got {dimension!r}.")
    start = np.zeros(dimension) if initial is None else np.asarray(initial, float)
    if start.shape != (dimension,):
        raise ShapeError(f"`initial` must have the shape ({dimension},) of the vector, got {start.shape}.")
    if not np.isfinite(start).all():
        raise InitialPointError("`initial` must be finite numbers, one for each coordinate.")
    machine = given(logp_and_grad)
    if machine is not None:
        known = hashlib.sha256(data.tobytes()).hexdigest()[:16] if isinstance(data, np.ndarray) else ""
        kept = MachineCode(machine.address, machine.name, (machine.kept, data))
        of = native_function(kept, (*ARGUMENTS, _pointer(data)), ((), (int(dimension),)), known, slopes=True)
    elif not callable(logp_and_grad):
        raise ModelError(
            "`logp_and_grad` must be a callable of a vector, a function of ctypes, Numba or cffi, or an address, got "
            f"{logp_and_grad!r}."
        )
    elif data is not None:
        raise ModelError("`data` is for machine code; a Python callable has its data with it.")
    else:
        of = python_density(int(dimension), logp_and_grad)
    _tried(of, start)
    return density_model(int(dimension), of, names, start, coords)


def density_model(
    dimension: int,
    of: PythonFunction,
    names: Names,
    start: Floats,
    coords: Mapping[str, Sequence[Any]] | None,
) -> Model:
    """The model of flat variables whose density is that of `of`, a function of their vector."""
    with Model(coords=coords) as model:
        parts: list[Node] = []
        place = 0
        for name, shape, dims in _variables(model, dimension, names):
            size = math.prod(shape)
            values = start[place : place + size].reshape(shape)
            parts.append(Flat(name, dims=dims, initval=values) if dims else Flat(name, shape=shape, initval=values))
            place += size
        vector = parts[0] if len(parts) == 1 and parts[0].ndim == 1 else pt.concatenate([p.reshape(-1) for p in parts])
        Potential("log_density", _log_density(of, vector))
    return model


def _variables(model: Model, dimension: int, names: Names) -> list[tuple[str, tuple[int, ...], tuple[str, ...] | None]]:
    """Names, shapes and dimensions of the variables."""
    if names is None:
        return [("x", (dimension,), None)]
    if isinstance(names, str):
        raise ModelError(f"`names` is a list of names or a mapping of names to shapes, got {names!r}.")
    if not isinstance(names, Mapping):
        if len(names) != dimension:
            raise ShapeError(
                f"`names` must name each of the {dimension} coordinates, got {len(names)} names; for vectors give a "
                "mapping of names to shapes."
            )
        return [(str(name), (), None) for name in names]
    found: list[tuple[str, tuple[int, ...], tuple[str, ...] | None]] = []
    for name, given_shape in names.items():
        lengths = (given_shape,) if isinstance(given_shape, int | str) else tuple(given_shape)
        labelled = tuple(n for n in lengths if isinstance(n, str))
        if labelled and len(labelled) < len(lengths):
            raise ShapeError(f"the shape of `{name}` has lengths or names of dimensions, not both; got {lengths}.")
        shape = model.shape_from_dims(labelled) if labelled else tuple(int(n) for n in lengths)
        found.append((name, shape, labelled or None))
    total = sum(math.prod(shape) for _, shape, _ in found)
    if total != dimension:
        raise ShapeError(
            f"the variables in `names` have {total} elements in all, but the density has {dimension} coordinates."
        )
    return found


def _log_density(of: PythonFunction, vector: Node) -> Node:
    """The log density at a vector; its derivative is the gradient that comes with it."""
    types = (TensorType("float64", ()), TensorType("float64", vector.static_shape))
    return Node(Item(0), Node(PythonCall(of, types), vector))


# ---- by Python


def python_density(dimension: int, function: Callable[..., Any]) -> PythonFunction:
    """A user's callable, whose results are checked in every call."""
    name = getattr(function, "__name__", type(function).__name__)
    return PythonFunction(_checked(dimension, function, name), name, slopes=True)


def _checked(dimension: int, function: Callable[..., Any], name: str) -> Callable[[Floats], tuple[Floats, Floats]]:
    """The function of a vector that gives a number and a vector, and raises where it gives something else."""

    def checked(position: Floats) -> tuple[Floats, Floats]:
        found = function(position)
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise ShapeError(f"`{name}` must give two things, log density and gradient; got {found!s:.80}.")
        logp, gradient = (np.asarray(part, float) for part in found)
        if logp.shape != ():
            raise ShapeError(f"the log density that `{name}` gives must be a number, got shape {logp.shape}.")
        if gradient.shape != (dimension,):
            raise ShapeError(f"the gradient that `{name}` gives must have shape ({dimension},), got {gradient.shape}.")
        return logp, gradient

    checked.__wrapped__ = function  # type: ignore[attr-defined]  # as `functools.wraps` does
    return checked


def _tried(of: PythonFunction, start: Floats) -> None:
    """Call the function at the start and beside it, so that what is wrong with it shows here."""

    def at(position: Floats) -> tuple[float, Floats]:
        position.setflags(write=False)
        logp, gradient = of.function(position)
        return float(logp), gradient

    try:
        logp, gradient = at(start.copy())
        if not np.isfinite(logp):
            return  # chains look for a start themselves
        direction = np.random.default_rng(0).choice([-1.0, 1.0], len(start)) / np.sqrt(len(start))
        slope = float(gradient @ direction)
        ahead, behind = (at(start + step * direction)[0] for step in (STEP, -STEP))
    except ShapeError:
        raise
    except Exception as error:
        raise ModelError(
            f"`{of.name}` raised {type(error).__name__} at {np.array2string(start, threshold=6)}: {error}. If it has "
            "no value there, pass `initial=`, a point where it has one."
        ) from error
    found = (ahead - behind) / (2 * STEP)
    curvature = abs(ahead - 2 * logp + behind) / STEP
    if abs(found - slope) > 0.02 * (abs(found) + abs(slope)) + 0.01 * (1 + abs(logp) + curvature):
        raise ModelError(
            f"the gradient that `{of.name}` gives is not that of its log density: along one direction from "
            f"{np.array2string(start, threshold=6)} the density rises by {found:.6g}, the gradient says {slope:.6g}."
        )


# ---- by machine code


def native_function(
    function: MachineCode,
    arguments: tuple[str | int | tuple[int], ...],
    shapes: tuple[tuple[int, ...], ...],
    identity: str = "",
    *,
    slopes: bool = False,
) -> PythonFunction:
    """Machine code as a function of the position, for Python and for machine code.

    `arguments`: as `NativeCall` has them. `shapes`: of its results. `identity`: of its data, the same in every process.
    `slopes`: as in `PythonFunction`.
    """
    call = NativeCall(function.address, arguments)
    kinds = [ctypes.c_int if isinstance(a, int) else ctypes.c_void_p for a in arguments]
    code = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(function.address)

    def called(position: Floats) -> list[Floats]:
        vector, results = np.array(position, float), [np.zeros(shape) for shape in shapes]
        status = code(*values_of(arguments, vector, results))
        return [np.full_like(r, np.nan) for r in results] if status else results

    called.kept = function.kept  # type: ignore[attr-defined]  # alive as long as this function
    called.identity = identity  # type: ignore[attr-defined]  # for `PythonFunction`
    return PythonFunction(called, function.name, native=call, slopes=slopes)


def values_of(arguments: tuple[str | int | tuple[int], ...], vector: Floats, results: Sequence[Floats]) -> list[int]:
    """Arguments of a C function, with the addresses of the position and of the results."""
    places = {"operand 0": vector.ctypes.data} | {f"result {k}": r.ctypes.data for k, r in enumerate(results)}
    return [places[a] if isinstance(a, str) else a if isinstance(a, int) else a[0] for a in arguments]


def _pointer(data: Any) -> tuple[int]:
    """The address that machine code gets for `data`."""
    if data is None:
        return (0,)
    if isinstance(data, int):
        return (data,)
    if isinstance(data, np.ndarray):
        if not data.flags.c_contiguous:
            raise ModelError("`data` must be a contiguous array, since machine code gets its address only.")
        return (data.ctypes.data,)
    if isinstance(data, ctypes.c_void_p | ctypes.c_char_p | ctypes._Pointer):
        return (ctypes.cast(data, ctypes.c_void_p).value or 0,)
    if isinstance(data, ctypes.Structure | ctypes.Union | ctypes.Array | ctypes._SimpleCData):
        return (ctypes.addressof(data),)
    found = given(data)
    if found is None:
        raise ModelError(f"`data` must be an address, an array or an instance of ctypes, got {type(data).__name__}.")
    return (found.address,)

"""Stan's programs, compiled with BridgeStan to shared libraries.

The path of a library and data in JSON in; a model whose free variable is Stan's unconstrained vector, with the
parameters under Stan's names, out. Compiling Stan's language stays outside.

Source: R. Roualdes et al. (2023), "BridgeStan: Efficient in-memory access to the methods of a Stan model", and the
header of its C interface, version 2.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import math
import threading
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.errors import ExecutionError, ModelError
from consilience.foreign.addresses import MachineCode
from consilience.foreign.density import Floats, density_model, native_function, values_of
from consilience.ir import Node, TensorType
from consilience.model import Deterministic, Model
from consilience.ops import Item
from consilience.ops.python_call import PythonCall, PythonFunction

MAJOR: Final = 2
"""The version of the C interface that is spoken here."""

_TEXT, _POINTER, _INT, _BOOL = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_bool
_SIGNATURES: Final = {
    "bs_model_construct": (_POINTER, (_TEXT, ctypes.c_uint, _POINTER)),
    "bs_model_destruct": (None, (_POINTER,)),
    "bs_free_error_msg": (None, (_POINTER,)),
    "bs_name": (_TEXT, (_POINTER,)),
    "bs_model_info": (_TEXT, (_POINTER,)),
    "bs_param_names": (_TEXT, (_POINTER, _BOOL, _BOOL)),
    "bs_param_unc_names": (_TEXT, (_POINTER,)),
    "bs_param_unc_num": (_INT, (_POINTER,)),
    "bs_param_num": (_INT, (_POINTER, _BOOL, _BOOL)),
    "bs_param_constrain": (_INT, (_POINTER, _BOOL, _BOOL, _POINTER, _POINTER, _POINTER, _POINTER)),
    "bs_log_density_gradient": (_INT, (_POINTER, _BOOL, _BOOL, _POINTER, _POINTER, _POINTER, _POINTER)),
}


def from_bridgestan(
    library: str | Path,
    data: Mapping[str, Any] | str | Path | None = None,
    *,
    seed: int = 0,
    transformed: bool = True,
    initial: npt.ArrayLike | None = None,
) -> Model:
    """A model of a Stan program that BridgeStan has compiled, for `pm.sample` and everything else that takes a model.

    library: Path of the shared library, such as "bernoulli_model.so", of BridgeStan 2.
    data (mapping or str or Path): Of the program: a mapping of names to numbers and arrays, JSON text, or the path of a
        ".json" file.
    seed: Of random numbers in the block `transformed data`.
    transformed: Whether transformed parameters are part of the results, beside the parameters.
    initial: Where chains begin before noise, on the unconstrained scale; 0 by default.
    Returns: A `pm.Model` with the free variable `unconstrained`, whose labels are Stan's names of its elements, and a
        deterministic for each parameter, in its shape. A library compiled with `STAN_THREADS=true` is called by all
        chains side by side, another one by one chain at a time.
    Raises ModelError: Where the library cannot be opened, speaks another version of the interface, or refuses the data;
        with its own message.
    See from_density: A log density of one's own.

    Examples
    --------
    The library is one that `bridgestan.compile_model("bernoulli_model.stan")` has made.

    >>> import consilience as pm
    >>> model = pm.from_bridgestan("bernoulli_model.so", {"N": 3, "y": [0, 1, 1]})  # doctest: +SKIP
    >>> with model:  # doctest: +SKIP
    ...     result = pm.sample()
    """
    program = _Program(_opened(library), str(library), _json(data), int(seed))
    names = program.text("bs_param_unc_names").split(",")
    dimension = program.call("bs_param_unc_num", program.model)
    if dimension < 1:
        raise ModelError(f"the program `{program.name}` has no parameters, so there is nothing to infer.")
    start = np.zeros(dimension) if initial is None else np.asarray(initial, float)
    if start.shape != (dimension,):
        raise ModelError(f"`initial` must have the shape ({dimension},), got {start.shape}.")
    log_density = program.function(
        "bs_log_density_gradient", (1, 1, "operand 0", "result 0", "result 1", (0,)), ((), (dimension,)), slopes=True
    )
    model = density_model(dimension, log_density, {"unconstrained": "coordinate"}, start, {"coordinate": names})
    _add_parameters(model, program, transformed)
    return model


def _add_parameters(model: Model, program: _Program, transformed: bool) -> None:
    """Deterministics under Stan's names, in Stan's shapes."""
    count = program.call("bs_param_num", program.model, transformed, False)
    if not count:
        return
    constrain = program.function(
        "bs_param_constrain", (int(transformed), 0, "operand 0", "result 0", (0,), (0,)), ((count,),)
    )
    call = Node(PythonCall(constrain, (TensorType("float64", (count,)),)), model["unconstrained"])
    values = Node(Item(0), call)
    place = 0
    with model:
        for name, shape in shapes_of(program.text("bs_param_names", transformed, False).split(",")).items():
            size = math.prod(shape)
            own = values[place : place + size]
            axes = tuple(reversed(range(len(shape))))
            Deterministic(name, own[0] if not shape else own.reshape(shape[::-1]).transpose(*axes))
            place += size


def shapes_of(names: list[str]) -> dict[str, tuple[int, ...]]:
    """Shapes of Stan's variables, in their order, from the names of their elements, such as `theta.2.1`.

    Elements of tuples and parts of complex numbers keep names of their own.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for full in names:
        name, *indices = full.split(".")
        if ":" in full or not all(i.isdecimal() for i in indices):
            shapes[full] = ()
        else:
            shapes[name] = tuple(map(int, indices))  # the last element comes last, with the greatest indices
    return shapes


class _Program:
    """A Stan program with its data; freed with the last function of it."""

    def __init__(self, library: ctypes.CDLL, path: str, data: str | None, seed: int) -> None:
        self.library, self.path = library, path
        self.lock = threading.Lock()
        fault = _POINTER()
        text = None if data is None else data.encode()
        self.model = library.bs_model_construct(text, seed, ctypes.byref(fault))
        if not self.model:
            raise ModelError(f"the Stan program in {path!r} does not accept its data: {self.told(fault)}")
        weakref.finalize(self, library.bs_model_destruct, self.model)
        self.name = self.text("bs_name")
        self.threads = "STAN_THREADS=true" in self.text("bs_model_info")
        self.identity = f"{self.name} {hashlib.sha256(f'{data} {seed}'.encode()).hexdigest()[:16]}"

    def call(self, name: str, *arguments: Any) -> Any:
        """A function of the library."""
        return getattr(self.library, name)(*arguments)

    def text(self, name: str, *arguments: Any) -> str:
        """A text that the library tells of the program."""
        found: bytes = self.call(name, self.model, *arguments)
        return found.decode()

    def told(self, fault: ctypes.c_void_p) -> str:
        """A message of the library, which is freed."""
        if fault.value is None:
            return "it gives no reason."
        message = ctypes.string_at(fault).decode(errors="replace").strip()
        self.library.bs_free_error_msg(fault)
        return message

    def function(
        self,
        name: str,
        arguments: tuple[str | int | tuple[int], ...],
        shapes: tuple[tuple[int, ...], ...],
        slopes: bool = False,
    ) -> PythonFunction:
        """A function of the position; machine code calls it if the library allows that.

        `arguments`: behind the program, as `NativeCall` has them. `shapes`: of the results.
        """
        if not self.threads:
            return PythonFunction(_one_at_a_time(self, name, arguments, shapes), self.name, slopes=slopes)
        address = ctypes.cast(getattr(self.library, name), _POINTER).value or 0
        given = MachineCode(address, self.name, self)
        return native_function(given, ((self.model,), *arguments), shapes, self.identity, slopes=slopes)


def _one_at_a_time(
    program: _Program,
    name: str,
    arguments: tuple[str | int | tuple[int], ...],
    shapes: tuple[tuple[int, ...], ...],
) -> Callable[[Floats], list[Floats]]:
    """A function of a library that does not allow several threads."""

    def called(position: Floats) -> list[Floats]:
        vector, results = np.array(position, float), [np.zeros(shape) for shape in shapes]
        fault = _POINTER()
        values = values_of(arguments[:-1], vector, results)
        with program.lock:
            status = program.call(name, program.model, *values, ctypes.byref(fault))
        if status:
            message = program.told(fault)
            raise ExecutionError(f"the Stan program `{program.name}` has no value there: {message}")
        return results

    called.identity = program.identity  # type: ignore[attr-defined]  # for `PythonFunction`
    return called


def _opened(path: str | Path) -> ctypes.CDLL:
    """The library with its functions' signatures; ModelError where it is none of BridgeStan 2."""
    place = Path(path)
    if not place.exists():
        raise ModelError(f"there is no library {str(path)!r}; compile the program with `bridgestan.compile_model`.")
    try:
        library = ctypes.CDLL(str(place.resolve()))
    except OSError as error:
        raise ModelError(f"the library {str(path)!r} cannot be opened: {error}") from error
    try:
        version = [_INT.in_dll(library, f"bs_{part}_version").value for part in ("major", "minor", "patch")]
    except ValueError:
        old = hasattr(library, "bs_construct")
        raise ModelError(
            f"the library {str(path)!r} "
            + (
                f"is of a BridgeStan before 2.0; compile it with BridgeStan {MAJOR}."
                if old
                else "is none of BridgeStan."
            )
        ) from None
    if version[0] != MAJOR:
        raise ModelError(
            f"the library {str(path)!r} is of BridgeStan {'.'.join(map(str, version))}, whose functions have other "
            f"parameters; compile it with BridgeStan {MAJOR}."
        )
    for name, (result, parameters) in _SIGNATURES.items():
        function = getattr(library, name, None)
        if function is None:
            raise ModelError(f"the library {str(path)!r} has no function `{name}`; compile it with BridgeStan {MAJOR}.")
        function.restype, function.argtypes = result, parameters
    return library


def _json(data: Mapping[str, Any] | str | Path | None) -> str | None:
    """Data as BridgeStan takes them: JSON text."""
    if data is None:
        return None
    if isinstance(data, Mapping):
        return json.dumps(data, default=_plain)
    text = str(data)
    if not text.endswith(".json"):
        return text
    if not Path(text).exists():
        raise ModelError(f"there is no file of data {text!r}.")
    return Path(text).read_text(encoding="utf-8")


def _plain(value: Any) -> Any:
    """Arrays and numbers of NumPy, and what has the form of an array, as lists."""
    return np.asarray(value).tolist()

"""From expressions to something that can be called.

A `Request` in, a `Function` out: shape constraints are collected from the graph as written, the graph is simplified,
and a backend compiles it for the shapes that come. Which backend does the work is looked up in the registry.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.backends import contexts, reference, sparse_arguments
from consilience.backends.contexts import Context, seed_of, slots_of
from consilience.backends.inspect.inspection import Inspected
from consilience.backends.modes import DebugMode, Mode, NanGuardMode, mode_named
from consilience.backends.pickling import duplicate
from consilience.backends.registry import Bound
from consilience.backends.registry import backend as find_backend
from consilience.backends.request import In, Outputs, Pairs, Request, Unused, requested
from consilience.backends.shapes import (
    Lengths,
    bind_lengths,
    check_shape_constraints,
    check_sizes,
    sizes_of,
)
from consilience.errors import DtypeError, ExecutionError, GraphError, MemoryShortage, ShapeError
from consilience.first_use import face
from consilience.ir import (
    Node,
    Shared,
    TensorType,
    numpy_dtype,
    substitute,
    topological,
)
from consilience.ir import dimension as dims
from consilience.ir.arithmetic import means
from consilience.ir.leaves import is_masked
from consilience.ir.lengths import sources_of
from consilience.ir.shape_constraints import collect
from consilience.ir.side_tables import describe
from consilience.ops.assertion import require
from consilience.planning import as_chosen
from consilience.rewrite.rules import simplify
from consilience.transforms.equal_terms import equal_terms_batched

Array: TypeAlias = npt.NDArray[Any]

# Specialisations kept per function: one per combination of input shapes seen lately.
KEPT_SHAPES = 64
# Calls by way of Python before the first by `native.array_call`, and before one for the shapes of the latest.
BEFORE_DIRECT, BETWEEN_DIRECT = 8, 64


class FunctionProfile:
    """Where the time of one function went.

    `graph_seconds`: time to simplify the graph, once. `compile_seconds`: time to compile it, for `compiled`
    combinations of shapes. `call_seconds`: time inside `calls` calls, compilation left out.
    """

    def __init__(self) -> None:
        self.graph_seconds = 0.0
        self.compile_seconds = 0.0
        self.compiled = 0
        self.call_seconds = 0.0
        self.calls = 0

    def summary(self) -> str:
        """One line for each kind of time."""
        per_call = f" ({self.call_seconds / self.calls * 1e6:.3g} us each)" if self.calls else ""
        return (
            f"simplified in {self.graph_seconds * 1e3:.3g} ms\n"
            f"compiled {self.compiled} times in {self.compile_seconds * 1e3:.3g} ms\n"
            f"called {self.calls} times in {self.call_seconds * 1e3:.3g} ms{per_call}"
        )


class Function(Inspected):
    """A compiled expression; call it with one value per input, by position or by name.

    Re-entrant: any number of threads may call it at once. Values of shared variables come from `context`. A function
    with updates gives them new values, all at one moment, once its results are there; such calls wait for each other.

    request: What was compiled.
    mode: How the function is compiled; `pm.get_mode` lists the words.
    context: Values of shared variables to use.
    allow_downcast: Whether inputs may lose digits.
    profile: Times, if they were asked for.
    See function: Compile expressions.
    >>> x = pt.dscalar("x")
    >>> square = pt.function([x], x**2)
    >>> square(3.0).item()
    9.0
    """

    def __init__(
        self,
        request: Request,
        *,
        mode: Mode,
        context: Context | None = None,
        allow_downcast: bool | None = None,
        profile: FunctionProfile | None = None,
    ) -> None:
        self.name = request.name
        self.mode = mode
        self.inputs = tuple(item.variable for item in request.inputs)
        self.outputs = request.outputs
        self.updates = dict(request.updates)
        self.profile = profile
        self._request = request
        self._context = context
        self._allow_downcast = allow_downcast
        began = time.perf_counter()
        written = request.expressions
        sources = sources_of(written)
        self._shape_constraints = collect([*written, *sources])
        self._sizes = sizes_of(topological([*written, *sources]))
        # Lengths that are computed can be checked by the program only.
        later = tuple(o for o in self._shape_constraints if dims.is_computed(o.left) or dims.is_computed(o.right))
        optimised = simplify(equal_terms_batched(written)) if mode.simplified else written
        self.optimised = tuple(require(optimised, later))
        self._slots = tuple(slots_of([*self.optimised, *written, *sources], self.inputs))
        if profile is not None:
            profile.graph_seconds += time.perf_counter() - began
        self._compile = as_chosen(find_backend(mode.backend), mode.plan)
        self._executables: OrderedDict[tuple[tuple[int, ...], ...], Bound] = OrderedDict()
        self._lock = threading.Lock()
        # What takes arrays of the latest shapes to machine code, and after how many other calls it is made anew.
        self._direct: Callable[..., Any] | None = None
        plain = not request.updates and profile is None and type(mode) is Mode
        self._until_direct = BEFORE_DIRECT if plain and request.form in ("one", "list") else 0

    def __repr__(self) -> str:
        names = [item.name or "?" for item in self._request.inputs]
        return f"<function {self.name}({', '.join(names)}) of {len(self.outputs)} outputs>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self._request, self.mode, self._context, self._allow_downcast, self.profile is not None)

    def __deepcopy__(self, memo: object) -> Function:
        return duplicate(self)

    def __call__(self, *values: npt.ArrayLike, context: Context | None = None, **named: npt.ArrayLike) -> Any:
        """Values of the outputs in the form they were given: an array, a list or a dict; None for `outputs=None`."""
        if self._direct is not None and not named:
            shared = self._place(context).snapshot(self._slots) if self._slots else ()
            found = self._direct(*values, *shared)
            if found is not None and type(found) is not int:  # arrays of this kind, and no failure
                return found
        given = self._converted(values, named)
        place = self._place(context)
        if not self.updates:
            return self._formed(self._computed(given, place))
        count = len(self.outputs)
        with place.updating:
            results = self._computed(given, place)
            place.set_all(dict(zip(self.updates, results[count:], strict=True)))
        return self._formed(results[:count])

    def _computed(self, given: list[Array], place: Context) -> list[Array]:
        """Values of outputs and updates."""
        arrays = [*given, *place.snapshot(self._slots)] if self._slots else given
        try:
            run = self._executable(arrays)
            began = time.perf_counter()
            results = run(arrays)
        except (ExecutionError, ShapeError) as error:
            raise self._located(error, arrays) from None
        if isinstance(self.mode, NanGuardMode | DebugMode):
            self._check(self.mode, results, arrays)
        if self._until_direct:
            self._until_direct -= 1
            if not self._until_direct:
                self._until_direct = BETWEEN_DIRECT
                self._direct = run.direct([(a.dtype, a.shape) for a in arrays], self._request.form == "one")
        if self.profile is not None:
            with self._lock:
                self.profile.calls += 1
                self.profile.call_seconds += time.perf_counter() - began
        return results

    def _check(self, mode: NanGuardMode | DebugMode, results: Sequence[Array], arrays: Sequence[Array]) -> None:
        """Look for wrong values among the results, as the mode says."""
        leaves = dict(zip((*self.inputs, *self._slots), arrays, strict=True))
        lengths = self.check_shapes([a.shape for a in arrays])
        from consilience.backends.inspect import comparison, nan_guard  # few calls are checked

        if isinstance(mode, NanGuardMode):
            nan_guard.guard(self.name, self.optimised, results, leaves, lengths, mode)
        else:
            comparison.compare(self.name, self.optimised, results, leaves, lengths)

    def _place(self, context: Context | None = None) -> Context:
        return context or self._context or contexts.DEFAULT

    def _given(self, values: Sequence[npt.ArrayLike], named: Mapping[str, npt.ArrayLike]) -> list[Array]:
        """The arrays of a call: inputs, then the present values of shared variables."""
        return [*self._converted(values, named), *self._place().snapshot(self._slots)]

    def _without_updates(self, values: Sequence[npt.ArrayLike], named: Mapping[str, npt.ArrayLike]) -> Any:
        """A call that leaves shared variables as they are."""
        results = self._computed(self._converted(values, named), self._place())
        return self._formed(results[: len(self.outputs)])

    def _latest_shapes(self) -> tuple[tuple[int, ...], ...] | None:
        """Shapes of inputs and shared variables in the latest call with new shapes; None before any call."""
        with self._lock:
            return next(reversed(self._executables), None)

    def _formed(self, results: list[Array]) -> Any:
        match self._request.form:
            case "one":
                return results[0]
            case "dict":
                return dict(zip(self._request.keys, results, strict=True))
            case "nothing":
                return None
            case _:
                return results

    def numba(self, *values: npt.ArrayLike, **named: npt.ArrayLike) -> Any:
        """The machine code at the shapes of a call, for code that Numba compiles: `numba.njit` functions may call it.

        Parameters
        ----------
        *values : array_like
            As for a call: their shapes are fixed, their numbers do not matter.
        **named : array_like
            Values by the names of inputs.

        Returns
        -------
        object
            A dispatcher of Numba. It takes arrays of exactly these dtypes, and numbers for rank 0; several outputs come
            as a tuple. Shared variables keep their present values. It cannot be cached on disk.

        Raises
        ------
        MissingPackageError
            Without Numba.
        GraphError
            For updates, for lengths that depend on values, and where there is no machine code; its own errors are
            numba.TypingError for other dtypes.
        ValueError
            For other shapes.
        ArithmeticError
            Where an index is out of bounds or a matrix cannot be factorised.
        """
        self._needs_machine_code(of_llvm=False)
        return face("Function.numba")(self, values, named)

    @property
    def jax(self) -> Callable[..., Any]:
        """The function as a pure one of JAX's arrays, which composes with `jax.jit`, `vmap`, `grad` and others.

        It is called as this one. Derivatives are this package's, backwards and forwards.
        Shared variables keep their present values. Nothing is raised where there is no value: floats are NaN then.

        Raises
        ------
        MissingPackageError
            Without JAX.
        GraphError
            For updates, and when called for lengths that depend on values.
        DtypeError
            Inside a transformation of JAX with double precision switched off.
        """
        made: Callable[..., Any] = face("Function.jax")(self)
        return made

    @property
    def torch(self) -> Callable[..., Any]:
        """The function on PyTorch's tensors, for its autograd.

        It is called as this one; results are tensors on the device of the inputs. Machine code computes values and
        derivatives on the processor; of a function with `backend="torch"` PyTorch does, on that device. Derivatives
        are this package's, of any order. Shared variables keep their present values.

        Raises
        ------
        MissingPackageError
            Without PyTorch.
        GraphError
            For updates, and for lengths that depend on values (of machine code, in a derivative alone); where there is
            no value, what a call raises.
        """
        made: Callable[..., Any] = face("Function.torch")(self)
        return made

    def torch_module(self) -> Any:
        """A `torch.nn.Module` that is called as this function is: its parameters are the shared variables of floats.

        They begin with their present values, have the names of the variables (`shared_0`, … without one; `_` for what
        PyTorch takes in no name) and are PyTorch's own from then on: its optimizers move them, `.to` and `state_dict`
        know them. `set_value` brings what was found back. Derivatives and devices are those of `torch`.

        Raises
        ------
        MissingPackageError
            Without PyTorch.
        GraphError
            Where no such variable is read; what `torch` raises.
        """
        return face("Function.torch_module")(self)

    def copy(
        self, *, swap: Mapping[Node, Node] | None = None, delete_updates: bool = False, name: str | None = None
    ) -> Function:
        """The same function once more.

        Parameters
        ----------
        swap : mapping of TensorVariable to TensorVariable, optional
            Shared variables of this function with others, of the same type, in their place.
        delete_updates : bool, default False
            Whether the copy leaves shared variables as they are.
        name : str, optional
            Of the copy; this one's if not given.
        """
        request = self._request
        own = request.expressions
        known = set(self.get_shared())
        for old, new in (swap or {}).items():
            if old not in known:
                raise GraphError(f"`{self.name}` does not use {describe(old)}, so it cannot be swapped.")
            if not isinstance(new.op, Shared) or new.type != old.type:
                raise GraphError(f"a shared variable of type {old.type!r} was needed for it, got {describe(new)}.")
        made = substitute(own, swap) if swap else own
        count = len(self.outputs)
        slots = [(swap or {}).get(slot, slot) for slot in self.updates]
        updates = () if delete_updates else tuple(zip(slots, made[count:], strict=True))
        copied = Request(name or self.name, request.inputs, tuple(made[:count]), updates, request.form, request.keys)
        profile = None if self.profile is None else FunctionProfile()
        return Function(
            copied, mode=self.mode, context=self._context, allow_downcast=self._allow_downcast, profile=profile
        )

    def get_shared(self) -> list[Node]:
        """The shared variables that are read or updated."""
        return list(dict.fromkeys((*self._slots, *self.updates)))

    def _located(self, error: ExecutionError | ShapeError, arrays: Sequence[Array]) -> ExecutionError | ShapeError:
        """The same failure found again in the expressions as the user wrote them, which says where it is."""
        if isinstance(error, MemoryShortage):
            return error
        try:
            written = require(self._request.expressions, self._shape_constraints)
            reference.evaluate(written, dict(zip((*self.inputs, *self._slots), arrays, strict=True)))
        except (ExecutionError, ShapeError) as precise:
            return precise
        return error

    def _converted(self, values: Sequence[npt.ArrayLike], named: Mapping[str, npt.ArrayLike]) -> list[Array]:
        given = self._in_order(values, named)
        return [self._array(item, value) for item, value in zip(self._request.inputs, given, strict=True)]

    def _in_order(self, values: Sequence[npt.ArrayLike], named: Mapping[str, npt.ArrayLike]) -> Sequence[Any]:
        """The values of a call, one for each input, None where there is none."""
        inputs = self._request.inputs
        if not named and len(values) == len(inputs):
            return values
        given: list[npt.ArrayLike | None] = [*values, *[None] * (len(inputs) - len(values))]
        names = [item.name for item in inputs]
        if len(values) > len(inputs):
            raise TypeError(f"`{self.name}` takes {len(inputs)} inputs, got {len(values)}.")
        for key, value in named.items():
            if key not in names:
                raise TypeError(f"`{self.name}` has no input `{key}`; its inputs are {names}.")
            if names.count(key) > 1:
                raise TypeError(f"`{self.name}` has {names.count(key)} inputs named `{key}`; give them by position.")
            position = names.index(key)
            if given[position] is not None:
                raise TypeError(f"the input `{key}` of `{self.name}` was given twice.")
            given[position] = value
        return given

    def _array(self, item: In, value: npt.ArrayLike | None) -> Array:
        node = item.variable
        if value is None:
            value = item.value
        if value is None:
            raise TypeError(f"`{self.name}` needs a value for {describe(node)}.")
        if isinstance(value, Node):
            raise TypeError(f"`{self.name}` needs numbers for {describe(node)}, got the expression {value!r}.")
        downcast = self._allow_downcast if item.allow_downcast is None else item.allow_downcast
        return as_argument(node, value, strict=item.strict, downcast=downcast)

    def _executable(self, arrays: Sequence[Array]) -> Bound:
        shapes = tuple(array.shape for array in arrays)
        with self._lock:
            known = self._executables.get(shapes)
            if known is not None:
                self._executables.move_to_end(shapes)
                return known
        began = time.perf_counter()
        lengths = self.check_shapes(shapes)
        made = self._compile((*self.inputs, *self._slots), self.optimised, lengths).bind()
        with self._lock:
            self._executables[shapes] = made
            while len(self._executables) > KEPT_SHAPES:
                self._executables.popitem(last=False)
            if self.profile is not None:
                self.profile.compiled += 1
                self.profile.compile_seconds += time.perf_counter() - began
        return made

    def check_shapes(self, shapes: Sequence[tuple[int, ...]]) -> Lengths:
        """Values of the symbolic lengths; raises ShapeError where shapes or shape constraints do not fit."""
        lengths: Lengths = {}
        for node, shape in zip((*self.inputs, *self._slots), shapes, strict=True):
            bind_lengths(node, shape, lengths)
        check_sizes(self._sizes, lengths)
        check_shape_constraints(self._shape_constraints, lengths)
        return lengths


def _rebuilt(
    request: Request, mode: Mode, context: Context | None, allow_downcast: bool | None, profile: bool
) -> Function:
    """A function from a pickle; it is compiled when it is called."""
    times = FunctionProfile() if profile else None
    return Function(request, mode=mode, context=context, allow_downcast=allow_downcast, profile=times)


def as_argument(node: Node, value: Any, *, strict: bool, downcast: bool | None) -> Array:
    """A value as an array of a variable's dtype.

    `strict`: whether it must have that dtype already. `downcast`: as `allow_input_downcast` of `function`. Raises
    DtypeError for what is no array of numbers, or would lose digits.
    """
    if is_masked(value):
        raise DtypeError(f"{describe(node)} cannot take a masked array; fill or drop the masked entries first.")
    try:
        array = np.asarray(seed_of(value) if node.dtype == "key" else value)
    except ValueError as error:
        raise DtypeError(f"{describe(node)} needs an array of numbers: {error}") from None
    except RuntimeError as error:  # of a tensor of PyTorch with derivatives
        raise DtypeError(f"{describe(node)} needs an array, for PyTorch's autograd see `.torch`: {error}") from None
    wanted = numpy_dtype(node.dtype)
    if array.dtype == wanted:
        return array
    number = array.dtype.kind in "biuf" and not strict
    if strict or not _converts(value, array, wanted, downcast):
        raise DtypeError(
            f"{describe(node)} needs {node.dtype}, got an array of {array.dtype}; convert it with `.astype`"
            + (", or pass `allow_input_downcast=True` to `function`." if not downcast and number else ".")
        )
    return array.astype(wanted)


@means("filter")
def filtered(of: TensorType, value: Any, strict: bool, downcast: bool | None) -> Array:
    """A value as an array of a type; DtypeError or ShapeError for another dtype, rank or length."""
    array = as_argument(of(), value, strict=strict, downcast=downcast)
    fixed = [n if isinstance(n, int) else None for n in of.shape]
    if len(fixed) != array.ndim or any(n not in (None, m) for n, m in zip(fixed, array.shape, strict=True)):
        raise ShapeError(f"an array of shape {tuple(fixed)} was needed (None: any length), got shape {array.shape}.")
    return array


def _converts(value: object, array: Array, wanted: np.dtype[Any], downcast: bool | None) -> bool:
    """Whether a value may become an array of another dtype.

    Arrays may where no value of their dtype is lost; numbers and lists of Python have no width, so floats are rounded
    unless `downcast` is False, and integers must fit. True lets all numbers, cut off or wrapped as NumPy does it.
    """
    kind = array.dtype.kind
    if wanted.kind == "b" and kind in "iu" and not hasattr(value, "dtype") and downcast is not False:
        return bool(np.isin(array, (0, 1)).all())  # which say what True and False do
    if downcast:
        return kind in "biuf" or (kind == "c" and wanted.kind == "c")
    whole = kind in "iu" and wanted.kind in "iu"
    if (kind == "b") != (wanted.kind == "b") or not (whole or np.can_cast(array.dtype, wanted, "same_kind")):
        return False
    if hasattr(value, "dtype"):
        return np.can_cast(array.dtype, wanted, "safe")
    if downcast is None and wanted.kind == "f":
        return True
    return bool((array.astype(wanted) == array).all())


def function(
    inputs: Sequence[Node | In],
    outputs: Outputs = None,
    mode: Mode | str | None = None,
    updates: Pairs = None,
    givens: Pairs = None,
    no_default_updates: bool | Sequence[Node] = False,
    accept_inplace: bool = False,
    name: str | None = None,
    rebuild_strict: bool = True,
    allow_input_downcast: bool | None = None,
    profile: bool | FunctionProfile | None = None,
    on_unused_input: Unused = None,
    trust_input: bool = False,
    *,
    backend: str | None = None,
    context: Context | None = None,
    random_key: Node | None = None,
    plan: bool | int = True,
) -> Function:
    """Compile expressions to a function of arrays.

    inputs: Symbolic variables in the order of the call; other expressions too, whose values are then given; `In` for a
        default value or a name; sparse variables, for which SciPy's sparse matrices are given.
    outputs: An expression, a list or a dict of expressions; results come in the same form, SciPy's matrices for sparse
        ones. None: the function is called for its updates and returns None.
    mode: "FAST_RUN" (the default; also "NUMBA"): machine code of the simplified graph. "FAST_COMPILE": the graph as
        written, computed by NumPy. "PY": simplified, by NumPy. "C": simplified, through the system's C compiler. "JAX":
        through XLA. "PYTORCH": by PyTorch's operations. "nan_guard": results with NaN or infinity raise NotFiniteError,
        which names where they come from. "debug": every value is compared with NumPy's, which DebugModeError tells.
    updates: Shared variable -> expression of its next value, of its dtype and shape; a dict or pairs. All expressions
        see the values before the call.
    givens: Variable -> what stands in its place, of the same type; a dict or pairs. All places are filled at once:
        replacements are not searched for further ones, so {a: b, b: a} exchanges.
    no_default_updates: Accepted; there are neither default updates nor operations in place, and values are always
        checked.
    accept_inplace: Accepted; there are neither default updates nor operations in place, and values are always checked.
    name : ...
    rebuild_strict: False: `givens` may have other dtypes and are converted.
    allow_input_downcast: True: values are converted whatever is lost. None, False: arrays only to dtypes that hold all
        their values; None also rounds Python's floats to float32.
    profile: True: `function.profile` knows the times of compilation and calls.
    on_unused_input: "raise" (the default), "warn" or "ignore" inputs that the outputs do not depend on.
    trust_input: Accepted; there are neither default updates nor operations in place, and values are always checked.
    backend: In place of `mode`: "llvm" (machine code), "c" (C) or "reference" (NumPy).
    context: Where shared variables take their values; the default context if not given.
    random_key: Shared random key with which random variables that are no inputs are drawn, and which is updated, at
        every call; None makes one with a fresh seed.
    plan: False: products and other dear values are computed in the order in which they are written, where machine code
        is free to choose an equal one that is predicted to be cheaper. A number: a form that holds so many bytes at
        most between its steps, and GraphError where none is found. Slopes are of products in the order that `pt.grad`
        chose when it was called, which False does not undo.
    Returns: Takes values of `inputs` in order and returns those of `outputs`.
    Raises GraphError: If inputs, updates or givens do not fit.
    Raises UnusedInputError: If an output does not depend on an input, unless `on_unused_input` allows it.
    See shared: A shared slot that starts with `value` in the default context.
    See In: An input with settings of its own.
    See Out: An output.
    >>> x = pt.dscalar("x")
    >>> square = pt.function([x], x**2)
    >>> square(3.0).item()
    9.0
    """
    sparse = sparse_arguments.has_sparse(inputs, outputs)
    taken, given = sparse_arguments.tensors(inputs, outputs) if sparse else (inputs, outputs)
    request = requested(
        taken,
        given,
        name=name or "function",
        updates=updates,
        givens=givens,
        strict=rebuild_strict,
        # no product reads all parts of a sparse matrix
        on_unused_input="ignore" if sparse and on_unused_input is None else on_unused_input,
        random_key=random_key,
    )
    chosen = mode_named(mode, backend)
    compiled = Function(
        request,
        mode=chosen if plan is True else chosen.with_plan(plan),
        context=context,
        allow_downcast=allow_input_downcast,
        profile=profile if isinstance(profile, FunctionProfile) else FunctionProfile() if profile else None,
    )
    around: Any = sparse_arguments.SparseFunction(inputs, outputs, compiled) if sparse else compiled
    found: Function = around
    return found

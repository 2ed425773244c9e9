"""JAX's functions: what `jax.make_jaxpr` traces in, functions of tensors that compute the same out.

Branches, loops, inner functions and derivatives of the user's own are translated here; primitives stand in `RULES`.
JAX is imported here alone, and traces in double precision whatever its setting is.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, Final

import numpy as np

import consilience.tensor as pt
from consilience.engines.jax.read import arrays as arrays  # fills the table
from consilience.engines.jax.read import bits as bits  # fills the table
from consilience.engines.jax.read import indexing as indexing  # fills the table
from consilience.engines.jax.read import windows as windows  # fills the table
from consilience.engines.jax.read.primitives import RULES, rule
from consilience.engines.jax.read.random import DRAWS, moved, words
from consilience.engines.opaque import of_jax
from consilience.errors import DtypeError, GraphError, MissingPackageError, MissingRuleError, ShapeError
from consilience.ir import DTYPES, Node, constant_value
from consilience.ir.side_tables import describe
from consilience.ops.control import cond
from consilience.tensor.differentiation import undefined_grad

Tensors = list[Any]
_INSTEAD = " `opaque=True` calls JAX instead."
_WITHIN_JAX = "at a line of JAX's own"  # until a call of it is met
_HERE = os.path.dirname(__file__)
_DRAWS = " Draw beforehand, and give it the draws as arguments."


def from_jax(function: Callable[..., Any], *examples: Any, opaque: bool = False) -> Callable[..., Any]:
    """A function of JAX's arrays as a function of tensors.

    function   pure, of arrays or of nested dicts, lists and tuples of arrays
    examples   arguments as it takes them: their shapes and dtypes are fixed, their numbers do not matter
    opaque     nothing is translated: JAX computes values and first derivatives, called in Python by each evaluation,
               whose threads then wait for each other
    returns    a function of as many arguments in the same form, of tensors or numbers; its results have the form of
               those of `function`. They are differentiated, simplified and compiled as all tensors are; where JAX's
               function has derivatives of its own (`custom_jvp`, `custom_vjp`), these are taken
    raises     MissingRuleError for a primitive that has no translation, with the line that it comes from; DtypeError
               for a dtype that tensors do not hold; GraphError for branches, loops and shapes that depend on values;
               MissingPackageError without JAX; and the function itself ShapeError and DtypeError for other arguments
    """
    jax = jax_module()
    leaves, form = jax.tree_util.tree_flatten(examples)
    name = getattr(function, "__name__", "function")
    try:
        with jax.enable_x64(True):
            traced, shapes = jax.make_jaxpr(function, return_shape=True)(*examples)
    except (
        jax.errors.ConcretizationTypeError,
        jax.errors.NonConcreteBooleanIndexError,
        jax.errors.TracerArrayConversionError,
        jax.errors.TracerIntegerConversionError,
    ) as error:
        first = str(error).strip().split("\n", 1)[0]
        raise GraphError(
            f"JAX cannot trace `{name}`: {type(error).__name__}: {first} Branches and loops on values are written as "
            "`jnp.where`, `lax.cond` or `lax.while_loop`, functions of NumPy as those of `jnp`, and shapes do not "
            "depend on values."
        ) from error
    _, results = jax.tree_util.tree_flatten(shapes)
    wanted = [v.aval for v in traced.jaxpr.invars]
    if len(leaves) != len(wanted):
        raise GraphError("some of the example arguments are no arrays or numbers.")
    flat = functools.partial(_flat, jax, function, form)
    call = of_jax(jax, name, flat, wanted) if opaque else functools.partial(closed, traced)
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_flatten_with_path(examples)[0]]

    def translated(*arguments: Any) -> Any:
        given, own = jax.tree_util.tree_flatten(arguments)
        if own != form:
            raise GraphError(f"`{name}` was translated for arguments of the form {form}, got {own}.")
        tensors = [fitted(value, aval, name, path) for value, aval, path in zip(given, wanted, paths, strict=True)]
        return jax.tree_util.tree_unflatten(results, call(tensors))

    for aval, path in zip(wanted, paths, strict=True):
        if str(aval.dtype) not in DTYPES:
            raise DtypeError(_unheld(f"argument {path} of `{name}`", str(aval.dtype)))
    call([pt.tensor(dtype=str(aval.dtype), shape=aval.shape) for aval in wanted])  # what is missing is told now
    translated.__name__ = translated.__qualname__ = name
    translated.__doc__ = f"`{name}` of JAX, of tensors."
    return translated


def _unheld(what: str, dtype: str) -> str:
    """That something has a dtype which tensors do not hold."""
    hint = _DRAWS if dtype.startswith("key") else f" They hold {', '.join(DTYPES)}."
    return f"{what} has the dtype {dtype}, which tensors do not hold.{hint}"


def _flat(jax: Any, function: Callable[..., Any], form: Any, *leaves: Any) -> list[Any]:
    """Results of a function as a list, from arguments as a list."""
    return list(jax.tree_util.tree_leaves(function(*jax.tree_util.tree_unflatten(form, leaves))))


def jax_module() -> Any:
    """JAX with what reading its graphs needs; MissingPackageError where it is not installed, or too old."""
    try:
        import jax
        import jax.extend
    except ImportError as error:
        raise MissingPackageError("JAX is not there: pip install 'consilience[jax]'.") from error
    if not hasattr(jax, "enable_x64"):
        raise MissingPackageError(f"JAX {jax.__version__} is too old; 0.8 is the first that can be read.")
    return jax


def fitted(value: Any, aval: Any, name: str, path: str) -> Node:
    """An argument as a tensor of the traced type; raises ShapeError and DtypeError."""
    tensor = pt.as_tensor(value)
    if tuple(tensor.static_shape) != tuple(aval.shape):
        raise ShapeError(f"argument {path} of `{name}` was traced with the shape {aval.shape}, got {describe(tensor)}.")
    dtype = str(aval.dtype)
    if tensor.dtype != dtype and not np.can_cast(tensor.dtype, dtype, "same_kind"):
        raise DtypeError(f"argument {path} of `{name}` was traced as {dtype}, got {describe(tensor)}.")
    return tensor.astype(dtype)


def closed(traced: Any, arguments: Sequence[Any]) -> Tensors:
    """Values of a jaxpr with its constants."""
    return evaluated(traced.jaxpr, [_constant(c) for c in traced.consts], arguments)


def _constant(value: Any) -> Any:
    if isinstance(value, jax_module().core.Tracer):
        raise GraphError(
            "a function with a derivative of its own (`custom_vjp`, `custom_jvp`) reads a value from around it; give "
            "that to it as an argument."
        )
    dtype = getattr(value, "dtype", np.asarray(value).dtype)
    if str(dtype).startswith("key"):
        return pt.constant(np.asarray(jax_module().random.key_data(value)))
    return pt.constant(np.zeros(np.shape(value), bool) if dtype == _NO_TANGENT else np.asarray(value))


def evaluated(jaxpr: Any, constants: Sequence[Any], arguments: Sequence[Any]) -> Tensors:
    """Values of the results of a jaxpr."""
    known: dict[Any, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*constants, *arguments], strict=True))

    def read(variable: Any) -> Any:
        if hasattr(variable, "val"):
            return _constant(np.asarray(variable.val, variable.aval.dtype))
        return known[variable]

    for equation in jaxpr.eqns:
        found = _equation(equation, [read(v) for v in equation.invars])
        for variable, value in zip(equation.outvars, found, strict=True):
            known[variable] = _as_declared(value, variable.aval, equation)
    return [read(v) for v in jaxpr.outvars]


def _equation(equation: Any, operands: Tensors) -> Tensors:
    name = equation.primitive.name
    draw = DRAWS.get(name)
    own = RULES.get(name) if draw is None else lambda *values, **_: draw(jax_module(), closed, equation, list(values))
    if own is None:
        hint = _DRAWS if name.startswith(("random_", "rng_")) else _INSTEAD
        raise MissingRuleError(f"JAX's primitive `{name}` has no translation ({_where(equation)}).{hint}")
    for variable in equation.outvars:
        dtype = _dtype(variable.aval) if hasattr(variable.aval, "dtype") else "float64"
        if dtype not in DTYPES:
            raise DtypeError(_unheld(f"a result of JAX's primitive `{name}` ({_where(equation)})", dtype))
    try:
        avals = [v.aval for v in equation.invars]
        if draw is None and name not in _INNER and any(map(words, avals)):
            return moved(name, operands, avals, {**equation.params, "primitive": name})
        more = (
            {"equation": equation}
            if name in _WITH_DERIVATIVES
            else {"body": _body(equation)}
            if name in _BODIES
            else {}
        )
        found = own(*operands, **{**equation.params, "primitive": name, **more})
    except MissingRuleError as error:
        told, place = str(error), _where(equation)
        if _WITHIN_JAX in told:
            raise MissingRuleError(told.replace(_WITHIN_JAX, place)) from error
        if "(at " in told:
            raise
        raise MissingRuleError(f"{told.rstrip('.')} ({place}).{_INSTEAD}") from error
    return found if isinstance(found, list) else [found]


def _where(equation: Any) -> str:
    """The line of the function that an equation comes from."""
    from jax._src import source_info_util

    line = source_info_util.summarize(equation.source_info)
    return f"at {line}" if line and not line.startswith(_HERE) else _WITHIN_JAX


def _as_declared(value: Any, aval: Any, equation: Any) -> Any:
    """A result in the dtype that JAX gives it."""
    if type(aval).__name__ == "AbstractToken" or not hasattr(aval, "dtype"):
        return value
    dtype = _dtype(aval)
    if tuple(value.static_shape) != (*aval.shape, *words(aval)):
        raise GraphError(
            f"the translation of JAX's `{equation.primitive.name}` has the shape {value.static_shape} in place of "
            f"{aval.shape} ({_where(equation)}); please report this."
        )
    return value if value.dtype == dtype else value.astype(dtype)


def _dtype(aval: Any) -> str:
    """That of a tensor; words stand for keys, False for what has no derivative."""
    return "uint32" if words(aval) else "bool" if aval.dtype == _NO_TANGENT else str(aval.dtype)


def _listed(value: Any) -> Tensors:
    return list(value) if isinstance(value, list | tuple) else [value]


# ---- inner functions


_CALLS = (
    "jit", "pjit", "closed_call", "core_call", "checkpoint", "remat", "remat2", "custom_lin", "composite",
    "core_closed_call",
)  # fmt: skip
_WITH_DERIVATIVES = ("custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr")
# These take keys as they are.
_INNER = (*_CALLS, *_WITH_DERIVATIVES, "cond", "while", "scan", "random_wrap", "random_unwrap", "custom_linear_solve")


@rule(*_CALLS)
def _inlined(*operands: Any, **parameters: Any) -> Tensors:
    inner = parameters.get("jaxpr") or parameters["call_jaxpr"]
    return closed(inner, operands) if hasattr(inner, "consts") else evaluated(inner, [], operands)


@rule(*_WITH_DERIVATIVES)
def _with_own_derivative(*operands: Any, equation: Any, **parameters: Any) -> Tensors:
    """An inner function with the derivative that its author gave; it is traced when it is asked for."""
    inner = parameters.get("call_jaxpr") or parameters.get("fun_jaxpr")
    held = int(parameters.get("num_consts", 0))  # what the function holds, by which it has no derivatives
    operands = (*(x if constant_value(x) is not None else undefined_grad(x) for x in operands[:held]), *operands[held:])
    smooth = [i for i, x in enumerate(operands) if "float" in x.dtype and i >= held]

    if _WITHIN_DERIVATIVE.get():
        return closed(inner, operands)

    def plain(*values: Any) -> Any:
        found = closed(inner, values)
        return found[0] if len(found) == 1 else tuple(found)

    def forward(*values: Any) -> Any:
        return plain(*values), values

    def backward(values: Any, cotangents: Any) -> list[Any]:
        token = _WITHIN_DERIVATIVE.set(True)
        try:
            pulled = closed(_pullback(equation, smooth), [*values, *_listed(cotangents)])
        finally:
            _WITHIN_DERIVATIVE.reset(token)
        found = dict(zip(smooth, pulled, strict=True))
        found.update({i: pt.zeros_like(x) for i, x in enumerate(values[:held]) if "float" in x.dtype})
        return [found.get(i) for i in range(len(values))]

    wrapped = pt.custom_vjp(plain)
    wrapped.defvjp(forward, backward)
    found = wrapped(*operands)
    return _listed(found)


def _pullback(equation: Any, smooth: Sequence[int]) -> Any:
    """The jaxpr of cotangents of the smooth operands, from all operands and the cotangents of the results."""
    jax = jax_module()
    count = len(equation.invars)
    primitive = equation.primitive

    def applied(*values: Any) -> Any:
        bound = primitive.get_bind_params(equation.params)
        functions, parameters = bound if isinstance(bound, tuple) else ((), bound)
        found = primitive.bind(*functions, *values, **parameters)
        return list(found) if primitive.multiple_results else [found]

    def pulled(*everything: Any) -> Any:
        values, cotangents = list(everything[:count]), everything[count:]

        def of_smooth(*moved: Any) -> Any:
            own = list(values)
            for place, value in zip(smooth, moved, strict=True):
                own[place] = value
            return applied(*own)

        found, back = jax.vjp(of_smooth, *(values[i] for i in smooth))
        whole = [not jax.numpy.issubdtype(x.dtype, jax.numpy.inexact) for x in found]
        none = [np.zeros(x.shape, jax.dtypes.float0) for x in found]
        return back([n if w else c for w, n, c in zip(whole, none, cotangents, strict=True)])

    with jax.enable_x64(True):
        avals = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in (*equation.invars, *equation.outvars)]
        return jax.make_jaxpr(pulled)(*avals)


# JAX's dtype of tangents and cotangents of whole numbers (`float0`), which hold nothing.
_NO_TANGENT: Final = np.dtype([("float0", "V")])

# Derivatives of the user's own call the function itself again, whose further derivatives are ours.
_WITHIN_DERIVATIVE: ContextVar[bool] = ContextVar("within a derivative of JAX", default=False)


@rule("custom_linear_solve")
def _linear_solve(*operands: Any, const_lengths: Any, jaxprs: Any, **_: Any) -> Tensors:
    """The solution x of A x = b, whose derivative is another such solution (implicit function theorem)."""
    lengths = [const_lengths.matvec, const_lengths.vecmat, const_lengths.solve, const_lengths.transpose_solve]
    ends = np.cumsum([0, *lengths])
    of_product, _vecmat, of_solve, of_transposed = (operands[a:b] for a, b in itertools.pairwise(ends))
    right = operands[ends[-1] :]
    first, second, third = len(of_product), len(of_solve), len(of_transposed)

    def parts(values: Sequence[Any]) -> list[Sequence[Any]]:
        borders = np.cumsum([0, first, second, third, len(right)])
        return [values[a:b] for a, b in itertools.pairwise(borders)]

    def plain(*values: Any) -> Any:
        _, own, _, known = parts(values)
        return tuple(closed(jaxprs.solve, [*own, *known]))

    def forward(*values: Any) -> Any:
        solved = plain(*values)
        return solved, (*values, *solved)

    def backward(residuals: Any, cotangents: Any) -> list[Any]:
        cotangents = _listed(cotangents)
        values, found = residuals[: -len(right)], residuals[-len(right) :]
        product, _, transposed, _ = parts(values)
        back = closed(jaxprs.transpose_solve, [*transposed, *cotangents])
        cost: Any = sum(pt.sum(a * b) for a, b in zip(closed(jaxprs.matvec, [*product, *found]), back, strict=True))
        smooth = [i for i, x in enumerate(product) if "float" in x.dtype]
        slopes = pt.grad(-cost, [product[i] for i in smooth], disconnected_inputs="ignore")
        of = dict(zip(smooth, slopes, strict=True))
        return [*(of.get(i) for i in range(first)), *[None] * (second + third), *back]

    if jaxprs.transpose_solve is None:
        return closed(jaxprs.solve, [*of_solve, *right])
    wrapped = pt.custom_vjp(plain)
    wrapped.defvjp(forward, backward)
    return _listed(wrapped(*of_product, *of_solve, *of_transposed, *right))


# ---- bodies of two scalars

# Primitive -> parameters that hold its body and the constants of that.
_BODIES = {"reduce": ("jaxpr", ""), "reduce_window": ("jaxpr", "consts"), "scatter": ("update_jaxpr", "update_consts")}


def _body(equation: Any) -> Callable[[Tensors, Tensors], Tensors] | None:
    """The body for whole arrays; None where it is not there."""
    jax = jax_module()
    own, constants = (equation.params.get(name) for name in _BODIES[equation.primitive.name])
    if own is None:
        return None
    whole = own if hasattr(own, "consts") else jax.extend.core.ClosedJaxpr(own, constants or ())

    def body(left: Tensors, right: Tensors) -> Tensors:
        values = [*left, *right]
        traced = jax.extend.core.jaxpr_as_fun(whole)
        with jax.enable_x64(True):
            for _ in range(values[0].ndim):
                traced = jax.vmap(traced)
            forms = [jax.ShapeDtypeStruct(tuple(v.static_shape), v.dtype) for v in values]
            return closed(jax.make_jaxpr(traced)(*forms), values)

    return body


# ---- branches and loops


@rule("cond")
def _cond(index: Any, *operands: Any, branches: Any, **_: Any) -> Tensors:
    """One of several inner functions; an index beyond them takes the last or the first."""
    results = [closed(branch, operands) for branch in branches]
    if not results[0]:
        return []
    chosen = results[-1]
    for number in range(len(results) - 2, -1, -1):
        chosen = list(cond(pt.le(index, number), results[number], chosen))
    return chosen


@rule("platform_index")
def _platform_index(*, platforms: Any, **_: Any) -> Any:
    """Which of several variants for kinds of machines is taken: the one for processors, or the general one."""
    of_cpu = [i for i, names in enumerate(platforms) if names is None or "cpu" in names]
    return pt.constant(np.asarray(of_cpu[0], "int32"))


@rule("while")
def _while(*operands: Any, cond_jaxpr: Any, body_jaxpr: Any, cond_nconsts: int, body_nconsts: int, **_: Any) -> Tensors:
    of_test, of_body = operands[:cond_nconsts], operands[cond_nconsts : cond_nconsts + body_nconsts]
    initial = list(operands[cond_nconsts + body_nconsts :])
    many = cond_jaxpr.out_avals[0].ndim  # of a batch, each runs as long as its own condition holds

    def go_on(*values: Any) -> Any:
        return closed(cond_jaxpr, [*of_test, *values])[0]

    def step(*values: Any) -> Tensors:
        found = closed(body_jaxpr, [*of_body, *values])
        if not many:
            return found
        moves = go_on(*values)
        return [
            pt.where(moves[(..., *[None] * (new.ndim - many))], new, old)
            for new, old in zip(found, values, strict=True)
        ]

    return list(pt.while_loop(lambda *v: pt.any(go_on(*v)) if many else go_on(*v), step, initial))


@rule("scan")
def _scan(*operands: Any, jaxpr: Any, length: int, reverse: bool, num_consts: int, num_carry: int, **_: Any) -> Tensors:
    """Carried values after all steps, then what every step gave."""
    fixed, initial = operands[:num_consts], list(operands[num_consts : num_consts + num_carry])
    read = list(operands[num_consts + num_carry :])
    avals = jaxpr.out_avals
    if not length:
        return [*initial, *(pt.zeros((0, *aval.shape, *words(aval)), dtype=_dtype(aval)) for aval in avals[num_carry:])]

    def step(*values: Any) -> Any:
        return closed(jaxpr, [*fixed, *values[len(read) :], *values[: len(read)]])

    found = pt.scan(
        step,
        sequences=read,
        outputs_info=[*initial, *[None] * (len(avals) - num_carry)],
        n_steps=length,
        go_backwards=reverse,
        return_list=True,
        return_updates=False,
    )
    carried, traces = found[:num_carry], found[num_carry:]
    return [*(value[-1] for value in carried), *((trace[::-1] if reverse else trace) for trace in traces)]

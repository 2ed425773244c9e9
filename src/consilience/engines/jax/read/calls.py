"""JAX's primitives with functions inside: calls, derivatives of the user's own, bodies, branches and loops."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

import consilience.tensor as pt
from consilience.engines.jax.read.equations import (
    RULES,
    TAKE_KEYS,
    closed,
    evaluated,
    form_of,
    jax_module,
    traced,
)
from consilience.engines.reader.loops import first_of
from consilience.engines.reader.rules import Rule, Tensors, listed
from consilience.ir import constant_value
from consilience.tensor.differentiation import undefined_grad

# Derivatives of the user's own call the function itself again, whose further derivatives are ours.
_WITHIN_DERIVATIVE: ContextVar[bool] = ContextVar("within a derivative of JAX", default=False)

_CALLS = (
    "jit", "pjit", "closed_call", "core_call", "checkpoint", "remat", "remat2", "custom_lin", "composite",
    "core_closed_call",
)  # fmt: skip
_WITH_DERIVATIVES = ("custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr", "call_hi_primitive")
TAKE_KEYS.update((*_CALLS, *_WITH_DERIVATIVES, "cond", "while", "scan", "custom_linear_solve"))


@RULES(*_CALLS)
def _inlined(*operands: Any, **parameters: Any) -> Tensors:
    inner = parameters.get("jaxpr") or parameters["call_jaxpr"]
    return closed(inner, operands) if hasattr(inner, "consts") else evaluated(inner, [], operands)


def _expanded(primitive: Any, equation: Any) -> Any:
    """The jaxpr of a primitive, JAX's or the user's, that is written in those of lax."""
    jax = jax_module()
    tree = jax.tree_util

    def function(*values: Any) -> list[Any]:
        return list(tree.tree_leaves(primitive.expand(*tree.tree_unflatten(primitive.in_tree, values))))

    with jax.enable_x64(True):
        return jax.make_jaxpr(function)(*map(_described, equation.invars))


def _described(variable: Any) -> Any:
    """The shape and dtype that stand for a variable where JAX traces a function."""
    return jax_module().ShapeDtypeStruct(variable.aval.shape, variable.aval.dtype)


@RULES(*_WITH_DERIVATIVES)
def _with_own_derivative(*operands: Any, equation: Any, **parameters: Any) -> Tensors:
    """An inner function with the derivative that its author gave; it is traced when it is asked for."""
    inner = parameters.get("call_jaxpr") or parameters.get("fun_jaxpr") or _expanded(parameters["_prim"], equation)
    held = int(parameters.get("num_consts", 0))  # what the function holds, by which it has no derivatives
    operands = (*(x if constant_value(x) is not None else undefined_grad(x) for x in operands[:held]), *operands[held:])
    smooth = [i for i, x in enumerate(operands) if "float" in x.dtype and i >= held]

    if _WITHIN_DERIVATIVE.get() or not any("float" in str(v.aval.dtype) for v in equation.outvars):
        return closed(inner, operands)

    def plain(*values: Any) -> Any:
        found = closed(inner, values)
        return found[0] if len(found) == 1 else tuple(found)

    def forward(*values: Any) -> Any:
        return plain(*values), values

    def backward(values: Any, cotangents: Any) -> list[Any]:
        token = _WITHIN_DERIVATIVE.set(True)
        try:
            pulled = closed(_pullback(equation, smooth), [*values, *listed(cotangents)])
        finally:
            _WITHIN_DERIVATIVE.reset(token)
        found = dict(zip(smooth, pulled, strict=True))
        found.update({i: pt.zeros_like(x) for i, x in enumerate(values[:held]) if "float" in x.dtype})
        return [found.get(i) for i in range(len(values))]

    wrapped = pt.custom_vjp(plain)
    wrapped.defvjp(forward, backward)
    return listed(wrapped(*operands))


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
        return jax.make_jaxpr(pulled)(*map(_described, (*equation.invars, *equation.outvars)))


@RULES("custom_linear_solve")
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
        cotangents = listed(cotangents)
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
    return listed(wrapped(*of_product, *of_solve, *of_transposed, *right))


# ---- bodies of two scalars


def _with_body(rule: Rule, name: str, constants: str) -> Rule:
    """A rule that asks for the body, from parameters that hold it and its constants."""

    def call(*operands: Any, **parameters: Any) -> Any:
        return rule(*operands, body=_body(parameters[name], parameters.get(constants)), **parameters)

    return call


def _body(own: Any, constants: Any) -> Callable[[Tensors, Tensors], Tensors] | None:
    """The body for whole arrays; None where it is not there."""
    if own is None:
        return None
    jax = jax_module()
    whole = own if hasattr(own, "consts") else jax.extend.core.ClosedJaxpr(own, constants or ())

    def body(left: Tensors, right: Tensors) -> Tensors:
        function = jax.extend.core.jaxpr_as_fun(whole)
        for _ in range(left[0].ndim):
            function = jax.vmap(function)
        return traced(function, [*left, *right])

    return body


RULES["reduce"] = _with_body(RULES["reduce"], "jaxpr", "")
RULES["reduce_window"] = _with_body(RULES["reduce_window"], "jaxpr", "consts")
RULES["scatter"] = _with_body(RULES["scatter"], "update_jaxpr", "update_consts")


# ---- branches and loops


@RULES("cond")
def _cond(index: Any, *operands: Any, branches: Any, **_: Any) -> Tensors:
    """One of several inner functions; an index beyond them takes the last or the first."""
    tests = [pt.le(index, number) for number in range(len(branches) - 1)]
    return first_of(tests, [closed(branch, operands) for branch in branches])


@RULES("platform_index")
def _platform_index(*, platforms: Any, **_: Any) -> Any:
    """Which of several variants for kinds of machines is taken: the one for processors, or the general one."""
    of_cpu = [i for i, names in enumerate(platforms) if names is None or "cpu" in names]
    return pt.constant(np.asarray(of_cpu[0], "int32"))


@RULES("while")
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


@RULES("scan")
def _scan(*operands: Any, jaxpr: Any, length: int, reverse: bool, **parameters: Any) -> Tensors:
    """Carried values after all steps, then what every step gave."""
    if "ft_in" in parameters:  # since JAX 0.9
        fixed, initial, read = map(list, parameters["ft_in"].update(operands).unpack())
    else:
        ends = np.cumsum([0, parameters["num_consts"], parameters["num_carry"]]).tolist()
        fixed, initial, read = (list(operands[a:b]) for a, b in itertools.pairwise([*ends, None]))
    num_carry = len(initial)
    avals = jaxpr.out_avals
    if not length:
        forms = [form_of(aval) for aval in avals[num_carry:]]
        return [*initial, *(pt.zeros((0, *form.shape), dtype=form.dtype) for form in forms if form is not None)]

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

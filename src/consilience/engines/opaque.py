"""Functions of JAX and PyTorch that are called as they are, with their own derivatives: nothing is translated.

A function with example arguments in; its flat form, on arrays, as an operation of the graph out. Each call runs in
Python with the interpreter's lock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

import consilience.tensor as pt
from consilience.errors import DtypeError
from consilience.ir import DTYPES

Array: TypeAlias = npt.NDArray[Any]
Values: TypeAlias = Callable[..., Sequence[Any]]
Operation: TypeAlias = Callable[[Sequence[Any]], list[Any]]


def operation(name: str, examples: Sequence[Any], results: Sequence[Any], values: Values, slopes: Values) -> Operation:
    """An operation of tensors.

    `examples`, `results`: what has the shape and dtype of each argument and result. `values`: of arrays: an array for
    each result. `slopes`: of arrays and of a cotangent for each result: a cotangent for each argument, None for zeros.
    """
    forms = [[(str(x.dtype).removeprefix("torch."), tuple(x.shape)) for x in side] for side in (examples, results)]
    for dtype, _ in (*forms[0], *forms[1]):
        if dtype not in DTYPES:
            raise DtypeError(
                f"`{name}` takes or gives {dtype}, which tensors do not hold; they hold {', '.join(DTYPES)}."
            )
    given, wanted = ([pt.tensor(dtype=dtype, shape=shape) for dtype, shape in side] for side in forms)

    def run(*arrays: Array) -> Any:
        found = [np.asarray(v, dtype) for v, (dtype, _) in zip(values(*arrays), forms[1], strict=True)]
        return found[0] if len(found) == 1 else found

    run.__name__ = name
    made = pt.wrap_py(given, wanted, gradient=slopes)(run)

    def call(tensors: Sequence[Any]) -> list[Any]:
        found = made(*tensors)
        return list(found) if len(wanted) != 1 else [found]

    return call


def of_jax(jax: Any, name: str, flat: Callable[..., Any], examples: Sequence[Any]) -> Operation:
    """`flat` takes arrays of JAX and gives a list of them."""
    zero = jax.dtypes.float0
    with jax.enable_x64(True):
        results = jax.eval_shape(flat, *examples)

    def pulled_back(arrays: Any, cotangents: Any) -> Any:
        return jax.vjp(flat, *arrays)[1](cotangents)

    compiled, pullback = jax.jit(flat), jax.jit(pulled_back)

    def values(*arrays: Array) -> list[Any]:
        with jax.enable_x64(True):
            return [np.array(v) for v in compiled(*arrays)]

    def slopes(*arrays: Array) -> list[Any]:
        own, given = arrays[: len(examples)], arrays[len(examples) :]
        cotangents = [
            np.asarray(c, r.dtype) if np.dtype(r.dtype).kind in "fc" else np.zeros(r.shape, zero)
            for c, r in zip(given, results, strict=True)
        ]
        with jax.enable_x64(True):
            return [None if g.dtype == zero else np.array(g) for g in pullback(own, cotangents)]

    return operation(name, examples, results, values, slopes)


def of_torch(torch: Any, name: str, flat: Callable[..., Any], examples: Sequence[Any]) -> Operation:
    """`flat` takes tensors of PyTorch and gives a list of them."""
    with torch.no_grad():
        results = [r.detach() for r in flat(*(x.detach() for x in examples))]

    def values(*arrays: Array) -> list[Any]:
        with torch.no_grad():
            return [r.cpu().numpy() for r in flat(*(torch.from_numpy(np.array(a)) for a in arrays))]

    def slopes(*arrays: Array) -> list[Any]:
        own = [torch.from_numpy(np.array(a)) for a in arrays[: len(examples)]]
        moved = [x.requires_grad_() for x in own if x.is_floating_point() or x.is_complex()]
        with torch.enable_grad():
            pairs = zip(flat(*own), arrays[len(examples) :], strict=True)
            smooth = [(r, torch.from_numpy(np.array(c))) for r, c in pairs if r.requires_grad]
            found = iter(
                torch.autograd.grad([r for r, _ in smooth], moved, [c for _, c in smooth], allow_unused=True)
                if smooth
                else [None] * len(moved)
            )
        given = [next(found) if x.requires_grad else None for x in own]
        return [None if g is None else g.cpu().numpy() for g in given]

    return operation(name, examples, results, values, slopes)

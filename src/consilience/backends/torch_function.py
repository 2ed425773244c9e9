"""Compiled functions on PyTorch's tensors, with the derivatives of this package.

A function and its pullback in; a callable that PyTorch's autograd takes in out. Machine code computes: arrays of the
processor cross without a copy, those of other devices go there and back. PyTorch is imported here alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from consilience.errors import MissingPackageError
from consilience.ir import FLOATS, Node, numpy_dtype

Compiled = Callable[..., list[Any]]  # arrays in, arrays out
Pullback = Callable[[tuple[tuple[int, ...], ...]], Any]


def imported() -> Any:
    """PyTorch.

    raises   MissingPackageError without it
    """
    try:
        import torch
    except ImportError as error:
        raise MissingPackageError("PyTorch is not there: pip install 'consilience[torch]'.") from error
    return torch


def on_tensors(
    compiled: Compiled, inputs: Sequence[Node], outputs: Sequence[Node], pullback: Pullback
) -> Callable[..., tuple[Any, ...]]:
    """A function of tensors in the order of the inputs, which returns one for each output, on the device of the inputs.

    compiled   the values
    pullback   for shapes of the inputs: a function of inputs and cotangents of the float outputs, as `Function.torch`
               is one, that gives cotangents of the float inputs; it is asked for when a derivative is
    """
    torch = imported()
    kinds = [getattr(torch, str(numpy_dtype(node.dtype))) for node in inputs]
    moved = [i for i, node in enumerate(inputs) if node.dtype in FLOATS]
    smooth = [i for i, node in enumerate(outputs) if node.dtype in FLOATS]

    base: Any = torch.autograd.Function

    class TorchCall(base):  # type: ignore[misc]  # PyTorch may not be there
        @staticmethod
        def forward(*tensors: Any) -> tuple[Any, ...]:
            found = compiled(*(t.detach().cpu().numpy() for t in tensors))
            device = tensors[0].device if tensors else None
            return tuple(torch.from_numpy(np.asarray(value)).to(device) for value in found)

        @staticmethod
        def setup_context(ctx: Any, tensors: Any, results: Any) -> None:
            ctx.save_for_backward(*tensors)
            ctx.mark_non_differentiable(*(r for i, r in enumerate(results) if i not in smooth))

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> tuple[Any, ...]:
            tensors = ctx.saved_tensors
            slopes = pullback(tuple(tuple(t.shape) for t in tensors))
            found = dict(zip(moved, slopes(*tensors, *(cotangents[i] for i in smooth)), strict=True))
            return tuple(found.get(i) for i in range(len(tensors)))

    def call(*values: Any) -> tuple[Any, ...]:
        given = zip(values, kinds, strict=True)
        found: tuple[Any, ...] = TorchCall.apply(*(torch.as_tensor(v).to(kind) for v, kind in given))
        return found

    return call


def log_density(evaluate: Callable[[Any], tuple[float, Any]], dimension: int) -> Callable[[Any], Any]:
    """A log density of a position (dimension,) as a tensor; its gradient is computed with it, and has none itself."""
    torch = imported()

    base: Any = torch.autograd.Function

    class TorchDensity(base):  # type: ignore[misc]  # PyTorch may not be there
        @staticmethod
        def forward(ctx: Any, position: Any) -> Any:
            value, gradient = evaluate(position.detach().cpu().numpy())
            ctx.gradient = torch.from_numpy(np.array(gradient)).to(position.device)
            return torch.tensor(value, dtype=torch.float64, device=position.device)

        @staticmethod
        @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]  # PyTorch may not be there
        def backward(ctx: Any, cotangent: Any) -> Any:
            return cotangent * ctx.gradient

    return lambda position: TorchDensity.apply(torch.as_tensor(position).to(torch.float64))

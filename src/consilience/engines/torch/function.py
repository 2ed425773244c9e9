"""Compiled functions on PyTorch's tensors, with the derivatives of this package.

A function and its pullback in; a callable that PyTorch's autograd takes in out. Where machine code computes, tensors of
the processor cross without a copy, and those of other devices go there and back.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from consilience.backends.function import Function
from consilience.backends.function import function as compiled
from consilience.backends.pure import PureFunction, opened
from consilience.errors import MissingPackageError
from consilience.ir import FLOATS, Node, numpy_dtype, substitute, tensor_input

if TYPE_CHECKING:
    from consilience.model.log_density import ModelDensity

Compute = Callable[..., Sequence[Any]]  # tensors in, tensors out
Shapes = tuple[tuple[int, ...], ...]
Pullback = Callable[[Shapes], Any]


def imported() -> Any:
    """PyTorch.

    Raises MissingPackageError without it.
    """
    try:
        import torch
    except Exception as error:
        raise MissingPackageError.of("PyTorch", "pip install 'consilience[torch]'", error) from error
    return torch


def of_function(function: Function) -> Callable[..., Any]:
    """`Function.torch`."""
    imported()
    pure = PureFunction(function)

    @functools.cache
    def slopes(shapes: Shapes) -> Any:
        return pure.pullback(shapes).torch

    compute = on_device(pure) if function.mode.backend == "torch" else through_arrays(pure.computed)
    return pure.called(on_tensors(compute, function.inputs, function.outputs, slopes))


def module_of(function: Function) -> Any:
    """`Function.torch_module`."""
    imported()
    whole, parameters = opened(function)
    return module(whole.torch, function._in_order, parameters)


def of_density(density: ModelDensity) -> Callable[[Any], Any]:
    """`ModelDensity.torch`."""
    imported()

    @functools.cache
    def slope() -> Callable[[Any], Any]:
        inputs, outputs, data = density.program()
        leaves = {slot: tensor_input(slot.dtype, slot.static_shape, f"data {i}") for i, slot in enumerate(data)}
        (slopes,) = substitute(outputs[1:], leaves)
        whole = compiled([*inputs, *leaves.values()], slopes, on_unused_input="ignore").torch
        return lambda position: whole(position, *map(np.array, data.values()))

    return log_density(density, slope)


def on_device(pure: PureFunction) -> Compute:
    """The function of tensors that PyTorch computes on their device."""
    from consilience.engines.torch.emit.meanings import to_tensor  # PyTorch is there
    from consilience.engines.torch.emit.program import on_device as program

    @functools.cache
    def made(*shapes: tuple[int, ...]) -> Callable[..., list[Any]]:
        return program(*pure.at(shapes))

    def compute(*tensors: Any) -> list[Any]:
        device = tensors[0].device if tensors else None
        return made(*(tuple(t.shape) for t in tensors))(*tensors, *(to_tensor(slot, device) for slot in pure.slots))

    return compute


def through_arrays(compiled: Callable[..., list[Any]]) -> Compute:
    """A function of tensors from one of arrays: results are on the device of the first tensor."""
    torch = imported()

    def compute(*tensors: Any) -> list[Any]:
        device = tensors[0].device if tensors else None
        return [torch.from_numpy(np.asarray(v)).to(device) for v in compiled(*(t.cpu().numpy() for t in tensors))]

    return compute


def on_tensors(
    compute: Compute, inputs: Sequence[Node], outputs: Sequence[Node], pullback: Pullback
) -> Callable[..., tuple[Any, ...]]:
    """A function of tensors in the order of the inputs, which returns one for each output, on the device of the inputs.

    `compute`: the values, from detached tensors. `pullback`: for shapes of the inputs: a function of inputs and
    cotangents of the float outputs, as `Function.torch` is one, that gives cotangents of the float inputs; it is asked
    for when a derivative is.
    """
    torch = imported()
    kinds = [getattr(torch, str(numpy_dtype(node.dtype))) for node in inputs]
    moved = [i for i, node in enumerate(inputs) if node.dtype in FLOATS]
    smooth = [i for i, node in enumerate(outputs) if node.dtype in FLOATS]

    base: Any = torch.autograd.Function

    class TorchCall(base):  # type: ignore[misc]  # PyTorch may not be there
        @staticmethod
        def forward(*tensors: Any) -> tuple[Any, ...]:
            return tuple(compute(*(t.detach() for t in tensors)))

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

        @staticmethod
        def vmap(info: Any, in_dims: Sequence[int | None], *tensors: Any) -> tuple[Any, Any]:
            """One call for each element of the batch."""
            rows = [[t if d is None else t.select(d, i) for t, d in zip(tensors, in_dims, strict=True)]
                    for i in range(info.batch_size)]  # fmt: skip
            found = zip(*(TorchCall.apply(*row) for row in rows), strict=True)
            return tuple(torch.stack(each) for each in found), (0,) * len(outputs)

    def call(*values: Any) -> tuple[Any, ...]:
        given = zip(values, kinds, strict=True)
        found: tuple[Any, ...] = TorchCall.apply(*(torch.as_tensor(v).to(kind) for v, kind in given))
        return found

    return call


def module(
    run: Callable[..., Any],
    in_order: Callable[[Sequence[Any], dict[str, Any]], Sequence[Any]],
    parameters: Sequence[tuple[str | None, Any]],
) -> Any:
    """A `torch.nn.Module` that calls a function of tensors with its parameters as last arguments.

    `in_order`: the other arguments from those of a call, by position and by name. `parameters`: names and values.
    """
    torch = imported()

    base: Any = torch.nn.Module

    class CompiledModule(base):  # type: ignore[misc]  # PyTorch may not be there
        def __init__(self) -> None:
            super().__init__()
            names = []
            for i, (name, value) in enumerate(parameters):
                free = (name or f"shared_{i}").replace(".", "_")
                while hasattr(self, free):  # two of one name, or an attribute of every module
                    free += "_"
                names.append(free)
                self.register_parameter(free, torch.nn.Parameter(torch.tensor(value)))
            self._names = tuple(names)

        def forward(self, *values: Any, **named: Any) -> Any:
            return run(*in_order(values, named), *(getattr(self, name) for name in self._names))

    return CompiledModule()


def log_density(
    evaluate: Callable[[Any], tuple[float, Any]], slope: Callable[[], Callable[[Any], Any]]
) -> Callable[[Any], Any]:
    """A log density of a position as a tensor.

    `evaluate`: value and gradient together, of an array. `slope`: the gradient as a function of a tensor with
    derivatives of its own; asked for when one is wanted.
    """
    torch = imported()

    base: Any = torch.autograd.Function

    class TorchDensity(base):  # type: ignore[misc]  # PyTorch may not be there
        @staticmethod
        def forward(ctx: Any, position: Any) -> Any:
            value, gradient = evaluate(position.detach().cpu().numpy())
            ctx.save_for_backward(position)
            ctx.gradient = torch.from_numpy(np.array(gradient)).to(position.device)
            return torch.tensor(value, dtype=torch.float64, device=position.device)

        @staticmethod
        def backward(ctx: Any, cotangent: Any) -> Any:
            if not torch.is_grad_enabled():
                return cotangent * ctx.gradient
            (position,) = ctx.saved_tensors
            return cotangent * slope()(position)

    return lambda position: TorchDensity.apply(torch.as_tensor(position).to(torch.float64))

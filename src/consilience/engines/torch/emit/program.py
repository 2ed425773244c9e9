"""A static graph as a program of PyTorch.

Leaves and expressions in; an executable (`registry.Executable`) or a function of tensors out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from consilience.backends import reference
from consilience.backends.callback import Callback
from consilience.engines.torch.emit import arrays as arrays  # enters its rows
from consilience.engines.torch.emit import control as control  # enters its rows
from consilience.engines.torch.emit import elementwise as elementwise  # enters its rows
from consilience.engines.torch.emit.meanings import NoValueError, TorchEvaluation, to_numpy, to_tensor
from consilience.errors import LinearAlgebraError
from consilience.ir import Node
from consilience.ir.side_tables import describe

Array = npt.NDArray[Any]


def on_device(leaves: Sequence[Node], outputs: Sequence[Node]) -> Callable[..., list[Any]]:
    """A function of tensors in the order of the leaves, all on one device: values of the outputs, on that device.

    Raises Exception: what the function itself raises where there is no value: `ExecutionError`s with NumPy's words.
    """

    def values(*given: Any) -> list[Any]:
        device = given[0].device if given else None
        try:
            with torch.no_grad():
                return TorchEvaluation(dict(zip(leaves, given, strict=True)), device).of(outputs)
        except NoValueError:
            pass
        reference.evaluate(outputs, dict(zip(leaves, map(to_numpy, given), strict=True)))
        where = ", ".join(describe(o) for o in outputs[:3])
        raise LinearAlgebraError(f"a matrix is singular or not positive definite in the computation of {where}.")

    return values


class TorchProgram:
    """A graph at fixed lengths (`registry.Executable`)."""

    def __init__(
        self,
        inputs: Sequence[Node],
        outputs: Sequence[Node],
        data: Sequence[Node] = (),
        *,
        level: int = 2,
        origins: Sequence[Node] | None = None,
    ) -> None:
        self.inputs, self.outputs, self.data = tuple(inputs), tuple(outputs), tuple(data)
        self.run = on_device((*self.inputs, *self.data), self.outputs)

    def bind(self, values: Sequence[Array] = ()) -> BoundTorchProgram:
        """With its data."""
        return BoundTorchProgram(self, [to_tensor(v, None) for v in values])


class BoundTorchProgram(Callback):
    """The same with values of its data; native code calls it back."""

    def __init__(self, program: TorchProgram, values: Sequence[Any]) -> None:
        super().__init__(program.inputs, program.outputs, {})
        self._program, self._values = program, values

    def __call__(self, arrays: Sequence[Array], /) -> list[Array]:
        found = self._program.run(*(to_tensor(a, None) for a in arrays), *self._values)
        return [np.array(to_numpy(value)) for value in found]

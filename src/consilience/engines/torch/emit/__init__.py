"""The PyTorch backend: a graph run op by op on tensors, on the device where they are.

A graph in, an executable or a function of tensors out. Ops without a meaning in PyTorch are computed by NumPy on the
processor. Imported when it is asked for; PyTorch is an extra.
"""

from __future__ import annotations

from collections.abc import Sequence

from consilience.backends import llvm
from consilience.backends.registry import Executable
from consilience.backends.shapes import Lengths
from consilience.engines.torch.function import imported
from consilience.ir import Node
from consilience.lower.specialise import specialise

imported()

from consilience.engines.torch.emit.program import TorchProgram  # noqa: E402  (where PyTorch is there)


def compile(
    inputs: Sequence[Node], outputs: Sequence[Node], lengths: Lengths, data: Sequence[Node] = (), *, level: int = 2
) -> Executable:
    """The graph as run by PyTorch (`registry.Compile`); there is no level to choose."""
    results, memo = specialise([*outputs, *inputs, *data], lengths)
    leaves, bound = [memo[i] for i in inputs], [memo[d] for d in data]
    return llvm.staged(leaves, results[: len(outputs)], bound, level=level, origins=outputs, make=TorchProgram)

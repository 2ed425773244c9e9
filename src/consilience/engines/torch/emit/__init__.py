"""The PyTorch backend: a graph run op by op on tensors, on the device where they are.

A graph in, an executable or a function of tensors out. Ops without a meaning in PyTorch are computed by NumPy on the
processor. Imported when it is asked for; PyTorch is an extra.
"""

from __future__ import annotations

from consilience.backends.registry import Compile
from consilience.engines.emitter.table import compiler
from consilience.engines.torch.function import imported

imported()

from consilience.engines.torch.emit.program import TorchProgram  # noqa: E402  (where PyTorch is there)

compile: Compile = compiler(TorchProgram)

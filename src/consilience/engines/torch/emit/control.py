"""Branches, loops and calls in PyTorch: Python's own, since operations run when they are met.

Operands of a region in, its results out. One branch is computed, and as many steps of a loop as there are.
"""

from __future__ import annotations

from typing import Any

import torch

from consilience.engines.torch.emit.meanings import TorchEvaluation, dtype_of, means
from consilience.lower.views import static
from consilience.ops import Cond
from consilience.ops.call import FunctionCall
from consilience.ops.loop import Scan


@means(FunctionCall)
def _call(run: TorchEvaluation, node: Any, *operands: Any) -> Any:
    return run.inside(node.op.body, operands)


@means(Cond)
def _cond(run: TorchEvaluation, node: Any, condition: Any, *operands: Any) -> Any:
    return run.inside(node.op.then if bool(condition) else node.op.otherwise, operands)


@means(Scan)
def _scan(run: TorchEvaluation, node: Any, limit: Any, *operands: Any) -> Any:
    op, body = node.op, node.op.body
    carries = list(operands[: op.carried])
    sequences, constants = operands[op.carried : op.carried + op.sequences], operands[op.carried + op.sequences :]
    traces = [
        torch.zeros(static((op.length, *e.static_shape)), dtype=dtype_of(e), device=run.device) for e in op.elements
    ]
    count, done, ended = int(limit), 0, False
    while done < count and not ended:
        place = count - 1 - done if op.reverse else done
        found = run.inside(body, (*carries, *(s[place] for s in sequences), *constants))
        carries = found[: op.carried]
        for trace, element in zip(traces, found[op.carried : op.carried + op.traces], strict=True):
            trace[place] = element
        ended = op.until and bool(found[-1])
        done += 1
    return [torch.tensor(done, device=run.device), *carries, *traces]

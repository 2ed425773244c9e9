"""Shapes, members of tuples and checks, the same in all engines of arrays."""

from __future__ import annotations

from typing import Any

from consilience.engines.emitter.table import SHARED
from consilience.errors import Status
from consilience.lower.views import static
from consilience.ops import Assume, BroadcastTo, ExpandDims, Require, Reshape, Squeeze, Transpose
from consilience.ops.control import Item
from consilience.ops.parameter_check import Asserted, ParameterCheck
from consilience.ops.structured import Kronecker


@SHARED(Reshape, ExpandDims, Squeeze)
def _same_elements(run: Any, node: Any, x: Any) -> Any:
    return x.reshape(static(node.static_shape))


@SHARED(Assume, Require)
def _itself(run: Any, node: Any, x: Any) -> Any:
    return x


@SHARED(Transpose)
def _transpose(run: Any, node: Any, x: Any) -> Any:
    return run.xp.permute_dims(x, node.op.axes)


@SHARED(BroadcastTo)
def _broadcast_to(run: Any, node: Any, x: Any) -> Any:
    return run.xp.broadcast_to(x, static(node.op.shape))


@SHARED(Kronecker)
def _kronecker(run: Any, node: Any, a: Any, b: Any) -> Any:
    product = a[..., :, None, :, None] * b[..., None, :, None, :]
    return product.reshape(*product.shape[:-4], a.shape[-2] * b.shape[-2], a.shape[-1] * b.shape[-1])


@SHARED(Item)
def _item(run: Any, node: Any, members: Any) -> Any:
    return members[node.op.position]


@SHARED(ParameterCheck, Asserted)
def _checked(run: Any, node: Any, value: Any, valid: Any, *parameter: Any) -> Any:
    run.failed(~valid, Status.FACTORISATION_FAILED)
    return value

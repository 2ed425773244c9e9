"""`pt.random`: explicit keys and draws. More distributions come later."""

from __future__ import annotations

from consilience.ir import Node
from consilience.ops.elementwise import TensorLike, apply
from consilience.ops.random import draw, fold_in, split

__all__ = ["fold_in", "normal", "split", "uniform"]


def uniform(key: TensorLike, shape: object = (), low: TensorLike = 0.0, high: TensorLike = 1.0) -> Node:
    """Uniform draws in the open interval (low, high)."""
    return apply("add", low, apply("mul", apply("sub", high, low), draw("random_uniform", key, shape)))


def normal(key: TensorLike, shape: object = (), loc: TensorLike = 0.0, scale: TensorLike = 1.0) -> Node:
    """Normal draws with mean `loc` and standard deviation `scale`."""
    return apply("add", loc, apply("mul", scale, draw("random_normal", key, shape)))

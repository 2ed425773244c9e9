"""Branches of other programs: tests and the results of all branches in, those of the branch that is taken, out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from consilience.engines.reader.rules import Tensors
from consilience.ir import constant_value
from consilience.ops.control import cond


def one_of(test: Any, then: Tensors, otherwise: Tensors) -> Tensors:
    """Results of one of two branches."""
    if not then:
        return []
    known = constant_value(test)
    if known is not None:
        return then if known else otherwise
    return list(cond(test, then, otherwise))


def first_of(tests: Sequence[Any], branches: Sequence[Tensors]) -> Tensors:
    """Results of the first branch whose test holds; of the last, which has none, where no test does."""
    found = branches[-1]
    for test, results in zip(tests[::-1], branches[-2::-1], strict=True):
        found = one_of(test, results, found)
    return found

"""What no element takes is not computed, and what is chosen is the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.lower.choices import sides_of_choices
from consilience.lower.loop_kernel import Instruction, Leaf, LoopKernel, StoreRoot

PROGRAMS: dict[str, Any] = {
    "second side": lambda k, s, t: pt.switch(k, pt.gammaln(s), t),
    "third side": lambda k, s, t: pt.switch(k, 1.0, pt.gammaln(s) * pt.digamma(t)),
    "both sides": lambda k, s, t: pt.switch(k, pt.gammaln(s), pt.digamma(t)),
    "a choice in a choice": lambda k, s, t: pt.switch(k, pt.switch(s > t, pt.gammaln(s), 2.0), pt.erfinv(t / (1 + t))),
    "a side that others need": lambda k, s, t: pt.switch(k, pt.gammaln(s), 0.0) + pt.gammaln(s) * t,
    "a condition of the side": lambda k, s, t: pt.switch(pt.gammaln(s) > 0.1 * k, pt.gammaln(s), pt.digamma(t)),
    "what is not taken is no number": lambda k, s, t: pt.switch(k, pt.gammaln(-pt.floor(s)), pt.log(-t) * 0.0 + s),
    "integers": lambda k, s, t: pt.switch(k, pt.cast(pt.gammaln(s) * 10, "int64"), 3),
    "a sum": lambda k, s, t: pt.sum(pt.switch(k, pt.gammaln(s), pt.gammaln(t))),
    "readings": lambda k, s, t: pt.switch(k, pt.gammaln(s[pt.cast(t, "int64") % 3]), s),
    "one condition for all": lambda k, s, t: pt.switch(k[0], pt.gammaln(s), t),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("length", [3, 8, 45])
def test_choices_of_dear_values(name: str, length: int) -> None:
    rng = np.random.default_rng(length)
    mask, s, t = pt.bvector("mask"), pt.dvector("s"), pt.dvector("t")
    first, second = rng.gamma(2.0, size=length), rng.gamma(2.0, size=length)
    of: Any = PROGRAMS[name](mask > 0, s, t)
    f = pm.function([mask, s, t], of, on_unused_input="ignore")
    g = pm.function([mask, s, t], of, mode="reference", on_unused_input="ignore")
    for share in (0.0, 0.1, 0.6, 1.0):
        given = (rng.random(length) < share).astype("int8")
        with np.errstate(all="ignore"):
            expected = g(given, first, second)
        np.testing.assert_allclose(f(given, first, second), expected, rtol=1e-12, err_msg=f"{share}")


def test_what_is_left_to_a_choice() -> None:
    """Dear instructions that one side alone needs: not those of other axes, of roots, or that read at places."""
    dear, sum_ = ("gammaln", "float64"), ("add", "float64")
    body = (
        Instruction(*dear, (("leaf", 0),)),  # 0: for one side alone
        Instruction(*sum_, (("body", 0), ("leaf", 1))),  # 1: the same
        Instruction(*dear, (("leaf", 1),)),  # 2: for the other side, and for a root
        Instruction("where", "float64", (("leaf", 2), ("body", 1), ("body", 2))),
    )
    leaves = tuple(Leaf(number, dtype, (1,)) for number, dtype in enumerate(("float64", "float64", "bool")))
    roots = (StoreRoot(("body", 3), 3, "float64", (1,)), StoreRoot(("body", 2), 4, "float64", (1,)))
    kernel = LoopKernel((10,), leaves, (), body, roots, 5)
    assert sides_of_choices(kernel, [1, 1, 1, 1], 1) == {3: ((0, 1), ())}
    assert sides_of_choices(kernel, [0, 1, 1, 1], 1) == {}

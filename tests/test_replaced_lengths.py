"""What is put in the place of an input may have other lengths: loops, which are closed, know them too."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import ShapeError
from consilience.graph import clone_replace
from consilience.ir import Node
from consilience.tensor import optimize

X, Y, Z = pt.vector("x"), pt.vector("y"), pt.vector("z")
VALUE = np.arange(3.0)
LOOPS: dict[str, Callable[[], Node]] = {
    "matrix outside": lambda: pm.scan(lambda v, a: a @ v, outputs_info=[X], non_sequences=[pt.outer(X, X)], n_steps=3)[
        0
    ],
    "matrix of a step": lambda: pm.scan(lambda v: pt.outer(v, v) @ v, outputs_info=[X], n_steps=3)[0],
    "length in a step": lambda: pm.scan(lambda v: pt.eye(v.shape[0]) @ v, outputs_info=[X], n_steps=3)[0],
    "minimum": lambda: optimize.minimize(((X - 1) ** 2).sum(), X)[0],
}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize(
    "other",
    [pt.constant(VALUE), Y, 1.0 * pt.tensor("y", shape=(3,)), Z[1:]],
    ids=["constant", "input", "known", "part"],
)
def test_loops_of_an_input_are_those_of_what_replaces_it(name: str, other: Node) -> None:
    loop = LOOPS[name]()
    found = clone_replace(loop, {X: other})
    given = {leaf: np.r_[9.0, VALUE] if leaf is Z else VALUE for leaf in pm.graph.explicit_graph_inputs(found)}
    assert X not in given
    np.testing.assert_array_equal(found.eval(given), loop.eval({X: VALUE}))


def test_an_input_can_be_replaced_by_a_part_of_itself() -> None:
    """Lengths are replaced all at once."""
    loop = LOOPS["length in a step"]()
    assert clone_replace(loop, {X: X[1:]}).eval({X: VALUE}).tolist() == [[1.0, 2.0]] * 3


def test_inputs_of_one_length_stay_of_one_length() -> None:
    """One that stays is asked for the length of what replaces the other; two that disagree are an error."""
    other = pt.tensor("other", shape=X.static_shape)
    found = clone_replace(X + other, {X: pt.constant(VALUE)})
    assert found.eval({other: VALUE}).tolist() == [0.0, 2.0, 4.0]
    with pytest.raises(ShapeError):
        found.eval({other: np.ones(4)})
    with pytest.raises(ShapeError):
        clone_replace(X + other, {X: pt.constant(VALUE), other: pt.constant(np.ones(4))}).eval()

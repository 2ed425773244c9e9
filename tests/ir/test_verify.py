"""The verifier finds every way in which a graph can break its laws."""

from __future__ import annotations

from typing import Any

import pytest

import consilience.tensor as pt
from consilience.errors import VerificationError
from consilience.ir import Node, Op, Parameter, Region, TensorType, constant, tensor_input, verify
from consilience.ops import Cond, Elementwise


def forged(op: Op, inputs: tuple[Node, ...], of: Any) -> Node:
    """A node made without its constructor."""
    node = object.__new__(Node)
    for name, value in (("op", op), ("inputs", inputs), ("type", of)):
        object.__setattr__(node, name, value)
    return node


def test_what_users_build_is_well_formed() -> None:
    """Ordinary graphs, with branches."""
    x = pt.vector("x")
    verify([pt.cond(x.sum() > 0, pt.exp(x).sum(), x[0]), x * 2])


def test_a_wrong_type_is_shown_below_its_line() -> None:
    """The program, a mark, the complaint."""
    x = tensor_input("float64", (3,), "x")
    wrong = forged(Elementwise("exp"), (x,), TensorType("float64", (4,)))
    with pytest.raises(VerificationError) as caught:
        verify([forged(Elementwise("neg"), (wrong,), TensorType("float64", (4,)))])
    lines = str(caught.value).splitlines()
    place = next(i for i, line in enumerate(lines) if "function='exp'" in line)
    assert "^ the type is float64[4], the op gives float64[3]" in lines[place + 1]
    assert "'x'" in lines[place - 1]


def test_a_twin_is_found() -> None:
    """A node equal to another one, but not the same object."""
    x = tensor_input("float64", (3,))
    known = Node(Elementwise("exp"), x)
    with pytest.raises(VerificationError, match="an equal node exists"):
        verify([forged(Elementwise("exp"), (x,), known.type)])


def test_operands_without_meaning_are_found() -> None:
    """The op's own complaint is passed on."""
    x, y = tensor_input("float64", (3,)), tensor_input("float64", (4,))
    with pytest.raises(VerificationError, match="no meaning for the op: shapes do not broadcast"):
        verify([forged(Elementwise("add"), (x, y), x.type)])


def test_parameters_stand_in_regions_only() -> None:
    """And regions capture nothing."""
    scalar = TensorType("float64")
    with pytest.raises(VerificationError, match="outside of any region"):
        verify([Node(Parameter(0, scalar))])
    x = tensor_input("float64", ())
    chosen = constant(True)

    def branch(result: Node, *parameters: TensorType) -> Node:
        region = Region(parameters, (result,))
        return Node(Cond(region, region), chosen, *[x] * len(parameters))

    verify([branch(Node(Parameter(0, scalar)), scalar)])
    with pytest.raises(VerificationError, match="captures nothing"):
        verify([branch(x)])
    with pytest.raises(VerificationError, match="has 1 parameters only"):
        verify([branch(Node(Parameter(1, scalar)), scalar)])
    with pytest.raises(VerificationError, match="parameter 0 is float64"):
        verify([branch(Node(Parameter(0, TensorType("int64"))), scalar)])


def test_ops_are_registered_and_hashable() -> None:
    """A class of the same name as another, or parameters that have no hash."""

    class Listed(Op):
        values: list[int]

        def result_type(self, *inputs: Node) -> TensorType:
            return TensorType("float64")

    try:
        with pytest.raises(VerificationError, match="not hashable"):
            verify([forged(Listed([1]), (), TensorType("float64"))])
    finally:
        del Op.classes["Listed"]
    with pytest.raises(VerificationError, match="no op class of the registry"):
        verify([forged(Listed([1]), (), TensorType("float64"))])

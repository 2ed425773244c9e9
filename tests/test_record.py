"""Laws of records: frozen values with named fields."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import ClassVar

import pytest

from consilience.record import Record, field_names, replace


class Point(Record):
    """A point with a default for one coordinate."""

    axes: ClassVar[int] = 2

    x: int
    y: int = 7


class Named(Point):
    """A point with a name, and another default."""

    name: str = "origin"
    y: int = 0


class Positive(Record):
    """A number above zero."""

    value: float

    def __post_init__(self) -> None:
        if self.value <= 0:
            raise ValueError("a positive number is needed")


class Nothing(Record):
    """No field at all."""


class Token(Record, eq=False):
    """Equal to itself alone."""

    label: str


class Rounded(Record):
    """An equality and a text form of its own."""

    value: float

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rounded) and round(self.value) == round(other.value)

    def __hash__(self) -> int:
        return hash(round(self.value))

    def __repr__(self) -> str:
        return f"~{self.value}"


def test_fields_are_the_annotations_in_order_those_of_the_base_first():
    assert field_names(Point) == ("x", "y")
    assert field_names(Named(1)) == ("x", "y", "name")
    assert field_names(Nothing) == ()
    assert Point.axes == 2


def test_fields_are_given_by_position_or_name_or_default():
    assert (Point(1, 2).x, Point(1, 2).y) == (1, 2)
    assert Point(1) == Point(x=1, y=7) == Point(1, y=7)
    assert (Named(1).y, Named(1).name) == (0, "origin")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Point(), "missing 1 required positional argument: 'x'"),
        (lambda: Point(1, 2, 3), "from 2 to 3 positional arguments but 4 were given"),
        (lambda: Point(1, x=1), "multiple values for argument 'x'"),
        (lambda: Point(1, z=1), "unexpected keyword argument 'z'"),
        (lambda: replace(Point(1), z=1), "unexpected keyword argument 'z'"),
        (lambda: Nothing(1), "Nothing"),
    ],
)
def test_wrong_fields_are_named(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_fields_with_defaults_come_last():
    with pytest.raises(TypeError, match="Reversed has a field without a default behind one with a default"):

        class Reversed(Point):
            z: int


def test_the_signature_is_that_of_the_fields():
    assert str(inspect.signature(Named)) == "(x, y=0, name='origin')"


def test_equality_and_hash_are_those_of_class_and_fields():
    assert Point(1, 2) == Point(1, 2)
    assert hash(Point(1, 2)) == hash(Point(1, 2))
    assert Point(1, 2) != Point(1, 3)
    assert Point(1, 0) != Named(1, 0)
    assert Nothing() == Nothing()
    assert hash(Nothing()) == hash(Nothing())
    assert len({Point(1), Point(1, 7), Point(2)}) == 2


def test_identity_may_stand_for_equality():
    token = Token("a")
    assert token == token
    assert token != Token("a")
    assert len({token, token, Token("a")}) == 2


def test_what_a_class_defines_itself_stays():
    assert Rounded(1.1) == Rounded(0.9)
    assert hash(Rounded(1.1)) == hash(Rounded(0.9))
    assert repr(Rounded(0.5)) == "~0.5"


def test_records_do_not_change():
    point = Point(1)
    with pytest.raises(AttributeError, match="frozen"):
        point.x = 2
    with pytest.raises(AttributeError, match="frozen"):
        del point.x
    with pytest.raises(AttributeError):
        point.other = 2
    assert replace(point, y=3) == Point(1, 3)
    assert point == Point(1, 7)


def test_a_check_sees_every_new_record():
    assert Positive(1.0).value == 1.0
    with pytest.raises(ValueError, match="positive"):
        Positive(-1.0)
    with pytest.raises(ValueError, match="positive"):
        replace(Positive(1.0), value=0.0)


@pytest.mark.parametrize("record", [Point(1, 2), Named(3, name="z"), Nothing(), Positive(2.0)])
def test_copies_and_pickles_are_equal(record):
    assert pickle.loads(pickle.dumps(record)) == record
    assert copy.copy(record) == record
    assert copy.deepcopy(record) == record


def test_text_form_names_the_fields():
    assert repr(Named(1)) == "Named(x=1, y=0, name='origin')"
    assert repr(Nothing()) == "Nothing()"


def test_records_match_by_position():
    match Named(1, 2, "a"):
        case Point(x, y):
            assert (x, y) == (1, 2)

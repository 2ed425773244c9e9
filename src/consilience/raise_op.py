"""Conditions that are checked when a function runs, under the name of PyTensor's module."""

from __future__ import annotations

from consilience.errors import ShapeError
from consilience.first_use import load_on_use
from consilience.ir import Node
from consilience.ir.side_tables import describe
from consilience.ops import TensorLike, apply, as_tensor, reduce
from consilience.ops.parameter_check import Asserted

__all__ = ["Assert", "assert_op"]


class Assert:
    """`Assert(message)(value, *conditions)` is the value, and fails where a condition does not hold for all elements.

    The function then raises AssertionError with the message. A value that nobody needs is not checked.

    msg: Message of the error.
    See assert_op: With a message that is there already.
    >>> import consilience.tensor as pt
    >>> from consilience.raise_op import Assert
    >>> x = pt.dscalar("x")
    >>> checked = Assert("x must be positive")(x, x > 0)
    >>> try:
    ...     checked.eval({x: -1.0})
    ... except AssertionError as error:
    ...     print("x must be positive" in str(error))
    True
    """

    def __init__(self, msg: str = "an assertion failed.") -> None:
        if not isinstance(msg, str):
            raise TypeError(f"`Assert` takes its `msg` as text, got {msg!r:.200}.")
        self.msg = msg

    def __call__(self, value: TensorLike, *conditions: TensorLike) -> Node:
        result = as_tensor(value)
        for condition in conditions:
            node = as_tensor(condition)
            if node.dtype == "key":
                raise ShapeError(f"a condition was needed, got {describe(node)}.")
            truth = node if node.dtype == "bool" else apply("neq", node, 0)
            result = Node(Asserted(self.msg), result, reduce("all", truth) if truth.ndim else truth)
        return result


assert_op = Assert()
assert_op.__doc__ = """The value, which fails with AssertionError where a condition does not hold for all elements.

Parameters
----------
value : TensorLike
    What is passed on.
*conditions : TensorLike
    Booleans, or numbers of which 0 is false.

Returns
-------
TensorVariable
    The value.

See Also
--------
Assert : With a message of one's own.

Examples
--------
>>> import consilience.tensor as pt
>>> from consilience.raise_op import assert_op
>>> x = pt.dscalar("x")
>>> assert_op(x, x > 0).eval({x: 2.0}).item()
2.0
"""

load_on_use(__name__, {}, public=True)

"""The one node class: an op applied to other values, frozen and interned.

Equal nodes are the same object, so `is` compares whole graphs. Names and source lines are kept
beside the graph (`side_tables`), operators of the user's notation come from `arithmetic`.
"""

from __future__ import annotations

import threading
import weakref
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

from consilience.errors import GraphError, shown
from consilience.ir import side_tables
from consilience.ir.arithmetic import Arithmetic, meaning
from consilience.ir.types import Shape, TensorType, Type
from consilience.names.absent import ours

if TYPE_CHECKING:
    from consilience.ir.op import Op

_known: weakref.WeakValueDictionary[tuple[object, ...], Node] = weakref.WeakValueDictionary()
_lock = threading.RLock()
_set = object.__setattr__


class Node(Arithmetic):
    """One value of a program: `op` applied to `inputs`, of type `type`.

    Construct through `node(op, *inputs)` or the functions of `consilience.tensor`.

    Parameters
    ----------
    op : Op
        What is computed of the inputs.
    *inputs : TensorVariable
        Operands.

    See Also
    --------
    as_tensor : Makes one of an array or a number.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> x = pt.dvector("x")
    >>> y = 2 * x
    >>> isinstance(y, pt.TensorVariable), y.inputs[1] is x
    (True, True)
    """

    __slots__ = ("__weakref__", "inputs", "op", "type")

    op: Op
    inputs: tuple[Node, ...]
    type: Type

    def __new__(cls, op: Op, *inputs: Node) -> Node:
        key = (op, *inputs)
        with _lock:  # one look, not one before and one inside: hashing the key is most of the work
            known = _known.get(key)
            if known is None:
                result_type = op.result_type(*inputs)
                known = object.__new__(cls)
                _set(known, "op", op)
                _set(known, "inputs", inputs)
                _set(known, "type", result_type)
                _known[key] = known
                side_tables.record_source(known)
        return known

    def __setattr__(self, attribute: str, value: object) -> None:
        if attribute == "name":  # a label, no part of the node
            if value is not None and not isinstance(value, str):
                raise TypeError(f"a name is a text or None, got {value!r}.")
            side_tables.set_name(self, value)
            return
        if attribute == "str_repr":  # which PyMC gives the variables that it enters into a model
            raise AttributeError(ours(repr(self)))
        raise AttributeError(f"nodes are frozen; `{attribute}` cannot be set. Build a new expression instead.")

    def __delattr__(self, attribute: str) -> NoReturn:
        raise AttributeError(f"nodes are frozen; `{attribute}` cannot be deleted.")

    def __reduce__(self) -> tuple[Any, ...]:
        kept: tuple[Any, ...] = meaning("reduce")(self)
        return kept

    def __copy__(self) -> Node:
        return self

    def __deepcopy__(self, memo: object) -> Node:
        return self

    @property
    def tensor_type(self) -> TensorType:
        """The type, which must be a tensor's."""
        if isinstance(self.type, TensorType):
            return self.type
        raise GraphError(f"a single tensor was needed, got the tuple {self.type!r}; take one with `item(x, i)`.")

    @property
    def dtype(self) -> str:
        """Element type: one of DTYPES."""
        of = self.type
        return of.dtype if of.__class__ is TensorType else self.tensor_type.dtype

    @property
    def static_shape(self) -> Shape:
        """Shape as integers and symbolic lengths."""
        of = self.type
        return of.shape if of.__class__ is TensorType else self.tensor_type.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.static_shape)

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        """Whether each axis has length 1 for certain, and so is stretched by broadcasting."""
        return self.tensor_type.broadcastable

    @property
    def name(self) -> str | None:
        """The user's name for this value, if any, which can be set; no part of its identity.

        Equal expressions are one node and have one name, the latest; the names of a model's variables are the model's.
        """
        return side_tables.name_of(self)

    @property
    def tag(self) -> SimpleNamespace:
        """Notes of the user's own, such as `x.tag.unit = "m"`; the library reads none of them."""
        return side_tables.tag_of(self)

    def __repr__(self) -> str:
        name = side_tables.name_of(self)
        head = f"{shown(name)}: " if name else ""
        return f"<{head}{self.op!r} {self.type!r}>"


def alive() -> int:
    """Number of nodes in memory; for tests of memory use."""
    return len(_known)

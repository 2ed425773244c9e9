"""Values that are printed while a function computes them, under the name of `pytensor.printing.Print`.

In: an expression. Out: the same expression, whose value goes to the standard output at every evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.ir import Node
from consilience.ops.control import Item
from consilience.ops.elementwise import TensorLike, as_tensor
from consilience.ops.python_call import PythonCall, PythonFunction


class Print:
    """`Print(message)(x)` is x, and prints its value whenever it is computed, by a call of Python.

    Parameters
    ----------
    message : str, default ''
        What stands before the value.
    attrs : sequence of str, default ('__str__',)
        Attributes of the array to print, such as "shape" or "min"; methods are called.

    Raises
    ------
    AttributeError
        For a name that arrays do not have.

    See Also
    --------
    dprint : Writes the graph.

    Examples
    --------
    >>> import consilience as pm, consilience.tensor as pt
    >>> x = pt.vector("x")
    >>> f = pm.function([x], pm.printing.Print("x is", attrs=("shape",))(x) * 2)
    >>> y = f([1.0, 2.0])
    x is shape = (2,)
    """

    def __init__(self, message: str = "", attrs: Sequence[str] = ("__str__",)) -> None:
        if not isinstance(message, str):
            raise TypeError(f"`Print` takes its `message` as text, got {message!r}.")
        self.message, self.attrs = message, tuple(attrs)
        for name in self.attrs:
            if not hasattr(np.ndarray, name):
                raise AttributeError(f"`Print` shows attributes of arrays, such as 'shape' or 'max'; {name!r} is none.")

    def __call__(self, x: TensorLike) -> Node:
        node = as_tensor(x)
        function = PythonFunction(self._shown, f"Print({self.message!r}, {self.attrs})", gradient=_passed)
        return Node(Item(0), Node(PythonCall(function, (node.tensor_type,)), node))

    def _shown(self, value: npt.NDArray[Any]) -> npt.NDArray[Any]:
        for name in self.attrs:
            found = getattr(value, name)
            print(f"{self.message} {name} =", found() if callable(found) else found)
        return value


def _passed(value: npt.NDArray[Any], slope: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    return [np.asarray(slope)]

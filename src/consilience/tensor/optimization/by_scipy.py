"""Methods that are SciPy's: an op that Python computes, with the interpreter's lock.

Expressions of one vector (or scalar) and its operands in, the solution and whether SciPy calls it one out. The
expressions are compiled at the first call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends.function import function
from consilience.ir import Node, TensorType
from consilience.ops.control import Item
from consilience.ops.python_call import PythonCall, PythonFunction

Array = npt.NDArray[Any]


class Search:
    """One of the functions of `scipy.optimize` as a function of arrays.

    `kind`: "minimize", "root" or "root_scalar". `variables`: the leaf that is searched for, and `operands` the other
    leaves. `expressions`: value, then its derivatives as far as the method reads them.
    """

    def __init__(
        self,
        kind: str,
        method: str,
        variables: Node,
        operands: Sequence[Node],
        expressions: Sequence[Node],
        keywords: Mapping[str, Any],
    ) -> None:
        self.kind, self.method, self.keywords = kind, method, dict(keywords)
        self.graph = [variables, *operands], list(expressions)
        self.ends = 2 if kind == "root_scalar" else 0
        self.compiled: list[Any] = []

    def __call__(self, start: Array, *operands: Array) -> list[Any]:
        """The solution, and whether it is one; the start where SciPy gives up because of overflow or a singular matrix.

        A scalar equation has the ends of its bracket as first operands.
        """
        try:
            return self._found(start, *operands)
        except (ArithmeticError, np.linalg.LinAlgError):
            return [start, np.bool_(False)]

    def _found(self, start: Array, *operands: Array) -> list[Any]:
        from scipy import optimize as untyped

        optimize: Any = untyped  # its types know methods as literals only
        ends, operands = operands[: self.ends], operands[self.ends :]
        if not self.compiled:
            inputs, outputs = self.graph
            self.compiled = [function(inputs, [output], on_unused_input="ignore") for output in outputs]
        shape = start.shape

        def evaluate(which: int) -> Any:
            def call(x: Any) -> Any:
                found = self.compiled[which](np.asarray(x, start.dtype).reshape(shape), *operands)[0]
                return found.astype(np.float64)

            return call

        count = len(self.compiled)
        slope = evaluate(1) if count > 1 else None
        if self.kind == "root_scalar":
            value = evaluate(0)
            low, high = (float(end) for end in ends)
            if not value(low) * value(high) <= 0:
                return [np.asarray(low, start.dtype), np.bool_(False)]
            keywords = {**self.keywords, "bracket": (low, high)}
            made = optimize.root_scalar(lambda x: float(value(x)), method=self.method, **keywords)
            return [np.asarray(made.root, start.dtype), np.bool_(made.converged)]
        if self.kind == "root":
            found = optimize.root(evaluate(0), start, method=self.method, jac=slope, **self.keywords)
        else:
            value = evaluate(0)
            if not np.isfinite(value(start)):
                return [start, np.bool_(False)]
            bend = {"hess": evaluate(2)} if count > 2 else {}
            found = optimize.minimize(
                lambda x: float(value(x)), start, method=self.method, jac=slope, **bend, **self.keywords
            )
        return [np.asarray(found.x, start.dtype).reshape(shape), np.bool_(found.success)]


def searched(search: Search, start: Node, operands: Sequence[Node]) -> tuple[Node, Node]:
    """The solution, and whether SciPy says that it is one."""
    types = start.tensor_type, TensorType("bool", ())
    of = PythonFunction(search, f"scipy.optimize.{search.kind}(method={search.method!r})")
    call = Node(PythonCall(of, types), start, *operands)
    return Node(Item(0), call), Node(Item(1), call)

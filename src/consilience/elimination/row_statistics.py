"""Sums over rows of data as functions of sufficient statistics: no row is looked at when a density is evaluated.

Sums in, equal sums out. Squares of linear forms (normal regressions) need the triangular factor of their columns, what
is linear the sums of its columns, what varies by groups the sums of its weights in each. Rows are constant data; data
that may be exchanged stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from consilience.elimination.row_addends import Addend, Weights, addends, has_rows
from consilience.elimination.row_factors import Floats, Places, RowColumns, eliminated, triangular, triangular_of_cells
from consilience.errors import ConsilienceError
from consilience.ir import Constant, Node, constant, substitute, topological
from consilience.ir.side_tables import without_sources
from consilience.ops.elementwise import apply, cast
from consilience.ops.linalg import matmul
from consilience.ops.reduce import Reduce, reduce
from consilience.ops.shape import concatenate, reshape
from consilience.rewrite.rules import simplify
from consilience.transforms.equal_rows import SHARE, along_rows, at_rows, counts_rows, some_rows, too_different

# Columns of one factor at most, and rows for each of them at least.
COLUMNS: Final = 512
ROWS_PER_COLUMN: Final = 4
# Columns that are read row by row may have so many elements in all, where each has coefficients by group.
WIDEST: Final = 32

_known: WeakKeyDictionary[Node, tuple[Node | None]] = WeakKeyDictionary()


class _Unfit(ConsilienceError):
    """A sum that has to be added up row by row."""


def by_statistics(sums: Sequence[Node]) -> list[Node]:
    """Equal expressions, with sums over rows of constant data as functions of statistics where these are much smaller.

    They are equal up to rounding: what is computed of the columns is orthogonal, so that neither large offsets nor
    columns that nearly depend on each other cost digits that the rows themselves would keep.
    """
    return [_of_sum(one) if _may(one) else one for one in sums]


def _may(one: Node) -> bool:
    return any(counts_rows(node) and has_rows(node.inputs[0], _rows(node)) for node in topological([one]))


def _rows(node: Node) -> int:
    rows = node.inputs[0].static_shape[0]
    assert isinstance(rows, int)
    return rows


def _of_sum(one: Node) -> Node:
    if one not in _known:
        with without_sources(), np.errstate(all="ignore"):
            (tidy,) = simplify([one])
            made = {node: _added_up(node) for node in topological([tidy]) if counts_rows(node)}
            found = {node: sum_ for node, sum_ in made.items() if sum_ is not None}
            _known[one] = (substitute([tidy], found)[0] if found else None,)
    (known,) = _known[one]
    return one if known is None else known


def _added_up(total: Node) -> Node | None:
    """A sum over rows by its statistics; None where some of it needs the rows, or too many statistics."""
    assert isinstance(total.op, Reduce)
    (each,) = total.inputs
    rows = _rows(total)
    if each.ndim != 1 or not has_rows(each, rows):
        return None
    try:
        found = [_sum_of(one, rows) for one in addends(each)]
    except _Unfit:
        return None
    return cast(_added(found), total.dtype)


def _added(parts: Sequence[Node]) -> Node:
    return parts[0] if len(parts) == 1 else apply("add", *parts)


def _times(parts: Sequence[Node]) -> Node:
    result = parts[0]
    for part in parts[1:]:
        result = result * part
    return result


def _sum_of(one: Addend, rows: int) -> Node:
    """The sum of one addend over the rows."""
    if one.squared:
        return _sum_of_squares(one, rows)
    weights = one.weights
    if one.varying:
        if one.product is not None:
            raise _Unfit
        cells = _Cells(one.varying, rows)
        own = constant(_finite(np.bincount(cells.of_row, _each(weights, rows), cells.count)))
        return _times([*one.factors, reduce("sum", _times([own, *cells.values(one.varying)]), (0,))])
    if one.product is not None:
        matrix, vector = one.product
        columns = RowColumns(rows, [matrix], None)
        each = np.broadcast_to(weights, rows)
        own = np.sum([each[block] @ columns.block(block) for block in columns.slices()], axis=0)
        return _times([*one.factors, matmul(constant(_finite(own)), vector)])
    known = float(np.sum(weights)) if isinstance(weights, np.ndarray) else weights * rows
    return _times([constant(_finite(np.asarray(known))), *one.factors])


def _each(weights: Weights, rows: int) -> Floats:
    return np.ascontiguousarray(np.broadcast_to(weights, rows), dtype=float)


def _finite(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if not np.isfinite(array).all():
        raise _Unfit
    return array


class _Cells:
    """Rows in which expressions have the same value, as they read the same constants."""

    def __init__(self, varying: Sequence[Node], rows: int) -> None:
        along: dict[Node, None] = {}
        for node in varying:
            own = along_rows(node, rows)
            if own is None:
                raise _Unfit
            along |= dict.fromkeys(own)
        self._along = [node for node in topological(varying) if node in along]
        arrays = [node.op.array for node in along if isinstance(node.op, Constant)]
        columns = [array.reshape(rows, -1)[:, k] for array in arrays for k in range(array[:1].size)]
        for places in (some_rows(rows), slice(None)):
            code, count = np.zeros(rows, np.int64)[places], 1
            for column in columns:
                own_code, own_count = _codes(column[places])
                code, count = _codes(code * own_count + own_code) if count > 1 else (own_code, own_count)
                if too_different(count, len(code), rows):
                    raise _Unfit
        self.of_row, self.count = code, count
        self._first = np.empty(count, np.int64)
        self._first[code[::-1]] = np.arange(rows)[::-1]

    def values(self, varying: Sequence[Node]) -> list[Node]:
        """The expressions with one value per cell."""
        return at_rows(varying, self._along, self._first)


def _codes(column: npt.NDArray[Any]) -> tuple[Places, int]:
    """Numbers from 0 on for the distinct values of a column, and how many there are."""
    if column.dtype.kind in "iub" and len(column):
        least, greatest = int(column.min()), int(column.max())
        if greatest - least <= 4 * len(column):
            shifted = column.astype(np.int64) - least
            there = np.bincount(shifted) > 0
            return (np.cumsum(there) - 1)[shifted], int(there.sum())
    distinct, code = np.unique(column, return_inverse=True)
    return code.reshape(-1).astype(np.int64), len(distinct)


class _Form:
    """A linear form over rows: columns with one coefficient each, matrices with vectors of them, and what is known."""

    def __init__(self, inner: Sequence[Addend]) -> None:
        self.matrices: list[tuple[npt.NDArray[Any], Node]] = []
        self.columns: list[tuple[Weights, list[Addend]]] = []
        self.offset: Weights = 0.0
        for one in inner:
            if one.product is not None:
                self._enter_product(one, *one.product)
            elif one.factors or one.varying:
                self._enter(one)
            else:
                self.offset = self.offset + one.weights

    def _enter_product(self, one: Addend, matrix: npt.NDArray[Any], vector: Node) -> None:
        if one.varying:
            if matrix.shape[1] > WIDEST:
                raise _Unfit
            for column in range(matrix.shape[1]):
                weights = one.weights * matrix[:, column].astype(float)
                self._enter(Addend(weights, (*one.factors, vector[column]), one.varying))
        elif isinstance(one.weights, np.ndarray):
            self.matrices.append((matrix * one.weights[:, None], _times([vector, *one.factors])))
        else:
            factors = one.factors if one.weights == 1.0 else (constant(one.weights), *one.factors)
            self.matrices.append((matrix, _times([vector, *factors])))

    def _enter(self, one: Addend) -> None:
        """With others of equal weights: their coefficients add up, and so do those of one number for all rows."""
        for weights, own in self.columns:
            if isinstance(weights, np.ndarray) == isinstance(one.weights, np.ndarray) and (
                not isinstance(weights, np.ndarray) or np.array_equal(weights, one.weights)
            ):
                own.append(one)
                return
        self.columns.append((one.weights if isinstance(one.weights, np.ndarray) else 1.0, [one]))


def _coefficient(own: Sequence[Addend], values: dict[Node, Node]) -> Node:
    """The coefficient of a column, with values by cell for what varies."""
    parts = []
    for one in own:
        operands = [*one.factors, *(values[node] for node in one.varying)]
        if not isinstance(one.weights, np.ndarray) and one.weights != 1.0:
            operands.insert(0, constant(one.weights))
        parts.append(_times(operands))
    return _added(parts)


def _sum_of_squares(one: Addend, rows: int) -> Node:
    weights = one.weights
    sign = 1.0
    scale: Floats | None = None
    if isinstance(weights, np.ndarray):
        sign = -1.0 if (weights <= 0).all() else 1.0
        if (weights * sign < 0).any():
            raise _Unfit
        scale = np.sqrt(weights * sign)
    else:
        sign = weights
    form = _Form(one.squared)
    varying = [node for _, own in form.columns for addend in own for node in addend.varying]
    if one.varying:
        made = _by_cell(one, form, [*one.varying, *varying], scale, rows)
    else:
        made = _by_columns(form, varying, scale, rows)
    return _times([constant(sign), *one.factors, made]) if sign != 1.0 else _times([*one.factors, made])


def _check(statistics: float, columns: int, rows: int) -> None:
    if columns > COLUMNS or ROWS_PER_COLUMN * columns > rows or statistics > SHARE * rows * columns:
        raise _Unfit


def _by_cell(one: Addend, form: _Form, varying: Sequence[Node], scale: Floats | None, rows: int) -> Node:
    """Squares with a factor by cell: each cell has its own triangular factor of all columns."""
    cells = _Cells(varying, rows)
    parts = [*(_each(w, rows) for w, _ in form.columns), *(m for m, _ in form.matrices), _each(form.offset, rows)]
    columns = RowColumns(rows, parts, scale)
    count = columns.count
    _check(cells.count * count * count, count, rows)
    r = _finite(triangular_of_cells(columns, cells.of_row, cells.count))
    values = dict(zip(varying, cells.values(varying), strict=True))
    k = len(form.columns)
    each = constant(r[:, :, -1])
    for j, (_, own) in enumerate(form.columns):
        each = each + constant(r[:, :, j]) * _column(_coefficient(own, values))
    if form.matrices:
        shared = concatenate([vector for _, vector in form.matrices])
        each = each + reshape(
            matmul(constant(r[:, :, k:-1].reshape(cells.count * count, -1)), shared), each.static_shape
        )
    squares = reduce("sum", apply("square", each), (1,))
    return reduce("sum", _times([squares, *(values[node] for node in one.varying)]), (0,))


def _column(x: Node) -> Node:
    return x if x.ndim == 0 else reshape(x, (-1, 1))


def _by_columns(form: _Form, varying: Sequence[Node], scale: Floats | None, rows: int) -> Node:
    """Squares that rows weigh alike: columns with coefficients by cell are eliminated, one factor has the others."""
    owned = [(w, own) for w, own in form.columns if any(addend.varying for addend in own)]
    shared = [(w, own) for w, own in form.columns if not any(addend.varying for addend in own)]
    # Columns of ones first, what is known last: the factor then has means in front, and what no coefficient explains.
    shared.sort(key=lambda pair: isinstance(pair[0], np.ndarray))
    parts = [*(_each(w, rows) for w, _ in shared), *(m for m, _ in form.matrices), _each(form.offset, rows)]
    rest = RowColumns(rows, parts, scale)
    coefficients = [reshape(_coefficient(own, {}), (1,)) for _, own in shared] + [v for _, v in form.matrices]
    vector = concatenate(coefficients) if coefficients else None
    if not owned:
        _check(rest.count**2, rest.count, rows)
        return reduce("sum", apply("square", _applied(_finite(triangular(rest)), vector)), (0,))
    cells = _Cells(varying, rows)
    own_columns = RowColumns(rows, [_each(w, rows) for w, _ in owned], scale)
    k = own_columns.count
    _check(cells.count * k * (k + rest.count) + rest.count**2, k + rest.count, rows)
    r, s, t = (_finite(array) for array in eliminated(own_columns, rest, cells.of_row, cells.count))
    values = dict(zip(varying, cells.values(varying), strict=True))
    each = [_coefficient(own, values) for _, own in owned]
    squares = [apply("square", _applied(t, vector))]
    for i in range(k):
        row = [_applied(s[:, i], vector), *(constant(r[:, i, j]) * each[j] for j in range(i, k))]
        squares.append(apply("square", _added(row)))
    return _added([reduce("sum", square, (0,)) for square in squares])


def _applied(factor: Floats, vector: Node | None) -> Node:
    """Columns with their coefficients, and a last one that has none."""
    known = constant(factor[:, -1])
    return known if vector is None else matmul(constant(factor[:, :-1]), vector) + known


__all__ = ["by_statistics"]

"""Random graphs: machine code computes what NumPy computes, however values are fused, placed and shared.

All numbers are small integers in whatever dtype, so every order of summation gives the same bits.
"""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from consilience.backends.function import function
from consilience.errors import OutOfBoundsError
from consilience.ir import Node, constant, tensor_input, topological
from consilience.lower import forms
from consilience.lower.expand import expand
from consilience.ops import Cumulative, Iota, apply, as_tensor, cast, cond
from consilience.ops.elementwise import broadcast_shape
from consilience.ops.index import index_inc, index_set
from consilience.ops.linalg import matmul
from consilience.ops.order import argsort, searchsorted, sort
from consilience.ops.reduce import arg_reduce, reduce
from consilience.ops.shape import broadcast_to, concatenate, expand_dims, full, reshape, squeeze, stack, transpose
from consilience.ops.sparse.coordinates import hstack
from consilience.ops.structured import BlockDiagonal, DiagonalMatrix, Kronecker
from consilience.sparse import CSR
from tests.backends.agreement import Array, inputs_like, run_llvm, run_reference

EXAMPLES = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
SHAPES = [(), (3,), (4,), (1,), (4, 3), (1, 3), (4, 1), (17,), (2, 17), (0,), (3, 0), (2, 4, 3), (40,)]
LARGEST = 400  # elements of one value


class Growing:
    """A graph that grows by random choices."""

    def __init__(self, generator: np.random.Generator, leaves: list[Node]) -> None:
        self.generator = generator
        self.values = list(leaves)

    def number(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return int(self.generator.integers(low, high + 1))

    def one_of(self, *names: str) -> str:
        """One of several names."""
        return names[self.number(0, len(names) - 1)]

    def pick(self, *dtypes: str) -> Node | None:
        """A value, the latest ones preferred, of some dtype."""
        found = [v for v in self.values if not dtypes or v.dtype in dtypes]
        if not found:
            return None
        return found[-1 - min(self.number(0, len(found) - 1), self.number(0, len(found) - 1))]

    def partner(self, x: Node) -> Node:
        """A value that broadcasts with x."""
        found = []
        for v in self.values:
            try:
                shape, _ = broadcast_shape([x, v])
            except ValueError:
                continue
            if np.prod([int(n) for n in shape]) <= LARGEST:  # type: ignore[arg-type]  # static here
                found.append(v)
        return found[-1 - self.number(0, len(found) - 1)] if found else x

    def axis(self, x: Node) -> int:
        """An axis of x."""
        return self.number(0, x.ndim - 1)

    # ---- steps; None where the choice makes no sense

    def elementwise(self) -> Node | None:
        """A sum, product, extremum, comparison or choice."""
        x = self.pick()
        assert x is not None
        name = self.one_of("add", "sub", "mul", "minimum", "maximum", "lt", "eq", "where", "add3")
        y = self.partner(x)
        if name == "where":
            c = self.partner(y)
            return apply("where", c, y, y * 2) if c.ndim <= y.ndim else None
        if name == "add3":
            return apply("add", x, y, x)
        if name == "sub" and x.dtype == y.dtype == "bool":
            return None
        return self.small(apply(name, x, y))

    def small(self, x: Node) -> Node:
        """Kept small, so that all dtypes are exact."""
        return x if x.dtype == "bool" else apply("fmod", x, 16)

    def unary(self) -> Node | None:
        """One operand."""
        x = self.pick("float64", "float32", "int64", "int32")
        if x is None:
            return None
        name = self.one_of("neg", "abs", "square", "sign", "heavy")
        if name == "heavy":
            return apply("round", apply("log1p", apply("abs", x)) * 4)
        return self.small(apply(name, x))

    def convert(self) -> Node | None:
        """Another dtype."""
        x = self.pick()
        assert x is not None
        return cast(x, self.one_of("float64", "float32", "int64", "int32", "bool"))

    def reduction(self) -> Node | None:
        """Over some axes."""
        x = self.pick()
        assert x is not None
        if not x.ndim:
            return None
        axes = sorted({self.axis(x) for _ in range(self.number(1, x.ndim))})
        kind = self.one_of("sum", "max", "min", "any", "all", "sum")
        if kind in ("max", "min") and any(x.static_shape[a] == 0 for a in axes):
            return None
        return self.small(reduce(kind, x, axes, keepdims=self.number(0, 2) == 0))

    def order(self) -> Node | None:
        """Running sums and positions of extremes."""
        x = self.pick("float64", "int64")
        if x is None or not x.ndim:
            return None
        axis = self.axis(x)
        if self.number(0, 1):
            return self.small(Node(Cumulative("sum", axis, bool(self.number(0, 1))), x))
        return arg_reduce("max", x, axis) if x.static_shape[axis] else None

    def view(self) -> Node | None:
        """The same elements addressed anew."""
        x = self.pick()
        assert x is not None
        kind = self.number(0, 5)
        if kind == 0:
            return transpose(x, *self.generator.permutation(x.ndim)) if x.ndim > 1 else None
        if kind == 1:
            return reshape(x, (-1,)) if x.tensor_type.size else None
        if kind == 2:
            return expand_dims(x, self.number(0, x.ndim)) if x.ndim < 4 else None
        if kind == 3:
            return squeeze(x)
        if kind == 4:
            return (
                broadcast_to(x, (self.number(1, 3), *x.static_shape))
                if x.ndim < 3 and x.tensor_type.size <= 100
                else None
            )  # type: ignore[operator]  # static
        items = []
        for n in x.static_shape:
            assert isinstance(n, int)
            which = self.number(0, 4)
            if which == 0 and n:
                items.append(self.number(-n, n - 1))
            else:
                items.append([slice(None), slice(1, None), slice(None, None, -1), slice(None, None, 2)][which % 4])
        return x[tuple(items)]

    def join(self) -> Node | None:
        """Several values one after the other."""
        x = self.pick()
        assert x is not None
        same = [v for v in self.values if v.static_shape == x.static_shape]
        parts = [same[self.number(0, len(same) - 1)] for _ in range(self.number(1, 3))]
        if x.tensor_type.size > 100:  # type: ignore[operator]  # static
            return None
        return (
            stack(parts, self.number(0, x.ndim))
            if not x.ndim or self.number(0, 1)
            else concatenate(parts, self.axis(x))
        )

    def gather(self) -> Node | None:
        """Reading, setting or adding through an index array, constant, given or computed."""
        x = self.pick("float64", "int64", "float32")
        if x is None or not x.ndim:
            return None
        axis = self.axis(x)
        n = x.static_shape[axis]
        assert isinstance(n, int)
        if not n:
            return None
        kind = self.number(0, 2)
        index: Node
        if kind == 0:
            index = constant(np.array([self.number(0, n - 1) for _ in range(self.number(0, 5))], "int64"))
        else:
            found = [v for v in self.values if v.dtype == "int64" and v.ndim < 3]
            if not found:
                return None
            index = apply("mod", found[-1 - self.number(0, len(found) - 1)], n) if kind == 1 else Node(Iota(n))
        if index.tensor_type.size * x.tensor_type.size > LARGEST * n:  # type: ignore[operator]  # static
            return None
        part = x[(slice(None),) * axis + (index,)]
        mode = self.number(0, 3)
        if mode == 0 and x.dtype != "bool":
            return self.small(index_inc(part, part * 2 + 1))
        if mode == 1:
            return index_set(part, self.number(-3, 3))
        return part

    def sorted(self) -> Node | None:
        """Elements or positions in order, few or all of them, and places in what is ordered."""
        x = self.pick()
        assert x is not None
        if not x.ndim:
            return None
        axis, kind = self.axis(x), self.number(0, 4)
        n = x.static_shape[axis]
        assert isinstance(n, int)
        if kind == 0:
            return argsort(x, axis, descending=bool(self.number(0, 1)))
        ordered = sort(x, axis, descending=kind == 1)
        if kind == 2 and n:
            chosen = [self.number(-n, n - 1) for _ in range(self.number(1, 4))]
            return ordered[(slice(None),) * axis + (chosen if self.number(0, 1) else chosen[0],)]
        if kind == 3:
            v = self.pick()
            return searchsorted(sort(reshape(x, (-1,))), v, self.one_of("left", "right")) if v is not None else None
        return ordered

    def product(self) -> Node | None:
        """Matrix products."""
        x = self.pick("float64", "float32", "int64")
        if x is None or not x.ndim:
            return None
        fitting = [
            v for v in self.values
            if v.ndim and v.dtype != "bool" and v.static_shape[-2 if v.ndim > 1 else -1] == x.static_shape[-1]
            and v.ndim + x.ndim < 5
        ]  # fmt: skip
        return self.small(matmul(x, fitting[self.number(0, len(fitting) - 1)])) if fitting else None

    def structured(self) -> Node | None:
        """Matrices with zeros and repetitions, often times another value."""
        x = self.pick("float64", "float32", "int64")
        if x is None or not x.ndim:
            return None
        kind = self.one_of("diagonal", "blocks", "kronecker")
        same = [v for v in self.values if v.dtype == x.dtype and v.ndim == 2]
        if kind == "diagonal":
            if x.tensor_type.size * x.static_shape[-1] > LARGEST:  # type: ignore[operator]  # static
                return None
            found = Node(DiagonalMatrix(), x)
        elif not same or x.ndim != 2:
            return None
        else:
            y = same[self.number(0, len(same) - 1)]
            found = Node(BlockDiagonal() if kind == "blocks" else Kronecker(), x, y)
        if found.tensor_type.size > LARGEST:  # type: ignore[operator]  # static
            return None
        fitting = [v for v in self.values if 0 < v.ndim < 3 and v.dtype != "bool"]
        left = [v for v in fitting if v.static_shape[-1] == found.static_shape[-2]]
        right = [v for v in fitting if v.static_shape[0] == found.static_shape[-1]]
        if right and self.number(0, 1):
            return self.small(matmul(found, right[self.number(0, len(right) - 1)]))
        if left and self.number(0, 1):
            return self.small(matmul(left[self.number(0, len(left) - 1)], found))
        return self.small(transpose(found) if found.ndim == 2 and self.number(0, 1) else found)

    def sparse(self) -> Node | None:
        """Products, sums, parts and other formats of a sparse matrix with random places, its entries from a value."""
        x = self.pick("float64", "float32", "int64", "int32")
        if x is None or x.ndim not in (1, 2) or 0 in x.static_shape:
            return None
        height, width = self.number(0, 4), int(str(x.static_shape[0]))
        places = self.generator.uniform(size=(height, width)) < self.generator.choice([0.2, 0.5, 1.0])
        rows, columns = np.nonzero(places)
        entries = reshape(x, (-1,))[self.generator.integers(0, int(str(x.tensor_type.size)), len(rows))]
        begins = np.searchsorted(rows, np.arange(height + 1))
        kind = self.one_of("int32", "int64")
        A = CSR(entries, columns.astype(kind), begins.astype(kind), (height, width))
        if self.number(0, 1):
            A = A.tocsc()
        B = A.astype("float64" if x.dtype == "float32" else x.dtype)
        results = [
            lambda: A @ x,
            lambda: transpose(x) @ A.T,
            lambda: (A @ A.T).toarray(),
            lambda: (A + B * 2).sum(self.number(0, 1)),
            lambda: (A * B)[self.number(0, 1) :, ::2].toarray(),
            lambda: A.diagonal(),
            lambda: hstack([A, B]).tocsr() @ concatenate([x, x]),
            lambda: (A * 3).tocsr().T @ full((height,), 2, x.dtype),
        ]
        return self.small(results[self.number(0, len(results) - 1)]())

    def branch(self) -> Node | None:
        """One of two values, chosen by a scalar."""
        x = self.pick("float64", "int64")
        if x is None:
            return None
        same = [v for v in self.values if v.type == x.type]
        y = same[self.number(0, len(same) - 1)]
        scalar = [v for v in self.values if not v.ndim]
        chosen = scalar[-1 - self.number(0, len(scalar) - 1)]
        first, second = cond(chosen > 0, [x + y, self.small(x * y)], [y, y - x])  # type: ignore[misc]  # a list for a list
        return self.small(first * 2 - second)

    def grow(self, steps: int) -> list[Node]:
        """Add values; returns some of them as outputs."""
        kinds = [
            self.elementwise, self.elementwise, self.unary, self.convert, self.reduction, self.order, self.view,
            self.view, self.join, self.gather, self.product, self.sparse, self.branch,
            self.structured, self.sorted,
        ]  # fmt: skip
        for _ in range(steps):
            new = kinds[self.number(0, len(kinds) - 1)]()
            if new is not None:
                self.values.append(new)
        outputs = [
            self.values[-1],
            *[self.values[self.number(0, len(self.values) - 1)] for _ in range(self.number(0, 3))],
        ]
        if self.number(0, 1):  # everything is used
            outputs += [reduce("sum", v) for v in self.values]
        return outputs


def random_graph(seed: int, steps: int) -> tuple[list[Array], list[Node], list[Node]]:
    """Arrays, inputs and outputs."""
    generator = np.random.default_rng(seed)
    arrays: list[Array] = [np.asarray(float(seed % 5 - 2))]
    for dtype in [
        "float64",
        "float64",
        "int64",
        *generator.choice(["float64", "bool", "float32", "int64", "int32"], 3),
    ]:
        shape = SHAPES[generator.integers(0, len(SHAPES))]
        low, high = (0, 2) if dtype == "bool" else (-3, 4)
        arrays.append(np.asarray(generator.integers(low, high, shape).astype(dtype)))
    inputs = inputs_like(arrays)
    return arrays, inputs, Growing(generator, inputs).grow(steps)


def equal(found: list[Array], wanted: list[Array]) -> None:
    """Equal dtypes, shapes and numbers."""
    for a, b in zip(found, wanted, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_array_equal(a, b)


@EXAMPLES
@given(st.integers(0, 2**32), st.integers(3, 40))
def test_machine_code_of_the_graph_as_written(seed: int, steps: int) -> None:
    """Lowering alone, without rewriting."""
    arrays, inputs, outputs = random_graph(seed, steps)
    equal(run_llvm(inputs, outputs, arrays), run_reference(inputs, outputs, arrays))


@EXAMPLES
@given(st.integers(0, 2**32), st.integers(3, 40))
def test_function_of_the_graph(seed: int, steps: int) -> None:
    """Rewriting and lowering: what users get."""
    arrays, inputs, outputs = random_graph(seed, steps)
    equal(function(inputs, outputs, on_unused_input="ignore")(*arrays), run_reference(inputs, outputs, arrays))


@EXAMPLES
@given(st.integers(0, 2**32), st.integers(10, 60), st.integers(1, 5))
def test_loops_taken_apart_compute_the_same(seed: int, steps: int, longest: int) -> None:
    """Bodies of very few nodes: what one loop makes, those behind it read from memory."""
    arrays, inputs, outputs = random_graph(seed, steps)
    with patch.object(forms, "LONGEST_BODY", longest):
        found = run_llvm(inputs, outputs, arrays)
    equal(found, run_reference(inputs, outputs, arrays))


def test_no_loop_has_a_very_long_body() -> None:
    """Time to compile grows with the length of the program, not with its square."""
    x = tensor_input("float64", (100,))
    wide = reduce("sum", apply("add", *(apply("sin", x * float(i)) for i in range(1, 3000))))
    deep = x
    for i in range(3000):
        deep = apply("sin", deep) + float(i)
    order = topological(expand([wide, reduce("max", deep)]))
    decided = forms.decide(order, [order[-1]], {})
    assert decided.ends
    loops: dict[object, list[Node]] = {}
    for node in order:
        if decided.form[node] in (forms.LOOP, forms.REDUCE):
            loops.setdefault((decided.level[node], forms.domain_of(node)), []).append(node)
    bodies = [body for group in loops.values() for body in forms.components(decided, group)]
    assert max(map(len, bodies)) <= forms.LONGEST_BODY


@settings(EXAMPLES, max_examples=100)
@given(st.data())
def test_broadcasting_is_that_of_numpy(data: Any) -> None:
    """Shapes that NumPy broadcasts give its shape, others an error when the graph is written."""
    shapes = [
        tuple(data.draw(st.lists(st.sampled_from([1, 1, 2, 3, 0]), max_size=4)))
        for _ in range(data.draw(st.integers(2, 3)))
    ]
    arrays = [np.arange(float(np.prod(s))).reshape(s) for s in shapes]
    nodes = [tensor_input("float64", s) for s in shapes]
    try:
        wanted = sum(arrays[1:], arrays[0])
    except ValueError:
        with pytest.raises(ValueError, match="broadcast"):
            apply("add", *nodes)
        return
    equal(run_llvm(nodes, [apply("add", *nodes)], arrays), [np.asarray(wanted)])
    equal(run_llvm(nodes, [reduce("sum", apply("add", *nodes))], arrays), [np.asarray(np.sum(wanted))])


def test_many_small_loops_share_functions() -> None:
    """More loops than are written in place: equal ones are one function, whatever their lengths."""
    arrays = [np.arange(float(n)) for n in range(1, 40)]
    nodes = inputs_like(arrays)
    total = as_tensor(0.0)
    for x in nodes:
        total = total + reduce("sum", x * x + 1.0)
    equal(run_llvm(nodes, [total, *[x * 2.0 for x in nodes]], arrays),
          [np.asarray(sum((a * a + 1).sum() for a in arrays)), *[a * 2 for a in arrays]])  # fmt: skip


def test_a_scalar_read_by_index_before_its_copy_in_memory_is_made() -> None:
    """Found by a random graph: the scalar is in a register when it is gathered, and in memory only later."""
    arrays = [np.array([3.0]), np.arange(2.0)]
    x, y = inputs_like(arrays)
    z = expand_dims(reduce("sum", x * y), (0, 1))
    running = Node(Cumulative("sum", 0), z)
    equal(run_llvm([x, y], [running, z[:, Node(Iota(1))]], arrays), [np.array([[3.0]]), np.array([[3.0]])])


def test_index_arrays_of_a_repeated_scalar_are_checked() -> None:
    """Every element of the index array counts, though all elements of what is indexed are one number."""
    arrays = [np.asarray(2.0), np.array([0, 3]), np.zeros(0, "int64")]
    x, i, empty = inputs_like(arrays)
    repeated = broadcast_to(x * 2.0, (4,))
    outputs = [repeated[i] * 3.0, repeated[i], repeated[empty], repeated[constant(np.array([1, 2]))]]
    equal(run_llvm([x, i, empty], outputs, arrays), [np.full(2, 12.0), np.full(2, 4.0), np.zeros(0), np.full(2, 4.0)])
    arrays[1] = np.array([0, 4])
    with pytest.raises(OutOfBoundsError):
        run_llvm([x, i, empty], outputs[:1], arrays)

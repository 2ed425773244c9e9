"""Operations that users write in Python, and functions of NumPy arrays whose lengths are known by calling them."""

from __future__ import annotations

import operator
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.compile.ops import as_op
from consilience.errors import (
    DtypeError,
    GraphError,
    MissingRuleError,
    NullTypeGradError,
    ShapeError,
)
from consilience.gradient import DisconnectedType, grad_not_implemented, grad_undefined, verify_grad
from consilience.graph import Apply, Op, Variable
from consilience.graph.basic import ancestors
from consilience.graph.op import Op as SameOp
from consilience.graph.replace import vectorize_graph
from consilience.ir import Node

BACKENDS = ["FAST_RUN", "reference", "c"]
X = np.array([0.3, -1.2, 2.0])


class Slope(Op):
    """Derivative of the sum of squares, of a length nobody declares."""

    itypes, otypes = [pt.dvector], [pt.dvector]

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        outputs[0][0] = 2 * inputs[0]


class Squares(Op):
    """The sum of squares, as tutorials write a likelihood."""

    itypes, otypes = [pt.dvector], [pt.dscalar]

    def __init__(self) -> None:
        self.slope = Slope()

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        (theta,) = inputs
        outputs[0][0] = np.array(np.sum(theta**2))

    def grad(self, inputs: Any, g: Any) -> Any:
        (theta,) = inputs
        return [g[0] * self.slope(theta)]


class Scaled(Op):
    """`scale * x` and the length of x; everything PyTensor's documentation shows."""

    __props__ = ("scale",)

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def make_node(self, x: Any) -> Apply:
        x = pt.as_tensor_variable(x)
        if x.type.ndim != 1:
            raise TypeError("x must be a vector")
        return Apply(self, [x], [x.type(), pt.lscalar()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        (x,) = inputs
        output_storage[0][0] = np.asarray(self.scale * x, dtype=node.outputs[0].dtype)
        output_storage[1][0] = np.int64(len(x))

    def infer_shape(self, node: Apply, input_shapes: Any) -> Any:
        return [input_shapes[0], ()]

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return [self.scale * cotangents[0]]


class Exponential(Op):
    """Its derivative calls itself."""

    __props__ = ()

    def make_node(self, x: Any) -> Apply:
        x = pt.as_tensor(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        outputs[0][0] = np.exp(inputs[0])

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> Any:
        return [output_grads[0] * outputs[0]]


@as_op(itypes=[pt.dvector, pt.lscalar], otypes=[pt.dmatrix])
def path(theta: Any, steps: Any) -> Any:
    """As many rows as the second operand says."""
    return np.outer(np.arange(1.0, steps + 1), theta)


@pytest.mark.parametrize("backend", BACKENDS)
class TestOps:
    """Values, derivatives, lengths and batches."""

    def test_value_and_gradient(self, backend: str) -> None:
        x = pt.vector("x")
        y = Squares()(2 * x)
        value, slope = pt.function([x], [y + 1, pt.grad(y, x)], mode=backend)(X)
        assert value == pytest.approx(1 + 4 * np.sum(X**2))
        np.testing.assert_allclose(slope, 8 * X)

    def test_several_outputs_and_shapes(self, backend: str) -> None:
        x = pt.vector("x")
        y, n = Scaled(3.0)(x)
        assert y.type == x.type
        f = pt.function([x], [y, n, y.shape[0], pt.grad(pt.sum(y**2), x)], mode=backend)
        found = f(X)
        np.testing.assert_allclose(found[0], 3 * X)
        assert (int(found[1]), int(found[2])) == (3, 3)
        np.testing.assert_allclose(found[3], 18 * X)

    def test_derivative_by_the_results_and_second_derivatives(self, backend: str) -> None:
        x = pt.scalar("x")
        first = pt.grad(Exponential()(x) ** 2, x)
        f = pt.function([x], [first, pt.grad(first, x)], mode=backend)
        np.testing.assert_allclose(f(0.4), [2 * np.exp(0.8), 4 * np.exp(0.8)])
        verify_grad(Exponential(), [X], rng=np.random.default_rng(1))

    def test_lengths_that_the_call_tells(self, backend: str) -> None:
        theta, steps = pt.vector("theta"), pt.lscalar("steps")
        z = path(theta, steps)
        f = pt.function([theta, steps], [z.sum(axis=0), z.shape[0], z.shape[1], pt.exp(z)], mode=backend)
        for count, values in ((4, X), (2, X[:2]), (0, X)):
            whole = path.fn(values, count)
            found = f(values, count)
            np.testing.assert_allclose(found[0], whole.sum(0))
            assert (int(found[1]), int(found[2])) == whole.shape
            np.testing.assert_allclose(found[3], np.exp(whole))

    def test_a_function_is_called_once_for_values_and_lengths(self, backend: str) -> None:
        seen: list[int] = []

        @as_op(itypes=[pt.dvector], otypes=[pt.dvector])
        def twice(x: Any) -> Any:
            seen.append(len(x))
            return np.concatenate([x, x])

        x = pt.vector("x")
        f = pt.function([x], pt.exp(twice(x)), mode=backend)
        assert f(X).shape == (6,)
        if backend == "FAST_RUN":
            assert seen == [3]

    def test_lengths_that_data_need_are_known_before_the_call(self, backend: str) -> None:
        theta = pt.vector("theta", shape=(3,))
        residual = path(theta, 4) - np.ones((4, 3))
        f = pt.function([theta], residual, mode=backend)
        np.testing.assert_allclose(f(X), path.fn(X, 4) - 1)
        with pytest.raises(ShapeError, match=r"`path\(…\).shape\[0\]` is 4 and `5` is 5"):
            pt.function([theta], path(theta, 4) - np.ones((5, 3)), mode=backend)(X)

    def test_batches_call_each_position(self, backend: str) -> None:
        x, many = pt.vector("x", shape=(3,)), pt.matrix("X", shape=(None, 3))
        op, scaled = Squares(), Scaled(2.0)
        outputs = [op(x), pt.grad(op(x) ** 2, x), scaled(x)[0], path(x, 2)]
        made = [vectorize_graph(o, {x: many}) for o in outputs]
        f = pt.function([many], made, mode=backend)
        both = np.stack([X, -2 * X])
        found = f(both)
        np.testing.assert_allclose(found[0], np.sum(both**2, 1))
        np.testing.assert_allclose(found[1], 4 * np.sum(both**2, 1)[:, None] * both)
        np.testing.assert_allclose(found[2], 2 * both)
        np.testing.assert_allclose(found[3], [path.fn(row, 2) for row in both])
        assert [len(v) for v in f(both[:0])] == [0, 0, 0, 0]

    def test_batched_calls_have_derivatives(self, backend: str) -> None:
        """Those by what is shared are summed over the batch."""
        x, a, many = pt.vector("x", shape=(3,)), pt.vector("a", shape=(3,)), pt.matrix("X", shape=(None, 3))
        cost = pt.sum(vectorize_graph(Squares()(x) * Squares()(a), {x: many}))
        f = pt.function([many, a], pt.grad(cost, [many, a]), mode=backend)
        both = np.stack([X, -2 * X])
        by_many, by_a = f(both, X)
        np.testing.assert_allclose(by_many, 2 * both * np.sum(X**2))
        np.testing.assert_allclose(by_a, 2 * X * np.sum(both**2))

    def test_lengths_that_differ_within_a_batch_are_an_error(self, backend: str) -> None:
        @as_op(itypes=[pt.dscalar], otypes=[pt.dvector])
        def zeros(n: Any) -> Any:
            return np.zeros(int(n))

        n, many = pt.dscalar("n"), pt.dvector("many")
        f = pt.function([many], vectorize_graph(zeros(n), {n: many}), mode=backend)
        assert f([2.0, 2.0]).shape == (2, 2)
        with pytest.raises(ShapeError, match="different"):
            f([2.0, 3.0])

    def test_loops_and_branches(self, backend: str) -> None:
        x, a = pt.vector("x"), pt.scalar("a")
        grown = pt.scan(lambda p: Exponential()(a * p), outputs_info=x, n_steps=2, return_updates=False)[-1]
        chosen = pt.ifelse(a > 1, Exponential()(x), x)
        f = pt.function([x, a], [grown, chosen], mode=backend)
        for scale in (0.5, 1.5):
            found = f(X, scale)
            np.testing.assert_allclose(found[0], np.exp(scale * np.exp(scale * X)))
            np.testing.assert_allclose(found[1], np.exp(X) if scale > 1 else X)

    def test_in_place_ops_get_arrays_of_their_own(self, backend: str) -> None:
        class InPlace(Op):
            destroy_map = {0: [0]}  # noqa: RUF012  # as users write it
            itypes, otypes = [pt.dvector], [pt.dvector]

            def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
                inputs[0] += 1
                outputs[0][0] = inputs[0]

        x = pt.vector("x")
        assert pt.function([x], [InPlace()(x), x], mode=backend)(np.zeros(2))[1].tolist() == [0, 0]


class TestGraphs:
    """What users read of a call."""

    def test_owner(self) -> None:
        x, y = pt.vector("x"), pt.scalar("y")
        op = Squares()
        z = op(x) * y
        assert z.owner.inputs[1] is y
        assert isinstance(z.owner.inputs[0].owner.op, Squares)
        assert z.owner.inputs[0].owner.inputs == [x]
        assert z.owner.inputs[0].owner.out is z.owner.inputs[0]
        assert x.owner is None
        assert pt.as_tensor(1.0).owner is None
        assert isinstance(z, Variable)
        assert x in set(ancestors([z]))
        assert SameOp is Op is pt.Op

    def test_equal_ops_are_merged(self) -> None:
        x = pt.vector("x")
        assert Scaled(2.0)(x)[0] is Scaled(2.0)(x)[0]
        assert Scaled(2.0)(x)[0] is not Scaled(3.0)(x)[0]
        assert Scaled(2.0) == Scaled(2.0) != Scaled(3.0)
        assert Squares()(x) is not Squares()(x)
        assert repr(Scaled(2.0)) == "Scaled{scale=2.0}"
        assert path(x, 3) is path(x, 3)

    def test_apply_and_calls(self) -> None:
        x = pt.vector("x")
        made = Scaled(2.0).make_node(x)
        assert made.inputs == [x]
        assert (made.nin, made.nout) == (1, 2)
        assert made.outputs == Scaled(2.0)(x)
        assert Squares()(x, name="energy").name == "energy"
        assert isinstance(Squares()(x, return_list=True), list)

        class Chosen(Scaled):
            default_output = 0

        assert isinstance(Chosen(2.0)(x), Node)

    def test_old_signature_of_infer_shape(self) -> None:
        class Old(Scaled):
            def infer_shape(self, fgraph: Any, node: Apply, input_shapes: Any) -> Any:  # type: ignore[override]  # PyTensor's former one
                assert fgraph is None
                return [input_shapes[0], ()]

        x = pt.vector("x")
        assert Old(2.0)(x)[0].type == x.type

    def test_pickles(self) -> None:
        x = pt.vector("x")
        y = Scaled(2.0)(x)[0] + path(x, 2).sum(axis=0)
        one, other = pickle.loads(pickle.dumps((x, y)))
        np.testing.assert_allclose(pt.function([one], other)(X), 5 * X)
        assert pickle.loads(pickle.dumps(path)) is path

    def test_types_make_variables(self) -> None:
        x = pt.vector("x", shape=(3,))
        assert x.type("z").type == x.type
        assert pt.TensorType("float64", (None, 2))().static_shape[1] == 2
        assert x.type.clone(dtype="int64", shape=(4,))().type == pt.TensorType("int64", (4,))


class TestThreads:
    """Chains are threads, and users' functions were not written for them."""

    @pytest.mark.parametrize("safe", [False, True])
    def test_calls_wait_for_each_other_unless_told(self, safe: bool) -> None:
        meeting = threading.Barrier(2, timeout=0.5)
        met: list[bool] = []

        class Slow(Squares):
            thread_safe = safe

            def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
                try:
                    meeting.wait()
                    met.append(True)
                except threading.BrokenBarrierError:
                    met.append(False)
                super().perform(node, inputs, outputs)

        x = pt.vector("x")
        f = pt.function([x], Slow()(x))
        threads = [threading.Thread(target=f, args=(X,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert met == [safe, safe]

    def test_a_buffer_that_is_used_again_gives_right_numbers(self) -> None:
        class Buffered(Op):
            itypes, otypes = [pt.dvector], [pt.dvector]

            def __init__(self) -> None:
                self.buffer = np.zeros(500)

            def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
                for i in range(len(self.buffer)):
                    self.buffer[i] = inputs[0][0]
                outputs[0][0] = self.buffer

        x = pt.vector("x")
        f = pt.function([x], Buffered()(x))
        wrong: list[float] = []

        def run(number: float) -> None:
            wrong.extend(number for _ in range(30) if not np.all(f([number]) == number))

        threads = [threading.Thread(target=run, args=(float(k),)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


def _op(**methods: Any) -> Any:
    """An op of a vector with some methods."""
    perform = methods.pop("perform", lambda self, node, inputs, outputs: outputs[0].__setitem__(0, inputs[0]))
    own = {"itypes": [pt.dvector], "otypes": [pt.dvector], "perform": perform, **methods}
    return type("Mine", (Op,), own)()


class TestBadOps:
    """What users get wrong is named, and gives no number."""

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_what_perform_raises_reaches_the_caller(self, backend: str) -> None:
        def broken(self: Any, node: Any, inputs: Any, outputs: Any) -> None:
            raise RuntimeError(f"no value at {inputs[0][0]}")

        x = pt.vector("x")
        with pytest.raises(RuntimeError, match=r"no value at 0\.3") as caught:
            pt.function([x], _op(perform=broken, otypes=[pt.dscalar])(x) + 1, mode=backend)(X)
        assert any(entry.name == "broken" for entry in caught.traceback)

    @pytest.mark.parametrize("backend", BACKENDS)
    @pytest.mark.parametrize(
        ("given", "error", "match"),
        [
            (np.zeros((2, 2)), ShapeError, r"`Mine` gave an array of shape \(2, 2\) .*declared 1 axes"),
            (np.array([1j, 2, 3]), DtypeError, "`Mine` gave complex128 .*, but declared float64"),
            (np.array(["a"]), DtypeError, "`Mine` gave <U1 .*, but declared float64"),
            (None, GraphError, r"`perform` of `Mine` left output 0 empty; set `outputs\[0\]\[0\]`"),
        ],
    )
    def test_arrays_that_were_not_declared(self, backend: str, given: Any, error: Any, match: str) -> None:
        x = pt.vector("x")
        op = _op(perform=lambda self, node, inputs, outputs: outputs[0].__setitem__(0, given))
        with pytest.raises(error, match=match):
            pt.function([x], op(x) * 2, mode=backend)(X)

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_infer_shape_that_lies(self, backend: str) -> None:
        x = pt.vector("x")
        op = _op(infer_shape=lambda self, node, shapes: [(shapes[0][0] + 1,)])
        with pytest.raises(ShapeError, match=r"`Mine` gave an array of shape \(3,\) .*where \(4,\) was declared"):
            pt.function([x], op(x) * 2, mode=backend)(X)
        with pytest.raises(ShapeError, match="must give a list of 1 shapes"):
            _op(infer_shape=lambda self, node, shapes: [])(x)
        with pytest.raises(ShapeError, match=r"gives .* for output 0, which was declared with the lengths"):
            _op(infer_shape=lambda self, node, shapes: [(2, 2)])(x)

    def test_inputs_stay_as_they_are(self) -> None:
        def changes(self: Any, node: Any, inputs: Any, outputs: Any) -> None:
            inputs[0][0] = 7
            outputs[0][0] = inputs[0]

        x = pt.vector("x")
        with pytest.raises(ValueError, match="read-only"):
            pt.function([x], _op(perform=changes)(x))(X)

    def test_derivatives(self) -> None:
        x = pt.vector("x")

        def slope(**methods: Any) -> None:
            pt.function([x], pt.grad(pt.sum(_op(**methods)(x)), x))(X)

        with pytest.raises(MissingRuleError, match="`Mine` has no derivative: define `pullback"):
            slope()
        with pytest.raises(MissingRuleError, match="`Mine` has no derivative here: not for vectors"):
            slope(grad=_raising(NotImplementedError("not for vectors")))
        with pytest.raises(ZeroDivisionError):
            slope(grad=_raising(ZeroDivisionError()))
        with pytest.raises(GraphError, match="must give 1 cotangents in a list, got 2"):
            slope(grad=lambda self, inputs, g: [g[0], g[0]])
        with pytest.raises(GraphError, match="must give 1 cotangents in a list, got Node"):
            slope(grad=lambda self, inputs, g: g[0])
        with pytest.raises(ShapeError, match="by input 0 must have the shape"):
            slope(grad=lambda self, inputs, g: [pt.sum(g[0])])
        with pytest.raises(ShapeError, match=r"shape\[0\]` is (3|4)|gave an array"):
            slope(grad=lambda self, inputs, g: [Longer()(g[0])])
        with pytest.raises(DtypeError, match="must be float64, got"):
            slope(grad=lambda self, inputs, g: [g[0] * 1j])
        with pytest.raises(NullTypeGradError, match="by input 0 is not implemented: too hard"):
            slope(grad=lambda self, inputs, g: [grad_not_implemented(self, 0, inputs[0], "too hard.")])
        with pytest.raises(NullTypeGradError, match=r"by input 0 does not exist\."):
            slope(grad=lambda self, inputs, g: [grad_undefined(self, 0, inputs[0])])

    def test_no_influence(self) -> None:
        x = pt.vector("x")
        for nothing in (None, DisconnectedType()()):
            op = _op(grad=lambda self, inputs, g, nothing=nothing: [nothing])
            assert pt.function([x], pt.grad(pt.sum(op(x) + x), x))(X).tolist() == [1, 1, 1]

    def test_calls(self) -> None:
        x = pt.vector("x")
        with pytest.raises(GraphError, match="`Nothing` needs `make_node`, or `itypes` and `otypes`"):
            type("Nothing", (Op,), {})()(x)
        with pytest.raises(GraphError, match=r"`Mine` has no `perform\(self, node, inputs, outputs\)`"):
            type("Mine", (Op,), {"itypes": [pt.dvector], "otypes": [pt.dvector]})()(x)
        with pytest.raises(GraphError, match="was declared with 1 inputs, got 2"):
            _op()(x, x)
        with pytest.raises(GraphError, match="input 0 of `Mine` was declared with 1 axes"):
            _op()(1.0)
        with pytest.raises(DtypeError, match=r"declared as int64, got .*; write `x.astype\('int64'\)`"):
            _op(itypes=[pt.lvector])(x)
        with pytest.raises(ShapeError, match="was declared as"):
            _op(itypes=[pt.TensorType("float64", (2,))])(np.zeros(3))
        with pytest.raises(GraphError, match=r"a type such as `pt.dvector` was needed, got 3"):
            _op(itypes=[3])(x)
        with pytest.raises(GraphError, match="must return an `Apply`, got Node"):
            _op(make_node=lambda self, x: x)(x)
        with pytest.raises(GraphError, match="the inputs of `Mine` must be tensors of consilience, got ndarray"):
            Apply(_op(), [X], [pt.dvector()])  # type: ignore[list-item]  # the mistake
        with pytest.raises(GraphError, match="an instance of a subclass"):
            Apply(Op, [x], [x.type()])  # type: ignore[arg-type]  # the mistake
        with pytest.raises(GraphError, match="lists `data`, and ndarray has no hash"):
            hash(type("Mine", (Op,), {"__props__": ("data",), "data": X})())
        with pytest.raises(TypeError, match="`gradient` must be a function"):
            pt.wrap_py([pt.dvector], [pt.dvector], gradient=3)  # type: ignore[arg-type]  # the mistake


class Longer(Op):
    """One element more than it is given."""

    itypes, otypes = [pt.dvector], [pt.dvector]

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        outputs[0][0] = np.append(inputs[0], 1.0)


def _raising(error: Exception) -> Any:
    def grad(self: Any, inputs: Any, g: Any) -> Any:
        raise error

    return grad


def test_the_function_of_pymc_keeps_its_name() -> None:
    """`consilience.compile` is PyMC's function, and a package of PyTensor's for imports."""
    assert callable(pm.compile)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv"])
def test_lengths_that_are_not_known_yet_are_numbers_in_expressions(name: str) -> None:
    """Those of a `type.shape`, on either side of a tensor."""
    x, s = pt.matrix("x"), pt.scalar("s")
    length, op = x.type.shape[0], getattr(operator, name)
    found = pt.function([x, s], [op(length, s), op(s, length), pt.as_tensor(length)])(np.ones((3, 2)), 2.5)
    assert [float(v) for v in found] == [op(3, 2.5), op(2.5, 3), 3.0]

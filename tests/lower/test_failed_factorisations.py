"""Long programs in parts and loops in chunks: a factorisation that fails ends them, and nothing is made of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import consilience.tensor as pt
from consilience.backends import llvm
from consilience.errors import LinearAlgebraError
from consilience.ir import Node, tensor_input
from consilience.lower import chunks, entry, row_chunks
from consilience.record import Record
from tests.backends.agreement import Array, run_reference, same

N: Final = 3
UNTOUCHED: Final = 7.25  # what memory holds before a call


class Stage(Record):
    """A piece of a program: of a matrix and a scalar, that fails where the scalar is not positive."""

    name: str
    build: Callable[[Node, Node], Node]


def spread(x: Node, t: Node) -> Node:
    """Positive definite where t is positive, and not where it is negative."""
    return x @ x.T + (pt.where(t > 0, t, -1e3) * np.eye(N))


def singular(x: Node, t: Node) -> Node:
    """Of full rank where t is positive, with a column of zeros where it is not."""
    return (spread(x, pt.maximum(t, 1.0))) * pt.stack([pt.maximum(t, 0.0), 1.0, 1.0])


def in_a_loop(x: Node, t: Node) -> Node:
    """Steps that carry nothing: any of them may fail."""
    moved = pt.arange(4.0)
    made = pt.scan(
        lambda k, x, t: pt.linalg.cholesky(spread(x * (1.0 + 0.1 * k), pt.where(k < 2.0, pt.abs(t) + 0.1, t))),
        sequences=moved, non_sequences=[x, t], return_updates=False,
    )  # fmt: skip
    return made.sum(0)


def carried(x: Node, t: Node) -> Node:
    """Each step factors what the one before made."""
    made = pt.scan(
        lambda before, t: pt.linalg.cholesky(spread(before, t)), outputs_info=[x], non_sequences=[t], n_steps=3,
        return_updates=False,
    )  # fmt: skip
    return made[-1]


STAGES: Final = [
    Stage("cholesky", lambda x, t: pt.linalg.cholesky(spread(x, t))),
    Stage("inverse", lambda x, t: pt.linalg.inv(singular(x, t))),
    Stage("solve", lambda x, t: pt.linalg.solve(singular(x, t), x)),
    Stage("positive definite", lambda x, t: pt.linalg.solve(spread(x, t), x, assume_a="pos")),
    Stage("triangular", lambda x, t: pt.linalg.solve_triangular(pt.linalg.cholesky(spread(x, t)), x, lower=True)),
    Stage("batch", lambda x, t: pt.linalg.cholesky(pt.stack([x @ x.T + np.eye(N), spread(x, t)])).sum(0)),
    Stage("branch", lambda x, t: pt.cond(t < 5.0, pt.linalg.cholesky(spread(x, t)), x * 2.0)),
    Stage("loop", in_a_loop),
    Stage("carried", carried),
]


def scalars(x: Node, count: int) -> Node:
    """Scalars one after the other, whose first is read again at the end: they may cross a border of parts."""
    first = last = x[0, 0]
    for i in range(count):
        last = pt.sin(last) + first * (0.1 + i)
    return last + first


Program = list[tuple[Stage, int, bool]]
PROGRAMS: Final = st.lists(
    st.tuples(st.sampled_from(STAGES), st.integers(0, 12), st.booleans()), min_size=1, max_size=4
)


def written(program: Program, start: Node, t: Node) -> list[Node]:
    """What each stage makes of what the one before made; a stage may begin at the start instead."""
    made: list[Node] = []
    for place, (stage, length, anew) in enumerate(program):
        before = start if anew or not made else pt.tanh(made[-1])
        made.append(stage.build(before, t[place]) + scalars(before, length))
    return made


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(program=PROGRAMS, data=st.data(), part=st.sampled_from([1, 8, 32, 256]), cut=st.booleans())
def test_programs_end_where_a_factorisation_fails(
    program: Program, data: st.DataObject, part: int, cut: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the reference: the same values, or an error, after which the next call is as good as the first.

    What depends on a factorisation that failed is not written: it would be of memory that was never written.
    """
    start, t = tensor_input("float64", (N, N), "start"), tensor_input("float64", (len(program),), "t")
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    matrix, good = rng.normal(size=(N, N)), rng.uniform(0.5, 2.0, len(program))
    bad = good.copy()
    bad[data.draw(st.integers(0, len(program) - 1))] *= -1.0
    outputs = written(program, start, t)
    made: list[Array] = []

    def allocated(shape: tuple[int, ...], dtype: Any) -> Array:
        found = np.full(shape, UNTOUCHED, dtype)
        made.append(found)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(chunks, "PART", part)
        if cut:
            patched.setattr(entry, "MANY_ELEMENTS", 0)
            patched.setattr(row_chunks, "LONG", 0)
            patched.setattr(row_chunks, "CHUNK", 1)
        run = llvm.compile([start, t], outputs, {}).bind()
        wanted = run_reference([start, t], outputs, [matrix, good])
        for found, known in zip(run([matrix, good]), wanted, strict=True):
            same(found, known, rtol=1e-9, scale=1.0)
        patched.setattr(llvm, "allocated", allocated)
        with pytest.raises(LinearAlgebraError):
            run_reference([start, t], outputs, [matrix, bad])
        with pytest.raises(LinearAlgebraError):
            run([matrix, bad])
    first = int(np.argmax(bad < 0))
    results = [array for array in made if array.shape == (N, N)]
    assert len(results) == len(program)
    for (_, _, anew), array in list(zip(program, results, strict=True))[first:]:
        if anew and array is not results[first]:
            break  # the rest does not depend on what failed
        assert (array == UNTOUCHED).all()
    for found, known in zip(run([matrix, good]), wanted, strict=True):
        same(found, known, rtol=1e-9, scale=1.0)

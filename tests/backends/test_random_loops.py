"""Random programs with loops: values, slopes and batches are those of Python, on every backend.

`python -m tests.backends.test_random_loops --count 50000 --jobs 2` is the long run.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import consilience.tensor as pt
from consilience.backends.function import Function, function
from consilience.backends.registry import installed
from consilience.errors import ConsilienceError, MissingRuleError, ShapeError
from consilience.gradient import pushforward
from consilience.ir import Node
from consilience.transforms.vectorize import vectorize
from tests.backends.loop_programs import INPUTS, NUMPY, OURS, program, symbols
from tests.backends.shape_programs import Array, Line, outcome

FLOATS = [name for name, (dtype, _) in INPUTS.items() if dtype == "float64"]
STEP = 1e-6


def backends_for(seed: int) -> list[str]:
    """All backends; the system's C compiler, which takes a second per program, for one program in twenty."""
    return [name for name in installed() if name != "c" or seed % 20 == 0]


def compiled(inputs: dict[str, Node], outputs: Sequence[Node], backend: str) -> Function:
    """A function of all inputs, used or not."""
    return function([*inputs.values()], list(outputs), backend=backend, on_unused_input="ignore")


def run(f: Function, values: dict[str, Any]) -> Any:
    """Results, or the error."""
    try:
        return f(*values.values())
    except ConsilienceError as error:
        return error


def stricter(error: ShapeError) -> bool:
    """Sequences too short for their taps are refused in bodies that are never run, too."""
    return re.search(r"sequences of a loop .* is -[12],|taps .* need at least \d+ elements", str(error)) is not None


def tensors(lines: Sequence[Line], results: Sequence[Any]) -> list[Any]:
    """Results that are tensors: not the lists of results of loops."""
    return [r for (name, _), r in zip(lines, results, strict=True) if not name.startswith("L")]


def steady(lines: Sequence[Line], results: Sequence[Any]) -> list[Any]:
    """Results whose lengths are those of inputs: not traces."""
    return [r for (name, _), r in zip(lines, results, strict=True) if name.startswith("r") and name[-2:-1] != "_"]


def told(seed: int, lines: Sequence[Line], values: dict[str, Any], more: object = "") -> str:
    """What to look at."""
    shown = "\n".join(f"  {name} = {code}" for name, code in lines)
    return f"seed {seed} {more}\n{shown}\n{values}"


def check(seed: int, lines: int = 2) -> str:
    """One program: its values always, its slopes and batches for every third seed; returns what was compared."""
    fixed = seed % 2 == 1
    code, samples = program(seed, lines, 1 if fixed else 2, fixed=fixed)
    inputs = symbols(samples[0] if fixed else None)
    try:
        built = outcome(code, inputs, OURS)
    except MissingRuleError as error:
        return refused(error)
    if isinstance(built, ShapeError) and stricter(built):
        return "raises"
    if isinstance(built, Exception):
        for values in samples if fixed else ():
            if isinstance(outcome(code, values, NUMPY), Exception):
                return "raises"
        raise AssertionError(told(seed, code, samples[0], repr(built))) from built
    check_values(seed, code, samples, inputs, built)
    if seed % 3 == 0:
        return "slopes" if check_slopes(seed, code, samples, inputs, built) else "values"
    if seed % 3 == 1:
        try:
            return "batches" if check_batches(seed, code, samples, inputs, built) else "values"
        except MissingRuleError as error:
            return refused(error)
    return "values"


def refused(error: MissingRuleError) -> str:
    """Lengths that differ from one step, or one batch position, to another are refused."""
    if not re.search("differs from one (step of a loop|batch position) to another", str(error)):
        raise error
    return "refused"


def check_values(
    seed: int, code: list[Line], samples: list[dict[str, Any]], inputs: dict[str, Node], built: list[Any]
) -> None:
    """Every line has Python's value, shape and dtype; a program raises where Python raises."""
    for backend in backends_for(seed):
        f = compiled(inputs, tensors(code, built), backend)
        for values in samples:
            wanted = outcome(code, values, NUMPY)
            shown = told(seed, code, values, backend)
            found = run(f, values)
            if isinstance(found, ShapeError) and stricter(found):
                continue
            assert isinstance(wanted, Exception) == isinstance(found, Exception), f"{shown}\n{wanted!r}\n{found!r}"
            if isinstance(found, Exception):
                continue
            for i, (a, b) in enumerate(zip(found, map(np.asarray, tensors(code, wanted)), strict=True)):
                assert (a.shape, a.dtype) == (b.shape, b.dtype), f"result {i}: {a!r}, wanted {b!r}, {shown}"
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg=f"result {i}, {shown}")


def smooth(results: Sequence[Any]) -> Any:
    """A scalar that every float depends on: of nodes, or of arrays."""
    floats = [r for r in results if str(getattr(r, "dtype", "float64")) == "float64"]
    return sum(
        (0.5 * (r * r) + r).sum() for r in map(pt.as_tensor if isinstance(results[0], Node) else np.asarray, floats)
    )


def check_slopes(
    seed: int, code: list[Line], samples: list[dict[str, Any]], inputs: dict[str, Node], built: list[Any]
) -> bool:
    """Pullback and pushforward are the slope of Python's value."""
    generator = np.random.default_rng(seed)
    cost = smooth(tensors(code, built))
    if not isinstance(cost, Node):
        return False
    own = {name: inputs[name] for name in FLOATS}
    ways = {name: generator.normal(size=np.shape(samples[0][name])) for name in FLOATS}
    slopes = pt.grad(cost, list(own.values()), disconnected_inputs="ignore")
    tangents = {name: pt.tensor(f"t{name}", shape=leaf.static_shape) for name, leaf in own.items()}
    (moved,) = pushforward([cost], list(own.values()), list(tangents.values()), "ignore")
    compared = False
    for backend in backends_for(seed):
        values = samples[0]
        if isinstance(outcome(code, values, NUMPY), Exception):
            continue
        near, far = (slope(code, values, ways, step) for step in (STEP, 10 * STEP))
        if near is None or far is None or not np.isclose(near, far, rtol=1e-4, atol=1e-6):
            continue  # a jump, or another number of steps, lies too near
        shown = told(seed, code, values, f"{backend}, slope")
        every = {**inputs, **{f"t{name}": leaf for name, leaf in tangents.items()}}
        *found, pushed = compiled(every, [*slopes, moved], backend)(*values.values(), *ways.values())
        pulled = sum(float((f * ways[name]).sum()) for name, f in zip(FLOATS, found, strict=True))
        np.testing.assert_allclose(pulled, near, rtol=1e-4, atol=1e-5, err_msg=shown)
        np.testing.assert_allclose(pushed, pulled, rtol=1e-7, atol=1e-8, err_msg=f"pushforward, {shown}")
        compared = True
    return compared


def slope(code: list[Line], values: dict[str, Any], ways: dict[str, Array], step: float) -> float | None:
    """The central difference of Python's value along a direction; None where a side has other lengths."""
    sides = []
    for sign in (1.0, -1.0):
        moved = {**values, **{name: values[name] + sign * step * way for name, way in ways.items()}}
        found = outcome(code, moved, NUMPY)
        if isinstance(found, Exception):
            return None
        sides.append(tensors(code, found))
    if [np.shape(v) for v in sides[0]] != [np.shape(v) for v in sides[1]]:
        return None
    return float((smooth(sides[0]) - smooth(sides[1])) / (2 * step))


def check_batches(
    seed: int, code: list[Line], samples: list[dict[str, Any]], inputs: dict[str, Node], built: list[Any]
) -> bool:
    """Batched over some inputs, programs give what a Python loop over them gives."""
    generator = np.random.default_rng(seed)
    names = [name for name in INPUTS if generator.integers(3) == 0] or ["a"]
    size, values = int(generator.integers(1, 4)), samples[0]
    rows = [dict(values) for _ in range(size)]
    for name in names:
        for row in rows[1:]:
            row[name] = np.asarray(generator.permuted(np.ravel(values[name])).reshape(np.shape(values[name])))
            if row[name].dtype.kind == "f":
                row[name] = row[name] + generator.uniform(-0.5, 0.5, row[name].shape)
            elif row[name].dtype.kind == "i":
                row[name] = generator.integers(0, 6, row[name].shape)
    wanted = [outcome(code, row, NUMPY) for row in rows]
    outputs = steady(code, built)
    if any(isinstance(w, Exception) for w in wanted) or not outputs:
        return False
    batch = {
        name: pt.tensor(f"{name}s", dtype=INPUTS[name][0], shape=(size, *inputs[name].static_shape)) for name in names
    }
    made = vectorize(outputs, {inputs[name]: leaf for name, leaf in batch.items()})
    for backend in backends_for(seed):
        shown = told(seed, code, {**values, **{n: [r[n] for r in rows] for n in names}}, f"{backend}, over {names}")
        given = [np.stack([row[name] for row in rows]) if name in batch else values[name] for name in INPUTS]
        found = compiled({**inputs, **batch}, made, backend)(*given)
        columns = zip(*(steady(code, w) for w in wanted), strict=True)
        for i, (f, column) in enumerate(zip(found, columns, strict=True)):
            np.testing.assert_allclose(f, np.stack(column), rtol=1e-9, atol=1e-9, err_msg=f"result {i}, {shown}")
    return True


@pytest.mark.parametrize("block", range(3))
def test_programs_with_loops_are_those_of_python(block: int) -> None:
    done = Counter(check(seed, 1) for seed in range(15 * block, 15 * block + 15))
    assert min(done["slopes"], done["batches"]) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("block", range(50))
def test_many_programs_with_loops_are_those_of_python(block: int) -> None:
    for seed in range(1000 + 100 * block, 1100 + 100 * block):
        check(seed)


def _checked(seed: int) -> tuple[int, str, str]:
    try:
        return seed, check(seed), ""
    except Exception as error:
        return seed, f"{type(error).__name__}: {str(error).strip().splitlines()[0][:90]}", traceback.format_exc()


def main() -> int:
    """Count what was compared, and print programs that fail."""
    parser = argparse.ArgumentParser(prog="python -m tests.backends.test_random_loops", description=main.__doc__)
    parser.add_argument("--count", type=int, default=1000, help="programs in all")
    parser.add_argument("--first", type=int, default=100_000, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--shown", type=int, default=10, help="failures that are printed in full")
    chosen = parser.parse_args()
    began, done, failed = time.monotonic(), Counter[str](), 0
    with get_context("spawn").Pool(chosen.jobs, maxtasksperchild=300) as pool:
        for seed, what, text in pool.imap_unordered(_checked, range(chosen.first, chosen.first + chosen.count), 10):
            done[what if not text else "failed"] += 1
            print(f"\r{done.total()} programs, {failed} fail", end="", file=sys.stderr, flush=True)
            if text:
                failed += 1
                print(f"\nseed {seed}: {text if failed <= chosen.shown else what}", flush=True)
    print(f"{chosen.count} programs in {time.monotonic() - began:.0f} s: {dict(done)}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())

"""Random programs of all public functions: values, slopes and batches are NumPy's, on every backend.

`python -m tests.tensor.test_random_programs --count 50000 --jobs 2` is the long run.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import traceback
from collections import Counter
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import consilience.tensor as pt
from consilience.backends.function import function
from consilience.backends.registry import installed
from consilience.errors import ConsilienceError, LinearAlgebraError, MissingRuleError
from consilience.ir import Node
from consilience.transforms.vectorize import vectorize
from tests.tensor.random_programs import Array, Program, Writer, expressions, values

LARGEST = 1e9  # of costs whose differences are slopes
RELATIVE = {"float64": 1e-8, "complex128": 1e-8, "float32": 2e-3, "complex64": 2e-3, "float16": 5e-2}


def symbols(program: Program, *, symbolic: bool) -> dict[str, Node]:
    """The leaves, with symbolic lengths (but for 1, which broadcasts) or with their own."""
    static = any("static" in line.row.remarks for line in program.lines)
    return {
        n: pt.tensor(n, dtype=str(a.dtype), shape=[None if symbolic and not static and k != 1 else k for k in a.shape])
        for n, a in program.leaves.items()
    }


def apart(found: Array, wanted: Array, single: bool) -> bool:
    """Whether two results differ by more than rounding of what they are made of."""
    if found.shape != wanted.shape:
        return True
    if found.dtype.kind not in "fc":
        return not np.array_equal(found, wanted)
    relative = RELATIVE["float32" if single else str(found.dtype)]
    size = np.abs(wanted[np.isfinite(wanted)]).max(initial=1e-3)
    return not np.allclose(found, wanted, rtol=relative, atol=relative * size, equal_nan=True)


def steady(program: Program, wanted: dict[str, Array]) -> bool:
    """Whether rounding leaves NumPy's own results as they are."""
    single = in_single(program)
    for seed in range(4):
        try:
            again = values(program, program.leaves, np.random.default_rng(seed))
        except (ValueError, IndexError, np.linalg.LinAlgError):
            return False
        if any(apart(again[name], wanted[name], single) for line in program.lines for name in line.names):
            return False
    return True


def in_single(program: Program) -> bool:
    """Whether something is computed in float32."""
    return any(s.dtype == "float32" for line in program.lines for s in line.sources) or any(
        a.dtype == np.float32 for a in program.leaves.values()
    )


def check(seed: int, names: list[str] | None = None) -> str:
    """One program; returns what was compared."""
    program = Writer(seed, names).write(int(np.random.default_rng(seed).integers(2, 7)))
    if not program.lines:
        return "empty"
    wanted = values(program, program.leaves)
    leaves = symbols(program, symbolic=seed % 2 == 0)
    try:
        made = expressions(program, leaves)
        outputs = {name: made[name] for line in program.lines for name in line.names}
        kept = check_values(seed, program, leaves, outputs, wanted)
    except MissingRuleError as error:
        return refused(error)
    except ConsilienceError as error:
        raise AssertionError(f"seed {seed}\n{program}\n{error!r}") from error
    if not kept:
        return "unsteady"
    try:
        if seed % 3 == 0:
            return "slopes" if check_slopes(seed, program, leaves, outputs) else "values"
        if seed % 3 == 1 and seed % 2 == 1:
            return "batches" if check_batches(seed, program, leaves, outputs) else "values"
    except MissingRuleError as error:
        return refused(error)
    except ConsilienceError as error:
        raise AssertionError(f"seed {seed}\n{program}\n{error!r}") from error
    return "values"


def refused(error: MissingRuleError) -> str:
    """Why something is not computed: derivatives that nobody has, lengths that differ within a batch."""
    if not re.search("is not known|no derivative|differs from one batch position to another", str(error)):
        raise error
    return "refused"


def check_values(
    seed: int, program: Program, leaves: dict[str, Node], outputs: dict[str, Node], wanted: dict[str, Array]
) -> bool:
    """Every line has NumPy's value; False where rounding decides."""
    single = in_single(program)
    for backend in installed():
        f = function([*leaves.values()], [*outputs.values()], backend=backend, on_unused_input="ignore")
        found = f(*program.leaves.values())
        for (name, node), value in zip(outputs.items(), found, strict=True):
            meant = wanted[name].astype(value.dtype)
            assert str(value.dtype) == node.dtype
            if apart(value, meant, single):
                if not steady(program, wanted):
                    return False
                raise AssertionError(f"seed {seed}, {backend}, {name}: {value!r}, wanted {meant!r}\n{program}")
    return True


def cost_of(made: dict[str, Any], names: list[str]) -> Any:
    """A smooth number that depends on all results."""
    own = pt if isinstance(made[names[0]], Node) else np
    with np.errstate(all="ignore"):
        return sum((own.tanh(made[n] * 0.3) + made[n] * 0.1).sum() for n in names)


def check_slopes(seed: int, program: Program, leaves: dict[str, Node], outputs: dict[str, Node]) -> bool:
    """The gradient is the slope of NumPy's value along a direction, where that is smooth."""
    names = [n for n, node in outputs.items() if node.dtype == "float64"]
    moved = [n for n, a in program.leaves.items() if a.dtype == np.float64 and a.size]
    altered = any("grad" in line.row.text for line in program.lines)  # derivatives are not those of values
    if in_single(program) or altered or not names or not moved:
        return False
    rng = np.random.default_rng(seed)
    ways = {n: rng.normal(size=program.leaves[n].shape) for n in moved}

    def slope(step: float) -> float:
        sides = []
        for sign in (1, -1):
            at = {n: a + sign * step * ways[n] if n in ways else a for n, a in program.leaves.items()}
            found = values(program, at)
            sides.append(float(cost_of({n: found[n] for n in names}, names)))
        return (sides[0] - sides[1]) / (2 * step)

    try:
        near, far = slope(1e-6), slope(1e-5)
    except (ValueError, IndexError, np.linalg.LinAlgError):
        return False
    level = cost_of({n: values(program, program.leaves)[n] for n in names}, names)
    if abs(level) > LARGEST or not np.isfinite(near) or not np.isclose(near, far, rtol=1e-5, atol=1e-6):
        return False
    slopes = pt.grad(cost_of(outputs, names), [leaves[n] for n in moved], disconnected_inputs="ignore")
    for backend in installed():
        f = function([*leaves.values()], slopes, backend=backend, on_unused_input="ignore")
        try:
            found = f(*program.leaves.values())
        except LinearAlgebraError:  # values that have no derivatives, as factors of a matrix without full rank
            return False
        pulled = sum(float((s * ways[n]).sum()) for n, s in zip(moved, found, strict=True))
        if not np.isclose(pulled, near, rtol=1e-4, atol=1e-5):
            middle = slope(3e-7)
            if not np.isclose(near, middle, rtol=1e-4, atol=1e-5):
                return False
            raise AssertionError(f"seed {seed}, {backend}: slope {pulled}, wanted {near}\n{program}")
    return True


def check_batches(seed: int, program: Program, leaves: dict[str, Node], outputs: dict[str, Node]) -> bool:
    """Batched over some leaves, the program gives what a Python loop gives."""
    rng = np.random.default_rng(seed)
    own = [n for n in leaves if rng.random() < 0.5] or [next(iter(leaves))]
    rows = [
        {n: np.asarray(a + 0.3 * k * rng.normal(size=a.shape), a.dtype) if n in own else a
         for n, a in program.leaves.items()} for k in range(3)
    ]  # fmt: skip
    try:
        wanted = [values(program, row) for row in rows]
    except (ValueError, IndexError, np.linalg.LinAlgError):
        return False
    if any(len({w[n].shape for w in wanted}) > 1 for n in outputs):
        return False
    batch = {n: pt.tensor(f"{n}s", dtype=leaves[n].dtype, shape=(3, *leaves[n].static_shape)) for n in own}
    made = vectorize([*outputs.values()], {leaves[n]: leaf for n, leaf in batch.items()})
    inputs = {**leaves, **batch}
    given = [np.stack([row[n] for row in rows]) if n in batch else a for n, a in program.leaves.items()]
    single = in_single(program)
    for backend in installed():
        f = function([inputs[n] for n in program.leaves], made, backend=backend, on_unused_input="ignore")
        for (name, node), value in zip(outputs.items(), f(*given), strict=True):
            meant = np.stack([w[name] for w in wanted]).astype(node.dtype)
            # A result that depends on nothing batched has no axis for it.
            whole = value if value.ndim == meant.ndim else np.broadcast_to(value, meant.shape)
            if apart(whole, meant, single):
                if not all(steady(program._replace(leaves=r), w) for r, w in zip(rows, wanted, strict=True)):
                    return False
                raise AssertionError(
                    f"seed {seed}, {backend}, over {own}, {name}: {value!r}, wanted {meant!r}\n{program}"
                )
    return True


@pytest.mark.parametrize("block", range(4))
def test_programs_of_public_functions_are_those_of_numpy(block: int) -> None:
    done = Counter(check(seed) for seed in range(25 * block, 25 * block + 25))
    assert min(done["slopes"], done["batches"]) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("block", range(50))
def test_many_programs_of_public_functions_are_those_of_numpy(block: int) -> None:
    for seed in range(1000 + 100 * block, 1100 + 100 * block):
        check(seed)


def _checked(job: tuple[int, list[str] | None]) -> tuple[int, str, str]:
    try:
        return job[0], check(*job), ""
    except Exception as error:
        return job[0], f"{type(error).__name__}: {str(error).strip().splitlines()[0][:90]}", traceback.format_exc()


def main() -> int:
    """Count what was compared, and print programs that fail."""
    parser = argparse.ArgumentParser(prog="python -m tests.tensor.test_random_programs", description=main.__doc__)
    parser.add_argument("--count", type=int, default=1000, help="programs in all")
    parser.add_argument("--first", type=int, default=100_000, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--shown", type=int, default=10, help="failures that are printed in full")
    parser.add_argument("--names", nargs="*", help="functions that programs are made of; all without")
    chosen = parser.parse_args()
    began, done, failed = time.monotonic(), Counter[str](), 0
    jobs = ((seed, chosen.names) for seed in range(chosen.first, chosen.first + chosen.count))
    with get_context("spawn").Pool(chosen.jobs, maxtasksperchild=300) as pool:
        for seed, what, text in pool.imap_unordered(_checked, jobs, 10):
            done[what if not text else "failed"] += 1
            if text:
                failed += 1
                print(f"\nseed {seed}: {text if failed <= chosen.shown else what}", flush=True)
    print(f"{chosen.count} programs in {time.monotonic() - began:.0f} s: {dict(done)}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())

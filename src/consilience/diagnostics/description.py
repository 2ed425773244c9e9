"""Numbers of many parameters by machine code: arrays (chain, draw, ...) enter, a column per number leaves.

They are what the diagnostics written in NumPy give, in a tenth of the time; these serve draws that are not finite, or
few.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from consilience.diagnostics import effective_sample_size, interval, split_rhat
from consilience.diagnostics.examination import errors_of_sample
from consilience.diagnostics.measurement import evaluate, in_blocks
from consilience.diagnostics.sample import FloatArray, Sample
from consilience.diagnostics.watch.columns import MOST_DRAWS
from consilience.diagnostics.watch.description import WIDTH
from consilience.diagnostics.watch.memory import plan_for, workspace_for
from consilience.diagnostics.watch.watch import FEWEST_DRAWS, machine_code, pointer
from consilience.native.typed_python import address

Part = Literal["statistics", "errors", "ranks"]
IntervalKind = Literal["hdi", "eti"]

PARTS: Final[dict[Part, tuple[str, ...]]] = {
    "statistics": ("mean", "sd", "lower", "upper"),
    "errors": ("mcse_mean", "mcse_sd"),
    "ranks": ("ess_bulk", "ess_tail", "r_hat"),
}
INTERVALS: Final = {"hdi": interval.highest_density_of_sample, "eti": interval.equal_tails_of_sample}


def describe(
    variables: Sequence[npt.NDArray[np.generic]],
    parts: Collection[Part],
    ci_kind: IntervalKind = "hdi",
    ci_prob: float = 0.94,
) -> dict[str, FloatArray]:
    """Columns of some parts, named as in `PARTS`, of all elements in C order, one variable after the other.

    ci_kind, ci_prob   kind and probability of the interval from `lower` to `upper`

    A parameter with a NaN draw has NaN throughout. Raises ShapeError and TypeError as `measure`.
    """

    def by_numpy(sample: Sample) -> FloatArray:
        return np.column_stack(
            [
                sample.pooled.mean(axis=1),
                sample.deviation,
                INTERVALS[ci_kind](sample, ci_prob),
                errors_of_sample(sample),
                effective_sample_size.bulk_of_sample(sample),
                effective_sample_size.tail_of_sample(sample),
                split_rhat.of_sample(sample),
            ]
        )

    def of_block(draws: FloatArray) -> dict[str, FloatArray]:
        table, known = by_machine_code(draws, parts, ci_kind == "hdi", ci_prob)
        if not known.all():
            table[~known] = evaluate(Sample(draws[~known]), {"": by_numpy})[""]
        return {"": table}

    table = in_blocks(variables, of_block)[""]
    names = [name for part in PARTS for name in PARTS[part]]
    wanted = {name for part in parts for name in PARTS[part]}
    return {name: table[:, place].copy() for place, name in enumerate(names) if name in wanted}


def by_machine_code(
    draws: FloatArray, parts: Collection[Part], highest: bool, probability: float
) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Table (parameter, column) of draws (parameter, chain, draw), and of which parameters its rows tell.

    These are the ones with finite draws, if there are enough of them and not more than positions can tell apart.
    """
    parameters, chains, count = draws.shape
    table = np.full((parameters, WIDTH), np.nan)
    if count < FEWEST_DRAWS or chains * count > MOST_DRAWS:
        return table, np.zeros(parameters, bool)
    code, plan, work = machine_code(), plan_for(chains, count), workspace_for(chains, count, group=0)
    code["lay_out"](address(plan), chains, count, False)
    left_out = code["describe"](
        pointer(draws),
        parameters,
        address(plan),
        address(work),
        probability,
        highest,
        *(part in parts for part in PARTS),
        pointer(table),
    )
    known = np.ones(parameters, bool)
    if left_out:
        np.isfinite(draws).all(axis=(1, 2), out=known)
    return table, known

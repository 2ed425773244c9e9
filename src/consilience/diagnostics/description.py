"""Columns of numbers of many parameters, by machine code.

They are what the diagnostics written in NumPy give, in a tenth of the time; these serve draws that are not finite, or
few.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from consilience.diagnostics import effective_sample_size, interval
from consilience.diagnostics import superchains as nested
from consilience.diagnostics.compiled.columns import COLUMNS, WIDTH
from consilience.diagnostics.compiled.library import FEWEST_DRAWS, MOST_DRAWS, PARTS, Part, Pass
from consilience.diagnostics.examination import errors_of_sample
from consilience.diagnostics.measurement import evaluate, in_blocks
from consilience.diagnostics.sample import FloatArray, Sample
from consilience.diagnostics.split_rhat import of_sample as split_rhat_of

IntervalKind = Literal["hdi", "eti"]
INTERVALS: Final = {"hdi": interval.highest_density_of_sample, "eti": interval.equal_tails_of_sample}


def describe(
    variables: Sequence[npt.NDArray[np.generic]],
    parts: Collection[Part],
    ci_kind: IntervalKind = "hdi",
    ci_prob: float = 0.94,
    superchains: int = 0,
) -> dict[str, FloatArray]:
    """Columns of some parts, named as in `PARTS`, of all elements in C order, one variable after the other.

    A parameter with a NaN draw has NaN throughout. Raises ShapeError and TypeError as `measure`.
    """
    table = table_of(variables, parts, ci_kind, ci_prob, superchains=superchains)
    wanted = [name for part in PARTS if part in parts for name in PARTS[part]]
    return {name: table[:, COLUMNS.index(name)].copy() for name in wanted}


def table_of(
    variables: Sequence[npt.NDArray[np.generic]],
    parts: Collection[Part],
    ci_kind: IntervalKind = "hdi",
    ci_prob: float = 0.94,
    target_rhat: float = 1.01,
    superchains: int = 0,
) -> FloatArray:
    """The same as a table (parameter, column), see `compiled.columns.COLUMNS`.

    `target_rhat`: R-hat above which the noise ratio is found, see `stopping_rule`; NaN for draws that are not finite.
    """

    def by_numpy(sample: Sample) -> FloatArray:
        found = np.full((len(sample.draws), WIDTH), np.nan)
        found[:, : COLUMNS.index("noise_ratio")] = np.column_stack(
            [
                sample.pooled.mean(axis=1),
                sample.deviation,
                INTERVALS[ci_kind](sample, ci_prob),
                errors_of_sample(sample),
                effective_sample_size.bulk_of_sample(sample),
                effective_sample_size.tail_of_sample(sample),
                split_rhat_of(sample),
            ]
        )
        return found

    chains, count = variables[0].shape[:2] if variables and variables[0].ndim >= 2 else (0, 0)
    native = Pass(chains, count) if chains and FEWEST_DRAWS <= count <= MOST_DRAWS // chains else None

    def of_block(draws: FloatArray) -> dict[str, FloatArray]:
        if native is None:
            return {"": evaluate(Sample(draws), {"": by_numpy})[""]}
        table = native.table(draws, parts, highest=ci_kind == "hdi", probability=ci_prob, target_rhat=target_rhat)
        if superchains and "ranks" in parts:
            nested.replace(table, draws, superchains, target_rhat)
        infinite = table[:, COLUMNS.index("unusable")] > 0
        if infinite.any():
            table[infinite] = evaluate(Sample(draws[infinite]), {"": by_numpy})[""]
        return {"": table}

    return in_blocks(variables, of_block)[""]

"""Plans beside the optimum, which mixed-integer programming finds: the exact price of shared work and of loops."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import lil_matrix

from consilience.planning.alternatives import Alternatives
from consilience.planning.choice import Price, cheapest
from consilience.planning.explore import ALWAYS, EXPLORE
from consilience.rewrite.rules import simplify
from tests.planning.cases import CASES, made
from tests.planning.random_programs import RandomProgram

# The rest to the optimum that a plan may leave.
LEFT = 0.02


def optimum(found: Alternatives) -> float:
    """The least price of all choices.

    One number for each member (it is taken), each way of reading a class (some member does), and each set of ways in
    which a member may be read, which has a price.
    """
    price = Price(found)
    members = [(n, m) for n in found.order for m in range(len(found.members[n]))]
    place = {pair: i for i, pair in enumerate(members)}
    costs = [0.0] * len(members)
    rows: list[dict[int, float]] = []
    lower: list[float] = []

    def variable(cost: float) -> int:
        costs.append(cost)
        return len(costs) - 1

    def at_least(row: dict[int, float], bound: float) -> None:
        rows.append(row)
        lower.append(bound)

    ways: dict[tuple[int, object], int] = {}
    for number, member in members:
        for operand, reading in price.reads(number, member):
            if (operand, reading) not in ways:
                ways[operand, reading] = variable(0.0)
            at_least({ways[operand, reading]: 1.0, place[number, member]: -1.0}, 0.0)
    for output in found.outputs:
        if (output, "whole") not in ways:
            ways[output, "whole"] = variable(0.0)
        at_least({ways[output, "whole"]: 1.0}, 1.0)
    readings: dict[int, list[object]] = {}
    for (number, reading), way in ways.items():
        readings.setdefault(number, []).append(reading)
        taken = {place[number, m]: 1.0 for m in range(len(found.members[number]))}
        at_least({**taken, way: -1.0}, 0.0)
    # The price of a member is a function of the set of readings: one number per member and set that may occur.
    for number, member in members:
        kinds = readings.get(number, [])
        for mask in range(1, 1 << len(kinds)):
            present = [kinds[i] for i in range(len(kinds)) if mask >> i & 1]
            own = price.share_of(number, member, present)
            chosen = variable(own)
            place[number, member, mask] = chosen  # type: ignore[index]  # a table of both
        if kinds:
            sets = [place[number, member, mask] for mask in range(1, 1 << len(kinds))]  # type: ignore[index]
            at_least({**dict.fromkeys(sets, 1.0), place[number, member]: -1.0}, 0.0)
            for i, kind in enumerate(kinds):
                with_kind = {place[number, member, k]: 1.0 for k in range(1, 1 << len(kinds)) if k >> i & 1}  # type: ignore[index]
                at_least({**with_kind, place[number, member]: -1.0, ways[number, kind]: -1.0}, -1.0)
    matrix = lil_matrix((len(rows), len(costs)))
    for i, row in enumerate(rows):
        for column, value in row.items():
            matrix[i, column] = value
    scale = max(costs)
    result = milp(
        np.array(costs) / scale,
        constraints=LinearConstraint(matrix.tocsr(), np.array(lower)),
        integrality=np.ones(len(costs)),
        bounds=Bounds(0, 1),
        options={"time_limit": 20.0, "mip_rel_gap": 1e-6},
    )
    assert result.success, result.message
    return float(result.fun * scale)


@pytest.mark.parametrize("name", CASES)
def test_plans_are_close_to_the_optimum(name: str) -> None:
    found = Alternatives(simplify(made(name).outputs), [], EXPLORE, ALWAYS)
    price = Price(found)
    cheapest(price)
    best = optimum(found)
    assert best <= price.total * (1 + 1e-6)
    assert price.total <= best * (1 + LEFT)


@pytest.mark.parametrize("seed", range(12))
def test_plans_of_random_programs_are_close_to_the_optimum(seed: int) -> None:
    found = Alternatives(simplify(RandomProgram(seed, 14).outputs), [], EXPLORE, ALWAYS)
    price = Price(found)
    cheapest(price)
    best = optimum(found)
    assert best <= price.total * (1 + 1e-6)
    assert price.total <= best * (1 + LEFT) + 1e-8

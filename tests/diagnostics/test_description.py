"""What machine code tells of many parameters is what the diagnostics written in NumPy tell."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from consilience import diagnostics
from consilience.diagnostics.compiled import columns as native
from consilience.diagnostics.compiled.library import PARTS, plan_for, workspace_for
from consilience.diagnostics.compiled.series import lay_out
from consilience.diagnostics.description import IntervalKind, describe
from consilience.diagnostics.monitor import ConvergenceMonitor
from consilience.errors import ShapeError
from tests.diagnostics.test_monitor import FINITE, KINDS, SHAPES, all_kinds


def by_numpy(draws: np.ndarray, ci_kind: IntervalKind, ci_prob: float) -> dict[str, np.ndarray]:
    """All columns for (chain, draw, parameter)."""
    interval = diagnostics.hdi if ci_kind == "hdi" else diagnostics.eti
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        # Seen from the first of them, constant draws have no deviation, and sums no needless digits.
        origin = np.where(np.isfinite(draws).all(axis=(0, 1)), draws[0, 0], 0.0)
        moved = draws - origin
        pooled = moved.reshape(-1, draws.shape[2])
        lower, upper = interval(draws, ci_prob).T
        return {
            "mean": origin + pooled.mean(axis=0),
            "sd": pooled.std(axis=0, ddof=1) if len(pooled) > 1 else np.full(draws.shape[2], np.nan),
            "lower": lower,
            "upper": upper,
            "mcse_mean": diagnostics.mcse_mean(moved),
            "mcse_sd": diagnostics.mcse_sd(moved),
            "ess_bulk": diagnostics.ess_bulk(draws),
            "ess_tail": diagnostics.ess_tail(draws),
            "r_hat": diagnostics.split_rhat(draws),
        }


@pytest.mark.parametrize(("ci_kind", "ci_prob"), [("hdi", 0.94), ("eti", 0.5), ("hdi", 1 - 1e-16)])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_machine_code_tells_what_numpy_tells(shape: tuple[int, int], ci_kind: IntervalKind, ci_prob: float) -> None:
    """To 1e-9: for draws of every kind, those that are not finite among them."""
    draws = all_kinds(shape)
    found, expected = describe([draws], PARTS, ci_kind, ci_prob), by_numpy(draws, ci_kind, min(ci_prob, 1 - 1e-9))
    assert list(found) == list(expected)
    for place, kind in enumerate(KINDS):
        for name, values in expected.items():
            if kind != "huge" or name in PARTS["ranks"]:
                np.testing.assert_allclose(
                    found[name][place],
                    values[place],
                    rtol=1e-9,
                    atol=1e-15 * expected["sd"][place] if name == "mcse_sd" else 0,  # rounding of equal squares
                    err_msg=f"{kind} {name}",
                )


def test_means_of_huge_draws_are_no_greater_than_they() -> None:
    """Their sum is too large for a number; their standard deviation is, too."""
    draws = 1.7e308 * np.random.default_rng(1).uniform(-1, 1, size=(4, 100, 1))
    found = describe([draws], ["statistics"])
    np.testing.assert_allclose(found["mean"], (draws / draws.size).sum(), rtol=1e-12)
    assert np.isinf(found["sd"])


def test_elements_of_any_type_rank_and_layout_keep_their_places() -> None:
    rng = np.random.default_rng(3)
    variables = [
        rng.integers(0, 5, (4, 50)),
        rng.normal(size=(3, 2, 50, 4)).T,
        rng.normal(size=(4, 50, 0)),
        rng.random((4, 50)) < 0.3,
    ]
    together = np.concatenate([variable.reshape(4, 50, -1).astype(float) for variable in variables], axis=2)
    found, expected = describe(variables, PARTS), describe([together], PARTS)
    assert all(len(column) == 8 for column in found.values())
    for name, column in expected.items():
        np.testing.assert_array_equal(found[name], column)


def test_many_blocks_make_one_result_of_the_parts_asked_for() -> None:
    """Blocks are shared among threads; parameters keep their places, and no part depends on the others."""
    draws = np.random.default_rng(4).normal(size=(4, 500, 700)) + 0.1 * np.arange(700)
    everything = describe([draws], PARTS)
    np.testing.assert_allclose(everything["mean"], draws.mean(axis=(0, 1)), rtol=1e-9)
    for part, names in PARTS.items():
        found = describe([draws], [part])
        assert tuple(found) == names
        for name in names:
            np.testing.assert_array_equal(found[name], everything[name])


@pytest.mark.parametrize("shape", [(4, 500), (4, 501), (2, 40)], ids=str)
def test_a_summary_shows_what_a_run_was_judged_by(shape: tuple[int, int]) -> None:
    """R-hat and both effective sizes of a summary are those of the monitor over the same draws, in every bit."""
    draws = all_kinds(shape, FINITE)
    monitor = ConvergenceMonitor(shape[0], draws.shape[2])
    monitor.extend(draws)
    judged, shown = monitor.measure(), diagnostics.summary(draws)
    for name in ("r_hat", "ess_bulk", "ess_tail"):
        np.testing.assert_array_equal(shown[name], getattr(judged, name))


def test_cpython_tells_the_same_up_to_the_last_bits() -> None:
    """The functions are Python; a scalar with a NaN is left out."""
    values = np.random.default_rng(5).normal(size=(3, 2, 61))
    values[1, 0, 3] = np.nan
    tables = []
    for look in (native.describe.compiled, native.describe):
        plan, work, table = plan_for(2, 61), workspace_for(2, 61), np.zeros((3, native.WIDTH))
        lay_out(plan)
        assert look(values.reshape(-1), 3, plan, work, 0.9, False, True, True, True, 1.0, table.reshape(-1)) == 1
        tables.append(table)
    np.testing.assert_allclose(tables[0], tables[1], rtol=1e-12)
    assert tables[0][[0, 2], :9].all()
    assert tables[0][:, 9].any()
    assert tables[0][:, -1].tolist() == [0, 1, 0]
    assert not tables[0][1, :-1].any()


def test_variables_of_different_lengths_are_refused() -> None:
    with pytest.raises(ShapeError, match="same number of chains and draws"):
        describe([np.zeros((4, 10)), np.zeros((4, 11))], PARTS)
    assert all(len(column) == 0 for column in describe([], PARTS).values())

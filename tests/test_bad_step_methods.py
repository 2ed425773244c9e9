"""Step methods given what they cannot move, starts that are none, and step methods of users that fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import consilience as pm
from consilience.errors import (
    ConvergenceWarning,
    InitialPointError,
    ModelError,
    ParameterError,
    SamplingError,
    StorageError,
    SupportError,
)
from consilience.inference import Kernel
from consilience.inference.density import Density, log_density, stopped
from consilience.inference.point import Point, start_without_gradient
from consilience.native.typed_python import Array, boolean, f64, i64, native, record

QUIET: dict[str, Any] = {
    "draws": 30, "tune": 20, "chains": 2, "random_seed": 1, "progressbar": False, "compute_convergence_checks": False,
}  # fmt: skip


def switched() -> pm.Model:
    """A real variable and a switch."""
    with pm.Model() as model:
        a = pm.Normal("a", 0.0, 2.0, shape=2)
        b = pm.Bernoulli("b", 0.3)
        pm.Normal("y", a + b, 1.0, observed=[0.3, 1.0])
    return model


# --- nothing to move --------------------------------------------------------------------------------------------


def test_a_step_method_for_a_model_without_free_variables_is_refused() -> None:
    with pm.Model():
        pm.Normal("y", 0.0, 1.0, observed=[1.0])
        with pytest.raises(ModelError, match="no free variables, so there is nothing to infer"):
            pm.sample(step=pm.Metropolis(), **QUIET)


@pytest.mark.parametrize("kind", [pm.NUTS, pm.Slice, pm.BinaryGibbsMetropolis])
def test_an_empty_list_of_variables_is_no_list_of_all(kind: type[Kernel]) -> None:
    """Nothing named would otherwise mean everything that is left."""
    with pytest.raises(
        SamplingError, match=f"{kind.__name__} is given an empty list of variables; name some, or leave"
    ):
        kind([])


@pytest.mark.parametrize("kind", [pm.NUTS, pm.HamiltonianMC, pm.Metropolis, pm.Slice, pm.DEMetropolisZ])
def test_a_block_without_elements_changes_nothing(kind: type[Kernel]) -> None:
    """A variable of length 0 is moved by whatever is named for it, beside a step method that has work to do."""
    with pm.Model():
        nothing = pm.Normal("nothing", shape=0)
        a = pm.Normal("a")
        pm.Normal("y", a, 1.0, observed=1.0)
        tree = pm.sample(step=[kind([nothing]), pm.Slice([a])], **QUIET)
    assert tree.posterior["nothing"].shape == (2, 30, 0)
    assert np.isfinite(tree.posterior["a"]).all()


# --- starts -----------------------------------------------------------------------------------------------------

DISCRETE: dict[str, tuple[Callable[[], Any], float]] = {
    "Bernoulli": (lambda: pm.Bernoulli("z", 0.3, shape=3), 2.0),
    "Categorical": (lambda: pm.Categorical("z", [0.2, 0.8], shape=3), 2.0),
    "DiscreteUniform": (lambda: pm.DiscreteUniform("z", 0, 4, shape=3), 5.0),
    "Binomial": (lambda: pm.Binomial("z", 4, 0.5, shape=3), 5.0),
    "Poisson": (lambda: pm.Poisson("z", 3.0, shape=3), -1.0),
}


@pytest.mark.parametrize("name", DISCRETE)
@pytest.mark.parametrize("together", [False, True], ids=["elements apart", "elements together"])
def test_a_discrete_start_outside_its_support_is_refused_by_name(name: str, together: bool) -> None:
    """Also where the elements are drawn from a table, which does not evaluate the start."""
    variable, outside = DISCRETE[name]
    with pm.Model():
        z = variable()
        pm.Normal("y", z.sum() if together else z, 1.0, observed=1.0 if together else np.ones(3))
        with pytest.raises(InitialPointError, match=r"`z` has log density -inf at \(1,\).*\n.*its value is \["):
            pm.sample(initvals={"z": [0, outside, 1]}, **QUIET)


@pytest.mark.parametrize("name", DISCRETE)
@pytest.mark.parametrize("value", [0.5, np.nan, np.inf])
def test_a_discrete_start_that_is_no_whole_number_is_refused_by_name(name: str, value: float) -> None:
    with pm.Model():
        z = DISCRETE[name][0]()
        pm.Normal("y", z, 1.0, observed=np.ones(3))
        with pytest.raises(SupportError, match=r"initial value of `z` is outside its support: \[0\.0, .*`initvals=`"):
            pm.sample(initvals={"z": [0, value, 1]}, **QUIET)


# --- probabilities ----------------------------------------------------------------------------------------------


def test_categorical_probabilities_that_do_not_sum_to_one_are_refused_where_they_are_known() -> None:
    """Written down, from data, and from other variables, where no starting point has a density."""
    with pytest.raises(ParameterError, match=r"Categorical: p must be numbers >= 0 that sum to 1, got \[0\.5 0\.4\]"):
        pm.Categorical.dist([0.5, 0.4])
    with pm.Model():
        pm.Categorical("z", pm.Data("p", np.array([0.5, 0.4])))
        with pytest.raises(ParameterError, match="`z`: its parameter `p` must be numbers >= 0 that sum to 1, which"):
            pm.sample(**QUIET)
    with pm.Model():
        a = pm.Uniform("a", 0.1, 0.4)
        pm.Categorical("z", pm.math.stack([a, a]), shape=3)
        with pytest.raises(InitialPointError, match=r"`z` has log density nan.*\n.*\n *p = \[0\.25 0\.25\]"):
            pm.sample(**QUIET)


# --- step methods of users ---------------------------------------------------------------------------------------


@record
class WalkInfo:
    """The log density, and whether the proposal was taken."""

    lp: f64
    taken: boolean


@record
class WalkState:
    """Nothing but the number of transitions."""

    made: i64


@record
class WalkScratch:
    """The point proposed."""

    position: Array[f64]


@native
def start_walk(point: Point, state: WalkState, scratch: WalkScratch, density: Density, info: WalkInfo) -> boolean:
    """Evaluate the starting point."""
    return start_without_gradient(point, density)


@native
def step_walk(point: Point, state: WalkState, scratch: WalkScratch, density: Density, info: WalkInfo) -> boolean:
    """A step to the right or back, of the same density or more."""
    if stopped(density):
        return False
    for i in range(point.dimension):
        scratch.position[i] = point.position[i] + (0.1 if state.made & 1 == 0 else -0.1)
    logp = log_density(density, scratch.position)
    info.taken = logp >= point.logp
    if info.taken:
        for i in range(point.dimension):
            point.position[i] = scratch.position[i]
        point.logp = logp
    info.lp = point.logp
    state.made += 1
    point.transition += 1
    return True


class Walk(Kernel):
    """The step method that the others here are derived from."""

    needs: ClassVar[Any] = "logp"
    Info: ClassVar[type] = WalkInfo
    start: ClassVar[Any] = start_walk
    step: ClassVar[Any] = step_walk
    roles: ClassVar[dict[Any, str]] = {"log density": "lp"}

    def state(self, block: Any, point: Any, vectors: Any, tune: int) -> WalkState:
        """No transitions."""
        return WalkState(0)

    def scratch(self, block: Any, point: Any, state: Any, density: Any, vectors: Any) -> WalkScratch:
        """One vector."""
        return WalkScratch(vectors.vector())


@native
def step_raising(point: Point, state: WalkState, scratch: WalkScratch, density: Density, info: WalkInfo) -> boolean:
    """An error of Python's in the tenth transition."""
    if state.made == 10:
        raise ZeroDivisionError("nothing to divide by")
    return step_walk(point, state, scratch, density, info)


@native
def step_beyond(point: Point, state: WalkState, scratch: WalkScratch, density: Density, info: WalkInfo) -> boolean:
    """Writes behind the end of its vector."""
    scratch.position[point.dimension] = 1.0
    return step_walk(point, state, scratch, density, info)


@native
def step_to_nan(point: Point, state: WalkState, scratch: WalkScratch, density: Density, info: WalkInfo) -> boolean:
    """A position that is no number."""
    step_walk(point, state, scratch, density, info)
    point.position[0] = np.nan
    return True


class Raising(Walk):
    step: ClassVar[Any] = step_raising


class Beyond(Walk):
    step: ClassVar[Any] = step_beyond


class ToNan(Walk):
    step: ClassVar[Any] = step_to_nan


def test_a_step_method_under_cpython_makes_the_draws_of_its_machine_code() -> None:
    """By `pm.sample`, of one block and of a whole model, with densities that are compiled."""
    model = switched()
    alone = pm.do(model, {"b": 1})
    for own, step in ((model, "a"), (alone, ())):
        runs = [pm.sample(step=Walk(step, compiled=compiled), model=own, **QUIET) for compiled in (True, False)]
        np.testing.assert_array_equal(runs[0].posterior["a"], runs[1].posterior["a"])
    gibbs = [
        pm.sample(step=[pm.NUTS(["a"], compiled=c), pm.BinaryGibbsMetropolis(["b"])], model=model, **QUIET)
        for c in (True, False)
    ]
    np.testing.assert_array_equal(gibbs[0].posterior["b"], gibbs[1].posterior["b"])


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Raising, "ZeroDivisionError: nothing to divide by"),
        (Beyond, "IndexError: index 2 is out of bounds for axis 0 with size 2"),
    ],
)
def test_what_goes_wrong_in_a_step_method_of_a_user_is_told_with_its_cause(kind: type[Walk], message: str) -> None:
    """Under CPython: the error names chain and cause, and its traceback leads to the line at fault."""
    with pytest.raises(
        SamplingError, match=rf"no chain is left; the last to fail was chain \d, with .*{message}"
    ) as error:
        pm.sample(step=kind(["a"], compiled=False), model=switched(), **QUIET)
    cause = error.value.__cause__
    assert cause is not None
    frame = cause.__traceback__
    names = []
    while frame is not None:
        names.append(frame.tb_frame.f_code.co_name)
        frame = frame.tb_next
    assert names[-1] == kind.step.name


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("checks", [False, True])
def test_a_step_to_a_position_that_is_no_number_is_a_fault_of_its_chain(compiled: bool, checks: bool) -> None:
    """Whether convergence is checked or not: the coordinate is named, and where no chain is left the run ends."""
    message = r"no chain is left.*its step led to a position that is not finite: `a\[0\]` = nan, in transition 1"
    quiet = QUIET | {"compute_convergence_checks": checks}
    with pytest.raises(SamplingError, match=message):
        pm.sample(step=ToNan(["a"], compiled=compiled), model=switched(), **quiet)


# --- resuming ---------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore", category=ConvergenceWarning)
def test_a_run_with_other_step_methods_does_not_take_over_a_checkpoint(tmp_path: Path) -> None:
    """The file stays, and is resumed with the step methods that it was made with, those of users included."""
    model, place = switched(), tmp_path / "run"
    whole = pm.sample(
        step=[Walk(["a"]), pm.BinaryMetropolis(["b"])], model=model, save=pm.Save(checkpoint=place), **QUIET
    )
    before = place.read_bytes()
    with pytest.raises(StorageError, match=r"holds the checkpoint of another run; go on with it by `pm\.resume"):
        pm.sample(step=[pm.Slice(["a"])], model=model, save=pm.Save(checkpoint=place), **QUIET)
    assert place.read_bytes() == before
    again = pm.resume(place, model, progressbar=False)
    for name in ("a", "b"):
        np.testing.assert_array_equal(again.posterior[name], whole.posterior[name])


def test_a_step_method_of_a_user_that_is_not_there_is_named_when_a_run_is_resumed(tmp_path: Path) -> None:
    def run() -> None:
        class Gone(Walk):
            """Defined in this function only."""

        pm.sample(step=Gone(["a"]), model=switched(), save=pm.Save(checkpoint=tmp_path / "run"), **QUIET)

    run()
    import gc

    gc.collect()
    with pytest.raises(SamplingError, match=r"step method '.*Gone', which is not defined here; import or define it"):
        pm.resume(tmp_path / "run", switched(), progressbar=False)

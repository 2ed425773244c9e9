"""Whatever is given to a public callable, an error says which argument it is about; nothing escapes, nothing hangs.

Cases are made by `tests/bad_inputs.py` from signatures, examples and a table of kinds of values. The quick part tries
some of them; the slow one 2,000, every public callable among them.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.diagnostics.measurement import usable_processors
from consilience.native.threads import NativeThreads
from tests.bad_inputs import KINDS, NEVER, all_cases, callables, outcomes, parameters

QUICK = 60
ALL = 2000


def test_every_public_callable_has_cases_and_every_kind_is_made() -> None:
    names = callables()
    assert len(names) > 1200
    assert sum(bool(parameters(thing)) for thing in names.values()) > 1100
    assert {type(make()) for make in KINDS.values()} >= {float, str, bytes, dict, np.ndarray, type(None)}
    assert KINDS.keys() > NEVER
    assert all_cases(50, 1) == all_cases(50, 1)


def told(found: list[tuple[str, str, str]]) -> dict[str, str]:
    return {case: f"{outcome}: {said}" for case, outcome, said in found if outcome not in ("right", "clear")}


def test_some_bad_inputs_are_right_or_clear() -> None:
    found = list(outcomes(all_cases(QUICK, 56)))
    assert told(found) == {}
    assert Counter(outcome for _, outcome, _ in found)["clear"] > QUICK // 2


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_bad_inputs_are_right_or_clear() -> None:
    found = list(outcomes(all_cases(ALL, 1)))
    counted = Counter(outcome for _, outcome, _ in found)
    print(counted)
    assert told([one for one in found if one[1] != "vague"]) == {}
    assert counted["vague"] < 0.01 * ALL  # errors of ours that name neither argument nor value


class _Odd:
    """Says how it becomes an array, and refuses to."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("not an array")


# A call with a value that is not listed, or of another kind -> what its error names.
SLIPS: dict[str, tuple[Any, str]] = {
    "progressbar": (lambda: pm.sample(progressbar="no"), "`progressbar` must be one of True, False, 'combined'"),
    "mode in compile_kwargs": (lambda: pm.sample(compile_kwargs={"mode": "BAD"}), "unknown `mode` 'BAD'; available"),
    "flag of a record": (lambda: pm.distributions.transforms.Ordered(positive="a"), "`positive` must be True or False"),
    "compile_kwargs": (lambda: pm.sample(compile_kwargs=3), "`compile_kwargs` must be a dictionary"),
    "mode of draw": (lambda: pm.draw(pm.Normal.dist(), mode="BAD"), "unknown `mode` 'BAD'"),
    "remedies": (lambda: pm.sample(remedies="step"), "`remedies` may name 'symmetries'.* did you mean 'steps'"),
    "idata_kwargs": (lambda: pm.sample(idata_kwargs=3), "`idata_kwargs` must be a dictionary"),
    "idata_kwargs of predictions": (lambda: pm.sample_prior_predictive(idata_kwargs=3), "`idata_kwargs` must be"),
    "flag by name": (lambda: pt.sum([1.0], keepdims="no"), "`sum`: `keepdims` must be True or False, got 'no'"),
    "flag by place": (lambda: pt.min([1.0], None, "no"), "`min`: `keepdims` must be True or False, got 'no'"),
    "axis": (lambda: pt.squeeze([1.0], axis="a"), "`squeeze`: `axis` must be a whole number, whole numbers or None"),
    "variables": (lambda: pm.draw("x"), "`draw`: `vars` must be a tensor"),
    "models": (lambda: pm.compare({}), "`compare_dict` must be a dictionary of results"),
    "name of a tensor": (lambda: pt.dscalar(3.0), "`name`"),
    "dims": (lambda: pm.Normal("z", dims=3.0), "`Normal`.*`dims`"),
    "flag of a distribution": (lambda: pm.MvStudentT("z", 3.0, chol=np.eye(2), lower=dict), "`lower` must be True"),
    "flag of a series": (lambda: pm.AR("z", rho=[0.5], constant="x", steps=3), "`constant` must be True or False"),
    "number of steps": (lambda: pm.GaussianRandomWalk("z", steps=_Odd()), "steps must be a whole number >= 0, got"),
    "parameter": (lambda: pm.OrderedProbit("z", 0.0, np.array(["a", "b"])), "`cutpoints` of `OrderedProbit`: values"),
    "complex parameter": (lambda: pm.Normal("z", np.array([1j, 2.0])), "`mu` of `Normal`: real numbers were needed"),
    "unknown dimension": (lambda: pm.Gumbel("z", 0.0, 1.0, dims="u"), "`dims` names the dimension `u`, which is"),
    "flag of a function of math": (lambda: pm.math.block_diagonal([np.eye(2)], sparse=3), "`sparse` must be True or"),
    "base of points": (lambda: pt.geomspace(1.0, 8.0, 4, base="x"), "`base` of `geomspace`: values such as"),
    "value beyond points": (lambda: pt.interpolate.interpolate1d([0.0, 1.0], [1.0, 2.0], left_pad=_Odd()), "_Odd"),
    "end of a loop": (lambda: pt.until(_Odd()), "_Odd"),
    "context": (lambda: pt.Context(3), "`parent` of a `Context` must be another one or None, got 3"),
    "rows of a table": (
        lambda: pm.diagnostics.SummaryTable(["a", "b"], {"mean": np.ones(1)}), "one number for each of the 2 `labels`"
    ),
    "start of an equation": (lambda: pm.ode.DifferentialEquation(abs, [1.0], n_states=1, n_theta=1, t0="x"), "`t0` of"),
    "axes by a mapping": (lambda: pt.mean([1.0], axis={}), "`mean`.* whole numbers, got dict"),
    "settings of solve": (lambda: pt.linalg.lu_solve((np.eye(2), [0, 1]), [1.0, 2.0], trans=()), "`trans` must be"),
    "length of an input": (lambda: pt.imatrix(shape=np.ma.masked_array([1, 2], [True, False])), "`imatrix`"),
    "covariance": (lambda: pm.gp.cov.ScaledCov(1, 3, abs), "cov_func must be a covariance function"),
    "flag by place of a decorated function": (lambda: pm.logp(pm.Normal.dist(), 0.0, ()), "`warn_rvs` must be True"),
    "stored result": (lambda: pm.loo("no such place"), "`data` must be a result or the path of a stored one"),
    "number of draws": (lambda: pm.draw(pm.Normal.dist(), draws="x"), "`draws` must be a whole number"),
    "number of keys": (lambda: pt.random.split(pt.key(1), 2**63), "`split`: `number` must be a whole number from 0"),
    "names": (lambda: pm.marginalize(pm.modelcontext(None), b"x"), "were needed, got bytes: b'x'"),
    "format": (lambda: pm.sparse.block_diag(np.eye(2), format=3), "`format` must be 'csr' or 'csc', got 3"),
    "step method": (lambda: pm.NUTS(max_treedepth="a"), "`NUTS`: `max_treedepth` must be a whole number, got 'a'"),
}  # fmt: skip


@pytest.mark.parametrize("case", SLIPS)
def test_slips_are_named_with_what_is_taken(case: str) -> None:
    call, message = SLIPS[case]
    with pm.Model():
        pm.Normal("x")
        with pytest.raises(pm.ConsilienceError, match=message):
            call()


def test_errors_of_the_users_own_functions_are_theirs() -> None:
    def mine(x: Any) -> Any:
        raise ValueError("of my own")

    with pytest.raises(ValueError, match=r"^of my own$") as raised:
        pt.vectorize(mine, "()->()")([1.0])
    assert not isinstance(raised.value, pm.ConsilienceError)


def test_interrupts_pass_unchanged() -> None:
    def stopped(x: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as raised:
        pt.vectorize(stopped, "()->()")([1.0])
    assert raised.value.__cause__ is None


def test_there_are_no_more_threads_than_work(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    plain = NativeThreads.__init__

    def counted(self: NativeThreads, count: int, name: str = "") -> None:
        counts.append(count)
        plain(self, count, name)

    monkeypatch.setattr(NativeThreads, "__init__", counted)
    before = threading.active_count()
    with pm.Model():
        pm.Normal("x", shape=2)
        pm.sample(20, tune=20, chains=2, cores=2000, random_seed=1, progressbar=False, compute_convergence_checks=False)
        pm.sample(chains=2, cores=2000, random_seed=1, progressbar=False)
    assert counts
    assert max(counts) <= max(2, usable_processors())
    assert threading.active_count() <= before + 16


def test_errors_name_the_function_and_the_argument_that_users_wrote() -> None:
    with pytest.raises(pm.errors.DtypeError, match=r"^`x` of `log2`: values such as"):
        pt.log2(["a"])
    with pytest.raises(pm.errors.DtypeError, match=r"^`mu` of `Normal`: values such as"):
        pm.Normal.dist(mu=["a"])
    with pytest.raises(TypeError, match=r"^`sum`: `axis` must be .* got .*Model"):
        pt.sum([1.0], axis=pm.Model())


def test_a_subclass_is_told_of_the_constructor_that_it_calls() -> None:
    class Mine(pm.gp.cov.ExpQuad):
        def __init__(self, length: Any) -> None:
            super().__init__(1, ls=length)

    with pytest.raises(pm.ConsilienceError, match=r"^`ls` of `ExpQuad`: "):
        Mine("text")


def test_what_would_fail_later_is_refused_when_it_is_given() -> None:
    with pm.Model(), pytest.raises(pm.errors.DtypeError, match="the initial value of `x` must be numbers"):
        pm.Normal("x", initval=object())
    with pytest.raises(TypeError, match="`out_axes` must give a tensor an integer or None"):
        pt.vmap(abs, out_axes=pm.Model())  # type: ignore[arg-type]  # which is what is tested
    with pytest.raises(TypeError, match="a transform must have the methods"):
        pm.distributions.transforms.Chain([1.0])  # type: ignore[list-item]  # as above
    with pytest.raises(pm.errors.ArgumentError, match="`labels` must be the names of the rows"):
        pm.diagnostics.SummaryTable(labels=3, columns={})  # type: ignore[arg-type]  # as above
    with pm.Model():
        pm.Normal("y", pm.Normal("x"), observed=1.0)
        with pytest.raises(pm.errors.ArgumentError, match="`cores` must be an integer of at least 1, got 'a'"):
            pm.sample_smc(100, cores="a", progressbar=False)
    with pytest.raises(pm.errors.ArgumentError, match="`callback` must be a function or None, got 3"):
        pm.sample(callback=3)

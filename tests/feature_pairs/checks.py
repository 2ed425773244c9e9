"""Whether a model means what its formula says, asked in several ways.

In: a model with its meaning. Nothing comes back; what is wrong is an assertion.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import consilience as pm
from consilience.backends.registry import installed
from consilience.diagnostics import mcse_mean
from consilience.model.log_density import model_density
from consilience.sample.sharded import ShardedDensity
from tests.cutting import stopping
from tests.feature_pairs.features import FEATURES, Subject
from tests.feature_pairs.program import Draft

Array = npt.NDArray[Any]
QUIET: dict[str, Any] = {"progressbar": False, "compute_convergence_checks": False, "random_seed": 3}
THRESHOLDS = (0.0, 0.75, 1.5, 3.0)


def made(names: Sequence[str]) -> Subject:
    """The model with some features, in this order."""
    draft = Draft()
    for name in names:
        FEATURES[name].write(draft)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pm.ImputationWarning)
        model = draft.build()
    subject = Subject(draft, model, frozenset(FEATURES[n].way for n in names) - {""})
    if "predictions" in subject.ways and subject.ways & {"resumed", "shards", "threads", "backend"}:
        subject.given = sampled(subject, 100)
    elif not subject.ways - {"predictions"} and (subject.ways or not draft.batches):
        subject.given = the_same(draft, model)
    for name in names:
        if use := FEATURES[name].use:
            use(subject)
            subject.used = True
    return subject


def check(subject: Subject, quick: bool = False) -> None:
    """Ask in the ways of its features; without any, the density, and draws given parameters.

    quick   whether the density is asked for at one point and in one way, and draws of models that were not used
    """
    ways = subject.ways
    if "predictions" in ways:
        same_draws(subject)
    elif "resumed" in ways or ways >= {"shards", "threads"} or (subject.draft.batches and "shards" in ways):
        same_posterior(subject, sampled(subject, 400))
    else:
        same_density(subject, quick)
        if subject.given is not None and not (quick and subject.used):
            same_draws(subject)


# ---- densities


def points(model: pm.Model, count: int) -> Iterator[dict[str, Any]]:
    """Some places on the unconstrained line."""
    generator = np.random.default_rng(5)
    start = model.initial_point()
    for _ in range(count):
        yield {key: generator.normal(0.0, 0.6, np.shape(value)) for key, value in start.items()}


def slopes(draft: Draft, point: dict[str, Any], step: float = 1e-3) -> Array:
    """Derivatives of the formula, by differences whose error is of order step^4."""
    result = []
    for key, value in point.items():
        for place in np.ndindex(np.shape(value)):

            def moved(by: float, key: str = key, place: tuple[int, ...] = place) -> float:
                other = np.array(point[key], float)
                other[place] += by
                return draft.logp({**point, key: other})

            result.append((8 * (moved(step) - moved(-step)) - moved(2 * step) + moved(-2 * step)) / (12 * step))
    return np.array(result)


Evaluate = Callable[[dict[str, Any]], tuple[float, Array | None]]


def evaluators(subject: Subject, executor: Any, quick: bool) -> Iterator[Evaluate]:
    """Functions of a point that give the density and its gradient."""
    model, ways = subject.model, subject.ways
    draft = subject.draft
    if not ways & {"backend", "shards"} and (draft.batches or not quick):
        logp, dlogp = model.compile_logp(), model.compile_dlogp()
        yield lambda point: (float(logp(point)), None if draft.batches else np.asarray(dlogp(point)))
    if draft.batches and not ways & {"backend"}:
        return
    for name in [n for n in installed() if n != "llvm"] if "backend" in ways else ["llvm"]:
        density = model_density(model, name, batches=draft.batches)
        if "shards" in ways:
            density = ShardedDensity(density, pm.cluster.shards(executor, draft.observed(), rows=4))
        layout = density.layout

        def at(point: dict[str, Any], density: Any = density, layout: Any = layout) -> tuple[float, Array]:
            value, slope = density(layout.position(point))
            return float(value), np.concatenate([np.ravel(layout.point(slope)[key]) for key in point])

        yield at


def same_density(subject: Subject, quick: bool) -> None:
    """Value and slopes at some points."""
    draft = subject.draft
    places = list(points(subject.model, 4 if "threads" in subject.ways else 2 - quick))
    with ThreadPoolExecutor(4) as threads:
        for evaluate in evaluators(subject, threads, quick):
            if draft.batches and "backend" in subject.ways:  # the first rows
                np.testing.assert_allclose(evaluate(places[0])[0], draft.logps_of_batches(places[0])[1], rtol=1e-10)
                continue
            if draft.batches:
                wanted = draft.logps_of_batches(places[0])
                found = np.array([evaluate(places[0])[0] for _ in range(200)])
                far = np.abs(found[:, None] - wanted).min(1)
                assert far.max() < 1e-9 * (1 + np.abs(wanted).max()), (found[:3], wanted)
                assert len({round(v, 6) for v in found}) > 0.9 * len({round(v, 6) for v in wanted})
                continue
            call = threads.map if "threads" in subject.ways else map
            for point, (value, slope) in zip(places, call(evaluate, places), strict=True):
                wanted = draft.logp(point)
                np.testing.assert_allclose(value, wanted, rtol=1e-10, err_msg="the log density")
                assert slope is not None
                scale = 1e-7 * (1 + abs(wanted))
                np.testing.assert_allclose(slope, slopes(draft, point), rtol=1e-7, atol=scale, err_msg="its slopes")


# ---- draws


def the_same(draft: Draft, model: pm.Model, count: int = 3000) -> Any:
    """A result whose draws are all the same."""
    values, _ = draft.natural(next(points(model, 1)))
    return pm.to_inference_data(
        {v.name: np.tile(values[v.name], (1, count) + (1,) * np.ndim(values[v.name])) for v in model.free}, model=model
    )


def same_draws(subject: Subject) -> None:
    """Draws of the rows given parameters are as often below a threshold as the formula says."""
    draft, model, posterior = subject.draft, subject.model, subject.given.posterior
    new = "predictions" in subject.ways
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = pm.sample_posterior_predictive(
            subject.given, model, var_names=["obs"], random_seed=1, progressbar=False, predictions=new
        )
    drawn = np.asarray(result["predictions" if new else "posterior_predictive"]["obs"])
    drawn = drawn.reshape(-1, drawn.shape[-1])
    generator = np.random.default_rng(7)
    known = {str(n): v.to_numpy().reshape(len(drawn), *v.shape[2:]) for n, v in posterior.data_vars.items()}
    differ = any(np.ptp(v, 0).any() for v in known.values())
    times = 300 if draft.drawn or differ else 1
    values = []
    for number in range(times):
        own = {name: value[number * len(drawn) // times] for name, value in known.items()} | draft.fixed
        values.append(own | {name: law(generator, own) for name, law in draft.drawn.items()})
    for threshold in THRESHOLDS:
        wanted = np.mean([draft.up_to(v, threshold) for v in values], 0)
        if draft.batches:  # every row is any of them
            wanted = np.full(drawn.shape[-1], wanted.mean())
        found = (drawn <= threshold).mean(0)
        spread = np.sqrt(wanted * np.maximum(1 - wanted, 0) * (1 / len(drawn) + (times > 1) / times)) + 1e-3
        assert (np.abs(found - wanted) < 5 * spread).all(), f"up to {threshold}: {found}, expected {wanted}"


# ---- posteriors


def unconstrained(subject: Subject, posterior: Any) -> dict[str, Array]:
    """Draws on the unconstrained line, by key."""
    result = {}
    for key in subject.model.initial_point():
        name = key.removesuffix("__").rsplit("_", 1)[0] if key.endswith("__") else key
        draws = np.asarray(posterior[name])
        if key.endswith("_log__"):
            draws = np.log(draws)
        elif key.endswith(("_lowerbound__", "_interval__")):
            draws = np.log(draws - subject.draft.low)
        elif key.endswith("_ordered__"):
            draws = np.concatenate([draws[..., :1], np.log(np.diff(draws))], -1)
        result[key] = draws
    return result


def sampled(subject: Subject, draws: int) -> Any:
    """A run that is cut off and resumed has the draws of one that is not, on one thread or on two."""
    model, ways = subject.model, subject.ways
    settings: dict[str, Any] = {**QUIET, "draws": draws, "tune": 300, "chains": 2, "model": model}
    if "backend" in ways:
        pytest.importorskip("jax")
        settings["backend"] = "jax"
    with ThreadPoolExecutor(2) as threads, TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "shards" in ways:
            settings["executor"] = pm.cluster.shards(threads, subject.draft.observed(), rows=4)
        whole = again = pm.sample(cores=1, **settings)
        if "resumed" in ways:
            path = Path(folder) / "run"
            first = pm.sample(cores=1, save=pm.Save(checkpoint=path), callback=stopping(1), **settings)
            assert first.status == "interrupted", first.status
            more = {"executor": settings["executor"]} if "shards" in ways else {}
            cores = 2 if "threads" in ways else 1
            again = pm.resume(path, model, progressbar=False, cores=cores, **more)
        elif "threads" in ways:
            again = pm.sample(cores=2, **settings)
    for name, values in whole.posterior.data_vars.items():
        np.testing.assert_array_equal(again.posterior[name], values, err_msg=str(name))
    return again


def same_posterior(subject: Subject, result: Any) -> None:
    """For draws u of a density p, the means of d log p / du and of 1 + u d log p / du are zero."""
    draws = unconstrained(subject, result.posterior)
    chains, count = np.shape(result.posterior["m"])[:2]
    thin = range(0, count, 8)
    gradient = np.array(
        [[slopes(subject.draft, {k: v[c, d] for k, v in draws.items()}) for d in thin] for c in range(chains)]
    )
    places = np.concatenate([v.reshape(chains, count, -1) for v in draws.values()], -1)[:, list(thin)]
    for i in range(places.shape[-1]):
        for identity in (gradient[..., i], 1.0 + places[..., i] * gradient[..., i]):
            assert abs(identity.mean()) < 5 * float(mcse_mean(identity)), f"coordinate {i}: {identity.mean()}"

"""What integrating continuous variables out saves: `python -m benchmarks.integrated [MODEL ...] [--limit SECONDS]`.

With `--exact` that it changes nothing: small models of all kinds are sampled as they are and with a block integrated or
in coordinates that follow the others. Pooled ranks of all draws become normal scores; means of these, of their squares,
of what is below four quantiles, and of products of recovered elements with all others are compared in Monte Carlo
standard errors.

Otherwise each model is sampled as it is by default and with `integrate=False`, each time in a process of its own that
is ended after so many seconds of processors. Printed are gradients, processor seconds, status, the least effective
draws of the scalars among the free variables, and the commit.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy.stats import norm, rankdata

import consilience as pm
import consilience.tensor as pt
from benchmarks.hard_posteriors.one import table
from consilience.diagnostics import mcse_mean
from consilience.model.fields import rescale
from consilience.model.reparametrization import centred_hierarchies, fields
from consilience.model.transport import correlated, suited, transport

ROOT: Final = Path(__file__).resolve().parents[1]
MODELS: Final = table("hard")


def poisson_gamma() -> Any:
    """Counts of 10,000 groups whose rates follow one Gamma distribution."""
    rng = np.random.default_rng(1)
    y = rng.poisson(rng.gamma(2.0, 0.5, 10_000))
    with pm.Model() as model:
        a, b = pm.Exponential("a", 1.0), pm.Exponential("b", 1.0)
        pm.Poisson("y", pm.Gamma("rate", a, b, shape=10_000), observed=y)
    return model


def plane() -> Any:
    """A Gaussian process through 80 points of a plane, with normal noise."""
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 5, (80, 2))
    y = np.sin(X[:, 0]) + np.cos(X[:, 1]) + 0.3 * rng.normal(size=80)
    with pm.Model() as model:
        ell, eta, sigma = pm.Gamma("ell", 2, 1), pm.HalfNormal("eta", 3), pm.HalfNormal("sigma", 1)
        f = pm.gp.Latent(cov_func=eta**2 * pm.gp.cov.Matern52(2, ls=ell)).prior("f", X=X)
        pm.Normal("y", f, sigma, observed=y)
    return model


BUILDS: Final[dict[str, Callable[[], Any]]] = {
    "rolling_regression": lambda: MODELS["rolling_regression"].build(pm, pt, np),
    "cox_frailty": lambda: MODELS["cox_frailty"].build(pm, pt, np),
    "poisson_gamma": poisson_gamma,
    "weak_groups": lambda: MODELS["weak_groups"].build(pm, pt, np),
    "gp_regression": lambda: MODELS["gp_regression"].build(pm, pt, np),
    "gp_in_a_plane": plane,
    "structural_equations": lambda: MODELS["structural_equations"].build(pm, pt, np),
    "many_groups": lambda: MODELS["many_groups"].build(pm, pt, np),
}


def measured(name: str, integrate: bool) -> dict[str, Any]:
    """One run, in this process."""
    model = BUILDS[name]()
    options = MODELS[name].options if name in MODELS else {}
    began, spent = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = pm.sample(model=model, integrate=integrate, random_seed=1, progressbar=False, **options)
    wall, processor = time.perf_counter() - began, time.process_time() - spent
    scalars = [v.name for v in model.free_RVs if not v.type.shape]
    least = min(float(pm.ess(result, var_names=[own])[own]) for own in scalars)
    return {
        "status": result.status,
        "integrated": json.loads(result.posterior.attrs["integrated"]),
        "gradients": int(result.posterior.attrs["gradients"]),
        "processor": processor,
        "wall": wall,
        "ess": least,
    }


def in_process(name: str, integrate: bool, limit: int) -> dict[str, Any] | None:
    """The same in a process that is ended at the limit; None where that happened."""
    command = [sys.executable, "-m", "benchmarks.integrated", name, "--one", str(int(integrate))]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)),
    )  # fmt: skip
    if done.returncode < 0:
        return None
    if done.returncode:
        return {"status": f"failed: {done.stderr.strip().splitlines()[-1][:80]}"}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def exact_cases() -> list[tuple[str, Callable[[], Any], Any]]:
    """Names, builders of models, and what becomes of a block: names to integrate, or whether by the diagonal."""
    from tests.elimination import test_conjugate, test_families_with_features, test_normal_blocks
    from tests.model import test_transport

    def normal(build: Any) -> Any:
        with pm.Model() as model:
            build(np.random.default_rng(0))
        return model

    def names(build: Any) -> list[str]:
        with pm.Model():
            found: list[str] = build(np.random.default_rng(0))
        return found

    found: list[tuple[str, Callable[[], Any], Any]] = [
        (build.__name__, lambda build=build: normal(build), names(build)) for build in test_normal_blocks.CASES
    ]
    conjugate = [build for build in test_conjugate.CASES if build is not test_conjugate.a_potential]
    found += [(build.__name__, lambda build=build: test_conjugate.both(build)[0], ["x"]) for build in conjugate]
    families = test_families_with_features
    found += [
        (f"{own.build.__name__} ({own.title})", lambda own=own: families.built(own, own.data), ["x"])
        for own in families.FAMILIES
    ]
    for diagonal, table_of in ((False, test_transport.MODELS), (True, test_transport.DIAGONAL)):
        for one in table_of:
            build = one.values[0] if hasattr(one, "values") else one
            found.append((build.__name__, lambda build=build: test_transport.built(build), diagonal))
    return found


def worst_rhat(result: Any, names: list[str]) -> float:
    """Of all elements of variables."""
    return max(float(np.max(pm.rhat(result, var_names=[name])[name])) for name in names)


def by_innovations(model: Any) -> Any:
    """The same posterior without the necks of scales that data hardly tell, where that can be written."""
    names = [name for name in centred_hierarchies(model) if name not in ("level", "mean")]
    shapes = {name: model[name].type.shape for name in fields(model) if name not in names}
    made = (
        rescale(model, {name: (0.0, np.zeros(shape).tolist()) for name, shape in shapes.items()}) if shapes else model
    )
    return pm.noncenter(made, names) if names else made


def compared(plain: Any, other: Any, block: list[str], rest: list[str]) -> tuple[float, str, int]:
    """The worst difference in Monte Carlo standard errors, of what, and of how many."""

    def columns(result: Any, names: list[str]) -> tuple[Any, list[str]]:
        found, titles = [], []
        for name in names:
            values = np.asarray(result.posterior[name])
            flat = values.reshape(*values.shape[:2], -1)
            places = np.unique(np.linspace(0, flat.shape[2] - 1, 6).astype(int))
            found.append(flat[..., places])
            titles += [f"{name}[{place}]" for place in places]
            if flat.shape[2] > 6:
                found.append(flat.mean(2, keepdims=True))
                titles.append(f"mean of {name}")
        return np.concatenate(found, 2), titles

    first, titles = columns(plain, [*block, *rest])
    second, _ = columns(other, [*block, *rest])
    within = len(columns(plain, block)[1])
    flat = np.concatenate([own.reshape(-1, own.shape[2]) for own in (first, second)])
    flat += 0.0  # of equal zeros
    scores = norm.ppf((rankdata(flat, axis=0) - 0.5) / len(flat))
    cut = first.shape[0] * first.shape[1]
    sides = scores[:cut].reshape(first.shape), scores[cut:].reshape(second.shape)
    worst, of_what, count = 0.0, "", 0

    def functions(z: Any) -> Any:
        for place, title in enumerate(titles):
            own = z[..., place]
            yield f"mean of {title}", own
            yield f"spread of {title}", own**2
            for level in (-1.6, -0.7, 0.7, 1.6):
                yield f"quantile of {title}", (own < level).astype(float)
            if place < within:
                for other, name in enumerate(titles):
                    if other > place:
                        yield f"correlation of {title} with {name}", own * z[..., other]

    for (what, one), (_, two) in zip(functions(sides[0]), functions(sides[1]), strict=True):
        away = abs(one.mean() - two.mean()) / np.hypot(mcse_mean(one), mcse_mean(two))
        count += 1
        if away > worst:
            worst, of_what = float(away), what
    return worst, of_what, count


def exact(chosen: list[str], draws: int) -> None:
    """The table of `--exact`."""
    print("| model | block | comparisons | R-hat of either | worst difference, standard errors | of |")
    print("|---|---|--:|--:|--:|---|")
    settings: dict[str, Any] = {
        "chains": 4, "cores": 1, "progressbar": False, "compute_convergence_checks": False,
        "target_accept": 0.9, "remedies": ("steps", "metric"),
    }  # fmt: skip
    worst = 0.0
    for title, build, how in exact_cases():
        if chosen and title not in chosen:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = build()
            until = pm.Stop(ess=draws, max_time=15)  # however badly it mixes
            free = [v.name for v in model.free_RVs]
            for own in (by_innovations(model), model):  # the model itself may never come to a neck, and not show it
                plain = pm.sample(model=own, integrate=False, random_seed=1, stop=until, **settings)
                if worst_rhat(plain, free) < 1.01:
                    break
            if isinstance(how, bool):
                values = {v.name: np.asarray(plain.posterior[v.name]) for v in model.free_RVs}
                values = {name: own.reshape(-1, *own.shape[2:])[::60] for name, own in values.items()}
                taken = suited(model, values, how)
                assert taken is not None, title
                taken = correlated(model, taken, values) if how else taken
                kind, block = taken["kind"], list(taken["names"])
                moved = transport(model, taken)
                other = pm.sample(model=moved, integrate=False, random_seed=2, stop=until, **settings)
            else:
                other = pm.sample(model=model, integrate=how, random_seed=2, draws=draws, **settings)
                found = json.loads(other.posterior.attrs["integrated"])
                kind, block = ", ".join(sorted(set(found.values()))), list(found)
            rest = [v.name for v in model.free_RVs if v.name not in block]
            away, what, count = compared(plain, other, block, rest)
            rhat = ", ".join(f"{worst_rhat(one, rest):.3f}" for one in (plain, other))
        worst = max(worst, away)
        print(f"| {title} | {kind} | {count} | {rhat} | {away:.1f} | {what} |", flush=True)
    print(f"\nworst of all: {worst:.1f}")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=[], metavar="MODEL")
    parser.add_argument("--limit", type=int, default=75)
    parser.add_argument("--one", type=int)
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--draws", type=int, default=1000, help="of each of four chains, with `--exact`")
    given = parser.parse_args()
    if given.one is not None:
        print(json.dumps(measured(given.models[0], bool(given.one))))
        return
    commit = subprocess.run(["git", "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True, cwd=ROOT)
    if given.exact:
        print(f"commit {commit.stdout.strip()}\n")
        exact(given.models, given.draws)
        return
    print(f"commit {commit.stdout.strip()}, limit {given.limit} s of processors\n")
    print("| model | integrated | gradients | processor s | wall s | least ESS | gradients/ESS | status |")
    print("|---|---|--:|--:|--:|--:|--:|---|")
    for name in given.models or BUILDS:
        for integrate in (True, False):
            found = in_process(name, integrate, given.limit)
            which = ", ".join(f"{own} ({kind})" for own, kind in (found or {}).get("integrated", {}).items())
            title = f"| {name} | {which or ('nothing' if integrate else 'not asked')} |"
            if found is None:
                print(f"{title} | | | | | ended after {given.limit} s of processors |", flush=True)
            elif "gradients" not in found:
                print(f"{title} | | | | | {found['status']} |", flush=True)
            else:
                each = found["gradients"] / found["ess"]
                print(
                    f"{title} {found['gradients']:,} | {found['processor']:.1f} | {found['wall']:.1f} | "
                    f"{found['ess']:.0f} | {each:.1f} | {found['status']} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()

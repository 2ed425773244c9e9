"""Features of models, one row each: what they change in the text and in the formula of a regression, or what they do
with the model that it makes.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import signal, stats

import consilience as pm
from tests.feature_pairs.laws import GUMBEL, LOGISTIC, Law
from tests.feature_pairs.program import Draft, columns


@dataclass
class Subject:
    """A model with its meaning, and the ways in which it is to be asked."""

    draft: Draft
    model: pm.Model
    ways: frozenset[str] = frozenset()
    given: Any = None  # a result made before the model was used
    used: bool = False


@dataclass(frozen=True)
class Feature:
    """One way to write or to use a model.

    kind    the feature of which it is a variant
    write   what it changes in the text and in the formula
    use     what it does with the model afterwards
    way     how the model is asked
    """

    kind: str
    write: Callable[[Draft], None] = lambda draft: None
    use: Callable[[Subject], None] | None = None
    way: str = ""


FEATURES: dict[str, Feature] = {}


def written(kind: str, variant: str = "") -> Callable[[Callable[[Draft], None]], Callable[[Draft], None]]:
    """Enter a feature of the text."""

    def enter(write: Callable[[Draft], None]) -> Callable[[Draft], None]:
        FEATURES[variant or kind] = Feature(kind, write)
        return write

    return enter


# ---- distributions


def _around(draft: Draft, family: str, arguments: str, law: Callable[[Law], Law]) -> None:
    """The distribution stands inside another one."""
    inner = Draft.dist
    part = draft.part

    def wrapped(mu: str) -> tuple[str, str]:
        draft.part, own = part, draft.part
        try:
            return family, arguments.replace("{moved}", inner(draft, f"{mu} + 1.5")).replace("{}", inner(draft, mu))
        finally:
            draft.part = own

    draft.part, draft.law, draft.base = wrapped, law(draft.law), False


@written("custom distribution")
def _(draft: Draft) -> None:
    if draft.base:
        dist = "dist=lambda mu, s, size: mu + s * pm.Gumbel.dist(0.0, 1.0, size=size)"
        draft.part, draft.law, draft.base = lambda mu: ("pm.CustomDist", f"{mu}, s, {dist}"), GUMBEL, False
        return
    dist = draft.dist("mu").replace("pm.dims.", "pm.")
    draft.part = lambda mu: ("pm.CustomDist", f"{mu}, s, dist=lambda mu, s, size: 0.25 + 1.5 * {dist[:-1]}, size=size)")
    draft.law, draft.low, draft.high = draft.law.affine(0.25, 1.5), 0.25 + 1.5 * draft.low, 0.25 + 1.5 * draft.high


@written("custom distribution", "custom distribution by logp")
def _(draft: Draft) -> None:
    if not draft.base:
        raise NotImplementedError("a density by itself is made around nothing")
    functions = (
        "logp=lambda v, mu, s: -(v - mu) / s - pt.log(s) - 2 * pt.softplus(-(v - mu) / s), "
        "logcdf=lambda v, mu, s: -pt.softplus(-(v - mu) / s), "
        "random=lambda mu, s, rng=None, size=None: rng.logistic(mu, s, size=size)"
    )
    draft.part, draft.law, draft.base = lambda mu: ("pm.CustomDist", f"{mu}, s, {functions}"), LOGISTIC, False
    draft.pickles = False


@written("mixture")
def _(draft: Draft) -> None:
    _around(draft, "pm.Mixture", "[0.7, 0.3], [{}, {moved}]", lambda law: law.mixed(0.3, 1.5))


@written("truncation")
def _(draft: Draft) -> None:
    _around(draft, "pm.Truncated", "{}, lower=-0.5", lambda law: law.truncated(-0.5))
    draft.low = max(draft.low, -0.5)


@written("censoring")
def _(draft: Draft) -> None:
    _around(draft, "pm.Censored", "{}, upper=1.5", lambda law: law.censored(1.5))
    draft.high = min(draft.high, 1.5)


# ---- predictors and priors


@written("loop")
def _(draft: Draft) -> None:
    scan = "pt.scan(lambda e, last: e + 0.5 * last, {}, [pt.constant(0.0)], return_updates=False)"
    draft.predictor.append(
        (
            lambda: f"mu = {draft.with_names(scan.format(draft.plain('mu')))}",
            lambda mu, v, c: signal.lfilter([1.0], [1.0, -0.5], mu),
        )
    )


@written("marginalised")
def _(draft: Draft) -> None:
    def text() -> str:
        shape = 'dims="row"' if "row" in draft.coords else "shape=x.shape[0]"
        return f'z = {draft.home}.Bernoulli("z", 0.3, {shape})\nmu = mu + 2.0 * z'

    draft.predictor.append((text, lambda mu, v, c: mu + 2.0 * v["z"]))
    draft.latent.append(("z", 0.3, lambda rows: rows))
    draft.after.append('model = pm.marginalize(model, ["z"])')


@written("marginalised", "marginalised once")
def _(draft: Draft) -> None:
    draft.predictor.append(
        (lambda: f'z = {draft.home}.Bernoulli("z", 0.3)\nmu = mu + 2.0 * z', lambda mu, v, c: mu + 2.0 * v["z"][0])
    )
    draft.latent.append(("z", 0.3, lambda rows: 1))
    draft.after.append('model = pm.marginalize(model, ["z"])')


@written("ordered")
def _(draft: Draft) -> None:
    draft.options["m"] = ', dims="level", transform=pm.distributions.transforms.ordered, initval=[-1.0, 1.0]'
    draft.coords["level"] = ["low", "high"]
    draft.columns["h"] = np.arange(draft.rows) % 2
    draft.level = lambda: draft.taken("m", "level", "h")
    draft.level_of = lambda v, c: v["m"][c["h"]]


# ---- data


@written("missing values")
def _(draft: Draft) -> None:
    draft.missing = (1, 4)


@written("minibatch")
def _(draft: Draft) -> None:
    draft.batches = True


@written("named dims", "dims of plain tensors")
def _(draft: Draft) -> None:
    draft.labels()


@written("named dims")
def _(draft: Draft) -> None:
    draft.home = "pm.dims"
    draft.labels()


# ---- uses


def _exchange(subject: Subject) -> None:
    """Other data of another length; of the same one where values are missing, as these have their number."""
    draft = subject.draft
    rows = draft.rows + (0 if draft.missing else 2)
    new = columns(rows, 2)
    new |= {name: np.arange(rows) % 2 for name in draft.columns if name == "h"}
    new |= {name: np.arange(rows) % 3 for name in draft.columns if name == "g"}
    if draft.missing:
        new["y"] = draft.columns["y"]
    draft.columns = new
    given = {name: value for name, value in draft.observed().items() if name != "y" or not draft.missing}
    coords = {"coords": {"row": [f"n{i}" for i in range(rows)]}} if "row" in draft.coords and not draft.batches else {}
    pm.set_data(given, subject.model, **coords)


def _data(draft: Draft) -> None:
    draft.data = True


FEATURES["new data"] = Feature("new data", _data, _exchange)


def _groups(draft: Draft) -> None:
    draft.data = True
    draft.coords["group"] = ["a", "b", "c"]
    draft.columns["g"] = np.arange(draft.rows) % 3
    draft.priors["a"] = ('Normal("a", 0.0, 0.8, dims="group")', lambda v: stats.norm(0, 0.8).logpdf(v["a"]))
    draft.options["a"] = ""
    draft.predictor.insert(
        0, (lambda: f"mu = mu + {draft.taken('a', 'group', 'g')}", lambda mu, v, c: mu + v["a"][c["g"]])
    )


def _relabel(subject: Subject) -> None:
    """Labels in another order, one without draws."""
    draft = subject.draft
    draft.columns["g"] = np.arange(draft.rows) % 4
    draft.coords["group"] = ["new", "c", "a", "b"]
    draft.drawn["a"] = lambda generator, v: np.append(generator.normal(0.0, 0.8), v["a"][[2, 0, 1]])
    pm.set_data({"g": draft.columns["g"]}, subject.model, coords={"group": draft.coords["group"]})


FEATURES["new labels"] = Feature("new labels", _groups, _relabel, "predictions")


def _do(subject: Subject) -> None:
    """The scale is set, and has no density any more; the slope is observed, and keeps its own."""
    draft = subject.draft
    subject.model = pm.observe(pm.do(subject.model, {"s": 0.75}), {"b": 0.5})
    del draft.priors["s"]
    draft.fixed |= {"s": 0.75, "b": 0.5}
    if subject.given is not None:  # whose value of the slope predictions take, as in PyMC
        draft.drawn["b"] = lambda generator, v: subject.given.posterior["b"].to_numpy().flat[0]


FEATURES["do and observe"] = Feature("do and observe", use=_do)


def _pickle(subject: Subject) -> None:
    maker = pickle if subject.draft.pickles else pytest.importorskip("cloudpickle")
    subject.model = pickle.loads(maker.dumps(subject.model))


FEATURES["pickled"] = Feature("pickled", use=_pickle)
FEATURES["threads"] = Feature("threads", way="threads")
FEATURES["other backend"] = Feature("other backend", way="backend")
FEATURES["resumed"] = Feature("resumed", way="resumed")


def _shards(draft: Draft) -> None:
    draft.data = draft.shards = True


FEATURES["shards"] = Feature("shards", _shards, way="shards")

"""Two features that meet mean what each of them means: every pair of features of models beside a formula.

A pair is written in every variant of both features and in both orders. What makes no sense, and what is refused, is in
a table with the reason.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

import consilience as pm
from tests.feature_pairs.checks import check, made
from tests.feature_pairs.features import FEATURES
from tests.rows import holds_for_each

KINDS = list(dict.fromkeys(feature.kind for feature in FEATURES.values()))
Names = tuple[str, ...]

# By two features or variants, in any order: what the error says, and why it is right.
REFUSED: dict[frozenset[str], tuple[str, str]] = {
    frozenset(pair): (words, why)
    for pair, words, why in [
        (("loop", "shards"), "rows depend on each other in the term of `obs`", "a worker has some of the rows alone"),
        (
            ("marginalised once", "shards"),
            "rows depend on each other in the term of `obs`",
            "the logarithm of a sum over what all rows share is no sum over rows",
        ),
        (
            ("marginalised once", "minibatch"),
            "`z` is shared by rows of data of which only a batch is there",
            "the logarithm of an estimate is no unbiased estimate of the logarithm",
        ),
        (("missing values", "shards"), "must be a finite number, got nan", "rows elsewhere have no variables here"),
        (
            ("missing values", "minibatch"),
            "`observed` of `obs`: 2 values of the `Minibatch` are NaN",
            "which rows come is not known, and variables of rows would be of one batch",
        ),
        (
            ("censoring", "missing values"),
            "`obs_unobserved` (Censored) has values of positive probability beside a density",
            "gradients do not lead to a mass; the density by itself is there, and is compared",
        ),
        (("minibatch", "resumed"), "the model has a `Minibatch`", "chains need a density that stays the same"),
        (("minibatch", "shards"), "the model has a `Minibatch`", "chains need a density that stays the same"),
    ]
}
# Programs that cannot be written, with the reason; the other order or variant of each is tried.
MEANINGLESS = {
    (outer, "custom distribution by logp"): "a density by itself is made around nothing"
    for outer in ("mixture", "truncation", "censoring")
}


def programs(one: str, other: str) -> Iterator[Names]:
    """Programs with both features: in each variant, those of the text in both orders."""
    for names in itertools.product(*[[n for n, f in FEATURES.items() if f.kind == kind] for kind in (one, other)]):
        both = all(FEATURES[n].use is None for n in names) == all(FEATURES[n].use is not None for n in names)
        for order in [names, names[::-1]] if not both else [names]:
            if order not in MEANINGLESS:
                yield order


def samples_elsewhere(names: Names) -> bool:
    """Whether chains run on another backend, which is JAX."""
    ways = {FEATURES[n].way for n in names}
    return "backend" in ways and bool(ways & {"resumed", "predictions"} or ways >= {"shards", "threads"})


def tried(names: Names, quick: bool = False) -> None:
    """The program means what its formula says, or is refused with the words of the table."""
    refused = {pair: words for pair, (words, _) in REFUSED.items() if pair <= set(names)}
    if "new labels" in names:  # predictions alone are asked for
        refused.pop(frozenset({"censoring", "missing values"}), None)
    words = next(iter(refused.values()), None)
    if words is None:
        check(made(names), quick)
        return
    with pytest.raises(pm.ConsilienceError, match=re.escape(words)):
        check(made(names))


PAIRS = list(itertools.combinations(KINDS, 2))
QUICK = {f.kind for f in FEATURES.values() if f.use is None and not f.way} | {"new data", "do and observe", "pickled"}


def test_every_two_features_have_a_program() -> None:
    assert len(KINDS) == 18
    assert len(PAIRS) == 153
    assert all(any(True for _ in programs(*pair)) for pair in PAIRS)


@pytest.mark.parametrize("one", [kind for kind in KINDS if kind in QUICK])
def test_features_meet_those_behind_them_in_the_table(one: str) -> None:
    """The first program of each pair whose features take no run."""
    others = [kind for kind in KINDS[KINDS.index(one) + 1 :] if kind in QUICK]
    found = [next(programs(one, other)) for other in others]
    if found:
        holds_for_each([(" + ".join(names), names) for names in found], partial(tried, quick=True))


@pytest.mark.slow
@pytest.mark.parametrize(("one", "other"), PAIRS, ids=[" + ".join(pair) for pair in PAIRS])
def test_two_features_mean_what_each_of_them_means(one: str, other: str) -> None:
    found = list(programs(one, other))
    if any(map(samples_elsewhere, found)):
        pytest.importorskip("jax")
    holds_for_each([(" + ".join(names), names) for names in found], tried)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_three_features_mean_what_each_of_them_means(block: int) -> None:
    """Some of the programs with three."""
    generator = np.random.default_rng(block)
    found = set()
    while len(found) < 40:
        names = tuple(str(n) for n in generator.choice(list(FEATURES), 3, replace=False))
        kinds = {FEATURES[n].kind for n in names}
        outer = any((a, b) in MEANINGLESS for a, b in itertools.combinations(names, 2))
        if len(kinds) == 3 and not outer and "resumed" not in kinds and not samples_elsewhere(names):
            found.add(names)
    holds_for_each([(" + ".join(names), names) for names in sorted(found)], tried)

"""Sums over discrete variables of which a batch of rows stands for all data, or whose number of values data decide."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import consilience as pm
import consilience.tensor as pt
from consilience.errors import ModelError

N = scipy.stats.norm
ROWS, BATCH = 60, 6
Y = np.where(np.arange(ROWS) % 3 == 0, 0.2, 3.7) + np.linspace(-1.0, 1.0, ROWS)


def mixed(y, weights, means) -> np.ndarray:
    """Log density of each row of a mixture of normal distributions."""
    return np.log((np.asarray(weights) * N(np.asarray(means), 1.0).pdf(np.asarray(y)[..., None])).sum(-1))


def batch_model(observed, **named) -> pm.Model:
    """Rows of a batch, each with a class of its own."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 4.0, 1.0)
        z = pm.Bernoulli("z", 0.6, shape=BATCH)
        pm.Normal("y", pt.stack([0.0 * mu, mu])[z], 1.0, observed=observed, **named)
    return pm.marginalize(model, "z")


def test_total_size_multiplies_the_logarithm_of_the_sum() -> None:
    """Row by row, not what is summed."""
    found = batch_model(Y[:BATCH], total_size=ROWS).compile_logp()({"mu": 4.0})
    expected = N(4.0, 1.0).logpdf(4.0) + ROWS / BATCH * mixed(Y[:BATCH], [0.4, 0.6], [0.0, 4.0]).sum()
    assert float(found) == pytest.approx(expected)


def test_batches_estimate_the_density_without_bias() -> None:
    density = batch_model(pm.Minibatch(Y, batch_size=BATCH), total_size=ROWS).compile_logp()
    found = np.array([float(density({"mu": 4.0})) for _ in range(400)])
    wanted = N(4.0, 1.0).logpdf(4.0) + mixed(Y, [0.4, 0.6], [0.0, 4.0]).sum()
    assert abs(found.mean() - wanted) < 5 * found.std() / np.sqrt(len(found))


def test_vectors_of_a_row_share_its_class() -> None:
    with pm.Model() as model:
        z = pm.Bernoulli("z", 0.6, shape=(BATCH, 1))
        x = pm.Normal("x")
        pm.Normal("y", x + 3.0 * z, 1.0, observed=np.c_[Y, Y][:BATCH], total_size=(ROWS, None))
    found = pm.marginalize(model, "z").compile_logp()({"x": 0.0})
    own = 2 * N(np.array([0.0, 3.0]), 1.0).logpdf(Y[:BATCH, None])
    expected = N.logpdf(0.0) + ROWS / BATCH * np.log(np.exp(own) @ [0.4, 0.6]).sum()
    assert float(found) == pytest.approx(expected)


SHARED = {
    "one number": lambda rows: pm.Bernoulli("z", 0.6),
    "one per group": lambda rows: pm.Bernoulli("z", 0.6, shape=3)[rows],
}


@pytest.mark.parametrize("name", SHARED)
def test_variables_shared_by_rows_are_refused(name: str) -> None:
    """The logarithm of a sum over all rows has no unbiased estimate from a batch."""
    with pm.Model() as model:
        y, rows = pm.Minibatch(Y, np.arange(ROWS) % 3, batch_size=BATCH)
        pm.Normal("y", 4.0 * SHARED[name](rows), 1.0, observed=y, total_size=ROWS)
    with pytest.raises(ModelError, match="`z` is shared by rows of data of which only a batch"):
        pm.marginalize(model, "z")


def test_effects_are_not_collapsed_over_a_batch() -> None:
    with pm.Model() as model:
        b = pm.Normal("b")
        pm.Normal("y", b, pm.HalfNormal("s"), observed=Y[:BATCH], total_size=ROWS)
    with pytest.raises(ModelError, match="an integral over it cannot be estimated"):
        pm.collapse(model, "b")


def test_probabilities_of_categories_may_be_data() -> None:
    """Also of another number of categories later."""
    y = Y[:4]
    with pm.Model() as model:
        p = pm.Data("p", [0.2, 0.3, 0.5])
        scale = pm.HalfNormal("scale")
        z = pm.Categorical("z", p, shape=4)
        pm.Normal("y", 2.0 * z + 0.0 * scale, 1.0, observed=y)
    summed = pm.marginalize(model, "z")
    for weights in ([0.2, 0.3, 0.5], [0.5, 0.2, 0.2, 0.1]):
        pm.set_data({"p": weights}, model=summed)
        found = summed.compile_logp(jacobian=False)({"scale_log__": 0.0})
        expected = scipy.stats.halfnorm().logpdf(1.0) + mixed(y, weights, 2.0 * np.arange(len(weights))).sum()
        assert float(found) == pytest.approx(expected)


def test_a_chain_asks_for_a_known_number_of_values() -> None:
    with pm.Model() as model:
        z = pm.Categorical("z", pm.Data("p", [0.2, 0.8]), shape=3)
        pm.Potential("v", pt.as_tensor([[0.1, 0.4], [0.2, 0.3]])[z[:-1], z[1:]].sum())
    with pytest.raises(ModelError, match="is a length of data"):
        pm.marginalize(model, "z")
    assert pm.marginalize(pm.freeze_dims_and_data(model), "z").marginalized

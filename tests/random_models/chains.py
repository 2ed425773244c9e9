"""Hidden Markov chains in random models: ways to write one, summed out of the model, and the forward algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import consilience as pm
import consilience.tensor as pt
from tests.random_models.composed import WRITERS
from tests.random_models.densities import FAMILIES, Family
from tests.random_models.dialect import log_softmax, logsumexp, normal_logp
from tests.random_models.program import Axes

if TYPE_CHECKING:
    from tests.random_models.generate import Draft

FORMS = ("table", "densities", "stacked")


def hidden_markov(
    name: str, *, rows: Any, mu: Any, sigma: Any, states: int, number: int, form: str, observed: Any
) -> Any:
    """Normal data around the mean of a hidden state; who builds the model sums the states out.

    rows     logits of the next state for each state (states, states)
    number   length of the chain
    form     of FORMS
    """
    # The number of states must be known, also where parameters are data.
    p = pt.stack([pt.stack([pt.softmax(rows, axis=-1)[i, j] for j in range(states)]) for i in range(states)])
    if form == "stacked":
        z = [pm.Categorical(f"{name}_z0", np.full(states, 1 / states))]
        for place in range(1, number):
            z.append(pm.Categorical(f"{name}_z{place}", p[z[-1]]))
        return pm.Normal(name, pt.as_tensor(mu)[pt.stack(z)], sigma, observed=observed)
    whole = pm.Categorical(f"{name}_z", np.full(states, 1 / states), shape=number)
    if form == "table":
        pm.Potential(f"{name}_steps", pt.log(p)[whole[:-1], whole[1:]].sum() + (number - 1) * np.log(states))
    else:
        steps = pm.logp(pm.Categorical.dist(p=p[whole[:-1]]), whole[1:])
        pm.Potential(f"{name}_steps", steps + np.log(states))
    return pm.Normal(name, pt.as_tensor(mu)[whole], sigma, observed=observed)


def summed_out(model: pm.Model) -> pm.Model:
    """The model without its hidden states."""
    hidden = [v.name for v in model.free if not v.continuous]
    return pm.marginalize(model, hidden) if hidden else model


def _forward(v: Any, rows: Any, mu: Any, sigma: Any, *sizes: Any) -> Any:
    steps = log_softmax(rows, -1)
    emission = normal_logp(np.asarray(v)[:, None], mu, sigma)
    alpha = emission[0] - np.log(len(mu))
    for row in emission[1:]:
        alpha = logsumexp(alpha[:, None] + steps, 0) + row
    return logsumexp(alpha, 0)


FAMILIES["hidden_markov"] = Family(
    "real", ("rows", "mu", "sigma", "states", "number", "form"), _forward, _forward, {}, 1, shape=lambda *parameters: ()
)


def _write(draft: Draft, name: str, axes: Axes, depth: int) -> None:
    g = draft.grammar
    axis = axes[0] if axes and 2 <= g.length(axes[0]) <= 12 else "4"
    states = g.one("2", "3")
    arguments = {
        "rows": g.real((states, states), depth), "mu": f"({g.real((states,), depth)} + 0.0)",
        "sigma": g.positive((), 1), "states": states, "number": str(g.length(axis)), "form": repr(g.one(*FORMS)),
    }  # fmt: skip
    draft.observe(name, "hidden_markov", arguments, g.datum("real", (axis,)))


WRITERS["hidden_markov"] = _write

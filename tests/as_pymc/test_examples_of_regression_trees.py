"""The models of pymc_bart's documentation, written anew and run by the stand-in: answers are the published ones.

Data are shipped (coal mines), or simulated with the published shape (hours of bike rental, budgets of advertising,
birds of prey, growth of children, a treatment with confounding), so that the function is known.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

BEGINNING = """
import consilience.as_pymc
import numpy as np
import pymc as pm
import pymc_bart as pmb

rng = np.random.default_rng(7)
settings = dict(random_seed=1, progressbar=False, compute_convergence_checks=False)


def inside(draws, truth):
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    return np.mean((low < truth) & (truth < high))


def flat(values):
    values = values.to_numpy()
    return values.reshape(-1, *values.shape[2:])

"""

COAL = """
import consilience

dates = consilience.load_data("coal").iloc[:, 0].to_numpy().astype(float)
counts, edges = np.histogram(dates, bins=int((dates.max() - dates.min()) / 4))
years = (edges[:-1] + edges[1:]) / 2
with pm.Model():
    x = pm.Data("x", years[:, None])
    mu = pmb.BART("mu", x, np.log(counts + 0.5), m=20)
    rate = pm.Deterministic("rate", pm.math.exp(mu))
    pm.Poisson("y", rate, observed=counts)
    result = pm.sample(500, tune=500, **settings)
per_year = flat(result.posterior["rate"]).mean(axis=0) / (edges[1] - edges[0])
# Published: some three accidents a year until the 1880s, about one from 1900 on.
assert 2.5 < per_year[years < 1880].mean() < 3.7, per_year
assert 0.5 < per_year[years > 1900].mean() < 1.3, per_year
falls = years[np.argmin(np.diff(per_year))]
assert 1878 < falls < 1903, falls
"""

BIKES = """
n = 348
hour = rng.integers(0, 24, n)
temperature, humidity, working = rng.uniform(0, 1, n), rng.uniform(0.2, 1, n), rng.integers(0, 2, n)
peaks = np.exp(-0.5 * (hour - 8) ** 2) + 1.5 * np.exp(-0.5 * ((hour - 17.5) / 2) ** 2)
truth = 2.5 + 1.5 * peaks + np.where((hour > 6) & (hour < 23), 1.0, 0.0) + 1.2 * temperature - 0.5 * humidity
y = rng.negative_binomial(8, 8 / (8 + np.exp(truth)))
X = np.column_stack([hour, temperature, humidity, working]).astype(float)
with pm.Model() as model:
    alpha = pm.Exponential("alpha", 1)
    mu = pmb.BART("mu", X, np.log(y + 0.5), m=50)
    pm.NegativeBinomial("y", mu=pm.math.exp(mu), alpha=alpha, observed=y)
    result = pm.sample(500, tune=500, **settings)
draws = flat(result.posterior["mu"])
error = np.sqrt(np.mean((draws.mean(axis=0) - truth) ** 2))
assert error < 0.3 and 0.75 < inside(draws, truth), (error, inside(draws, truth))
# Published: the hour explains most, then the temperature; humidity and working days add next to nothing.
found = pmb.compute_variable_importance(result, mu, X, samples=50, random_seed=1)
assert list(found["indices"][:2]) == [0, 1], found["indices"]
assert found["r2_mean"][0] > 0.5 and found["r2_mean"][1] > 0.85, found["r2_mean"]
"""

ADVERTISING = """
n = 200
budget = np.sort(rng.uniform(0, 350, n))
mean, scale = 5 + 1.1 * np.sqrt(budget), 0.5 + 0.012 * budget
sales = rng.normal(mean, scale)
with pm.Model():
    w = pmb.BART("w", budget[:, None], np.log(sales), m=50, shape=(2, n))
    pm.Normal("y", pm.math.exp(w[0]), pm.math.exp(w[1]), observed=sales)
    result = pm.sample(500, tune=1000, **settings)
draws = np.exp(flat(result.posterior["w"]))
# Published: the mean bends like a root, and the spread grows with the budget.
assert np.sqrt(np.mean((draws[:, 0].mean(axis=0) - mean) ** 2)) < 0.8
spread = draws[:, 1].mean(axis=0)
assert spread[-40:].mean() > 2.0 * spread[:40].mean(), spread
assert np.corrcoef(spread, scale)[0, 1] > 0.8
"""

HAWKS = """
n = 300
species = rng.choice(3, n, p=[0.08, 0.64, 0.28])
centres = np.array([[244, 420, 17.6, 22.8, 200], [383, 1094, 26.9, 31.9, 222], [185, 147, 11.5, 14.2, 145.0]])
X = centres[species] * (1 + 0.08 * rng.normal(size=(n, 5)))
X[rng.uniform(size=X.shape) < 0.02] = np.nan
for separate in (False, True):
    with pm.Model(coords={"n": np.arange(n), "species": ["CH", "RT", "SS"]}):
        mu = pmb.BART("mu", X, species, m=20, dims=["species", "n"], separate_trees=separate)
        theta = pm.Deterministic("theta", pm.math.softmax(mu, axis=0))
        pm.Categorical("y", p=theta.T, observed=species)
        result = pm.sample(200, tune=400, **settings)
    best = flat(result.posterior["theta"]).mean(axis=0).argmax(axis=0)
    # Published: all but a few birds are told by their measures.
    assert np.mean(best == species) > 0.97, np.mean(best == species)
"""

GROWTH = """
n = 600
age = np.sort(rng.uniform(0, 20, n))
middle, spread = 15 + 0.02 * (age - 4) ** 2, 0.8 + 0.08 * age
index = middle + spread * rng.gumbel(size=n)
curves = []
for q in (0.1, 0.5, 0.9):
    with pm.Model():
        mu = pmb.BART("mu", age[:, None], index, m=50)
        sigma = pm.HalfNormal("sigma", 5)
        pm.AsymmetricLaplace("y", mu=mu, b=1 / sigma, q=q, observed=index)
        result = pm.sample(300, tune=500, **settings)
    curves.append(flat(result.posterior["mu"]).mean(axis=0))
    # Published: each curve has its share of the children below it, and the curves lie apart, farther in the end.
    assert abs(np.mean(index < curves[-1]) - q) < 0.04, (q, np.mean(index < curves[-1]))
apart = np.diff(curves, axis=0)
assert (apart > 0).all() and (apart[:, -150:].mean(axis=1) > apart[:, :150].mean(axis=1)).all()
"""

TREATMENT = """
n = 500
X = rng.normal(size=(n, 4))
propensity = 1 / (1 + np.exp(-(X[:, 0] + 0.5 * X[:, 1])))
treated = (rng.uniform(size=n) < propensity) * 1
y = 2 * X[:, 0] + np.sin(2 * X[:, 1]) + 1.5 * treated + rng.normal(size=n)
with pm.Model():
    mu = pmb.BART("mu", X, treated, m=50)
    pm.Bernoulli("t", logit_p=mu, observed=treated)
    result = pm.sample(300, tune=300, **settings)
p = (1 / (1 + np.exp(-flat(result.posterior["mu"])))).clip(0.05, 0.95)
assert np.corrcoef(p.mean(axis=0), propensity)[0, 1] > 0.85
weights = np.where(treated, 1 / p, 1 / (1 - p))
effects = [np.average(y, weights=w * treated) - np.average(y, weights=w * (1 - treated)) for w in weights]
naive = y[treated == 1].mean() - y[treated == 0].mean()
# Published: what the groups differ by is far from the effect, which weights by the propensity find.
assert naive > 2.5 and abs(np.mean(effects) - 1.5) < 0.5, (naive, np.mean(effects))
with pm.Model():
    mu = pmb.BART("mu", np.column_stack([X, p.mean(axis=0)]), y, m=50)
    tau = pmb.BART("tau", X, y - y.mean(), m=20)
    pm.Normal("y", mu + tau * treated, pm.HalfNormal("sigma", 2), observed=y)
    result = pm.sample(300, tune=500, **settings)
effect = flat(result.posterior["tau"]).mean(axis=1)
low, high = np.quantile(effect, [0.005, 0.995])
assert low < 1.5 < high and high - low < 1.5, (low, high)
"""


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(COAL, id="coal"),
        *(
            pytest.param(program, id=name, marks=pytest.mark.slow)
            for name, program in {
                "bikes": BIKES, "advertising": ADVERTISING, "hawks": HAWKS, "growth": GROWTH, "treatment": TREATMENT
            }.items()
        ),
    ],
)  # fmt: skip
def test_models_of_the_documentation_of_pymc_bart_give_its_answers(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", BEGINNING + program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr

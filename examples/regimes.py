"""Hidden Markov model: growth of the United States switches between two regimes (Hamilton 1989)."""
# Subject: Economics
# Keywords: hidden Markov model; HMM; regime switching; Markov switching; business cycle

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # Regimes of growth
#
# **Question.** Growth alone given: which quarters from 1959 to 2009 were recessions, and how long do these last?
#
# **Data.** Real gross domestic product of the United States by quarter (Federal Reserve Bank of St. Louis), taken from
# statsmodels, which names it public domain.

# %%
import numpy as np
import pandas as pd

import consilience as pm
import consilience.tensor as pt
from consilience.distributions import transforms

product = pm.load_data("gdp")
growth = 100 * np.diff(np.log(product["realgdp"].to_numpy()))  # per cent per quarter
quarter = pd.PeriodIndex(product["quarter"], freq="Q").to_timestamp()[1:]
at = quarter.year + (quarter.month - 1) / 12
print(f"{growth.size} quarters; growth from {growth.min():.1f} to {growth.max():.1f} per cent")

# %% [markdown]
# ## Model
#
# A hidden Markov chain is in one of two regimes, each with a mean growth; the one with the lower mean is the first. The
# chain stays where it is with probabilities that are to be found; all its paths are summed in the density.

# %%
with pm.Model(coords={"regime": ["recession", "growth"]}) as model:
    mu = pm.Normal("mu", [-0.5, 1], 0.5, dims="regime", transform=transforms.ordered, initval=[-0.5, 1.0])
    sigma = pm.HalfNormal("sigma", 1)
    stays = pm.Beta("stays", [6, 18], [2, 2], dims="regime")
    P = pt.stack([pt.stack([stays[0], 1 - stays[0]]), pt.stack([1 - stays[1], stays[1]])])
    pm.HiddenMarkov("growth_rate", [0.2, 0.8], P, pm.Normal.dist(mu, sigma), observed=growth)
    prior = pm.sample_prior_predictive(300, random_seed=1)["prior_predictive"]["growth_rate"]
    result = pm.sample(random_seed=1)
    predicted = pm.sample_posterior_predictive(result, random_seed=1)["posterior_predictive"]["growth_rate"].to_numpy()

low, high = prior.quantile([0.05, 0.95]).to_numpy()
print(f"growth of a quarter: prior {low:.1f} to {high:.1f} per cent")
print(pm.summary(result))
print("status:", result.status)

# %% [markdown]
# ## Does the model predict growth like this?

# %%
for what, statistic in [
    ("share of quarters that shrink", lambda y: (y < 0).mean(axis=-1)),
    ("worst quarter", lambda y: y.min(axis=-1)),
    ("correlation with the quarter before", lambda y: (z(y)[..., 1:] * z(y)[..., :-1]).mean(axis=-1)),
]:

    def z(y: np.ndarray) -> np.ndarray:
        """In standard deviations from the mean."""
        return (y - y.mean(axis=-1, keepdims=True)) / y.std(axis=-1, keepdims=True)

    low, high = np.quantile(statistic(predicted), [0.05, 0.95])
    print(f"{what}: data {statistic(growth):.2f}, predicted {low:.2f} to {high:.2f}")

# %% [markdown]
# ## The regimes
#
# Given the parameters, the probability of each regime at each quarter follows by going through the data forwards and
# backwards.

# %%
draws = result["posterior"].dataset.stack(sample=("chain", "draw")).transpose("sample", "regime")
mean, sd, stay = draws["mu"].to_numpy(), draws["sigma"].to_numpy()[:, None], draws["stays"].to_numpy()
likelihood = np.exp(-0.5 * ((growth[:, None, None] - mean) / sd) ** 2) / sd  # quarter, draw, regime
to = np.stack([np.stack([stay[:, 0], 1 - stay[:, 0]], 1), np.stack([1 - stay[:, 1], stay[:, 1]], 1)], 1)
forward, backward = np.empty_like(likelihood), np.ones_like(likelihood)
state = np.broadcast_to([0.2, 0.8], mean.shape)
for i, here in enumerate(likelihood):
    state = (state if i == 0 else np.einsum("si,sij->sj", state, to)) * here
    forward[i] = state = state / state.sum(axis=1, keepdims=True)
for i in range(growth.size - 2, -1, -1):
    backward[i] = np.einsum("sij,sj->si", to, likelihood[i + 1] * backward[i + 1])
    backward[i] /= backward[i].sum(axis=1, keepdims=True)
probability = forward * backward
recession = (probability / probability.sum(axis=2, keepdims=True))[..., 0].mean(axis=1)

# %% [markdown]
# ## Answer

# %%
lasts = 1 / (1 - result["posterior"]["stays"].sel(regime="recession"))
low, middle, high = lasts.quantile([0.05, 0.5, 0.95]).to_numpy()
sure = recession > 0.5
starts = quarter[sure & ~np.concatenate([[False], sure[:-1]])]
print(
    f"More likely than not {sure.sum()} quarters were recessions, which began in",
    ", ".join(f"{d.year}Q{d.quarter}" for d in starts),
)
print(f"A recession lasts {middle:.1f} quarters on average (90 %: {low:.1f} to {high:.1f}).")

# %% tags=["script"]
print(time_spent(result))
if arguments.no_plots:
    raise SystemExit

# %% [markdown]
# ## Growth and recessions

# %% alt="Growth by quarter, and the probability of a recession: near 1 in 1974, 1981 and 2008 among others"
import matplotlib.pyplot as plt

figure, (top, bottom) = plt.subplots(2, 1, figsize=(10, 5), layout="constrained", sharex=True)
top.plot(at, growth, lw=0.9)
top.axhline(0, color="0.7", lw=0.8)
top.set(ylabel="growth, per cent per quarter", title="United States")
bottom.fill_between(at, recession, step="mid", alpha=0.6, color="C1", lw=0)
bottom.set(ylabel="probability of recession", xlabel="year", ylim=(0, 1))

# %% tags=["script"]
save(figure, arguments.out / "regimes.png")

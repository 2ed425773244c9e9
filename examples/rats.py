"""Mixed model for repeated measurements: growth of thirty rats (Gelfand and others 1990)."""
# Subject: Biology
# Keywords: growth curves; longitudinal data; repeated measures; random slopes; mixed model; LKJ

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # Growth of young rats
#
# **Question.** How fast does a rat grow, how much do rats differ, and what will one weigh that was seen twice?
#
# **Data.** Weights of 30 rats at 8, 15, 22, 29 and 36 days (Gelfand, Hills, Racine-Poon and Smith 1990), taken from
# posteriordb; BSD 3-Clause.

# %%
import numpy as np

import consilience as pm

weighings = pm.load_data("rats")
grams = weighings.pivot(index="rat", columns="day", values="grams").to_numpy(float)
days = np.sort(weighings["day"].unique())
week = (days - 22) / 7
hidden = np.zeros(grams.shape, bool)
hidden[:5, 2:] = True  # of the first five rats only the first two weighings are told
told = np.where(hidden, np.nan, grams)

# %% [markdown]
# ## Model
#
# Each rat has a weight at 22 days and a growth per week. Both come from one population, in which they may be
# correlated. The hidden weights are missing values: they become variables, and have a posterior like all others.

# %%
import warnings

from consilience.errors import ImputationWarning

with pm.Model(coords={"rat": np.arange(1, 31), "day": days, "effect": ["at 22 days", "per week"]}) as model:
    mean = pm.Normal("mean", [240, 40], [50, 20], dims="effect")
    spread = pm.LKJCholeskyCov("spread", n=2, eta=2, sd_dist=pm.HalfNormal.dist([20, 5]), compute_corr=True)
    z = pm.Normal("z", 0, 1, dims=("rat", "effect"))
    of_rat = pm.Deterministic("of_rat", mean + z @ spread[0].T, dims=("rat", "effect"))
    sigma = pm.HalfNormal("sigma", 10)
    line = of_rat[:, :1] + of_rat[:, 1:] * week
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImputationWarning)  # that values are missing is the point
        pm.Normal("grams", line, sigma, observed=told, dims=("rat", "day"))
    prior = pm.sample_prior_predictive(200, random_seed=1)["prior"]["grams"]
    result = pm.sample(random_seed=1)

low, high = prior.quantile([0.05, 0.95]).to_numpy()
print(f"weights: prior {low:.0f} to {high:.0f} g, data {grams.min():.0f} to {grams.max():.0f} g")
print(pm.summary(result, var_names=["mean", "spread_stds", "sigma"]))
print("status:", result.status)

# %% [markdown]
# ## What was hidden, and what was predicted

# %%
posterior = result["posterior"]
predicted = posterior["grams"].to_numpy()[..., hidden]
low, high = np.quantile(predicted, [0.05, 0.95], axis=(0, 1))
inside = (low <= grams[hidden]) & (grams[hidden] <= high)
print(
    f"{inside.sum()} of {inside.size} hidden weights lie in their 90 % intervals, which are {(high - low).mean():.0f} "
    "g wide"
)
curved = np.polynomial.polynomial.polyfit(week, grams[5:].T, 2)[2]
print(f"mean curvature of the lines: {curved.mean():.1f} g per week², which a line does not have")

# %% [markdown]
# ## Answer

# %%
growth = posterior["mean"].sel(effect="per week")
differ = posterior["spread_stds"].to_numpy()
together = posterior["spread_corr"].to_numpy()[..., 0, 1]
print(
    f"Rats grow by {growth.mean().item():.1f} ± {growth.std().item():.1f} g per week, and differ in that by "
    f"{differ[..., 1].mean():.1f} g (sd)."
)
print(
    f"Heavy ones grow faster: correlation {together.mean():.2f} (above 0 with probability {(together > 0).mean():.0%})."
)

# %% tags=["script"]
print(time_spent(result))
if arguments.no_plots:
    raise SystemExit

# %% [markdown]
# ## Five rats of which two weighings were told

# %% alt="Weights of five rats over days with predicted bands behind the second weighing; all rats in grey behind them"
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 5, figsize=(12, 3.4), layout="constrained", sharey=True)
drawn = posterior["grams"].to_numpy()
for rat, plot in enumerate(axes):
    plot.plot(days, grams.T, color="0.9", lw=0.5)
    low, middle, high = np.quantile(drawn[:, :, rat, 2:], [0.05, 0.5, 0.95], axis=(0, 1))
    plot.fill_between(days[2:], low, high, alpha=0.4, lw=0)
    plot.plot(days[2:], middle)
    plot.plot(days[:2], grams[rat, :2], "o", color="black", ms=4)
    plot.plot(days[2:], grams[rat, 2:], "o", color="C1", ms=4)
    plot.set(title=f"rat {rat + 1}", xlabel="days")
axes[0].set_ylabel("grams")

# %% tags=["script"]
save(figure, arguments.out / "rats.png")

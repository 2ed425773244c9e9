"""Oil prices: daily returns whose volatility wanders (Kim, Shephard and Chib 1998)."""
# Subject: Economics
# Keywords: stochastic volatility; finance; time series; latent volatility

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # Stochastic volatility of the oil price
#
# **Question.** How much does the price of oil move from day to day, how long does an unquiet time last, and which loss
# is exceeded on one day in a hundred?
#
# **Data.** West Texas Intermediate at Cushing, dollars per barrel, 2014 to 2017 (United States Energy Information
# Administration, public domain), taken from the data of the package arch; NCSA.

# %%
import numpy as np

import consilience as pm

prices = pm.load_data("oil")
returns = 100 * np.diff(np.log(prices["dollars"].to_numpy()))  # per cent
day = prices["date"].to_numpy()[1:]
print(f"{len(returns)} days; standard deviation of a day {returns.std():.1f} %, largest fall {returns.min():.1f} %")

# %% [markdown]
# ## Model
#
# The logarithm of the volatility returns to its mean: each day it keeps a share of its distance and adds a step. The
# first day has the stationary distribution. Returns are normal given the volatility of their day.

# %%
with pm.Model(coords={"day": day}) as model:
    level = pm.Normal("level", 0.5, 1)  # of log per cent
    keeps = pm.Beta("keeps", 20, 1.5)
    step = pm.HalfNormal("step", 0.3)
    first = pm.Normal.dist(level, step / pm.math.sqrt(1 - keeps**2))
    log_sd = pm.AR("log_sd", [level * (1 - keeps), keeps], step, init_dist=first, constant=True, dims="day")
    pm.Normal("returns", 0, pm.math.exp(log_sd), observed=returns, dims="day")
    prior = pm.sample_prior_predictive(200, random_seed=1)["prior_predictive"]["returns"].std("day")
    result = pm.sample(random_seed=1)

low, high = prior.quantile([0.05, 0.95]).to_numpy()
print(f"standard deviation of the returns: prior {low:.1f} % to {high:.0f} %, data {returns.std():.1f} %")
print(pm.summary(result, var_names=["level", "keeps", "step"]))
print("status:", result.status)

# %% [markdown]
# ## Does the model predict returns like these?
#
# Tails heavier than normal ones (kurtosis), and unquiet days that come together (correlation of absolute returns).


# %%
def kurtosis(y: np.ndarray) -> np.ndarray:
    """3 for a normal distribution."""
    z = y - y.mean(axis=-1, keepdims=True)
    return (z**4).mean(axis=-1) / (z**2).mean(axis=-1) ** 2


def together(y: np.ndarray) -> np.ndarray:
    """Correlation of the absolute returns of a day and of that five days later."""
    a = np.abs(y) - np.abs(y).mean(axis=-1, keepdims=True)
    return (a[..., 5:] * a[..., :-5]).mean(axis=-1) / (a**2).mean(axis=-1)


with model:
    predicted = pm.sample_posterior_predictive(result, random_seed=1)["posterior_predictive"]["returns"].to_numpy()

for what, statistic in [("kurtosis", kurtosis), ("correlation of absolute returns", together)]:
    low, high = np.quantile(statistic(predicted), [0.05, 0.95])
    print(f"{what}: data {statistic(returns):.2f}, predicted {low:.2f} to {high:.2f}")

# %% [markdown]
# ## Answer
#
# Half of a shock to the log volatility is left after log ½ / log(keeps) days. A loss of the day after the last one
# follows by one more step of the process.

# %%
posterior = result["posterior"]
half_life = (np.log(0.5) / np.log(posterior["keeps"])).to_numpy()
rng = np.random.default_rng(1)
last = posterior["log_sd"].isel(day=-1)
ahead = (
    posterior["level"]
    + posterior["keeps"] * (last - posterior["level"])
    + posterior["step"] * rng.normal(size=last.shape)
)
loss = np.quantile(np.exp(ahead.to_numpy()) * rng.normal(size=last.shape), 0.01)
sd = np.exp(posterior["log_sd"]).mean(("chain", "draw")).to_numpy()
print(f"The standard deviation of a day went from {sd.min():.1f} % to {sd.max():.1f} %. Half of a shock is left after")
low, high = np.quantile(half_life, [0.05, 0.95])
print(
    f"{np.median(half_life):.0f} days (90 %: {low:.0f} to {high:.0f}); on one of a hundred next days oil loses "
    f"{-loss:.1f} % or more."
)

# %% tags=["script"]
print(time_spent(result))
if arguments.no_plots:
    raise SystemExit

# %% [markdown]
# ## Returns and their volatility

# %% alt="Daily returns of oil, and a band of two standard deviations: narrow in 2014, wide in early 2016"
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(10, 4.5), layout="constrained")
low, high = np.exp(posterior["log_sd"]).quantile([0.05, 0.95], dim=("chain", "draw")).to_numpy()
axes.fill_between(day, 2 * low, 2 * high, color="C1", alpha=0.6, lw=0, label="two standard deviations, 90 % interval")
axes.fill_between(day, -2 * high, -2 * low, color="C1", alpha=0.6, lw=0)
axes.plot(day, returns, color="C0", lw=0.5, label="returns")
axes.set(xlabel="day", ylabel="return of a day, per cent", title="West Texas Intermediate")
axes.legend()

# %% tags=["script"]
save(figure, arguments.out / "oil.png")

"""Causal impact: what a campaign added to sales, by the forecast of what would have come without it."""
# Subject: Economics
# Keywords: time series; causal impact; counterfactual; state space model; intervention

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # What did the campaign add?
#
# **Question.** A campaign ran in the last six weeks. How many more orders came than would have come without it?
#
# **Data.** Simulated here (CC0 1.0), so that the answer is known: 20 weeks of daily orders of a region, of which the
# last six have the campaign, and orders of two regions without it. All three follow the market and the days of the
# week. The campaign adds 12 orders a day on average. A week of data was lost.

# %%
import numpy as np
import pandas as pd

import consilience as pm
from consilience import statespace as ss

rng = np.random.default_rng(3)
days = pd.date_range("2025-01-06", periods=140, freq="D")
before, after = days[:98], days[98:]
market = 100 + np.cumsum(rng.normal(0, 1.5, 140)) + 8 * np.sin(2 * np.pi * np.arange(140) / 7)
regions = pd.DataFrame({"north": 0.8 * market, "south": 0.5 * market}, days) + rng.normal(0, 2, (140, 2))
added = np.where(days.isin(after), 12 * (1 - np.exp(-(np.arange(140) - 97) / 5)), 0.0)
own = np.cumsum(rng.normal(0, 0.3, 140))
orders = pd.Series(0.9 * market + own + added + rng.normal(0, 2, 140), days)
orders.iloc[50:57] = np.nan

# %% [markdown]
# ## Model
#
# Orders without a campaign are a level that wanders, a season of seven days, and the two other regions with
# coefficients of which nothing is known. The model sees the days before the campaign alone.

# %%
space = (
    ss.LevelTrend(order=1)
    + ss.TimeSeasonality(7, innovations=False)
    + ss.Regression(["north", "south"])
    + ss.MeasurementError()
)
with pm.Model():
    space.build_statespace_graph(orders[before], exog=regions.loc[before])
    result = pm.sample(random_seed=1)
print(pm.summary(result))
print("status:", result.status)

# %% [markdown]
# ## What would have come
#
# The forecast of the campaign's days, given what came in the other regions, is what would have come: for each draw of
# the posterior one path. What came less these paths is what the campaign added.

# %%
without = space.forecast(result, len(after), exog=regions.loc[after], random_seed=1)
paths = without["forecast_observed"].stack(sample=("chain", "draw")).isel(observed=0).to_numpy()
effect = orders[after].to_numpy()[:, None] - paths
total = effect.cumsum(0)

# %% [markdown]
# ## Answer
#
# The same model, asked for days before the campaign, should find nothing: the last two weeks before it are forecast
# from those before them.

# %%
low, middle, high = np.quantile(total[-1], [0.05, 0.5, 0.95])
print(
    f"The campaign added {middle:.0f} orders, {low:.0f} to {high:.0f} with probability 0.9; {added.sum():.0f} in truth."
)
print(f"P(it added something) = {(total[-1] > 0).mean():.3f}")
with pm.Model():
    space.build_statespace_graph(orders[before[:-14]], exog=regions.loc[before[:-14]])
    earlier = pm.sample(random_seed=1)
placebo = space.forecast(earlier, 14, exog=regions.loc[before[-14:]], random_seed=1)
nothing = orders[before[-14:]].sum() - placebo["forecast_observed"].sum("time_ahead").to_numpy().ravel()
low, high = np.quantile(nothing, [0.05, 0.95])
print(f"Two weeks without a campaign: {low:.0f} to {high:.0f} orders added.")

# %% tags=["script"]
print(time_spent(result))
if arguments.no_plots:
    raise SystemExit

# %% alt="Daily orders with the forecast of the campaign's days without it, and below the orders that it added so far"
import matplotlib.pyplot as plt

figure, (above, below) = plt.subplots(2, figsize=(8, 6), sharex=True, constrained_layout=True)
above.plot(orders, color="black", linewidth=0.8, label="orders")
above.fill_between(after, *np.quantile(paths, [0.05, 0.95], 1), alpha=0.4, label="without the campaign, 90 %")
above.set_ylabel("orders a day")
above.legend(loc="upper left")
below.fill_between(after, *np.quantile(total, [0.05, 0.95], 1), alpha=0.4, label="added so far, 90 %")
below.plot(after, np.median(total, 1))
below.plot(after, added[98:].cumsum(), "--", color="C1", label="truth")
below.axhline(0, color="black", linewidth=0.5)
below.set_ylabel("orders added")
below.legend(loc="upper left")

# %% tags=["script"]
save(figure, arguments.out / "impact.png")

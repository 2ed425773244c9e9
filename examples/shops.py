"""Fifty shops: weekly sales with holidays and gaps as one panel of state spaces, and the forecast of a quarter."""
# Subject: Economics
# Keywords: time series; panel data; hierarchical model; holidays; state space model; forecasting

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # What will fifty shops sell next quarter?
#
# **Question.** A chain has 50 shops, and a year of weekly sales of each. What will each of them sell in the next
# thirteen weeks, Christmas included?
#
# **Data.** Simulated here (CC0 1.0), so that the answer is known: logarithms of sales of 52 weeks. Sales of a shop
# wander. Two holidays, Easter and Christmas, raise them, in each shop by an effect of its own. Shops were shut for
# some weeks, and three of them opened late.

# %%
import numpy as np
import pandas as pd

import consilience as pm
import consilience.tensor as pt

SHOPS, PAST, PERIODS = 50, 52, 13
rng = np.random.default_rng(4)
weeks = pd.date_range("2023-12-18", periods=PAST + PERIODS, freq="W-MON")
christmas = weeks.isin(pd.to_datetime(["2023-12-18", "2024-12-16"]))
easter = weeks.isin(pd.to_datetime(["2024-03-25"]))
holidays = np.stack([easter, christmas], 1).astype(float)

effects = rng.normal([0.3, 0.8], [0.1, 0.25], (SHOPS, 2))
level = rng.normal(9, 0.5, (SHOPS, 1)) + np.cumsum(rng.normal(0, 0.05, (SHOPS, PAST + PERIODS)), 1)
whole = level + effects @ holidays.T + rng.normal(0, 0.1, level.shape)
sales = whole[:, :PAST].copy()
sales[rng.random(sales.shape) < 0.05] = np.nan
for shop, opened in ((7, 20), (21, 35), (40, 45)):
    sales[shop, :opened] = np.nan

# %% [markdown]
# ## Model
#
# The state of a shop is its level, which wanders, and its two effects, which stay. Nothing is known of the first level:
# it is diffuse. Effects of the shops are normal around means that all shops share, so that a shop that was not open
# at Christmas borrows from the others. All this is the first state of a linear Gaussian state space. The Kalman filter
# integrates levels and effects out, passes over the gaps, and six parameters remain for 50 series: one call.

# %%
coords = {"shop": np.arange(SHOPS), "week": weeks[:PAST], "holiday": ["Easter", "Christmas"], "series": ["log sales"]}
with pm.Model(coords=coords) as model:
    calendar = pm.Data("calendar", holidays[:PAST], dims=("week", "holiday"))
    mean = pm.Normal("mean", 0, 1, dims="holiday")
    spread = pm.HalfNormal("spread", 0.5, dims="holiday")
    wander = pm.HalfNormal("wander", 0.2)
    noise = pm.HalfNormal("noise", 0.5)
    seen = pt.concatenate([pt.ones_like(calendar[:, :1]), calendar], axis=1)
    pm.LinearGaussianStateSpace(
        "sales",
        T=np.eye(3),
        Z=seen[:, None, :],
        varying="Z",
        R=[[1.0], [0.0], [0.0]],
        Q=(wander**2).reshape((1, 1)),
        H=(noise**2).reshape((1, 1)),
        a0=pt.concatenate([[0.0], mean]),
        P0=pt.diag(pt.concatenate([[0.0], spread**2])),
        initial=["diffuse", "known", "known"],
        observed=sales[..., None],
        dims=("shop", "week", "series"),
    )
    result = pm.sample(draws=500, tune=500, random_seed=1)

print(pm.summary(result))
print("status:", result.status)

# %% [markdown]
# ## Forecast
#
# `pm.forecast` goes on from the last states of each shop, given the calendar of the weeks to come.

# %%
with model:
    ahead = pm.forecast(result, PERIODS, exog={"calendar": holidays[PAST:]}, random_seed=1)
draws = ahead.predictions["sales"].isel(series=0)

# %% [markdown]
# ## Answer

# %%
low, high = draws.quantile([0.05, 0.95], ("chain", "draw")).to_numpy()
inside = (whole[:, PAST:] >= low) & (whole[:, PAST:] <= high)
print(f"{inside.mean():.0%} of {inside.size} sales of the quarter lie within intervals of 90 %.")
print(f"In the week of Christmas {inside[:, christmas[PAST:]].mean():.0%}.")

# %% tags=["script"]
print(time_spent(result))
if arguments.no_plots:
    raise SystemExit

# %% alt="Log sales of four shops in a year with gaps, the forecast of a quarter with intervals, and what was sold"
import matplotlib.pyplot as plt

figure, axes = plt.subplots(2, 2, figsize=(9, 5), sharex=True, constrained_layout=True)
middle = draws.median(("chain", "draw")).to_numpy()
for axis, shop in zip(axes.flat, (0, 7, 21, 40), strict=True):
    axis.plot(weeks[:PAST], sales[shop], "k.-", linewidth=0.8, markersize=3)
    axis.fill_between(weeks[PAST:], low[shop], high[shop], alpha=0.3, label="forecast, 90 %")
    axis.plot(weeks[PAST:], middle[shop])
    axis.plot(weeks[PAST:], whole[shop, PAST:], ".", color="C1", label="what was sold")
    axis.set_title(f"shop {shop}", fontsize=10)
    axis.tick_params("x", rotation=30)
axes[0, 0].legend(fontsize=8)
axes[0, 0].set_ylabel("log sales")
axes[1, 0].set_ylabel("log sales")

# %% tags=["script"]
save(figure, arguments.out / "shops.png")

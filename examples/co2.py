"""Carbon dioxide at Mauna Loa: a season, and a trend that is two Gaussian processes of different pace."""
# Subject: Climate
# Keywords: Gaussian process; Mauna Loa; trend and season; time series

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # Carbon dioxide at Mauna Loa
#
# **Question.** How fast did carbon dioxide in the air rise, and does the swing of the season change?
#
# **Data.** Monthly means of weekly air samples, March 1958 to December 2001, parts per million (Keeling and Whorf 2004,
# Carbon Dioxide Information Analysis Center), taken from statsmodels, which names them public domain.

# %%
import numpy as np

import consilience as pm
import consilience.tensor as pt

air = pm.load_data("co2")
year = air["month"].dt.year.to_numpy() + (air["month"].dt.month.to_numpy() - 0.5) / 12
ppm = air["co2"].to_numpy()
known = year < 1996
t, t_ahead = year[known, None] - 1980, year[~known, None] - 1980
print(f"{known.sum()} months until 1995, and {(~known).sum()} later ones for a test")

# %% [markdown]
# ## Model
#
# The season is four pairs of sines and cosines, whose size may grow with time; it is the mean function, with a
# parabola. Around it are a slow process, of decades, and a quick one, of months. Both are of Matérn's family in one
# dimension, so that the density of all 449 months, with both processes integrated out, is a Kalman filter: it takes
# microseconds, and needs no approximation.


# %%
class TrendAndSeason(pm.gp.mean.MeanFunction):
    """A parabola and a season, in years since 1980."""

    def __init__(self, line, waves, growth):
        self.line, self.waves, self.growth = line, waves, growth

    def season(self, x):
        """The season at times x, at its size of 1980."""
        phases = 2 * np.pi * x[:, None] * np.arange(1, 5)
        return pt.concatenate([pt.sin(phases), pt.cos(phases)], axis=1) @ self.waves

    def at(self, X):
        x = X[:, 0]
        return self.line[0] + self.line[1] * x + self.line[2] * x**2 + self.season(x) * (1 + self.growth * x)


with pm.Model(
    coords={"month": air["month"][known], "wave": np.arange(8), "term": ["at 1980", "per year", "per year²"]}
) as model:
    line = pm.Normal("line", [338, 1.3, 0], [5, 0.5, 0.03], dims="term")
    waves = pm.Normal("waves", 0, 2, dims="wave")
    growth = pm.Normal("growth", 0, 0.02)  # of the season's size, per year
    mean = TrendAndSeason(line, waves, growth)
    slow, slow_years = pm.HalfNormal("slow", 10), pm.InverseGamma("slow_years", 5, 120)
    quick, quick_years = pm.HalfNormal("quick", 1), pm.InverseGamma("quick_years", 3, 2)
    trend = pm.gp.Marginal(mean_func=mean, cov_func=slow**2 * pm.gp.cov.Matern52(1, slow_years))
    weather = pm.gp.Marginal(cov_func=quick**2 * pm.gp.cov.Matern32(1, quick_years))
    sigma = pm.HalfNormal("sigma", 0.5)
    both = trend + weather
    both.marginal_likelihood("ppm", X=t, y=ppm[known], sigma=sigma)
    result = pm.sample(random_seed=1)

names = ["line", "growth", "slow", "slow_years", "quick", "quick_years", "sigma"]
print(pm.summary(result, var_names=names))
print("status:", result.status)

# %% [markdown]
# ## The six years that the model has not seen
#
# For a hundred of the draws the months to come, all together, given the months until 1995.

# %%
thinned = result["posterior"].isel(draw=slice(None, None, result["posterior"].sizes["draw"] // 25))
with model:
    model.add_coord("ahead", air["month"][~known])
    both.conditional("to_come", t_ahead, pred_noise=True, dims="ahead")
    # of the slow part alone: 1960, 1963, 1992 and 1995
    given = {"gp": both, "X": t, "y": ppm[known], "sigma": sigma}
    trend.conditional("levels", np.array([[-20.0], [-17.0], [12.0], [15.0]]), given=given)
    drawn = pm.sample_posterior_predictive(thinned, var_names=["to_come", "levels"], predictions=True, random_seed=1)[
        "predictions"
    ]

low, high = drawn["to_come"].quantile([0.05, 0.95], dim=("chain", "draw")).to_numpy()
inside = ((low <= ppm[~known]) & (ppm[~known] <= high)).mean()
print(f"1996 to 2001: 90 % intervals, {(high - low).mean():.1f} ppm wide, hold {inside:.0%} of the months")

# %% [markdown]
# ## Answer
#
# The season is the same on all four days at which the slow part is asked for, up to its growth.

# %%
levels = drawn["levels"].to_numpy()
for place, years in [(0, "1960 to 1963"), (2, "1992 to 1995")]:
    rise = (levels[..., place + 1] - levels[..., place]) / 3
    print(f"From {years} carbon dioxide rose by {rise.mean():.2f} ± {rise.std():.2f} ppm per year.")
swing = 10 * result["posterior"]["growth"]
print(
    f"The swing of the season grew by {swing.mean().item():.1%} ± {swing.std().item():.1%} of that of 1980 in ten "
    "years."
)

# %% tags=["script"]
print(time_spent(result))
if arguments.no_plots:
    raise SystemExit

# %% [markdown]
# ## Data, prediction, season

# %% alt="Left: carbon dioxide from 1958 to 2001, and what is predicted from 1996. Right: the season, lowest in October"
import matplotlib.pyplot as plt

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.3), layout="constrained", width_ratios=[2, 1])
left.plot(year[known], ppm[known], color="0.4", lw=0.7, label="learnt from")
left.plot(year[~known], ppm[~known], ".", ms=3, color="C1", label="not seen")
left.fill_between(year[~known], low, high, alpha=0.5, lw=0, label="predicted, 90 %")
left.set(xlabel="year", ylabel="parts per million", title="Mauna Loa")
left.legend()
months = (np.arange(1, 13) - 0.5) / 12
phases = 2 * np.pi * months[:, None] * np.arange(1, 5)
season = result["posterior"]["waves"].to_numpy() @ np.concatenate([np.sin(phases), np.cos(phases)], axis=1).T
for decade, color in [(-20, "C0"), (15, "C1")]:
    sizes = 1 + result["posterior"]["growth"].to_numpy()[..., None] * decade
    bottom, top = np.quantile(season * sizes, [0.05, 0.95], axis=(0, 1))
    right.fill_between(range(1, 13), bottom, top, alpha=0.5, lw=0, color=color, label=str(1980 + decade))
right.set(xlabel="month", ylabel="parts per million", title="The season", xticks=range(1, 13))
right.legend()

# %% tags=["script"]
save(figure, arguments.out / "co2.png")

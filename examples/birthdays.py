"""Birthdays: births by trend, season, weekday and holidays (Gelman and others 2013, chapter 21)."""
# Subject: Social science
# Keywords: time series; Gaussian process; seasonality; splines; HSGP

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # On which days are children born?
#
# **Question.** How many fewer children are born on weekends and on holidays, and when in the year are most born?
#
# **Data.** Births in the United States on each day from 2000 to 2009 (Social Security Administration), taken from
# fivethirtyeight/data; CC BY 4.0.

# %%
import numpy as np

import consilience as pm

births = pm.load_data("births")
date = births["date"].dt
relative = 100 * np.log(births["births"] / births["births"].mean()).to_numpy()  # per cent, nearly
time = np.arange(len(births)) / 365.25
weekday = date.day_of_week.to_numpy()
first_monday = (date.day_of_week == 0) & (date.day <= 7)
last_monday = (date.day_of_week == 0) & (date.day + 7 > date.days_in_month)
days = {
    "New Year": (date.month == 1) & (date.day == 1),
    "Valentine's Day": (date.month == 2) & (date.day == 14),
    "29 February": (date.month == 2) & (date.day == 29),
    "Memorial Day": (date.month == 5) & last_monday,
    "4 July": (date.month == 7) & (date.day == 4),
    "Labor Day": (date.month == 9) & first_monday,
    "Halloween": (date.month == 10) & (date.day == 31),
    "Thanksgiving": (date.month == 11) & (date.day_of_week == 3) & date.day.between(22, 28),
    "day after Thanksgiving": (date.month == 11) & (date.day_of_week == 4) & date.day.between(23, 29),
    "24 December": (date.month == 12) & (date.day == 24),
    "25 December": (date.month == 12) & (date.day == 25),
    "26 December": (date.month == 12) & (date.day == 26),
    "Friday 13": (date.day_of_week == 4) & (date.day == 13),
}
special = np.column_stack(list(days.values())).astype(float)
print(
    f"{len(births)} days, {births['births'].sum():,} births; from {relative.min():.0f} to {relative.max():.0f} per "
    "cent of the mean day"
)

# %% [markdown]
# ## Model
#
# A Gaussian process that changes within a year and a half for the trend, eight pairs of waves for the season, an effect
# of each weekday and of each special day. On a weekend, when few births are planned anyway, a holiday has less effect:
# a share of it that is to be found. Days scatter with heavy tails.

# %%
m, c = pm.gp.approx_hsgp_hyperparams((0, 10), (1.5, 1.5), "matern52")
coords = {
    "weekday": ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
    "special": list(days),
    "date": births["date"],
    "wave": np.arange(16),
}
harmonics = np.arange(1, 9)
phases = 2 * np.pi * time[:, None] * harmonics
cycle = np.concatenate([np.sin(phases), np.cos(phases)], axis=1)
weekend = (weekday >= 5).astype(float)
with pm.Model(coords=coords) as model:
    slow = pm.HalfNormal("slow", 5)
    trend = pm.gp.HSGP(
        m=[m], c=c, cov_func=slow**2 * pm.gp.cov.Matern52(1, 1.5), parametrization="centered", drop_first=True
    ).prior("trend", time[:, None])
    waves = pm.Normal("waves", 0, 5 / np.concatenate([harmonics, harmonics]), dims="wave")
    season = pm.Deterministic("season", cycle @ waves)
    of_weekday = pm.ZeroSumNormal("of_weekday", 20, dims="weekday")
    of_special = pm.Normal("of_special", 0, 15, dims="special")
    left = pm.Beta("left_on_weekends", 2, 2)
    level = pm.Normal("level", 0, 5)
    mean = level + trend + season + of_weekday[weekday] + (special @ of_special) * (1 - weekend * (1 - left))
    sigma, nu = pm.HalfNormal("sigma", 5), pm.Gamma("nu", 2, 0.1)
    pm.StudentT("relative", nu, mean, sigma, observed=relative, dims="date")
    prior = pm.sample_prior_predictive(100, random_seed=1)["prior_predictive"]["relative"]
    result = pm.sample(random_seed=1)

print(f"prior: 90 % of days between {prior.quantile(0.05).item():.0f} and {prior.quantile(0.95).item():.0f} per cent")
print(pm.summary(result, var_names=["of_weekday", "of_special", "left_on_weekends", "slow", "sigma", "nu"]))
print("status:", result.status)

# %% [markdown]
# ## Does the model predict days like these?
#
# Standard deviations of what it leaves, by month: where a season is missed, or a holiday forgotten, its month sticks
# out.

# %%
with model:
    predicted = pm.sample_posterior_predictive(result, random_seed=1)["posterior_predictive"]["relative"]

low, high = predicted.quantile([0.025, 0.975], dim=("chain", "draw")).to_numpy()
outside = (relative < low) | (relative > high)
month = date.month.to_numpy()
print(f"{1 - outside.mean():.0%} of all days lie in their 95 % intervals; outside by month:")
print(" ".join(f"{outside[month == k].mean():.0%}" for k in range(1, 13)))
worst = births["date"][np.argsort(-np.abs(relative - predicted.mean(("chain", "draw")).to_numpy()))[:8]]
print("Farthest off:", ", ".join(f"{d:%a} {d.day} {d:%b %Y}" for d in worst))

# %% [markdown]
# ## Answer

# %%
posterior = result["posterior"]
of = posterior["of_weekday"].mean(("chain", "draw"))
fewer = 1 - np.exp((of.sel(weekday=["Sat", "Sun"]).mean() - of.sel(weekday=["Tue", "Wed", "Thu"]).mean()) / 100)
special = 1 - np.exp(posterior["of_special"] / 100)
told = ", ".join(
    f"{name} {special.sel(special=name).mean().item():.0%}"
    for name in ["25 December", "4 July", "Halloween", "Friday 13"]
)
print(
    f"On a day of the weekend {fewer.item():.0%} fewer children are born than from Tuesday to Thursday. Fewer on: "
    f"{told}."
)
season = posterior["season"].mean(("chain", "draw")).to_numpy()[:365]
peak = births["date"][int(season.argmax())]
print(
    f"Most are born in {peak:%B}: {season.max() - season.min():.0f} % more than in "
    f"{births['date'][int(season.argmin())]:%B}."
)

# %% tags=["script"]
print(time_spent(result))
if arguments.no_plots:
    raise SystemExit

# %% [markdown]
# ## Season, weekdays, special days

# %% alt="The season, highest in September; effects of weekdays; effects of special days, most negative on 25 December"
import matplotlib.pyplot as plt

figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(12, 4.3), layout="constrained", width_ratios=[1.2, 0.8, 1.2]
)
low, center, high = posterior["season"].quantile([0.05, 0.5, 0.95], dim=("chain", "draw")).to_numpy()[:, :365]
left.fill_between(births["date"][:365], low, high, alpha=0.4, lw=0)
left.plot(births["date"][:365], center)
left.set(title="Season", ylabel="per cent of the mean day")
left.xaxis.set_major_formatter(plt.matplotlib.dates.DateFormatter("%b"))
middle.bar(coords["weekday"], of)
middle.set_title("Weekday")
low, center, high = posterior["of_special"].quantile([0.05, 0.5, 0.95], dim=("chain", "draw")).to_numpy()
right.errorbar(center, list(days), xerr=[center - low, high - center], fmt="o", ms=4)
right.axvline(0, color="0.7", lw=0.8)
right.set_title("Special day")

# %% tags=["script"]
save(figure, arguments.out / "birthdays.png")

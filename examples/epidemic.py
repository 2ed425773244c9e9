"""An epidemic written as a loop: infections of each day given those before, and the forecast of two weeks."""
# Subject: Medicine
# Keywords: time series; epidemic model; SIR; loops; forecasting

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # How many will be infected in the next two weeks?
#
# **Question.** An infection spreads in a town of 10,000. How fast, and what is to come?
#
# **Data.** Simulated here (CC0 1.0), so that the answer is known: infections of 45 days, of which the last fourteen
# are held out. Infections come in clusters, so that counts vary more than those of a Poisson distribution.

# %%
import numpy as np
import pandas as pd

import consilience as pm
import consilience.tensor as pt

POPULATION, DAYS, AHEAD = 10_000.0, 31, 14


def epidemic(days):
    """Infections of a number of days, as a program of rate, length of an infection and clustering."""

    def program(rate, length, clusters, size):
        def step(susceptible, infectious):
            mean = rate * susceptible * infectious / POPULATION
            infections = pm.NegativeBinomial.dist(mu=mean, alpha=clusters)
            left = pt.maximum(susceptible - infections, 1.0)
            return infections, left, infectious + infections - infectious / length

        start = [None, pt.as_tensor(POPULATION - 10.0), pt.as_tensor(10.0)]
        return pm.scan(step, outputs_info=start, n_steps=days, return_updates=False)[0]

    return program


TRUTH = (0.4, 5.0, 20.0)
dates = pd.date_range("2025-03-01", periods=DAYS + AHEAD, freq="D")
whole = pm.draw(pm.CustomDist.dist(*TRUTH, dist=epidemic(DAYS + AHEAD)), random_seed=3)
seen = whole[:DAYS]

# %% [markdown]
# ## Model
#
# The step of the loop draws the infections of a day, and carries who is susceptible and who is infectious. Nobody
# writes a density: `pm.CustomDist` derives it. With all infections given, a loop of the two carried numbers remains.

# %%
with pm.Model(coords={"day": dates[:DAYS]}) as model:
    rate = pm.HalfNormal("rate", 1)
    length = pm.Gamma("length", mu=5, sigma=1)
    clusters = pm.Exponential("clusters", scale=20)
    pm.CustomDist("infections", rate, length, clusters, dist=epidemic(DAYS), observed=seen, dims="day")
    pm.Deterministic("reproduction number", rate * length)
    result = pm.sample(random_seed=1)
print(pm.summary(result))
print("status:", result.status)

# %% [markdown]
# ## Forecast
#
# `pm.forecast` goes on from the numbers that the loop carried at the last day, for each draw of the posterior.

# %%
with model:
    later = pm.forecast(result, AHEAD, random_seed=1)
paths = later.predictions["infections"].stack(sample=("chain", "draw")).to_numpy()

# %% [markdown]
# ## Answer

# %%
low, middle, high = np.quantile(paths.sum(0), [0.05, 0.5, 0.95])
print(f"{low:.0f} to {high:.0f} infections in two weeks with probability 0.9; {whole[DAYS:].sum():.0f} came.")
found = result["posterior"]["reproduction number"].quantile([0.05, 0.95]).to_numpy()
print(f"One infects {found[0]:.1f} to {found[1]:.1f} others at first; {TRUTH[0] * TRUTH[1]:.1f} in truth.")

# %% tags=["script"]
print(time_spent(result))
if arguments.no_plots:
    raise SystemExit

# %% alt="Infections of 31 days, the forecast of fourteen days with intervals, and the infections that came"
import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(8, 4), constrained_layout=True)
axis.bar(dates[:DAYS], seen, color="0.6", label="seen")
for level, shade in ((0.9, 0.25), (0.5, 0.4)):
    ends = np.quantile(paths, [0.5 - level / 2, 0.5 + level / 2], 1)
    axis.fill_between(dates[DAYS:], *ends, color="C0", alpha=shade, linewidth=0, label=f"forecast, {level:.0%}")
axis.plot(dates[DAYS:], np.median(paths, 1), color="C0")
axis.plot(dates[DAYS:], whole[DAYS:], "o", color="C1", markersize=4, label="came")
axis.set_ylabel("infections a day")
axis.legend(loc="upper left")

# %% tags=["script"]
save(figure, arguments.out / "epidemic.png")

"""Lynx and hare: a differential equation of predators and prey, fitted to furs (Lotka 1925, Volterra 1926)."""
# Subject: Biology
# Keywords: ODE; Lotka-Volterra; predator-prey; differential equations; ecology

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # Predators and prey
#
# **Question.** Lynx eat hares, and starve without them. Do two equations for that explain the cycle of furs that the
# Hudson's Bay Company bought, and how long is it?
#
# **Data.** Furs of 1900 to 1920, thousands (Hewitt 1921; Howard 2009), taken from posteriordb; BSD 3-Clause.

# %%
import numpy as np

import consilience as pm
import consilience.tensor as pt

furs = pm.load_data("lynx_hare")
years, seen = furs["year"].to_numpy(float), furs[["hare", "lynx"]].to_numpy()

# %% [markdown]
# ## Model
#
# Hares multiply and are eaten in proportion to the lynx; lynx die and live on hares. Animals that are trapped are those
# that there are, up to a factor that scatters; the states are counted in furs. Rates per year are of the order of 1,
# and of 1 per 50 thousand animals; priors say no more.


# %%
def predation(y, t, theta):
    """Growth of hares and of lynx."""
    hare, lynx = y[0], y[1]
    return [(theta[0] - theta[1] * lynx) * hare, (theta[2] * hare - theta[3]) * lynx]


rates = ["birth of hares", "predation", "growth of lynx", "death of lynx"]
with pm.Model(coords={"animal": ["hare", "lynx"], "year": furs["year"], "rate": rates}) as model:
    theta = pm.LogNormal("theta", np.log([0.8, 0.03, 0.03, 0.8]), 0.5, dims="rate")
    start = pm.LogNormal("start", np.log([20, 10]), 1, dims="animal")
    sigma = pm.HalfNormal("sigma", 0.5, dims="animal")
    animals = pm.Deterministic(
        "animals", pm.ode.solve(predation, start, years, theta, t0=1900), dims=("year", "animal")
    )
    pm.LogNormal("furs", pt.log(animals), sigma, observed=seen, dims=("year", "animal"))
    prior = pm.sample_prior_predictive(300, random_seed=1)["prior"]["animals"]
    result = pm.sample(random_seed=1)

top = prior.max("year").sel(animal="hare").quantile([0.05, 0.95]).to_numpy()
print(f"most hares of a year: prior {top[0]:.0f} to {top[1]:,.0f} thousand, data {seen[:, 0].max():.0f} thousand")
print(pm.summary(result, var_names=["theta", "start", "sigma"]))
print("status:", result.status)

# %% [markdown]
# ## Does the model predict data like these?

# %%
with model:
    predicted = pm.sample_posterior_predictive(result, random_seed=1)["posterior_predictive"]["furs"]

low, high = predicted.quantile([0.05, 0.95], dim=("chain", "draw"))
print(f"90 % predictive intervals hold {float(((low <= seen) & (seen <= high)).mean()):.0%} of the counts")
late = np.log(seen) - np.log(result["posterior"]["animals"]).mean(("chain", "draw")).to_numpy()
print("correlation of the errors of one year and the next:", np.corrcoef(late[1:, 0], late[:-1, 0])[0, 1].round(2))

# %% [markdown]
# ## Answer
#
# Near its equilibrium the cycle takes 2π / √(birth of hares x death of lynx).

# %%
posterior = result["posterior"]["theta"]
period = 2 * np.pi / np.sqrt(posterior.sel(rate="birth of hares") * posterior.sel(rate="death of lynx"))
low, high = period.quantile([0.05, 0.95]).to_numpy()
print(f"Small cycles take {float(period.mean()):.1f} years (90 %: {low:.1f} to {high:.1f}); these large ones about 10.")
rest = posterior.sel(rate="birth of hares") / posterior.sel(rate="predation")
print(
    f"Hares grow in number as long as there are fewer than {float(rest.mean()):.0f} ± {float(rest.std()):.0f} "
    "thousand lynx."
)

# %% tags=["script"]
print(time_spent(result))
if arguments.no_plots:
    raise SystemExit

# %% [markdown]
# ## Furs and animals

# %% alt="Furs of hares and lynx from 1900 to 1920 as points, with bands of the two solutions: lynx follow the hares"
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
animals = result["posterior"]["animals"]
for color, animal in enumerate(["hare", "lynx"]):
    for source, shade in [(predicted, 0.15), (animals, 0.4)]:
        low, high = source.sel(animal=animal).quantile([0.05, 0.95], dim=("chain", "draw"))
        axes.fill_between(years, low, high, color=f"C{color}", alpha=shade, lw=0)
    axes.plot(years, animals.sel(animal=animal).mean(("chain", "draw")), color=f"C{color}", label=animal)
    axes.scatter(years, seen[:, color], s=16, color=f"C{color}", edgecolor="black", zorder=3)
axes.set(xlabel="year", ylabel="thousands", title="Animals (dark) and furs (light), 90 % intervals", xlim=(1900, 1920))
axes.legend()

# %% tags=["script"]
save(figure, arguments.out / "lynx_hare.png")

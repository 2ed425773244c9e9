"""Multilevel model with varying intercepts and slopes: radon in 919 houses (Gelman and Hill 2006)."""
# Subject: Environment
# Keywords: hierarchical model; multilevel model; multilevel; partial pooling; varying intercepts; varying slopes

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # Varying intercepts and slopes
#
# Radon was measured in houses of Minnesota, in the basement or on the floor above. Both the level of a county and the
# effect of the floor vary by county. The uranium of a county's soil predicts its level; counties with few houses borrow
# from the others.
#
# **Data.** 919 houses (Gelman and Hill 2006), taken from posteriordb; BSD 3-Clause.

# %%
import numpy as np

import consilience as pm

houses = pm.load_data("radon")
county = houses["county"].to_numpy() - 1
floor = houses["floor"].to_numpy()
log_radon = houses["log_radon"].to_numpy()
uranium = houses["log_uranium"].to_numpy()[np.unique(county, return_index=True)[1]]  # of each county

# %% [markdown]
# ## Model and posterior
#
# Both effects are written as a mean plus a scale times a standard normal: with few houses per county, this form has
# the better geometry.

# %%
coords = {"county": np.arange(1, 86), "house": np.arange(1, 920)}
with pm.Model(coords=coords) as model:
    intercept = pm.Normal("intercept", 0, 5)
    uranium_effect = pm.Normal("uranium_effect", 0, 5)
    floor_effect = pm.Normal("floor_effect", 0, 5)
    sigma_intercept = pm.HalfNormal("sigma_intercept", 1)
    sigma_floor = pm.HalfNormal("sigma_floor", 1)
    z_intercept = pm.Normal("z_intercept", 0, 1, dims="county")
    z_floor = pm.Normal("z_floor", 0, 1, dims="county")
    county_intercept = pm.Deterministic(
        "county_intercept", intercept + uranium_effect * uranium + sigma_intercept * z_intercept, dims="county"
    )
    county_floor = pm.Deterministic("county_floor", floor_effect + sigma_floor * z_floor, dims="county")
    sigma = pm.HalfNormal("sigma", 1)
    mu = county_intercept[county] + county_floor[county] * floor
    pm.Normal("log_radon", mu, sigma, observed=log_radon, dims="house")
    result = pm.sample(random_seed=1)

effects = ["intercept", "uranium_effect", "floor_effect", "sigma_intercept", "sigma_floor", "sigma"]
print(pm.summary(result, var_names=effects))
print("status:", result.status)

# %% [markdown]
# ## Does the model predict data like these?

# %%
with model:
    predictive = pm.sample_posterior_predictive(result, random_seed=1)["posterior_predictive"]["log_radon"]

low, high = predictive.quantile([0.05, 0.95], dim=("chain", "draw"))
print(f"90 % predictive intervals hold {float(((low <= log_radon) & (log_radon <= high)).mean()):.0%} of the houses")

# %% tags=["script"]
print(time_spent(result))
if arguments.no_plots:
    raise SystemExit

# %% [markdown]
# ## What each county has in common with the others, and what it has not

# %% alt="Left: levels of counties over their uranium, with a line. Right: observed and predicted log radon"
import matplotlib.pyplot as plt

posterior = result["posterior"]
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")

low, middle, high = posterior["county_intercept"].quantile([0.05, 0.5, 0.95], dim=("chain", "draw"))
left.errorbar(uranium, middle, [middle - low, high - middle], fmt="o", ms=3, lw=0.8, color="C0")
at = np.linspace(uranium.min(), uranium.max(), 2)
line = posterior["intercept"].mean().item() + posterior["uranium_effect"].mean().item() * at
left.plot(at, line, color="C1", label="expected from the uranium")
left.set(xlabel="log uranium of the county", ylabel="log radon in the basement", title="Counties with 90 % intervals")
left.legend(loc="lower right")

low, middle, high = posterior["county_floor"].quantile([0.05, 0.5, 0.95], dim=("chain", "draw"))
houses = np.bincount(county) * np.random.default_rng(1).uniform(0.9, 1.1, 85)  # side by side
right.errorbar(houses, middle, [middle - low, high - middle], fmt="o", ms=3, lw=0.8, color="C0")
right.axhline(posterior["floor_effect"].mean().item(), color="C1", label="mean of all counties")
right.set(xscale="log", xlabel="houses measured in the county", ylabel="floor above minus basement, log radon")
right.set_title("The effect of the floor")
right.legend()

# %% tags=["script"]
save(figure, arguments.out / "radon.png")

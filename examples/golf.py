"""Golf: putting as an angle that must be small enough, beside a logistic curve (Gelman and Nolan 2002)."""
# Subject: Sport
# Keywords: nonlinear regression; binomial; model comparison; golf putting

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # Putting: geometry against a curve
#
# **Question.** How does the chance of holing a putt fall with the distance, and how accurate are the best players?
#
# **Data.** 5,988 putts of professionals from 2 to 20 feet (Berry 1996), as printed in stan-dev/example-models; BSD
# 3-Clause.

# %%
import numpy as np

import consilience as pm
import consilience.tensor as pt

putts = pm.load_data("golf")
feet, tries, successes = putts["feet"].to_numpy(float), putts["tries"].to_numpy(), putts["successes"].to_numpy()

# %% [markdown]
# ## Two models
#
# A logistic curve has an intercept and a slope, and no reason. Geometry has one: the ball drops if its direction is off
# by less than the angle under which the hole is seen. Direction is normal, so one number, the spread of the angle, says
# all. Balls have a diameter of 1.68 inches, holes one of 4.25.

# %%
angle = np.arcsin((4.25 - 1.68) / 2 / 12 / feet)  # radians
coords = {"distance": feet}

with pm.Model(coords=coords) as logistic:
    intercept = pm.Normal("intercept", 2, 2)
    slope = pm.Normal("slope", 0, 1)
    p = pm.Deterministic("p", pm.math.sigmoid(intercept + slope * feet), dims="distance")
    pm.Binomial("holed", tries, p, observed=successes, dims="distance")

with pm.Model(coords=coords) as geometry:
    spread = pm.HalfNormal("spread", 5)  # degrees
    p = pm.Deterministic("p", pt.erf(angle / pt.deg2rad(spread) / np.sqrt(2)), dims="distance")
    pm.Binomial("holed", tries, p, observed=successes, dims="distance")

models, results = {"logistic": logistic, "geometry": geometry}, {}
for name, model in models.items():
    with model:
        prior = pm.sample_prior_predictive(500, random_seed=1)["prior"]["p"]
        results[name] = pm.sample(random_seed=1)
        pm.compute_log_likelihood(results[name])
        pm.sample_posterior_predictive(results[name], extend_inferencedata=True, random_seed=1)
    low, high = prior.sel(distance=10).quantile([0.05, 0.95]).to_numpy()
    print(f"{name}: before the data, {low:.0%} to {high:.0%} of putts from 10 feet are holed")
    print(pm.summary(results[name], var_names=["~p"]))
    print("status:", results[name].status)

# %% [markdown]
# ## Does either predict data like these?
#
# Distances at which the number of successes lies outside of the 95 % predictive interval:

# %%
for name, result in results.items():
    low, high = result["posterior_predictive"]["holed"].quantile([0.025, 0.975], dim=("chain", "draw")).to_numpy()
    outside = feet[(successes < low) | (successes > high)]
    print(f"{name}: {outside.size} of {feet.size}: {outside.astype(int).tolist()} feet")

# %% [markdown]
# ## Answer

# %%
spread = results["geometry"]["posterior"]["spread"]
low, high = spread.quantile([0.05, 0.95]).to_numpy()
half = results["geometry"]["posterior"]["p"].mean(("chain", "draw"))
print(f"Directions are off by {float(spread.mean()):.2f}° (90 %: {low:.2f}° to {high:.2f}°), one standard deviation,")
print(f"and half of the putts are holed from {feet[half.to_numpy() > 0.5].max():.0f} feet.")

# %% tags=["script"]
print(time_spent(results["geometry"]))
if arguments.no_plots:
    raise SystemExit

# %%
for name, result in results.items():
    loo = pm.reloo(result, model=models[name], random_seed=1)  # refits where importance sampling cannot be trusted
    print(f"expected log predictive density, leaving one distance out: {name} {loo.elpd:.0f}")

# %% [markdown]
# ## Both curves
#
# With one parameter less the geometry fits far better. What is left, at the shortest and longest putts, is what it
# leaves out: that balls must also have the right speed.

# %% alt="Share of putts holed over distance: points, a logistic curve that misses them, a geometric one among them"
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
share = successes / tries
axes.errorbar(feet, share, np.sqrt(share * (1 - share) / tries), fmt="o", ms=4, color="black", label="putts")
for color, (name, result) in enumerate(results.items()):
    low, middle, high = result["posterior"]["p"].quantile([0.05, 0.5, 0.95], dim=("chain", "draw"))
    axes.plot(feet, middle, color=f"C{color}", label=name)
    axes.fill_between(feet, low, high, color=f"C{color}", alpha=0.3)
axes.set(xlabel="distance, feet", ylabel="share holed", ylim=(0, 1), title="Professional putts with 90 % intervals")
axes.legend()

# %% tags=["script"]
save(figure, arguments.out / "golf.png")

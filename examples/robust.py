"""Robust regression: earnings and height, with Student's t in place of the normal distribution."""
# Subject: Economics
# Keywords: robust regression; outliers; Student t; heavy tails

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # Robust regression
#
# Some adults earn a hundredth of what others of the same height and sex do. A normal distribution has to widen for
# them; Student's t gives them the tail that they need, and tells by its degrees of freedom how heavy it is.
#
# **Data.** 1,192 adults of the United States in 1990 (Gelman and Hill 2006), taken from posteriordb; BSD 3-Clause.

# %%
import numpy as np

import consilience as pm

adults = pm.load_data("earnings")
log_earnings = np.log10(adults["earn"].to_numpy())
male = adults["male"].to_numpy()
height = (adults["height"].to_numpy() - adults["height"].mean()) / adults["height"].std()

# %% [markdown]
# ## Two models and their posteriors
#
# The predictor is the same; only the distribution about it differs.


# %%
def model_of(robust: bool) -> pm.Model:
    """Log earnings by sex and height."""
    with pm.Model(coords={"sex": ["female", "male"], "adult": adults.index}) as model:
        level = pm.Normal("level", 4, 1, dims="sex")
        slope = pm.Normal("slope", 0, 0.5, dims="sex")
        sigma = pm.HalfNormal("sigma", 1)
        mu = level[male] + slope[male] * height
        if robust:
            nu = pm.Gamma("nu", 2, 0.1)
            pm.StudentT("log_earnings", nu, mu, sigma, observed=log_earnings, dims="adult")
        else:
            pm.Normal("log_earnings", mu, sigma, observed=log_earnings, dims="adult")
    return model


results = {}
for name, robust in {"normal": False, "Student": True}.items():
    with model_of(robust):
        results[name] = pm.sample(random_seed=1)
        pm.compute_log_likelihood(results[name])
        pm.sample_posterior_predictive(results[name], extend_inferencedata=True, random_seed=1)
    print(pm.summary(results[name]))
    print("status:", results[name].status)

# %% [markdown]
# ## Which one predicts better?
#
# Share of adults below a given earning, in the data and in data that each model predicts.

# %%
for threshold in (1_000, 10_000, 100_000):
    shares = [f"data {(adults['earn'] < threshold).mean():.1%}"]
    for name, result in results.items():
        predicted = result["posterior_predictive"]["log_earnings"] < np.log10(threshold)
        shares.append(f"{name} {float(predicted.mean()):.1%}")
    print(f"below {threshold:7,} dollars:", ", ".join(shares))

# %% tags=["script"]
print(time_spent(results["Student"]))
if arguments.no_plots:
    raise SystemExit

# %%
for name, result in results.items():
    print(f"expected log predictive density, leaving one out: {name} {pm.loo(result).elpd:.0f}")

# %% [markdown]
# ## Where the two differ

# %% alt="Left: log earnings over height, lines by sex and likelihood. Right: residuals and predictions"
import matplotlib.pyplot as plt

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
at = np.linspace(height.min(), height.max(), 50)
inches = adults["height"].mean() + adults["height"].std() * at
shaken = adults["height"] + np.random.default_rng(1).uniform(-0.3, 0.3, len(adults))  # so that points lie side by side
for color, sex in enumerate(["female", "male"]):
    left.scatter(shaken[male == color], adults["earn"][male == color], s=6, alpha=0.35, color=f"C{color}")
    for style, (name, result) in zip(["--", "-"], results.items(), strict=True):
        mean = result["posterior"].dataset[["level", "slope"]].sel(sex=sex).mean()
        line = 10 ** (mean["level"].item() + mean["slope"].item() * at)
        left.plot(inches, line, style, color=f"C{color}", label=f"{sex}, {name}")
left.set(yscale="log", xlabel="height, inches", ylabel="yearly earnings, dollars", title="Center of the earnings")
left.legend()

bins = np.linspace(2, 6, 60)
right.hist(log_earnings, bins, density=True, color="0.8", label="data")
for style, (name, result) in zip(["--", "-"], results.items(), strict=True):
    predicted = result["posterior_predictive"]["log_earnings"].to_numpy().ravel()
    share = np.histogram(predicted, bins)[0] / predicted.size / np.diff(bins)
    right.plot((bins[1:] + bins[:-1]) / 2, share, style, color="C2", label=f"predicted, {name}")
right.set(yscale="log", ylim=(1e-3, 3), xlabel="log10 of the earnings", ylabel="density", title="All adults")
right.legend()

# %% tags=["script"]
save(figure, arguments.out / "robust.png")

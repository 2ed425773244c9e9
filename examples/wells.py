"""Logistic regression: who in Bangladesh changes to a safe well, and what distance and arsenic are worth."""
# Subject: Social science
# Keywords: logistic regression; binary outcome; logit; odds; model comparison

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # Who changes to a safe well?
#
# **Question.** Families whose well has too much arsenic were told so, and how far the next safe well is. How many
# metres does a family walk for how much less arsenic, and does schooling matter?
#
# **Data.** 3,020 households of Araihazar, Bangladesh (Gelman and Hill 2006, chapter 5), taken from posteriordb; BSD
# 3-Clause.

# %%
import numpy as np
import pandas as pd

import consilience as pm

households = pm.load_data("wells")
switched = households["switched"].to_numpy()
columns = {
    "distance": households["metres"] / 100,
    "log2 arsenic": np.log2(households["arsenic"]),
    "school": (households["years_of_school"] - 5) / 4,
}
columns["distance × school"] = columns["distance"] * columns["school"]
X = pd.DataFrame(columns)
linear = X.assign(**{"log2 arsenic": households["arsenic"]}).rename(columns={"log2 arsenic": "arsenic"})
print(
    f"{len(X)} households, {switched.mean():.0%} changed; arsenic {households['arsenic'].min()} to "
    f"{households['arsenic'].max()}"
)

# %% [markdown]
# ## Two models
#
# A logistic regression; arsenic enters by its doublings, or as it is. A coefficient of 1 makes odds 2.7 times as large,
# so coefficients beyond 2 are unlikely before the data.


# %%
def model_of(design: pd.DataFrame) -> pm.Model:
    """Changes by the columns of a design."""
    with pm.Model(coords={"term": design.columns, "household": households.index}) as model:
        intercept = pm.Normal("intercept", 0, 1.5)
        b = pm.Normal("b", 0, 1, dims="term")
        pm.Bernoulli("switched", logit_p=intercept + design.to_numpy() @ b, observed=switched, dims="household")
    return model


results = {}
for name, design in {"doublings": X, "as it is": linear}.items():
    with model_of(design):
        prior = pm.sample_prior_predictive(200, random_seed=1)["prior_predictive"]["switched"].mean("household")
        results[name] = pm.sample(random_seed=1)
        pm.compute_log_likelihood(results[name])
        pm.sample_posterior_predictive(results[name], extend_inferencedata=True, random_seed=1)
    print(
        f"{name}: share that changes before the data {prior.quantile(0.05).item():.0%} to "
        f"{prior.quantile(0.95).item():.0%}"
    )
    print(pm.summary(results[name]))
    print("status:", results[name].status)

# %% [markdown]
# ## Do they predict the shares of those who change?
#
# In ten groups of equal size by arsenic, the share that changed, and whether it lies in the 90 % predictive interval:

# %%
group = pd.qcut(households["arsenic"], 10, labels=False).to_numpy()
shares = np.array([switched[group == g].mean() for g in range(10)])
print("data:", " ".join(f"{s:.0%}" for s in shares))
for name, result in results.items():
    drawn = result["posterior_predictive"]["switched"].to_numpy()
    low, high = np.quantile([drawn[..., group == g].mean(axis=-1) for g in range(10)], [0.05, 0.95], axis=(1, 2))
    outside = [g + 1 for g in range(10) if not low[g] <= shares[g] <= high[g]]
    print(f"{name}: outside are the groups {outside}")

# %% [markdown]
# ## Answer
#
# A doubling of arsenic makes up for as many metres as leave the sum of both effects unchanged.

# %%
b = results["doublings"]["posterior"]["b"]
metres = -100 * b.sel(term="log2 arsenic") / b.sel(term="distance")
low, high = metres.quantile([0.05, 0.95]).to_numpy()
print(
    f"For twice the arsenic a family of mean schooling walks {metres.mean().item():.0f} m more (90 %: {low:.0f} to "
    f"{high:.0f} m)."
)
far = b.sel(term="distance") + 2 * b.sel(term="distance × school")
ratio = (far / b.sel(term="distance")).to_numpy()
print(f"With eight years of school more, a metre counts {ratio.mean():.0%} ± {ratio.std():.0%} of that.")

# %% tags=["script"]
print(time_spent(results["doublings"]))
if arguments.no_plots:
    raise SystemExit

# %%
print(pm.compare(results)[["elpd", "se", "elpd_diff", "dse"]])

# %% [markdown]
# ## The curves
#
# Doublings predict better, and fit the shares of both the least and the most poisoned wells.

# %% alt="Share that changes over arsenic: points of ten groups, two curves with bands for near and for far wells"
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
at = np.geomspace(0.5, 9.7, 60)
posterior = results["doublings"]["posterior"]
for color, metres in enumerate((10, 100)):
    logit = posterior["intercept"].to_numpy()[..., None]
    logit = logit + b.sel(term="log2 arsenic").to_numpy()[..., None] * np.log2(at)
    logit = logit + b.sel(term="distance").to_numpy()[..., None] * metres / 100
    low, middle, high = np.quantile(1 / (1 + np.exp(-logit)), [0.05, 0.5, 0.95], axis=(0, 1))
    axes.fill_between(at, low, high, color=f"C{color}", alpha=0.3, lw=0)
    axes.plot(at, middle, color=f"C{color}", label=f"safe well at {metres} m")
middles = [households["arsenic"].to_numpy()[group == g].mean() for g in range(10)]
axes.plot(middles, shares, "o", color="black", label="tenths of the households")
axes.set(xscale="log", xlabel="arsenic, hundreds of μg per litre", ylabel="share that changes", ylim=(0, 1))
axes.set_title("90 % intervals")
axes.legend()

# %% tags=["script"]
save(figure, arguments.out / "wells.png")

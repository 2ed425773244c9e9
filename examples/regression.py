"""Linear regression on a design matrix: a category, an interaction and a square (Gelman and Hill 2006, chapter 3)."""
# Subject: Education
# Keywords: linear regression; multiple regression; categorical predictor; interaction; design matrix

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # Regression on a design matrix
#
# How do test scores of children of three or four years depend on their mother: her IQ, whether she finished high
# school, and her work in the child's first three years? A formula would read `score ~ work + school * iq + iq**2`. Its
# columns are built with pandas here; numerical ones are standardised, so that one prior fits all coefficients.
#
# **Data.** 434 children of the National Longitudinal Survey of Youth (Gelman and Hill 2006), taken from posteriordb;
# BSD 3-Clause.

# %%
import numpy as np
import pandas as pd

import consilience as pm

children = pm.load_data("kidiq")
WORK = {1: "none", 2: "later", 3: "part-time", 4: "full-time"}


def design(school: pd.Series, iq: pd.Series, work: pd.Series) -> pd.DataFrame:
    """One row per child; `iq` counts standard deviations from the mean of the data."""
    columns = pd.get_dummies(pd.Categorical(work, list(WORK.values())), prefix="work", drop_first=True, dtype=float)
    columns["school"] = np.asarray(school, float)
    columns["iq"] = (np.asarray(iq) - children["mom_iq"].mean()) / children["mom_iq"].std()
    columns["school × iq"] = columns["school"] * columns["iq"]
    columns["iq²"] = columns["iq"] ** 2
    return columns


X = design(children["mom_hs"], children["mom_iq"], children["mom_work"].map(WORK))
print(X.head().round(2).to_string())

# %% [markdown]
# ## Model and posterior

# %%
with pm.Model(coords={"term": X.columns, "child": children.index}) as model:
    x = pm.Data("x", X, dims=("child", "term"))
    intercept = pm.Normal("intercept", 80, 20)
    b = pm.Normal("b", 0, 10, dims="term")
    sigma = pm.HalfNormal("sigma", 20)
    pm.Normal("score", intercept + x @ b, sigma, observed=children["kid_score"], dims="child")
    result = pm.sample(random_seed=1)

print(pm.summary(result))
print("status:", result.status)

# %% [markdown]
# ## Does the model predict data like these?

# %%
with model:
    predictive = pm.sample_posterior_predictive(result, random_seed=1)["posterior_predictive"]["score"]

low, high = predictive.quantile([0.05, 0.95], dim=("chain", "draw"))
inside = ((low <= children["kid_score"]) & (children["kid_score"] <= high)).mean()
print(f"90 % predictive intervals hold {float(inside):.0%} of the scores")

# %% tags=["script"]
print(time_spent(result))
if arguments.no_plots:
    raise SystemExit

# %% [markdown]
# ## The score as a function of the mother's IQ

# %% alt="Test scores over the mother's IQ, with a curve and its band for mothers with and without high school"
import matplotlib.pyplot as plt
import xarray as xr

grid = np.linspace(children["mom_iq"].min(), children["mom_iq"].max(), 100)
posterior = result["posterior"]
figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
for school, (label, color) in enumerate([("mother without high school", "C1"), ("mother with high school", "C0")]):
    group = children[children["mom_hs"] == school]
    axes.scatter(group["mom_iq"], group["kid_score"], s=12, alpha=0.5, color=color)
    curve = xr.DataArray(
        design(np.full(grid.size, school), grid, np.full(grid.size, "full-time")), dims=("point", "term")
    )
    mean = posterior["intercept"] + xr.dot(curve, posterior["b"], dim="term")
    low, middle, high = mean.quantile([0.05, 0.5, 0.95], dim=("chain", "draw"))
    axes.plot(grid, middle, color=color, label=label)
    axes.fill_between(grid, low, high, color=color, alpha=0.25)
axes.set(xlabel="IQ of the mother", ylabel="test score of the child", title="Mean score with 90 % interval")
axes.legend()

# %% tags=["script"]
save(figure, arguments.out / "regression.png")

"""Regression trees: how diabetes goes on, by ten measurements whose effects have no form given beforehand."""
# Subject: Medicine
# Keywords: BART; Bayesian additive regression trees; decision trees; nonparametric regression; variable importance

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # Diabetes without straight lines
#
# **Question.** Which measurements say how far diabetes will be in a year, and does their effect bend?
#
# **Data.** Age, sex, body mass index, blood pressure and six blood serum measurements of 442 patients, and how far their
# diabetes was a year later (Efron, Hastie, Johnstone and Tibshirani 2004), taken from scikit-learn; BSD 3-Clause.

# %%
import numpy as np

import consilience as pm

patients = pm.load_data("diabetes")
X = patients.drop(columns="progression")
y = patients["progression"].to_numpy(float)
held_out = np.arange(len(y)) % 4 == 3
print(f"{(~held_out).sum()} patients to learn from, {held_out.sum()} held out")

# %% [markdown]
# ## Model
#
# The mean is a sum of 30 small trees: each asks one or a few questions ("is the body mass index above 27?") and adds a
# number. Nothing is said about form or interactions. The weights of the measurements are learnt, so those without effect
# are asked about less and less.

# %%
with pm.Model() as model:
    x = pm.Data("x", X[~held_out].to_numpy(float))
    mean = pm.BART("mean", x, y[~held_out], m=30, split_prior="sparse")
    sigma = pm.HalfNormal("sigma", 100)
    pm.Normal("progression", mean, sigma, observed=y[~held_out], shape=mean.shape)
    result = pm.sample(random_seed=1)

print(pm.summary(result, var_names=["sigma"]))
print("status:", result.status)

# %% [markdown]
# ## Does it predict patients that it has not seen?
#
# New rows replace the old ones, and each draw uses its own trees. Beside it stand the same errors of a straight line,
# fitted by least squares.

# %%
with model:
    pm.set_data({"x": X[held_out].to_numpy(float)})
    predicted = pm.sample_posterior_predictive(
        result, var_names=["mean", "progression"], predictions=True, random_seed=1
    )["predictions"]
    pm.set_data({"x": X[~held_out].to_numpy(float)})
low, high = predicted["progression"].quantile([0.05, 0.95], ("chain", "draw")).to_numpy()
inside = np.mean((low < y[held_out]) & (y[held_out] < high))
error = np.sqrt(np.mean((predicted["mean"].mean(("chain", "draw")).to_numpy() - y[held_out]) ** 2))
line = np.column_stack([np.ones(len(X)), X])
by_line = line[held_out] @ np.linalg.lstsq(line[~held_out], y[~held_out], rcond=None)[0]
print(f"90 % intervals hold {inside:.0%} of the patients held out")
print(f"error: {error:.0f}, of a line {np.sqrt(np.mean((by_line - y[held_out]) ** 2)):.0f}, of the mean {y.std():.0f}")

# %% [markdown]
# ## Answer

# %%
names = list(X.columns)
importance = pm.bart.compute_variable_importance(result, mean, X[~held_out], samples=100, random_seed=1)
first = [names[place] for place in importance["indices"][:3]]
print(
    f"{first[0]}, {first[1]} and {first[2]} say most: with them alone the mean is explained to "
    f"{importance['r2_mean'][2]:.0%}."
)
curve = np.tile(X.mean().to_numpy(float), (3, 1))
curve[:, names.index("bmi")] = [22, 28, 34]
draws = pm.bart.predict(result, curve, model=model)
for step, (a, b) in enumerate(((22, 28), (28, 34))):
    rise = draws[..., step + 1] - draws[..., step]
    print(f"From a body mass index of {a} to one of {b} progression rises by {rise.mean():.0f} ± {rise.std():.0f}.")

# %% tags=["script"]
print(time_spent(result))
if arguments.no_plots:
    raise SystemExit

# %% [markdown]
# ## Partial dependence
#
# The mean over all patients as one measurement changes.

# %% alt="Partial dependence of the progression of diabetes on three measurements, each rising, with bands"
axes = pm.bart.plot_pdp(
    result, X[~held_out], y[~held_out], var_idx=importance["indices"][:3].tolist(), grid=(1, 3), figsize=(9, 3.5),
    model=model, random_seed=1,
)  # fmt: skip
figure = axes[0].figure

# %% tags=["script"]
save(figure, arguments.out / "diabetes_trees.png")

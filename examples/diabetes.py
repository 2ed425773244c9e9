"""Variable selection: 64 columns on the course of diabetes, of which few matter (Piironen and Vehtari 2017)."""
# Subject: Medicine
# Keywords: variable selection; horseshoe prior; regularized horseshoe; sparse regression; shrinkage prior; lasso

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # Which columns matter?
#
# **Question.** Ten measurements, their squares and products make 64 columns. Which of them tell how far diabetes will
# be a year later, and is it better to have all of them or the ten?
#
# **Data.** 442 patients (Efron, Hastie, Johnstone and Tibshirani 2004), taken from scikit-learn; BSD 3-Clause.

# %%
import numpy as np
import pandas as pd

import consilience as pm

patients = pm.load_data("diabetes")
plain = patients.drop(columns="progression")
columns = {name: plain[name] for name in plain}
standard = (plain - plain.mean()) / plain.std()
for i, a in enumerate(plain):
    for b in list(plain)[i:]:
        if (a, b) != ("sex", "sex"):  # a square of two values is no new column
            columns[f"{a} × {b}"] = standard[a] * standard[b]
X = pd.DataFrame(columns)
X = (X - X.mean()) / X.std()
y = patients["progression"].to_numpy(float)
y = (y - y.mean()) / y.std()
print(X.shape[0], "patients,", X.shape[1], "columns")

# %% [markdown]
# ## Three priors
#
# Normal coefficients for the ten columns; the same for all 64; and a horseshoe for all 64, whose coefficients have a
# common scale, small because about five are thought to matter, and each one a scale of its own with a heavy tail, which
# lets a few escape. A slab of width 1 keeps those few finite.


# %%
def model_of(design: pd.DataFrame, horseshoe: bool) -> pm.Model:
    """Progression by the columns of a design."""
    with pm.Model(coords={"column": design.columns, "patient": patients.index}) as model:
        sigma = pm.HalfNormal("sigma", 1)
        if horseshoe:
            expected = 5 / (design.shape[1] - 5) / np.sqrt(len(design))
            common = pm.HalfStudentT("common", 2, expected)
            own = pm.HalfStudentT("own", 2, 1, dims="column")
            slab = pm.InverseGamma("slab", 2, 2)
            scale = common * own * pm.math.sqrt(slab / (slab + (common * own) ** 2))
            b = pm.Deterministic("b", scale * pm.Normal("z", 0, 1, dims="column"), dims="column")
        else:
            b = pm.Normal("b", 0, 0.5, dims="column")
        pm.Normal("progression", design.to_numpy() @ b, sigma, observed=y, dims="patient")
    return model


models = {"ten": model_of(X[list(plain)], False), "all": model_of(X, False), "horseshoe": model_of(X, True)}
results = {}
for name, model in models.items():
    with model:
        prior = pm.sample_prior_predictive(200, random_seed=1)["prior_predictive"]["progression"].std("patient")
        results[name] = pm.sample(target_accept=0.95, random_seed=1)
        pm.compute_log_likelihood(results[name])
    low, high = prior.quantile([0.05, 0.95]).to_numpy()
    print(f"{name}: sd of the progression before the data {low:.1f} to {high:.1f} (data 1)")
    print("status:", results[name].status)

# %% [markdown]
# ## Answer

# %%
b = results["horseshoe"]["posterior"]["b"]
matter = (np.abs(b) > 0.05).mean(("chain", "draw"))
ranked = matter.sortby(matter, ascending=False)
found = ranked[ranked > 0.8]
told = [f"{c} {p:.0%}" for c, p in zip(found["column"].to_numpy(), found.to_numpy(), strict=True)]
print("Coefficients beyond 0.05 with a probability above 80 %:", ", ".join(told))
print(f"Of 64 coefficients the horseshoe leaves {(ranked > 0.5).sum().item()} more likely than not beyond 0.05.")

# %% tags=["script"]
print(time_spent(results["horseshoe"]))
if arguments.no_plots:
    raise SystemExit

# %% [markdown]
# ## Which one predicts better?
#
# Each is judged by patients that it has not seen, one after the other left out.

# %%
both = pm.compare(results, models=models, random_seed=1)
print(both[["elpd", "se", "elpd_diff", "dse"]])

# %% [markdown]
# ## Coefficients under both priors

# %% alt="Coefficients of 64 columns: spread by the normal prior, all but a few drawn to zero by the horseshoe"
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(10, 4.5), layout="constrained")
order = np.argsort(-np.abs(b.mean(("chain", "draw")).to_numpy()))
for shift, name in [(-0.15, "all"), (0.15, "horseshoe")]:
    low, middle, high = (
        results[name]["posterior"]["b"].quantile([0.05, 0.5, 0.95], dim=("chain", "draw")).to_numpy()[:, order]
    )
    label = "normal" if name == "all" else name
    axes.errorbar(np.arange(64) + shift, middle, [middle - low, high - middle], fmt="o", ms=3, lw=0.8, label=label)
axes.set_xticks(range(12), X.columns[order][:12], rotation=60, ha="right")
axes.axhline(0, color="0.7", lw=0.8)
axes.set(ylabel="coefficient, sd per sd", title="90 % intervals, columns by the size of their effect")
axes.legend()

# %% tags=["script"]
save(figure, arguments.out / "diabetes.png")

"""Splines: a crash test in which mean and standard deviation of the acceleration change with time (Silverman 1985)."""
# Subject: Engineering
# Keywords: splines; heteroscedastic regression; distributional regression; nonparametric regression

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # A mean and a scatter that change
#
# **Question.** What acceleration does the head of a motorcyclist bear after an impact, when is it largest, and how much
# do tests differ?
#
# **Data.** 94 measurements of dummies' heads in simulated impacts (Silverman 1985), taken from the data of the package
# boot by Canty and Ripley, whose licence is "Unlimited".

# %%
import numpy as np
from scipy.interpolate import BSpline

import consilience as pm

tests = pm.load_data("motorcycle")
ms, g = tests["ms"].to_numpy(), tests["g"].to_numpy()


def basis(at: np.ndarray, pieces: int) -> np.ndarray:
    """Cubic B-splines on equal pieces between 0 and 60 ms, shape (time, pieces + 3)."""
    step = 60 / pieces
    knots = np.arange(-3, pieces + 4) * step
    return BSpline.design_matrix(at, knots, 3).toarray()


of_mean, of_scatter = basis(ms, 20), basis(ms, 8)

# %% [markdown]
# ## Model
#
# Both curves are sums of cubic splines whose coefficients walk at random from one to the next: by how much they do
# decides how smooth a curve is. Scatter is on the log scale. A model with one scatter for all times stands beside it.


# %%
def model_of(changes: bool) -> pm.Model:
    """Acceleration around a spline."""
    with pm.Model(coords={"test": tests.index}) as model:
        rough = pm.HalfNormal("rough", 40)
        start = pm.Normal.dist(0, 10)
        weights = pm.GaussianRandomWalk("weights", sigma=rough, init_dist=start, steps=of_mean.shape[1] - 1)
        level = pm.Normal("level", 2.5, 1)
        if changes:
            rough_scatter = pm.HalfNormal("rough_scatter", 0.7)
            walk = pm.GaussianRandomWalk(
                "walk", sigma=rough_scatter, init_dist=pm.Normal.dist(0, 1), steps=of_scatter.shape[1] - 1
            )
            sigma = pm.math.exp(level + of_scatter @ walk)
        else:
            sigma = pm.math.exp(level)
        pm.Normal("acceleration", of_mean @ weights, sigma, observed=g, dims="test")
    return model


models = {"one scatter": model_of(False), "changing scatter": model_of(True)}
results = {}
for name, model in models.items():
    with model:
        prior = pm.sample_prior_predictive(200, random_seed=1)["prior_predictive"]["acceleration"]
        results[name] = pm.sample(target_accept=0.95, random_seed=1)
        pm.compute_log_likelihood(results[name])
        pm.sample_posterior_predictive(results[name], extend_inferencedata=True, random_seed=1)
    low, high = prior.quantile([0.05, 0.95]).to_numpy()
    print(f"{name}: acceleration before the data {low:.0f} to {high:.0f} g")
    names = [v for v in ("rough", "rough_scatter", "level") if v in results[name]["posterior"]]
    print(pm.summary(results[name], var_names=names))
    print("status:", results[name].status)

# %% [markdown]
# ## Do they predict the scatter of each time?

# %%
early = ms < 13
for name, result in results.items():
    low, high = result["posterior_predictive"]["acceleration"].quantile([0.05, 0.95], dim=("chain", "draw")).to_numpy()
    inside = (low <= g) & (g <= high)
    for when, chosen in {"before 13 ms": early, "afterwards": ~early}.items():
        width = (high - low)[chosen].mean()
        print(f"{name}: {when} 90 % intervals are {width:.0f} g wide and hold {inside[chosen].mean():.0%}")

# %% [markdown]
# ## Answer

# %%
at = np.linspace(2, 58, 225)
posterior = results["changing scatter"]["posterior"]
curve = posterior["weights"].to_numpy() @ basis(at, 20).T
sd = np.exp(posterior["level"].to_numpy()[..., None] + posterior["walk"].to_numpy() @ basis(at, 8).T)
when, worst = at[curve.argmin(axis=-1)], curve.min(axis=-1)
typical = sd.mean(axis=(0, 1))
print(
    f"The head is held back most after {when.mean():.1f} ± {when.std():.1f} ms, with {-worst.mean():.0f} ± "
    f"{worst.std():.0f} g;"
)
print(
    f"single tests differ by {typical[at < 10].mean():.1f} g in the first 10 ms, and by {typical.max():.0f} g at the "
    "worst time."
)

# %% tags=["script"]
print(time_spent(results["changing scatter"]))
if arguments.no_plots:
    raise SystemExit

# %%
both = pm.compare(results, models=models, random_seed=1)
print(both[["elpd", "se", "elpd_diff", "dse"]])

# %% [markdown]
# ## Mean and scatter

# %% alt="Acceleration over milliseconds: flat, down to minus 120 g at 21 ms, then up; the band of tests widens with it"
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
rng = np.random.default_rng(1)
low, high = np.quantile(curve + sd * rng.normal(size=sd.shape), [0.05, 0.95], axis=(0, 1))
axes.fill_between(at, low, high, alpha=0.2, lw=0, label="tests, 90 %")
low, middle, high = np.quantile(curve, [0.05, 0.5, 0.95], axis=(0, 1))
axes.fill_between(at, low, high, alpha=0.5, lw=0, color="C0", label="mean, 90 %")
axes.plot(at, middle, color="C0")
axes.plot(ms, g, "o", ms=3, color="black")
axes.set(xlabel="milliseconds after the impact", ylabel="acceleration of the head, g", title="Crash tests")
axes.legend()

# %% tags=["script"]
save(figure, arguments.out / "motorcycle.png")

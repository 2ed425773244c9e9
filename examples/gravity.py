"""Hierarchical variances: series of measurements of gravity that differ in precision (Heyl and Cook 1936)."""
# Subject: Physics
# Keywords: meta-analysis; measurement error; hierarchical variance; heteroscedastic; random effects

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # One constant, eight series of measurements
#
# **Question.** How strong is gravity at Washington, if each of eight series has an error of its own, in level and in
# scatter?
#
# **Data.** 81 measurements from May 1934 to July 1935, thousandths of cm/s² above 980 (Heyl and Cook 1936), taken from
# the data of the package boot by Canty and Ripley, whose licence is "Unlimited".

# %%
import numpy as np

import consilience as pm

measured = pm.load_data("gravity")
deviation, series = measured["deviation"].to_numpy(float), measured["series"].to_numpy() - 1
print(measured.groupby("series")["deviation"].agg(["size", "mean", "std"]).round(1).T.to_string())

# %% [markdown]
# ## Three models
#
# All measurements alike; series with a scatter of their own; series with a scatter and a systematic error of their own.
# The last one has Student's t too: a bad reading shall not decide.


# %%
def model_of(scatter: bool, systematic: bool) -> pm.Model:
    """Measurements around gravity."""
    with pm.Model(coords={"series": range(1, 9), "reading": measured.index}) as model:
        g = pm.Normal("g", 80, 20)
        sigma = pm.HalfNormal("sigma", 20)
        if scatter:
            width = pm.HalfNormal("width", 1)
            sigma = sigma * pm.math.exp(width * pm.Normal("log_scatter", 0, 1, dims="series"))[series]
        if systematic:
            spread = pm.HalfNormal("spread", 10)
            z = pm.Normal("z", 0, 1, dims="series")
            error = pm.Deterministic("error", spread * z, dims="series")
            nu = pm.Gamma("nu", 2, 0.1)
            pm.StudentT("deviation", nu, g + error[series], sigma, observed=deviation, dims="reading")
        else:
            pm.Normal("deviation", g, sigma, observed=deviation, dims="reading")
    return model


models = {"alike": model_of(False, False), "scatter": model_of(True, False), "systematic": model_of(True, True)}
results = {}
for name, model in models.items():
    with model:
        results[name] = pm.sample(target_accept=0.95, random_seed=1)
        pm.compute_log_likelihood(results[name])
    print(name)
    print(
        pm.summary(
            results[name],
            var_names=[v for v in ("g", "sigma", "width", "spread", "nu") if v in results[name]["posterior"]],
        )
    )
    print("status:", results[name].status)

# %% [markdown]
# ## Do they predict series like these?

# %%
for name, model in models.items():
    with model:
        drawn = pm.sample_posterior_predictive(results[name], random_seed=1)["posterior_predictive"][
            "deviation"
        ].to_numpy()
    ratio = drawn[..., series == 0].std(-1) / drawn[..., series == 7].std(-1)
    low, high = np.quantile(ratio, [0.05, 0.95])
    seen = deviation[series == 0].std() / deviation[series == 7].std()
    print(
        f"{name}: scatter of the first series over that of the last: data {seen:.1f}, predicted {low:.1f} to {high:.1f}"
    )

# %% [markdown]
# ## Answer

# %%
for name, result in results.items():
    g = result["posterior"]["g"]
    low, high = (980 + g.quantile([0.05, 0.95]) / 1000).to_numpy()
    print(f"{name}: gravity is {980 + g.mean().item() / 1000:.4f} cm/s² (90 %: {low:.4f} to {high:.4f})")
spread = results["systematic"]["posterior"]["spread"].mean().item()
print(
    f"With systematic errors of {spread:.1f} thousandths the answer is the least sure one, and the one to be trusted."
)

# %% tags=["script"]
print(time_spent(results["systematic"]))
if arguments.no_plots:
    raise SystemExit

# %%
both = pm.compare(results, models=models, random_seed=1)
print(both[["elpd", "se", "elpd_diff", "dse"]])

# %% [markdown]
# ## The series and gravity

# %% alt="Measurements of eight series, and the interval of gravity by three models, widest with systematic errors"
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
shaken = series + 1 + np.random.default_rng(1).uniform(-0.15, 0.15, series.size)
axes.scatter(shaken, deviation, s=14, color="black")
for color, (name, result) in enumerate(results.items()):
    low, high = result["posterior"]["g"].quantile([0.05, 0.95]).to_numpy()
    axes.axhspan(low, high, alpha=0.35, color=f"C{color}", lw=0, label=name)
axes.set(xlabel="series", ylabel="thousandths of cm/s² above 980", title="Gravity, 90 % intervals")
axes.legend()

# %% tags=["script"]
save(figure, arguments.out / "gravity.png")

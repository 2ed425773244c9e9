"""Insulation: an accelerated test at high voltages, and the life at the voltage of use (Hirose 1993)."""
# Subject: Engineering
# Keywords: accelerated life test; reliability; Weibull; censoring; survival analysis

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # An accelerated life test
#
# **Question.** How long does an insulating film last at 4 kV, if it was tested at 5 to 15 kV and three of 44 films had
# not failed when the test ended? Is there a voltage below which it lasts for ever?
#
# **Data.** Hours until a film of polyester failed, at 5, 7, 10 and 15 kV (Hirose 1993), taken from the data of the
# package boot by Canty and Ripley, whose licence is "Unlimited".

# %%
import numpy as np

import consilience as pm

films = pm.load_data("insulation")
kilovolt, hours = films["kilovolt"].to_numpy(float), films["hours"].to_numpy(float)
failed = films["failed"].to_numpy() == 1
print(
    films.groupby("kilovolt")
    .agg(films=("hours", "size"), failed=("failed", "sum"), median=("hours", "median"))
    .to_string()
)

# %% [markdown]
# ## Model
#
# Life falls with a power of the voltage and has a Weibull distribution, whose shape is the same at all voltages. Films
# that had not failed lasted longer than the test. In a second model it is a power of what the voltage is above a
# threshold, where life has no end.


# %%
def model_of(threshold: bool) -> pm.Model:
    """Hours by voltage, censored where the test ended."""
    with pm.Model(coords={"film": films.index}) as model:
        log_life = pm.Normal("log_life", np.log(500), 2)  # at 8 kV
        power = pm.Normal("power", -8 if not threshold else -5, 3)
        least = pm.Uniform("least", 0, 5) if threshold else 0
        center = log_life + power * pm.math.log((kilovolt - least) / (8 - least))
        life = pm.Weibull.dist(pm.Gamma("shape", 4, 2), pm.math.exp(center))
        pm.Censored("hours", life, lower=None, upper=np.where(failed, np.inf, hours), observed=hours, dims="film")
    return model


models = {"power": model_of(False), "threshold": model_of(True)}
results = {}
for name, model in models.items():
    with model:
        prior = pm.sample_prior_predictive(500, random_seed=1)["prior"]
        results[name] = pm.sample(random_seed=1)
        pm.compute_log_likelihood(results[name])
    least = prior.get("least", 0)
    before = np.exp(prior["log_life"] + prior["power"] * np.log((6 - least) / (8 - least)))
    low, high = before.quantile([0.05, 0.95]).to_numpy()
    print(f"{name}: life at 6 kV before the data {low:,.0f} to {high:,.0f} hours")
    print(pm.summary(results[name]))
    print("status:", results[name].status)

# %% [markdown]
# ## Do they predict lives like these?
#
# Median of the failures at each voltage:

# %%
rng = np.random.default_rng(1)


def centers(result, volts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each draw the log scale of life at some voltages, infinite below the threshold, and the shape."""
    draws = result["posterior"].dataset.stack(sample=("chain", "draw"))
    least = draws["least"].to_numpy()[:, None] if "least" in draws else 0.0
    above = np.log(np.maximum(volts - least, 1e-300) / (8 - least))
    level, power, shape = (draws[name].to_numpy()[:, None] for name in ("log_life", "power", "shape"))
    return level + power * above, shape


for name, result in results.items():
    center, shape = centers(result, kilovolt)
    drawn = np.exp(center) * rng.weibull(shape, center.shape)
    for volt in np.unique(kilovolt):
        low, high = np.quantile(np.median(drawn[:, kilovolt == volt], axis=1), [0.05, 0.95])
        print(
            f"{name}, {volt:.0f} kV: data {np.median(hours[kilovolt == volt]):,.1f} h, predicted {low:,.1f} to "
            f"{high:,.1f} h"
        )

# %% [markdown]
# ## Answer
#
# The model that the data contradict would have given an answer, and a sure one.

# %%
for name, result in results.items():
    center, shape = centers(result, np.array([4.0]))
    tenth = np.exp(np.minimum(center + np.log(-np.log(0.9)) / shape, 100)) / 8766
    ends = [f"{q:,.1f} years" if q < 1e6 else "never" for q in np.quantile(tenth, [0.05, 0.5, 0.95])]
    print(f"{name}: the time by which one film in ten fails at 4 kV: {ends[1]} (90 %: {ends[0]} to {ends[2]})")
least = results["threshold"]["posterior"]["least"]
low, high = least.quantile([0.05, 0.95]).to_numpy()
print(
    f"Films last for ever below {least.mean().item():.1f} kV (90 %: {low:.1f} to {high:.1f} kV), if such a threshold "
    "is real."
)

# %% tags=["script"]
print(time_spent(results["threshold"]))
if arguments.no_plots:
    raise SystemExit

# %%
both = pm.compare(results, models=models, random_seed=1)
print(both[["elpd", "se", "elpd_diff", "dse"]])

# %% [markdown]
# ## Life over voltage

# %% alt="Hours to failure over kilovolts: a threshold follows the points, a power alone does not"
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
volts = np.geomspace(4.95, 16, 80)
for color, (name, result) in enumerate(results.items()):
    center, shape = centers(result, volts)
    low, high = np.quantile(center + np.log(np.log(2)) / shape, [0.05, 0.95], axis=0)
    axes.fill_between(volts, np.exp(low), np.exp(np.minimum(high, 20)), alpha=0.5, lw=0, color=f"C{color}", label=name)
axes.plot(kilovolt[failed], hours[failed], "o", ms=4, color="black", label="failed")
axes.plot(kilovolt[~failed], hours[~failed], "^", ms=6, color="black", mfc="none", label="not failed")
axes.set(
    xscale="log",
    yscale="log",
    xlabel="kilovolts",
    ylabel="hours",
    title="Median life of an insulating film",
    ylim=(0.5, 1e6),
)
axes.set_xticks([5, 7, 10, 15], ["5", "7", "10", "15"])
axes.minorticks_off()
axes.legend()

# %% tags=["script"]
save(figure, arguments.out / "insulation.png")

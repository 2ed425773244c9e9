"""Melanoma: survival after an operation, with patients who were alive when the study ended."""
# Subject: Medicine
# Keywords: survival analysis; Cox model; proportional hazards; censoring; clinical data

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # Survival with melanoma
#
# **Question.** How much do thickness of a tumour and ulceration change survival, and how many of a hundred patients
# live ten years?
#
# **Data.** 205 patients operated on at Odense, Denmark, between 1962 and 1977 (Andersen and others 1993), taken from
# the data of the package boot by Canty and Ripley, whose licence is "Unlimited".

# %%
import numpy as np
import pandas as pd

import consilience as pm

patients = pm.load_data("melanoma")
years = patients["days"].to_numpy() / 365.25
died = (patients["status"] == 1).to_numpy()  # of the melanoma; 2 alive at the end, 3 died of something else
X = pd.DataFrame(
    {
        "thickness": np.log2(patients["thickness"]) - 1,  # doublings of 2 mm
        "ulcer": patients["ulcer"].astype(float),
        "male": patients["male"].astype(float),
        "age": (patients["age"] - 50) / 10,
    }
)
print(
    f"{len(patients)} patients, {died.sum()} died of melanoma, {(~died).sum()} are censored after "
    f"{np.median(years[~died]):.0f} years"
)

# %% [markdown]
# ## Model
#
# Times to death from the melanoma have a Weibull distribution, whose scale depends on the patient: a coefficient of
# -0.7 halves all times. For those who had not died of it only that is known: the time is longer. `Censored` with a
# bound for each patient says so; those who died have none.

# %%
bound = np.where(died, np.inf, years)
with pm.Model(coords={"covariate": X.columns, "patient": patients.index}) as model:
    level = pm.Normal("level", np.log(15), 1)  # of log years
    b = pm.Normal("b", 0, 1, dims="covariate")
    shape = pm.Gamma("shape", 4, 3)
    scale = pm.math.exp(level + X.to_numpy() @ b)
    pm.Censored("years", pm.Weibull.dist(shape, scale), lower=None, upper=bound, observed=years, dims="patient")
    prior = pm.sample_prior_predictive(500, random_seed=1)["prior"]
    result = pm.sample(random_seed=1)

alive = np.exp(-((10 / np.exp(prior["level"])) ** prior["shape"]))
print(f"alive after ten years, before the data: {alive.quantile(0.05).item():.0%} to {alive.quantile(0.95).item():.0%}")
print(pm.summary(result))
print("status:", result.status)

# %% [markdown]
# ## Does the model fit?
#
# Share of patients alive by the product of Kaplan and Meier, which assumes no form, and by the model for these
# patients.


# %%
def kaplan_meier(at: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Share of the chosen patients that live longer than these times."""
    times = np.unique(years[died & chosen])
    risk = np.array([(years[chosen] >= t).sum() for t in times])
    dead = np.array([(years[chosen & died] == t).sum() for t in times])
    return np.array([np.prod((1 - dead / risk)[times <= t]) for t in at])


draws = result["posterior"].dataset.stack(sample=("chain", "draw"))
log_scale = draws["level"].to_numpy() + X.to_numpy() @ draws["b"].transpose("covariate", "sample").to_numpy()
at = np.linspace(0, 14, 57)
survival = np.exp(-((at[:, None, None] / np.exp(log_scale)) ** draws["shape"].to_numpy()))  # time, patient, draw
ulcer = patients["ulcer"].to_numpy() == 1
for name, chosen in {"with ulceration": ulcer, "without": ~ulcer}.items():
    low, high = np.quantile(survival[:, chosen].mean(axis=1), [0.05, 0.95], axis=-1)
    print(
        f"alive after 5 years {name}: data {kaplan_meier(np.array([5.0]), chosen)[0]:.0%}, model {low[20]:.0%} to "
        f"{high[20]:.0%}"
    )

# %% [markdown]
# ## Answer

# %%
times = np.exp(result["posterior"]["b"])
for name, what in {"thickness": "A tumour twice as thick", "ulcer": "Ulceration"}.items():
    low, middle, high = times.sel(covariate=name).quantile([0.05, 0.5, 0.95]).to_numpy()
    print(f"{what} multiplies survival times by {middle:.2f} (90 %: {low:.2f} to {high:.2f}).")
of_all = survival[40].mean(axis=0)
print(
    f"Of a hundred such patients {100 * of_all.mean():.0f} ± {100 * of_all.std():.0f} do not die of melanoma within "
    "ten years."
)

# %% tags=["script"]
print(time_spent(result))
if arguments.no_plots:
    raise SystemExit

# %% [markdown]
# ## Survival of both groups

# %% alt="Shares alive over fourteen years, steps of the data within bands of the model: lower with ulceration"
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
for color, (name, chosen) in enumerate({"ulceration": ulcer, "no ulceration": ~ulcer}.items()):
    low, high = np.quantile(survival[:, chosen].mean(axis=1), [0.05, 0.95], axis=-1)
    axes.fill_between(at, low, high, color=f"C{color}", alpha=0.3, lw=0)
    axes.plot(at, survival[:, chosen].mean(axis=(1, 2)), color=f"C{color}", label=name)
    axes.step(at, kaplan_meier(at, chosen), color=f"C{color}", ls="--", where="post", lw=1)
axes.set(xlabel="years since the operation", ylabel="share not dead of melanoma", ylim=(0, 1))
axes.set_title("Model with 90 % interval, data (dashed)")
axes.legend()

# %% tags=["script"]
save(figure, arguments.out / "melanoma.png")

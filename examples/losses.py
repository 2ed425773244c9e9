"""Insurance: what will still be paid for accidents of ten years, by growth curves of losses."""
# Subject: Economics
# Keywords: insurance; claims reserving; growth curves; hierarchical model; nonlinear regression

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # Losses that are not paid yet
#
# **Question.** How much will an insurer still pay for ten years of policies, of which the latest has one year of
# payments?
#
# **Data.** Premiums, and losses paid by the end of each year, of ten yearly cohorts of policies, taken from
# posteriordb; BSD 3-Clause.

# %%
import numpy as np

import consilience as pm

triangle = pm.load_data("losses")
cohort, year = triangle["cohort"].to_numpy() - 1, triangle["year"].to_numpy()
premium = triangle.groupby("cohort")["premium"].first().to_numpy(float)
ratio = triangle["loss"].to_numpy() / triangle["premium"].to_numpy()
paid = triangle.groupby("cohort")["loss"].last().to_numpy()
print(f"{len(premium)} cohorts, premiums of {premium.sum():,.0f}, paid until now {paid.sum():,}")

# %% [markdown]
# ## Model
#
# The share of its premium that a cohort costs in the end differs from cohort to cohort, around a mean. Payments
# approach it along one curve, for which there are two forms: 1 - exp(-(t / θ)^ω) and t^ω / (t^ω + θ^ω). What is paid
# scatters about the curve by some per cent.


# %%
def growth(t, omega, theta, weibull):
    """Share that is paid after t years."""
    return 1 - pm.math.exp(-((t / theta) ** omega)) if weibull else t**omega / (t**omega + theta**omega)


def model_of(weibull: bool, last: int = 10) -> pm.Model:
    """Loss ratios that were known after the calendar year `last`."""
    seen = cohort + year <= last
    with pm.Model(coords={"cohort": range(1, 11), "row": triangle.index[seen]}) as model:
        omega, theta = pm.LogNormal("omega", 0, 0.5), pm.LogNormal("theta", np.log(2), 0.5)
        mean, spread = pm.Normal("mean", np.log(0.7), 0.5), pm.HalfNormal("spread", 0.5)
        z = pm.Normal("z", 0, 1, dims="cohort")
        ultimate = pm.Deterministic("ultimate", pm.math.exp(mean + spread * z), dims="cohort")
        sigma = pm.HalfNormal("sigma", 0.1)
        center = ultimate[cohort[seen]] * growth(year[seen].astype(float), omega, theta, weibull)
        pm.LogNormal("ratio", pm.math.log(center), sigma, observed=ratio[seen], dims="row")
    return model


models = {"Weibull": model_of(True), "log-logistic": model_of(False)}
results = {}
for name, model in models.items():
    with model:
        prior = pm.sample_prior_predictive(300, random_seed=1)["prior"]["ultimate"]
        results[name] = pm.sample(target_accept=0.9, random_seed=1)
        pm.compute_log_likelihood(results[name])
    low, high = prior.quantile([0.05, 0.95]).to_numpy()
    print(f"{name}: a cohort costs before the data {low:.0%} to {high:.0%} of its premium")
    print(pm.summary(results[name], var_names=["omega", "theta", "mean", "spread", "sigma"]))
    print("status:", results[name].status)

# %% [markdown]
# ## What would each have said two years ago?
#
# Told the payments of eight calendar years, what is predicted for the ninth and tenth?

# %%
rng = np.random.default_rng(1)
late = (cohort + year > 8) & (cohort < 8)
for name in models:
    with model_of(name == "Weibull", last=8):
        earlier = pm.sample(target_accept=0.9, random_seed=1)
    print("status:", earlier.status)
    draws = earlier["posterior"].dataset.stack(sample=("chain", "draw"))
    omega, theta = draws["omega"].to_numpy()[:, None], draws["theta"].to_numpy()[:, None]
    t = year[late].astype(float)
    share = 1 - np.exp(-((t / theta) ** omega)) if name == "Weibull" else t**omega / (t**omega + theta**omega)
    center = draws["ultimate"].transpose("sample", "cohort").to_numpy()[:, cohort[late]] * share
    made = center * np.exp(draws["sigma"].to_numpy()[:, None] * rng.normal(size=center.shape))
    low, high = np.quantile(made, [0.05, 0.95], axis=0)
    inside = ((low <= ratio[late]) & (ratio[late] <= high)).mean()
    off = np.log(made.mean(axis=0) / ratio[late])
    print(f"{name}: 90 % intervals hold {inside:.0%} of {late.sum()} payments; on average {off.mean():+.1%} off")

# %% [markdown]
# ## Answer

# %%
for name, result in results.items():
    reserve = (result["posterior"]["ultimate"].to_numpy() * premium).sum(axis=-1) - paid.sum()
    low, high = np.quantile(reserve, [0.05, 0.95])
    print(f"{name}: still to be paid {reserve.mean():,.0f} (90 %: {low:,.0f} to {high:,.0f})")

# %% tags=["script"]
print(time_spent(results["Weibull"]))
if arguments.no_plots:
    raise SystemExit

# %%
both = pm.compare(results, models=models, random_seed=1)
print(both[["elpd", "se", "elpd_diff", "dse"]])

# %% [markdown]
# ## Payments and their curves
#
# Both forms predict the payments that were made equally well, and differ by a third in those to come: what happens
# after ten years no cohort has shown. An honest reserve covers both.

# %% alt="Paid share of premiums over ten years, ten cohorts along curves; bands of both forms for the youngest"
import matplotlib.pyplot as plt

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.3), layout="constrained")
t = np.linspace(0.5, 10, 96)
for c in range(10):
    left.plot(year[cohort == c], ratio[cohort == c], ".-", lw=0.8, color=plt.get_cmap("viridis")(c / 10))
left.set(xlabel="year of the cohort", ylabel="paid over premium", title="Ten cohorts, the first dark")
for color, (name, result) in enumerate(results.items()):
    draws = result["posterior"].dataset.stack(sample=("chain", "draw"))
    omega, theta = draws["omega"].to_numpy()[:, None], draws["theta"].to_numpy()[:, None]
    share = 1 - np.exp(-((t / theta) ** omega)) if name == "Weibull" else t**omega / (t**omega + theta**omega)
    curve = draws["ultimate"].sel(cohort=10).to_numpy()[:, None] * share
    right.fill_between(t, *np.quantile(curve, [0.05, 0.95], axis=0), alpha=0.4, lw=0, color=f"C{color}", label=name)
right.plot(1, ratio[-1], "o", color="black")
right.set(xlabel="year of the cohort", ylabel="paid over premium", title="The last cohort, 90 % intervals")
right.legend()

# %% tags=["script"]
save(figure, arguments.out / "losses.png")

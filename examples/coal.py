"""Change point: when the rate of coal mine explosions fell (Maguire, Pearson and Wynn 1952; Jarrett 1979)."""
# Subject: Engineering
# Keywords: change point; changepoint; Poisson; switchpoint; discrete variables

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # When did coal mines become safer?
#
# **Question.** In which year did the rate of disasters fall, and by how much?
#
# **Data.** Dates of 191 explosions in British coal mines that killed ten or more men (Jarrett 1979), taken from the
# data of the package boot by Canty and Ripley, whose licence is "Unlimited".

# %%
import numpy as np

import consilience as pm

years = np.arange(1851, 1963)
disasters = np.bincount(np.floor(pm.load_data("coal")["date"]).astype(int) - 1851, minlength=years.size)

# %% [markdown]
# ## Model
#
# One rate before a year, another one from it on. The year is a discrete variable with 111 values; it is written as
# such, summed out of the density for sampling, and drawn again afterwards.

# %%
with pm.Model(coords={"year": years}) as model:
    change = pm.DiscreteUniform("change", 1852, 1962)
    before = pm.Exponential("before", 0.5)
    after = pm.Exponential("after", 0.5)
    rate = pm.math.switch(years < change, before, after)
    pm.Poisson("disasters", rate, observed=disasters, dims="year")
    prior = pm.sample_prior_predictive(1000, random_seed=1)["prior_predictive"]["disasters"]
    result = pm.sample(random_seed=1)
    pm.compute_log_likelihood(result)

print(
    f"disasters in all: prior {prior.sum('year').quantile(0.05).item():.0f} to "
    f"{prior.sum('year').quantile(0.95).item():.0f}"
)
print(pm.summary(result))
print("status:", result.status)

# %% [markdown]
# ## Is one change enough?
#
# The alternative is a rate that wanders from year to year.

# %%
with pm.Model(coords={"year": years}) as wandering:
    step = pm.HalfNormal("step", 0.2)
    path = pm.GaussianRandomWalk("path", sigma=step, init_dist=pm.Normal.dist(1, 1), dims="year")
    pm.Poisson("disasters", pm.math.exp(path), observed=disasters, dims="year")
    walk = pm.sample(random_seed=1)
    pm.compute_log_likelihood(walk)

print("status:", walk.status)
for name, one, its in [("one change", result, model), ("wandering", walk, wandering)]:
    with its:
        drawn = pm.sample_posterior_predictive(one, random_seed=1)["posterior_predictive"]["disasters"].to_numpy()
    quiet = (drawn[..., years >= 1900] == 0).mean(axis=-1)
    low, high = np.quantile(quiet, [0.05, 0.95])
    print(
        f"{name}: share of years without disaster since 1900: predicted {low:.0%} to {high:.0%}, data "
        f"{(disasters[49:] == 0).mean():.0%}"
    )

# %% [markdown]
# ## Answer

# %%
posterior = result["posterior"]
low, middle, high = posterior["change"].quantile([0.05, 0.5, 0.95]).to_numpy().astype(int)
ratio = posterior["after"] / posterior["before"]
print(f"The rate fell in {middle} (90 %: {low} to {high}), from {posterior['before'].mean().item():.1f} a year")
print(
    f"to {posterior['after'].mean().item():.1f}: {ratio.mean().item():.0%} ± {ratio.std().item():.0%} of what it was."
)

# %% tags=["script"]
print(time_spent(result))
if arguments.no_plots:
    raise SystemExit

# %%
both = pm.compare(
    {"one change": result, "wandering": walk}, models={"one change": model, "wandering": wandering}, random_seed=1
)
print(both[["elpd", "se", "elpd_diff", "dse"]])

# %% [markdown]
# ## The rate over the years
#
# The two models tell of the same fall: within few years around 1890. Which one predicts better these data do not say.

# %% alt="Disasters of each year as bars, and rates: one that falls at once near 1890, one that falls within some years"
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
axes.bar(years, disasters, width=1, color="0.85", label="disasters")
drawn = np.where(
    years < posterior["change"].to_numpy()[..., None],
    posterior["before"].to_numpy()[..., None],
    posterior["after"].to_numpy()[..., None],
)
for color, (name, rates) in enumerate(
    {"one change": drawn, "wandering": np.exp(walk["posterior"]["path"].to_numpy())}.items()
):
    low, high = np.quantile(rates, [0.05, 0.95], axis=(0, 1))
    axes.fill_between(years, low, high, color=f"C{color}", alpha=0.25, lw=0)
    axes.plot(years, rates.mean(axis=(0, 1)), color=f"C{color}", label=name)
axes.set(xlabel="year", ylabel="disasters per year", title="Rates with 90 % intervals")
axes.legend()

# %% tags=["script"]
save(figure, arguments.out / "coal.png")

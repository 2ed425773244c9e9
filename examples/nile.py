"""The Nile: a level that wanders, by a Kalman filter, and a dam (Cobb 1978; Durbin and Koopman 2012)."""
# Subject: Environment
# Keywords: Kalman filter; local level model; structural time series; change point; state space model

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # Did the flow of the Nile change at once?
#
# **Question.** Around 1899 less water came down the Nile than before. Did its level wander there, or did it fall in one
# year, and by how much?
#
# **Data.** Yearly flow at Aswan from 1871 to 1970, hundred million cubic metres (Cobb 1978), taken from statsmodels,
# which names it public domain.

# %%
import numpy as np

import consilience as pm
import consilience.tensor as pt

nile = pm.load_data("nile")
years, flow = nile["year"].to_numpy(), nile["volume"].to_numpy(float)
coords = {"year": years}

# %% [markdown]
# ## Two models
#
# In the first one the level takes a normal step each year. It is a linear state space: given the standard deviations of
# the steps and of the years around the level, a Kalman filter integrates all levels out, and two parameters are left to
# sample. The second has one level until a year, and another one from it on; the year is summed out.

# %%
with pm.Model(coords=coords) as wandering:
    step = pm.HalfNormal("step", 100)
    sigma = pm.HalfNormal("sigma", 200)
    pm.LinearGaussianStateSpace(
        "flow",
        a0=[1000.0],
        P0=[[300.0**2]],
        T=[[1.0]],
        Z=[[1.0]],
        H=pt.stack([sigma**2]).reshape((1, 1)),
        Q=pt.stack([step**2]).reshape((1, 1)),
        observed=flow[:, None],
    )
    prior = pm.sample_prior_predictive(300, random_seed=1)["prior_predictive"]["flow"]
    walk = pm.sample(random_seed=1)

with pm.Model(coords=coords) as fallen:
    year = pm.DiscreteUniform("year_of_change", 1872, 1970)
    before, after = pm.Normal("before", 1000, 300), pm.Normal("after", 1000, 300)
    sigma = pm.HalfNormal("sigma", 200)
    pm.Normal("flow", pm.math.switch(years < year, before, after), sigma, observed=flow, dims="year")
    fall = pm.sample(random_seed=1)

low, high = prior.quantile([0.05, 0.95]).to_numpy()
print(f"flow of a year: prior {low:.0f} to {high:.0f}, data {flow.min():.0f} to {flow.max():.0f}")
for name, result in {"wandering": walk, "one change": fall}.items():
    print(name)
    print(pm.summary(result))
    print("status:", result.status)

# %% [markdown]
# ## Which one explains the data?
#
# Evidences weigh how well each model, with its priors, predicted the data as they came. Particles go from prior to
# posterior, and give them with their errors.

# %%
evidence = {}
for name, model in {"wandering": wandering, "one change": pm.marginalize(fallen, ["year_of_change"])}.items():
    with model:
        particles = pm.sample_smc(500, chains=4, random_seed=1)
        evidence[name] = pm.log_marginal_likelihood(particles, random_seed=1)
    print(name, evidence[name])

# %% [markdown]
# ## Does the better one predict flows like these?
#
# If one level until 1898 and another one from 1899 on are all there is, years are independent around them.

# %%
with fallen:
    predicted = pm.sample_posterior_predictive(fall, random_seed=1)["posterior_predictive"]["flow"].to_numpy()


def memory(y: np.ndarray) -> np.ndarray:
    """Correlation of one year and the next around the two levels."""
    early, late = y[..., years < 1899], y[..., years >= 1899]
    rest = np.concatenate([early - early.mean(-1, keepdims=True), late - late.mean(-1, keepdims=True)], axis=-1)
    return (rest[..., 1:] * rest[..., :-1]).mean(axis=-1) / (rest**2).mean(axis=-1)


for what, statistic in [("correlation of neighbouring years", memory), ("driest year", lambda y: y.min(axis=-1))]:
    low, high = np.quantile(statistic(predicted), [0.05, 0.95])
    print(f"{what}: data {statistic(flow):.2f}, predicted {low:.2f} to {high:.2f}")

# %% [markdown]
# ## Answer

# %%
posterior = fall["posterior"]
less = posterior["before"] - posterior["after"]
odds = np.exp(float(evidence["one change"]) - float(evidence["wandering"]))
share = (posterior["year_of_change"] == 1899).mean().item()
print(f"A fall at once is {odds:.0f} times as probable as a wandering level, if both were equally so before the data.")
part = (less / posterior["before"]).mean().item()
print(f"The first low year was 1899 with probability {share:.0%};")
print(f"the flow fell by {less.mean().item():.0f} ± {less.std().item():.0f}, {part:.0%} of what it had been.")

# %% tags=["script"]
print(time_spent(fall))
if arguments.no_plots:
    raise SystemExit

# %% [markdown]
# ## Both levels
#
# The wandering level by a smoother: given the standard deviations, levels and data are jointly normal.

# %% alt="Flow of the Nile from 1871 to 1970, a level that falls at once in 1899, and one that wanders down around it"
import matplotlib.pyplot as plt

index = np.arange(years.size)
draws = walk["posterior"].dataset.stack(sample=("chain", "draw"))
rng = np.random.default_rng(1)
levels = []
for step, sigma in zip(draws["step"].to_numpy()[::16], draws["sigma"].to_numpy()[::16], strict=True):
    covariance = 300.0**2 + step**2 * np.minimum(index[:, None], index)
    gain = np.linalg.solve(covariance + sigma**2 * np.eye(years.size), covariance).T
    levels.append(rng.multivariate_normal(1000 + gain @ (flow - 1000), covariance - gain @ covariance, method="eigh"))
figure, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
axes.plot(years, flow, ".-", color="0.6", lw=0.8, label="flow")
jump = np.where(
    years < posterior["year_of_change"].to_numpy()[..., None],
    posterior["before"].to_numpy()[..., None],
    posterior["after"].to_numpy()[..., None],
).reshape(-1, years.size)
for color, (name, level) in enumerate({"wandering": np.array(levels), "one change": jump}.items()):
    low, high = np.quantile(level, [0.05, 0.95], axis=0)
    axes.fill_between(years, low, high, alpha=0.3, lw=0, color=f"C{color}")
    axes.plot(years, level.mean(axis=0), color=f"C{color}", label=name)
axes.set(xlabel="year", ylabel="hundred million cubic metres", title="The Nile at Aswan, 90 % intervals")
axes.legend()

# %% tags=["script"]
save(figure, arguments.out / "nile.png")

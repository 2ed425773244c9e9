"""A Gaussian process: summer temperatures at Kilpisjärvi, Finland, from 1952 to 2013."""
# Subject: Climate
# Keywords: Gaussian process; GP regression; nonparametric regression; smoothing

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # A Gaussian process
#
# Summers in Lapland differ from year to year, around a level that changes slowly. The level is a Gaussian process in
# time: nothing is said of its form but how far it strays and how many years it takes to do so. Its values are
# integrated out, and what remains is a multivariate normal distribution of the data with three scales.
#
# **Data.** Mean temperatures of June to August, taken from posteriordb; BSD 3-Clause.

# %%
import numpy as np

import consilience as pm
import consilience.tensor as pt

summers = pm.load_data("kilpisjarvi")
year = summers["year"].to_numpy(float)
temperature = summers["temperature"].to_numpy()

# %% [markdown]
# ## Model and posterior

# %%
with pm.Model(coords={"year": summers["year"]}) as model:
    mean = pm.Normal("mean", 9, 1)
    amplitude = pm.HalfNormal("amplitude", 1)
    length = pm.InverseGamma("length", 3, 60)
    sigma = pm.HalfNormal("sigma", 1)
    distance = np.abs(year[:, None] - year)
    covariance = amplitude**2 * pt.exp(-0.5 * (distance / length) ** 2) + sigma**2 * np.eye(year.size)
    pm.MvNormal("temperature", mean * np.ones(year.size), cov=covariance, observed=temperature, dims="year")
    result = pm.sample(target_accept=0.95, random_seed=1)

print(pm.summary(result))
print("status:", result.status)

# %% [markdown]
# ## Does the model predict data like these?

# %%
with model:
    predictive = pm.sample_posterior_predictive(result, random_seed=1)["posterior_predictive"]["temperature"]

between = predictive.diff("year").std("year")
low, high = between.quantile([0.05, 0.95]).to_numpy()
found = np.diff(temperature).std()
print(f"from one summer to the next: data {found:.2f} °C (sd), predicted {low:.2f} to {high:.2f} °C")

# %% [markdown]
# ## The level, given the data
#
# Given the scales and the data, the level at all years up to 2030 has a normal distribution. NumPy does the linear
# algebra, for some of the draws.

# %%
at = np.arange(1952, 2031)
rng = np.random.default_rng(1)
draws = result["posterior"].dataset.stack(sample=("chain", "draw"))
levels = []
for sample in rng.choice(draws.sizes["sample"], 300, replace=False):
    theta = {name: draws[name][sample].item() for name in ("mean", "amplitude", "length", "sigma")}

    def kernel(a: np.ndarray, b: np.ndarray, theta: dict[str, float] = theta) -> np.ndarray:
        """Covariances of the level between two sets of years."""
        return theta["amplitude"] ** 2 * np.exp(-0.5 * ((a[:, None] - b) / theta["length"]) ** 2)

    data = kernel(year, year) + theta["sigma"] ** 2 * np.eye(year.size)
    gain = np.linalg.solve(data, kernel(year, at)).T
    center = theta["mean"] + gain @ (temperature - theta["mean"])
    levels.append(rng.multivariate_normal(center, kernel(at, at) - gain @ kernel(year, at), method="eigh"))
warming = np.array(levels)[:, at == 2013] - np.array(levels)[:, at == 1970]
print(f"2013 was warmer than 1970 by {warming.mean():.1f} ± {warming.std():.1f} °C (level)")

# %% tags=["script"]
print(time_spent(result))
if arguments.no_plots:
    raise SystemExit

# %% [markdown]
# ## Data and level

# %% alt="Summer temperatures from 1952 to 2013 as points, the level with its band through them and beyond"
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(9, 4.5), layout="constrained")
for share, shade in [(0.9, 0.2), (0.5, 0.35)]:
    low, high = np.quantile(levels, [(1 - share) / 2, (1 + share) / 2], axis=0)
    axes.fill_between(at, low, high, color="C0", alpha=shade, lw=0, label=f"level, {share:.0%} interval")
axes.plot(at, np.mean(levels, axis=0), color="C0", label="level, mean")
axes.scatter(year, temperature, s=14, color="black", zorder=3, label="summers")
axes.set(xlabel="year", ylabel="mean of June to August, °C", title="Summers at Kilpisjärvi")
axes.legend()

# %% tags=["script"]
save(figure, arguments.out / "gaussian_process.png")

"""Mixture model of two normal distributions: penguins whose species was not written down."""
# Subject: Biology
# Keywords: mixture model; clustering; label switching; Gaussian mixture

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # A mixture
#
# The flipper lengths of 342 penguins have two peaks. Suppose that nobody had noted the species: how many penguins
# belong to the larger kind, how long are its flippers, and which penguins are these? Summing over the two kinds leaves
# continuous parameters only.
#
# **Data.** Penguins of the Palmer Archipelago (Gorman, Williams and Fraser 2014), taken from palmerpenguins; CC0 1.0.

# %%
import numpy as np

import consilience as pm
import consilience.tensor as pt

penguins = pm.load_data("penguins")
length = penguins["flipper_length_mm"].to_numpy(float)

# %% [markdown]
# ## Model and posterior
#
# The prior means differ, so that the first kind is the small one. A potential adds the log density of the data, in
# which each penguin is of one kind or the other.

# %%
with pm.Model(coords={"kind": ["small", "large"], "penguin": penguins.index}) as model:
    weight = pm.Dirichlet("weight", [2, 2], dims="kind")
    mu = pm.Normal("mu", [190, 215], 10, dims="kind")
    sigma = pm.HalfNormal("sigma", 10, dims="kind")
    log_parts = pt.log(weight) + pm.logp(pm.Normal.dist(mu, sigma), length[:, None])
    log_density = pt.logsumexp(log_parts, axis=1)
    pm.Potential("flipper_length", log_density)
    pm.Deterministic("is_large", pt.exp(log_parts[:, 1] - log_density), dims="penguin")
    result = pm.sample(random_seed=1)

print(pm.summary(result, var_names=["weight", "mu", "sigma"]))
print("status:", result.status)

# %% [markdown]
# ## Were the species found?

# %%
penguins["is_large"] = result["posterior"]["is_large"].mean(dim=("chain", "draw"))
print("Mean probability of the large kind:")
print(penguins.groupby("species")["is_large"].mean().round(2).to_string())

# %% [markdown]
# ## Does the model predict data like these?
#
# One data set for each draw: a kind for each penguin, then a length. A potential is no distribution, so this is NumPy.

# %%
draws = result["posterior"].dataset[["weight", "mu", "sigma"]]
draws = draws.stack(sample=("chain", "draw")).transpose("sample", "kind")
rng = np.random.default_rng(1)
kind = (rng.random((draws.sizes["sample"], length.size)) > draws["weight"].to_numpy()[:, :1]).astype(int)
row = np.arange(draws.sizes["sample"])[:, None]
predicted = rng.normal(draws["mu"].to_numpy()[row, kind], draws["sigma"].to_numpy()[row, kind])
for share in (0.05, 0.25, 0.5, 0.75, 0.95):
    low, high = np.quantile(np.quantile(predicted, share, axis=1), [0.05, 0.95])
    print(f"{share:4.0%} quantile: data {np.quantile(length, share):.0f} mm, predicted {low:.0f} to {high:.0f} mm")

# %% tags=["script"]
print(time_spent(result))
if arguments.no_plots:
    raise SystemExit

# %% [markdown]
# ## The two kinds

# %% alt="Histogram of flipper lengths with the densities of the two kinds that the mixture finds"
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
species = ["Adelie", "Chinstrap", "Gentoo"]
bins = np.arange(168.5, 236, 3)
counts = [length[penguins["species"] == name] for name in species]
axes.hist(counts, bins, stacked=True, density=True, label=species, color=["0.55", "0.7", "0.85"])
at = np.linspace(bins[0], bins[-1], 200)
z = (at[:, None, None] - draws["mu"].to_numpy()) / draws["sigma"].to_numpy()
parts = draws["weight"].to_numpy() * np.exp(-0.5 * z**2) / (np.sqrt(2 * np.pi) * draws["sigma"].to_numpy())
for color, (name, part) in enumerate(zip(["small", "large"], np.moveaxis(parts, 2, 0), strict=True)):
    axes.plot(at, part.mean(axis=1), color=f"C{color}", label=f"{name} kind")
    axes.fill_between(at, *np.quantile(part, [0.05, 0.95], axis=1), color=f"C{color}", alpha=0.3)
axes.set(xlabel="flipper length, mm", ylabel="density", title="Kinds found without the species, 90 % intervals")
axes.legend()

# %% tags=["script"]
save(figure, arguments.out / "mixture.png")

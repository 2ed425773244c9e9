"""Occupancy model: how many butterfly species live there, including those nobody saw (Dorazio and others 2006)."""
# Subject: Biology
# Keywords: occupancy model; species richness; imperfect detection; capture-recapture; hierarchical model

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # Species that nobody saw
#
# **Question.** 28 species of butterfly were seen on 20 grasslands. How many are there, and on how many of the sites
# does a species live that was seen on few?
#
# **Data.** On how many of 18 visits each species was seen at each site, central Sweden (Dorazio, Royle, Söderström and
# Glimskär 2006), taken from posteriordb; BSD 3-Clause.

# %%
import numpy as np

import consilience as pm
import consilience.tensor as pt

seen = pm.load_data("butterflies").to_numpy()  # species, site
visits, most = 18, 70
augmented = np.concatenate([seen, np.zeros((most - len(seen), seen.shape[1]), int)])
places = np.count_nonzero(seen, axis=1)
print(f"{len(seen)} species; one was seen at {places.min()} to {places.max()} of {seen.shape[1]} sites")

# %% [markdown]
# ## Model
#
# A species lives at a site with a probability of its own, and where it lives it is seen on a visit with another one;
# both are drawn from a population. To the 28 species 42 more are added that were not seen, of which each belongs to the
# place with a probability that is to be found (Royle and Dorazio 2012). All yes or no is summed: whether a species
# lives at a site where it was not seen, and whether one that was never seen belongs here.

# %%
with pm.Model(coords={"species": range(1, most + 1), "what": ["lives", "is seen"]}) as model:
    belongs = pm.Beta("belongs", 1, 1)
    mean = pm.Normal("mean", [0, -2], 1.5, dims="what")
    spread = pm.HalfNormal("spread", 1.5, dims="what")
    z = pm.Normal("z", 0, 1, dims=("species", "what"))
    lives = mean[0] + spread[0] * z[:, 0]
    found = mean[1] + spread[1] * z[:, 1]
    log_lives, log_not = -pt.softplus(-lives)[:, None], -pt.softplus(lives)[:, None]
    log_seen = -augmented * pt.softplus(-found)[:, None] - (visits - augmented) * pt.softplus(found)[:, None]
    there = log_lives + log_seen
    of_site = pt.where(augmented > 0, there, pt.logaddexp(there, log_not))
    of_species = pt.sum(of_site, axis=1)  # of a species that belongs here
    known = pt.log(belongs) + of_species[: len(seen)]
    unknown = pt.logaddexp(pt.log(belongs) + of_species[len(seen) :], pt.log1p(-belongs))
    pm.Potential("sightings", pt.sum(known) + pt.sum(unknown))
    pm.Deterministic("is_here", pt.exp(pt.log(belongs) + of_species[len(seen) :] - unknown))
    at_site = pt.where(augmented > 0, 1.0, pt.exp(there - of_site))
    pm.Deterministic("sites", pt.sum(at_site, axis=1)[: len(seen)])
    result = pm.sample(target_accept=0.9, random_seed=1)

print(pm.summary(result, var_names=["belongs", "mean", "spread"]))
print("status:", result.status)

# %% [markdown]
# ## Does the model predict sightings like these?
#
# One data set for each draw; a potential is no distribution, so this is NumPy.

# %%
draws = result["posterior"].dataset.stack(sample=("chain", "draw"))
rng = np.random.default_rng(1)
count = draws.sizes["sample"]
z = rng.normal(size=(2, count, most))
m, s = draws["mean"].to_numpy()[..., None], draws["spread"].to_numpy()[..., None]
here = rng.random((count, most)) < draws["belongs"].to_numpy()[:, None]
p_lives = 1 / (1 + np.exp(-(m[0] + s[0] * z[0])))
p_seen = 1 / (1 + np.exp(-(m[1] + s[1] * z[1])))
at_site = here[..., None] & (rng.random((count, most, seen.shape[1])) < p_lives[..., None])
made = rng.binomial(visits, p_seen[..., None] * at_site)
for what, statistic in [
    ("species seen", lambda y: (y.sum(-1) > 0).sum(-1)),
    ("species seen at one site alone", lambda y: ((y > 0).sum(-1) == 1).sum(-1)),
    ("species seen at more than 15 sites", lambda y: ((y > 0).sum(-1) > 15).sum(-1)),
    ("sightings", lambda y: y.sum((-1, -2))),
]:
    low, high = np.quantile(statistic(made), [0.05, 0.95])
    print(f"{what}: data {statistic(augmented)}, predicted {low:.0f} to {high:.0f}")

# %% [markdown]
# ## Answer

# %%
unseen = rng.binomial(1, result["posterior"]["is_here"].to_numpy()).sum(axis=-1)
low, middle, high = np.quantile(unseen, [0.05, 0.5, 0.95]).astype(int)
print(f"Besides the {len(seen)} species seen there are {middle} others (90 %: {low} to {high}).")
sites = result["posterior"]["sites"].mean(("chain", "draw")).to_numpy()
rare = places < 5
print(
    f"The {rare.sum()} species seen at fewer than five sites, {places[rare].mean():.1f} on average, live at "
    f"{sites[rare].mean():.1f}."
)

# %% tags=["script"]
print(time_spent(result))
if arguments.no_plots:
    raise SystemExit

# %% [markdown]
# ## Species and sites

# %% alt="Left: number of species, from 28 up. Right: sites at which each species lives over those where it was seen"
import matplotlib.pyplot as plt

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.3), layout="constrained")
left.hist(len(seen) + unseen.ravel(), bins=np.arange(len(seen) - 0.5, most + 0.5), density=True)
left.set(xlabel="species that live there", ylabel="probability", title="Seen and not seen")
low, middle, high = result["posterior"]["sites"].quantile([0.05, 0.5, 0.95], dim=("chain", "draw")).to_numpy()
at = places + rng.uniform(-0.2, 0.2, len(seen))
right.errorbar(at, middle, [middle - low, high - middle], fmt="o", ms=4, lw=0.8)
right.plot([0, 20], [0, 20], color="0.6", lw=0.8, ls="--")
right.set(xlabel="sites where it was seen", ylabel="sites where it lives, 90 %", title="Species")

# %% tags=["script"]
save(figure, arguments.out / "butterflies.png")

"""Monotone regression trees: who in Bangladesh changes to a safe well, where only the directions of effects are known."""
# Subject: Social science
# Keywords: BART; monotone regression; isotonic regression; classification; regression trees; monotonic constraints

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # Safe wells: directions that are known, forms that are not
#
# **Question.** More arsenic in a family's well makes a change likelier, and a longer way to the next safe well less
# likely. Does the probability of a change bend, and where?
#
# **Data.** 3,020 households of Araihazar, Bangladesh (Gelman and Hill 2006, chapter 5), taken from posteriordb; BSD
# 3-Clause.

# %%
import numpy as np

import consilience as pm

households = pm.load_data("wells")
switched = households["switched"].to_numpy()
X = households[["arsenic", "metres"]]
print(f"{len(X)} households, {switched.mean():.0%} changed")

# %% [markdown]
# ## Model
#
# The log odds are a sum of 20 small trees. `monotone` says that it rises with arsenic and falls with the way. Each tree
# of each draw does so, and so does their sum.

# %%
with pm.Model(coords={"household": households.index}) as model:
    odds = pm.BART("odds", X, switched, m=20, monotone={"arsenic": 1, "metres": -1}, dims="household")
    pm.Bernoulli("switched", logit_p=odds, observed=switched, dims="household")
    result = pm.sample(tune=500, random_seed=1)

print("status:", result.status)
print(f"share of new trees that are accepted: {result['sample_stats']['accepted'].mean().item():.0%}")

# %% [markdown]
# ## Does the model fit?
#
# Shares of families that changed, in four groups by arsenic and way, beside those that the model predicts.

# %%
predicted = pm.sample_posterior_predictive(result, model=model, random_seed=1)["posterior_predictive"]["switched"]
draws = predicted.stack(sample=("chain", "draw")).transpose("sample", "household").to_numpy()
much, far = (X[name].to_numpy() > X[name].median() for name in ("arsenic", "metres"))
for title, chosen in {
    "little arsenic, near": ~much & ~far,
    "little arsenic, far": ~much & far,
    "much arsenic, near": much & ~far,
    "much arsenic, far": much & far,
}.items():
    low, high = np.quantile(draws[:, chosen].mean(axis=1), [0.05, 0.95])
    print(f"{title}: data {switched[chosen].mean():.0%}, model {low:.0%} to {high:.0%}")

# %% [markdown]
# ## Answer


# %%
def chance(arsenic: np.ndarray, metres: np.ndarray) -> np.ndarray:
    """Probabilities of a change, (draw, row)."""
    rows = np.column_stack([arsenic, metres])
    return 1 / (1 + np.exp(-pm.bart.predict(result, rows, model=model).reshape(-1, len(rows))))


at = chance(np.array([0.6, 1.0, 2.0, 4.0]), np.full(4, 30.0))
for step, (a, b) in enumerate(((0.6, 1.0), (1.0, 2.0), (2.0, 4.0))):
    rise = 100 * (at[:, step + 1] - at[:, step])
    print(f"30 m away, from {a} to {b} of arsenic: {rise.mean():.0f} ± {rise.std():.0f} points more change wells.")

# %% tags=["script"]
print(time_spent(result))
if arguments.no_plots:
    raise SystemExit

# %% [markdown]
# ## Probability of a change

# %% alt="Curves of the probability of changing the well over arsenic: they rise steeply at first, then level off"
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
arsenic = np.linspace(0.5, 6.0, 80)
for color, metres in enumerate((10, 50, 120)):
    found = chance(arsenic, np.full(len(arsenic), float(metres)))
    axes.fill_between(arsenic, *np.quantile(found, [0.05, 0.95], axis=0), color=f"C{color}", alpha=0.25, lw=0)
    axes.plot(arsenic, found.mean(axis=0), color=f"C{color}", label=f"{metres} m to a safe well")
axes.set(xlabel="arsenic in hundreds of micrograms per litre", ylabel="probability of a change", ylim=(0, 1))
axes.legend(loc="lower right")

# %% tags=["script"]
save(figure, arguments.out / "wells_trees.png")

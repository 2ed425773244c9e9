"""Missing data: brain weights of mammals that nobody measured are imputed with the rest of the model."""
# Subject: Biology
# Keywords: missing data; imputation; missing values; regression

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # Missing brains
#
# **Question.** Do mammals with larger brains, of the same body, sleep less? A third of the brains were never weighed.
#
# **Data.** 83 mammals (Savage and West 2007), taken from plotnine, which has them from ggplot2; MIT.

# %%
import warnings

import numpy as np
import pandas as pd

import consilience as pm
from consilience.errors import ImputationWarning

mammals = pm.load_data("mammals")
share = mammals["sleep_total"].to_numpy() / 24
sleep = np.log(share / (1 - share))
body = np.log10(mammals["bodywt"].to_numpy())
brain = np.log10(mammals["brainwt"].to_numpy())  # NaN where missing
order, orders = pd.factorize(mammals["order"])
missing = np.isnan(brain)
print(f"{len(mammals)} mammals of {len(orders)} orders, {missing.sum()} without a brain weight")

# %% [markdown]
# ## Model
#
# Brains follow bodies, on the log scale by a line, on which the orders of mammals have their places. Sleep follows
# both, and the order. Missing brains are variables of the model: what is known of them, by body, order and sleep,
# enters the answer with its uncertainty. Leaving their animals out would throw away 27 measurements of sleep.


# %%
def model_of(chosen: np.ndarray) -> pm.Model:
    """Sleep by body, brain and order, of some animals."""
    with pm.Model(coords={"order": orders, "animal": mammals["name"][chosen]}) as model:
        a, slope = pm.Normal("a", -2, 1), pm.Normal("slope", 0.75, 0.25)
        spread, sigma = pm.HalfNormal("spread", 0.3), pm.HalfNormal("sigma", 0.3)
        z = pm.Normal("z", 0, 1, dims="order")
        mean = a + slope * body[chosen] + spread * z[order[chosen]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ImputationWarning)  # that brains are missing is the point
            weight = pm.Normal("brain", mean, sigma, observed=brain[chosen], dims="animal")
        level, of_body, of_brain = pm.Normal("level", 0, 1), pm.Normal("of_body", 0, 1), pm.Normal("of_brain", 0, 1)
        scatter, of_order = pm.HalfNormal("scatter", 1), pm.HalfNormal("of_order", 1)
        w = pm.Normal("w", 0, 1, dims="order")
        # Brains count from what a body of that weight has on average: the two effects can be told apart.
        excess = weight - (-2 + 0.75 * body[chosen])
        center = level + of_body * body[chosen] + of_brain * excess + of_order * w[order[chosen]]
        pm.Normal("sleep", center, scatter, observed=sleep[chosen], dims="animal")
    return model


results = {}
for name, chosen in {"all animals": np.ones(len(mammals), bool), "brains known": ~missing}.items():
    with model_of(chosen) as model:
        results[name] = pm.sample(target_accept=0.95, random_seed=1)
        predicted = pm.sample_posterior_predictive(results[name], var_names=["sleep"], random_seed=1)
    print(name)
    print(pm.summary(results[name], var_names=["slope", "sigma", "of_body", "of_brain", "of_order", "scatter"]))
    print("status:", results[name].status)
    low, high = predicted["posterior_predictive"]["sleep"].quantile([0.05, 0.95], dim=("chain", "draw")).to_numpy()
    inside = ((low <= sleep[chosen]) & (sleep[chosen] <= high)).mean()
    print(f"90 % predictive intervals hold {inside:.0%} of the hours of sleep")

# %% [markdown]
# ## Answer

# %%
posterior = results["all animals"]["posterior"]
for name, result in results.items():
    effect = result["posterior"]["of_brain"]
    print(
        f"{name}: effect of a brain ten times as heavy {effect.mean().item():.2f} ± {effect.std().item():.2f}, below "
        f"0 with probability {(effect < 0).mean().item():.0%}"
    )
found = posterior["brain"].to_numpy()[..., missing]
grams = 1000 * 10**found
tiger = list(mammals["name"][missing]).index("Tiger")
low, high = np.quantile(grams[..., tiger], [0.05, 0.95])
print(f"The tiger's brain, which was not weighed, has {low:.0f} to {high:.0f} g (90 %).")

# %% tags=["script"]
print(time_spent(results["all animals"]))
if arguments.no_plots:
    raise SystemExit

# %% [markdown]
# ## Brains, weighed and found

# %% alt="Brain over body weight on log scales: weighed brains along a line, intervals of missing ones among them"
import matplotlib.pyplot as plt

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
left.plot(10**body, 1000 * 10**brain, "o", ms=4, color="black", label="weighed")
low, middle, high = np.quantile(grams, [0.05, 0.5, 0.95], axis=(0, 1))
left.errorbar(
    10 ** body[missing], middle, [middle - low, high - middle], fmt="o", ms=3, lw=0.8, color="C1", label="found, 90 %"
)
left.set(xscale="log", yscale="log", xlabel="body, kg", ylabel="brain, g", title="Brains")
left.legend()
for name, result in results.items():
    right.hist(result["posterior"]["of_brain"].to_numpy().ravel(), bins=50, density=True, alpha=0.5, label=name)
right.axvline(0, color="0.5", lw=0.8)
right.set(
    xlabel="effect of a brain ten times as heavy on the log odds of sleep", ylabel="density", title="Brains and sleep"
)
right.legend()

# %% tags=["script"]
save(figure, arguments.out / "mammals.png")

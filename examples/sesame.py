"""Instrumental variable: an experiment in which only encouragement was randomized (Bogatz and Ball 1971)."""
# Subject: Education
# Keywords: instrumental variable; causal inference; encouragement design; treatment effect; noncompliance

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # An instrument: encouraged to watch
#
# **Question.** How many letters more do children know who watch Sesame Street, if those who watch differ from those who
# do not in ways that nobody wrote down?
#
# **Data.** 240 children: a test of letters, whether they watched, and whether they had been encouraged to, which was
# drawn by lot (Bogatz and Ball 1971; Gelman and Hill 2006), taken from posteriordb; BSD 3-Clause.

# %%
import numpy as np

import consilience as pm
import consilience.tensor as pt

children = pm.load_data("sesame")
letters = children["letters"].to_numpy(float)
watched, encouraged = children["watched"].to_numpy(), children["encouraged"].to_numpy()
print(children.groupby("encouraged")[["watched", "letters"]].mean().round(2).to_string())

# %% [markdown]
# ## Two models
#
# The simple one compares those who watched with those who did not. The other one has both equations: who watches, by
# encouragement and an inclination; and the letters, by watching and something else, which may go together with the
# inclination. Inclinations are standard normal, and a child watches if its own lies above a threshold. Given that it
# watched or not, what is left of the letters is normal, and so is the inclination given the letters: the probability of
# watching follows, and no inclination has to be drawn.

# %%
with pm.Model(coords={"child": children.index}) as simple:
    level, effect = pm.Normal("level", 25, 10), pm.Normal("effect", 0, 10)
    sigma = pm.HalfNormal("sigma", 15)
    pm.Normal("letters", level + effect * watched, sigma, observed=letters, dims="child")
    of_simple = pm.sample(random_seed=1)

with pm.Model(coords={"child": children.index}) as instrument:
    level, effect = pm.Normal("level", 25, 10), pm.Normal("effect", 0, 10)
    sigma = pm.HalfNormal("sigma", 15)
    threshold, push = pm.Normal("threshold", 0, 1), pm.Normal("push", 0, 1)
    rho = pm.Uniform("rho", -1, 1)  # of the inclination with what else makes letters
    mean = level + effect * watched
    pm.Normal("letters", mean, sigma, observed=letters, dims="child")
    z = (letters - mean) / sigma
    inclined = (push * encouraged - threshold + rho * z) / pt.sqrt(1 - rho**2)
    pm.Bernoulli("watched", pm.math.invprobit(inclined), observed=watched, dims="child")
    result = pm.sample(random_seed=1)

for name, one in {"simple": of_simple, "instrument": result}.items():
    print(name)
    print(pm.summary(one))
    print("status:", one.status)

# %% [markdown]
# ## Does it agree with the lot?
#
# Encouraged children are compared with the others, whatever they did: the difference in letters over the difference in
# the share that watches estimates the effect, too, without any model of inclinations.

# %%
lot = encouraged == 1
difference = letters[lot].mean() - letters[~lot].mean()
share = watched[lot].mean() - watched[~lot].mean()
print(f"encouraged: {difference:.1f} letters more, {share:.0%} more watch; ratio {difference / share:.1f}")
draws = result["posterior"].dataset.stack(sample=("chain", "draw"))
rng = np.random.default_rng(1)
count = draws.sizes["sample"]
inclination = rng.normal(size=(count, letters.size))
r = draws["rho"].to_numpy()[:, None]
rest = r * inclination + np.sqrt(1 - r**2) * rng.normal(size=inclination.shape)
watches = inclination > draws["threshold"].to_numpy()[:, None] - draws["push"].to_numpy()[:, None] * encouraged
made = (
    draws["level"].to_numpy()[:, None]
    + draws["effect"].to_numpy()[:, None] * watches
    + draws["sigma"].to_numpy()[:, None] * rest
)
for what, statistic, seen in [
    (
        "letters of those who watched less those of the others",
        [m[w].mean() - m[~w].mean() for m, w in zip(made, watches, strict=True)],
        letters[watched == 1].mean() - letters[watched == 0].mean(),
    ),
    ("letters of the encouraged less those of the others", made[:, lot].mean(1) - made[:, ~lot].mean(1), difference),
]:
    low, high = np.quantile(statistic, [0.05, 0.95])
    print(f"{what}: data {seen:.1f}, predicted {low:.1f} to {high:.1f}")

# %% [markdown]
# ## Answer

# %%
effects = {"simple": of_simple["posterior"]["effect"], "instrument": result["posterior"]["effect"]}
for name, effect in effects.items():
    low, high = effect.quantile([0.05, 0.95]).to_numpy()
    print(f"{name}: watching makes {effect.mean().item():.1f} letters (90 %: {low:.1f} to {high:.1f})")
positive = (result["posterior"]["effect"] > 0).mean().item()
print(f"The honest answer is the less sure one: that watching helps at all has a probability of {positive:.0%}.")

# %% tags=["script"]
print(time_spent(result))
if arguments.no_plots:
    raise SystemExit

# %% [markdown]
# ## Both effects

# %% alt="Densities of the effect: narrow and near 13 letters by the simple model, wide and lower with the instrument"
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
for name, effect in effects.items():
    axes.hist(effect.to_numpy().ravel(), bins=np.linspace(-15, 30, 91), density=True, alpha=0.6, label=name)
axes.axvline(difference / share, color="black", ls="--", label="ratio of differences")
axes.set(xlabel="effect of watching, letters", ylabel="density", title="Watched Sesame Street")
axes.legend()

# %% tags=["script"]
save(figure, arguments.out / "sesame.png")

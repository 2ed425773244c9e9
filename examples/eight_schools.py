"""Hierarchical model with partial pooling: coaching in eight schools, a meta-analysis (Rubin 1981)."""
# Subject: Education
# Keywords: eight schools; hierarchical model; partial pooling; meta-analysis; random-effects meta-analysis; shrinkage

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # Eight schools
#
# Coaching was tried in eight schools, and in each its effect on test scores was estimated with a known standard error.
# How large is the effect in each school, if schools are alike to a degree that is to be found out, too?
#
# **Data.** Rubin (1981), sixteen numbers, as in posteriordb; BSD 3-Clause.

# %%
import consilience as pm

coords = {"school": list("ABCDEFGH")}
with pm.Model(coords=coords) as model:
    mu = pm.Normal("mu", 0, 5)
    tau = pm.HalfNormal("tau", 10)
    z = pm.Normal("z", 0, 1, dims="school")
    theta = pm.Deterministic("theta", mu + tau * z, dims="school")
    effects, errors = [28, 8, -3, 7, -1, 1, 18, 12], [15, 10, 16, 11, 9, 11, 10, 18]
    pm.Normal("y", theta, errors, observed=effects, dims="school")
    prior = pm.sample_prior_predictive(random_seed=1)
    result = pm.sample(target_accept=0.95, random_seed=1)
    predictive = pm.sample_posterior_predictive(result, random_seed=1)

print(pm.summary(result, var_names=["mu", "tau", "theta"]))
print("status:", result.status)
spread = {"prior": prior["prior_predictive"]["y"], "posterior": predictive["posterior_predictive"]["y"]}
print("sd of predicted effects:", ", ".join(f"{name} {y.std().item():.1f}" for name, y in spread.items()))

# %% tags=["script"]
print(time_spent(result))
if arguments.no_plots:
    raise SystemExit

# %% [markdown]
# ## The schools side by side

# %% alt="Intervals of the eight effects and of their mean: close together, each within those of the others"
import matplotlib.pyplot as plt

figure = pm.plot_forest(result, var_names=["theta", "mu"], combined=True)
plt.gcf().supxlabel("effect of coaching, points of the test")

# %% tags=["script"]
save(figure, arguments.out / "eight_schools.png")

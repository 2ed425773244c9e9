"""Poisson regression: strengths of 54 football teams from the qualifiers, and the tournament they predict."""
# Subject: Sport
# Keywords: Poisson regression; sports ranking; paired comparison; multilevel model; prediction

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # Attack and defence of football teams
#
# **Question.** Knowing the 239 qualifying matches alone, who should have won the European Championship of 2024, and how
# well are the 51 matches of the tournament predicted?
#
# **Data.** Results of international matches, collected in martj42/international_results; CC0 1.0.

# %%
import numpy as np

import consilience as pm

matches = pm.load_data("euro2024")
teams = sorted(set(matches["home_team"]) | set(matches["away_team"]))
index = {name: place for place, name in enumerate(teams)}
for side in ("home", "away"):
    matches[side] = matches[f"{side}_team"].map(index)
qualifiers, finals = matches[matches["final"] == 0], matches[matches["final"] == 1]
print(len(qualifiers), "qualifiers,", len(finals), "matches of the tournament,", len(teams), "teams")

# %% [markdown]
# ## Model
#
# Goals of a side are Poisson. Their log rate is a level, the side's attack, the other's defence, and an advantage at
# home. Teams are drawn from a population, in which a good attack goes with a good defence: the correlation is found,
# too. Sides that were never beaten, or always, keep finite strengths; Germany, the host, had no qualifiers, and keeps
# the strength of the population.

# %%
goals = qualifiers[["home_score", "away_score"]].to_numpy()
with pm.Model(coords={"team": teams, "skill": ["attack", "defence"], "match": qualifiers.index}) as model:
    home = pm.Data("home", qualifiers["home"].to_numpy())
    away = pm.Data("away", qualifiers["away"].to_numpy())
    at_home = pm.Data("at_home", 1.0 - qualifiers["neutral"].to_numpy())
    level = pm.Normal("level", 0.2, 0.3)
    advantage = pm.Normal("advantage", 0.2, 0.2)
    chol, _, _ = pm.LKJCholeskyCov("skills", n=2, eta=2, sd_dist=pm.HalfNormal.dist(0.5))
    z = pm.Normal("z", 0, 1, dims=("team", "skill"))
    skill = pm.Deterministic("skill_of_team", z @ chol.T, dims=("team", "skill"))
    attack, defence = skill[:, 0], skill[:, 1]
    pm.Poisson(
        "home_goals", pm.math.exp(level + advantage * at_home + attack[home] - defence[away]), observed=goals[:, 0]
    )
    pm.Poisson("away_goals", pm.math.exp(level + attack[away] - defence[home]), observed=goals[:, 1])
    prior = pm.sample_prior_predictive(200, random_seed=1)["prior_predictive"]["home_goals"]
    result = pm.sample(random_seed=1)

print(f"goals of a side, 99 % of them below: prior {np.quantile(prior, 0.99):.0f}, data {np.quantile(goals, 0.99):.0f}")
print(pm.summary(result, var_names=["level", "advantage", "skills_stds"]))
together = result["posterior"]["skills_corr"][..., 0, 1]
print(f"correlation of attack and defence: {together.mean().item():.2f} ± {together.std().item():.2f}")
print("status:", result.status)

# %% [markdown]
# ## Does the model predict matches like these?

# %%
with model:
    predicted = pm.sample_posterior_predictive(result, random_seed=1)["posterior_predictive"]

draws = (predicted["home_goals"].to_numpy() == predicted["away_goals"].to_numpy()).mean(axis=-1)
goalless = ((predicted["home_goals"].to_numpy() + predicted["away_goals"].to_numpy()) == 0).mean(axis=-1)
for what, seen, made in [
    ("draws", (goals[:, 0] == goals[:, 1]).mean(), draws),
    ("matches without a goal", (goals.sum(axis=1) == 0).mean(), goalless),
]:
    low, high = np.quantile(made, [0.05, 0.95])
    print(f"share of {what}: data {seen:.1%}, predicted {low:.1%} to {high:.1%}")

# %% [markdown]
# ## The tournament, which the model has not seen
#
# Each match has a probability of a win, a draw and a defeat. A forecast is worth something if it is better than the
# same three numbers for all matches.

# %%
with model:
    pm.set_data(
        {
            "home": finals["home"].to_numpy(),
            "away": finals["away"].to_numpy(),
            "at_home": 1.0 - finals["neutral"].to_numpy(),
        },
        coords={"match": finals.index},
    )
    ahead = pm.sample_posterior_predictive(result, predictions=True, random_seed=1)["predictions"]

margin = (ahead["home_goals"].to_numpy() - ahead["away_goals"].to_numpy()).reshape(-1, len(finals))
chance = np.array([(margin > 0).mean(0), (margin == 0).mean(0), (margin < 0).mean(0)])
seen = np.sign(finals["home_score"] - finals["away_score"]).to_numpy()
of_seen = chance[1 - seen, np.arange(len(finals))]
same = np.bincount(1 - np.sign(goals[:, 0] - goals[:, 1]), minlength=3) / len(goals)
print(f"mean log score: model {np.log(of_seen).mean():.3f}, the same for all {np.log(same[1 - seen]).mean():.3f}")

# %% [markdown]
# ## Answer

# %%
posterior = result["posterior"]
strength = posterior["skill_of_team"].sum("skill").sel(team=sorted(set(finals["home_team"]) | set(finals["away_team"])))
best = strength.idxmax("team").to_numpy().ravel()
names, counts = np.unique(best, return_counts=True)
leaders = ", ".join(f"{names[i]} {counts[i] / best.size:.0%}" for i in np.argsort(-counts)[:4])
gain = np.exp(posterior["advantage"].to_numpy())
print(
    f"The strongest of the 24 teams: {leaders}. A side at home scores {gain.mean():.2f} ± {gain.std():.2f} times as "
    "much."
)

# %% tags=["script"]
print(time_spent(result))
if arguments.no_plots:
    raise SystemExit

# %% [markdown]
# ## The teams of the tournament

# %% alt="Attack over defence of 24 teams with intervals: Portugal, France and Spain lie in the upper right"
import matplotlib.pyplot as plt

of_finals = posterior["skill_of_team"].sel(team=strength["team"])
low, middle, high = of_finals.quantile([0.25, 0.5, 0.75], dim=("chain", "draw")).to_numpy()
figure, axes = plt.subplots(figsize=(9, 6), layout="constrained")
axes.errorbar(
    middle[:, 1],
    middle[:, 0],
    xerr=[middle[:, 1] - low[:, 1], high[:, 1] - middle[:, 1]],
    yerr=[middle[:, 0] - low[:, 0], high[:, 0] - middle[:, 0]],
    fmt="o",
    ms=3,
    lw=0.6,
)
for name, (y, x) in zip(strength["team"].to_numpy(), middle, strict=True):
    axes.annotate(name, (x, y), xytext=(3, 3), textcoords="offset points", fontsize=8)
axes.set(xlabel="defence, log scale", ylabel="attack, log scale", title="Skills after the qualifiers, 50 % intervals")

# %% tags=["script"]
save(figure, arguments.out / "football.png")

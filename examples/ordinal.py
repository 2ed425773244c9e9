"""Ordinal regression: seven ordered answers on party and ideology, and what moves people along the scale."""
# Subject: Social science
# Keywords: ordinal regression; ordered logit; Likert; proportional odds

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # Answers in an order
#
# **Question.** How do age, schooling and income go with the party that Americans felt near to in 1996, between strong
# Democrats and strong Republicans, people of the same ideology compared?
#
# **Data.** 944 people of the American National Election Study of 1996, taken from statsmodels, which names it public
# domain.

# %%
import numpy as np
import pandas as pd

import consilience as pm
from consilience.distributions import transforms

people = pm.load_data("anes96")
names = ["strong Dem.", "weak Dem.", "leans Dem.", "independent", "leans Rep.", "weak Rep.", "strong Rep."]
party = people["party"].to_numpy()
X = pd.DataFrame(
    {
        "age": (people["age"] - 47) / 16,
        "school": (people["school"] - 4.5) / 1.6,
        "income": (people["income"] - 16) / 6,
        "ideology": (people["left_right"] - 4.3) / 1.4,
    }
)
print("share of each answer:", " ".join(f"{s:.0%}" for s in np.bincount(party, minlength=7) / len(party)))

# %% [markdown]
# ## Model
#
# Behind the seven answers stands one number, nearness to Republicans, with a logistic spread around what the four
# columns say. Six cuts in an order make answers of it. All columns count standard deviations.

# %%
start = np.linspace(-2, 2, 6)
with pm.Model(coords={"column": X.columns, "cut": range(6), "person": people.index}) as model:
    b = pm.Normal("b", 0, 1, dims="column")
    cuts = pm.Normal("cuts", start, 1.5, transform=transforms.ordered, initval=start, dims="cut")
    eta = X.to_numpy() @ b
    pm.OrderedLogistic("party", eta=eta, cutpoints=cuts, observed=party, dims="person", compute_p=False)
    result = pm.sample(random_seed=1)
    pm.compute_log_likelihood(result)
    predicted = pm.sample_posterior_predictive(result, random_seed=1)["posterior_predictive"]["party"].to_numpy()

print(pm.summary(result))
print("status:", result.status)

# %% [markdown]
# ## Does the model predict answers like these?
#
# Shares of the answers in the lower and the upper half of incomes.

# %%
rich = people["income"].to_numpy() > people["income"].median()
for what, half in {"lower": ~rich, "upper": rich}.items():
    made = np.array([(predicted[..., half] == k).mean(axis=-1).ravel() for k in range(7)])
    low, high = np.quantile(made, [0.025, 0.975], axis=1)
    seen = np.bincount(party[half], minlength=7) / half.sum()
    outside = [names[k] for k in range(7) if not low[k] <= seen[k] <= high[k]]
    print(f"{what} half: outside of the 95 % intervals: {', '.join(outside) or 'none'}")

# %% [markdown]
# ## Would numbers do?
#
# A linear regression takes the answers as numbers from 0 to 6, between which distances are equal. As a discrete
# distribution with the same support, the normal one rounded, it can be compared.

# %%
with pm.Model(coords={"column": X.columns, "person": people.index}) as linear:
    level, sigma = pm.Normal("level", 3, 2), pm.HalfNormal("sigma", 2)
    mu = level + X.to_numpy() @ pm.Normal("b", 0, 1, dims="column")
    edges = np.arange(0.5, 6)
    pm.OrderedProbit("party", eta=mu / sigma, cutpoints=edges / sigma, observed=party, dims="person", compute_p=False)
    equal = pm.sample(random_seed=1)
    pm.compute_log_likelihood(equal)

print("status:", equal.status)

# %% [markdown]
# ## Answer

# %%
odds = np.exp(result["posterior"]["b"])
for column, unit in {
    "age": "16 years",
    "school": "1.6 levels of schooling",
    "income": "a quarter of the income scale",
}.items():
    low, middle, high = odds.sel(column=column).quantile([0.05, 0.5, 0.95]).to_numpy()
    print(
        f"{unit} more multiply the odds of an answer nearer to Republicans by {middle:.2f} (90 %: {low:.2f} to "
        f"{high:.2f})."
    )

# %% tags=["script"]
print(time_spent(result))
if arguments.no_plots:
    raise SystemExit

# %%
print(pm.compare({"cuts": result, "equal distances": equal})[["elpd", "se", "elpd_diff", "dse"]])

# %% [markdown]
# ## Answers by ideology

# %% alt="Shares of the seven answers over ideology, stacked: Democrats on the left end, Republicans on the right end"
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
ideology = np.linspace(1, 7, 61)
eta = result["posterior"]["b"].sel(column="ideology").to_numpy()[..., None, None] * (ideology[:, None] - 4.3) / 1.4
below = 1 / (1 + np.exp(eta - result["posterior"]["cuts"].to_numpy()[:, :, None, :]))
shares = np.diff(below.mean(axis=(0, 1)), axis=1, prepend=0, append=1)
colors = plt.get_cmap("RdBu_r")(np.linspace(0.05, 0.95, 7))
axes.stackplot(ideology, shares.T, labels=names, colors=colors)
axes.set(xlabel="ideology, 1 liberal to 7 conservative", ylabel="share", xlim=(1, 7), ylim=(0, 1))
axes.set_title("Mean age, schooling and income")
axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), reverse=True)

# %% tags=["script"]
save(figure, arguments.out / "ordinal.png")

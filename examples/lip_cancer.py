"""Disease mapping: lip cancer in 56 districts of Scotland, with a spatial random effect (Clayton and Kaldor 1987)."""
# Subject: Medicine
# Keywords: CAR; ICAR; BYM; spatial; disease mapping; Poisson regression; random effects

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # Lip cancer in Scotland
#
# **Question.** In which districts is the risk high, and how much of it goes with work outdoors?
#
# **Data.** Cases from 1975 to 1980, cases expected for people of these ages, per cent of men who work in agriculture,
# fishing and forestry, and the neighbours of each district (Clayton and Kaldor 1987), taken from
# stan-dev/example-models; BSD 3-Clause.

# %%
import numpy as np

import consilience as pm

districts = pm.load_data("lip_cancer")
cases, expected = districts["cases"].to_numpy(), districts["expected"].to_numpy()
outdoor = districts["outdoor"].to_numpy() / 10  # tens of per cent
W = np.zeros((len(districts), len(districts)), int)
for row, neighbours in enumerate(districts["neighbours"]):
    W[row, np.array(neighbours.split(), int) - 1] = 1
print(
    len(districts),
    "districts,",
    W.sum() // 2,
    "pairs of neighbours; observed over expected from",
    f"{(cases / expected).min():.1f} to {(cases / expected).max():.1f}",
)

# %% [markdown]
# ## Model
#
# Raw ratios of small districts are noise. The log risk of a district is a level, the effect of work outdoors, and what
# else there is: one part that neighbours share and one of its own. A total spread is divided between the two by a share
# (Riebler and others 2016); the field is scaled so that its typical variance is 1.

# %%
Q = np.diag(W.sum(axis=1)) - W
scale = np.exp(np.log(np.diag(np.linalg.pinv(Q))).mean())  # of the variances of the field
with pm.Model(coords={"district": districts.index + 1}) as model:
    level = pm.Normal("level", 0, 1)
    effect = pm.Normal("effect", 0, 0.5)
    spread = pm.HalfNormal("spread", 1)
    share = pm.Beta("share", 1, 1)  # of the variance, common to neighbours
    field = pm.ICAR("field", W=W, dims="district")
    own = pm.Normal("own", 0, 1, dims="district")
    rest = spread * (pm.math.sqrt(share / scale) * field + pm.math.sqrt(1 - share) * own)
    risk = pm.Deterministic("risk", pm.math.exp(level + effect * outdoor + rest), dims="district")
    pm.Poisson("cases", expected * risk, observed=cases, dims="district")
    result = pm.sample(target_accept=0.9, random_seed=1)

print(pm.summary(result, var_names=["level", "effect", "spread", "share"]))
print("status:", result.status)

# %% [markdown]
# ## Does the model predict data like these?
#
# An intrinsic autoregression is no proper prior, so there is nothing to draw before the data. After them:

# %%
with model:
    predicted = pm.sample_posterior_predictive(result, random_seed=1)["posterior_predictive"]["cases"].to_numpy()

for what, statistic in [
    ("districts without a case", lambda y: (y == 0).sum(axis=-1)),
    ("most cases of a district", lambda y: y.max(axis=-1)),
    ("correlation with the mean of the neighbours", lambda y: correlation(y / expected)),
]:

    def correlation(ratio: np.ndarray) -> np.ndarray:
        """Of the ratios of districts with those of their neighbours."""
        near = ratio @ (W / W.sum(axis=1, keepdims=True)).T
        a, b = ratio - ratio.mean(-1, keepdims=True), near - near.mean(-1, keepdims=True)
        return (a * b).mean(-1) / np.sqrt((a**2).mean(-1) * (b**2).mean(-1))

    low, high = np.quantile(statistic(predicted), [0.05, 0.95])
    print(f"{what}: data {statistic(cases):.3g}, predicted {low:.2g} to {high:.2g}")

# %% [markdown]
# ## Answer

# %%
posterior = result["posterior"]
ratio = np.exp(posterior["effect"])
low, high = ratio.quantile([0.05, 0.95]).to_numpy()
sure = (posterior["risk"] > 1.5).mean(("chain", "draw")).to_numpy()
print(
    f"Ten per cent more men at work outdoors go with {ratio.mean().item():.2f} times the risk (90 %: {low:.2f} to "
    f"{high:.2f})."
)
print(f"{(sure > 0.95).sum()} districts have more than 1.5 times the expected risk with a probability above 95 %.")

# %% tags=["script"]
print(time_spent(result))
if arguments.no_plots:
    raise SystemExit

# %% [markdown]
# ## Raw ratios and risks

# %% alt="Risk of each district over its raw ratio: where few cases are expected it is drawn towards the others"
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(8, 4.8), layout="constrained")
low, middle, high = posterior["risk"].quantile([0.05, 0.5, 0.95], dim=("chain", "draw")).to_numpy()
raw = cases / expected
axes.vlines(raw, low, high, color="0.8", lw=1, zorder=0)
points = axes.scatter(raw, middle, c=expected, norm="log", s=30, cmap="viridis", edgecolor="black", lw=0.4)
axes.plot([0, 6.5], [0, 6.5], color="0.5", lw=0.8, ls="--", label="no pooling")
axes.axhline(1, color="0.5", lw=0.8, ls=":", label="Scotland")
figure.colorbar(points, label="expected cases")
axes.set(xlabel="observed over expected cases", ylabel="risk, 90 % interval", title="Districts", ylim=(0, 7.5))
axes.legend(loc="upper left")

# %% tags=["script"]
save(figure, arguments.out / "lip_cancer.png")

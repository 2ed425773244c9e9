"""An exoplanet: the motion of a star, and the two planets that pull it (Fulton and others 2016)."""
# Subject: Physics
# Keywords: exoplanet; radial velocity; astronomy; Kepler orbit; multimodal

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # Planets of HD 164922
#
# **Question.** What do twenty years of a star's velocity say of the planets around it: their periods, how strongly they
# pull, and is the orbit of the outer one a circle?
#
# **Data.** 401 velocities by three instruments at two telescopes, metres per second (Fulton and others 2016), taken
# from radvel; MIT.

# %%
import numpy as np
import pandas as pd

import consilience as pm
import consilience.tensor as pt

velocities = pm.load_data("hd164922")
instrument, names = pd.factorize(velocities["telescope"])
day = velocities["day"].to_numpy() - 4000.0
speed, error = velocities["velocity"].to_numpy(), velocities["error"].to_numpy()
print(
    len(day),
    "velocities in",
    f"{np.ptp(day) / 365.25:.0f} years; sd {speed.std():.1f} m/s, errors about {np.median(error):.1f} m/s",
)

# %% [markdown]
# ## Model
#
# A planet on a circle moves its star as a sine of its period. If its orbit is an ellipse of a small eccentricity e, a
# second sine of half the period is added, with e times the strength, to first order; it is allowed for the outer
# planet. Instruments have zero points of their own, and a jitter that the stated errors leave out. Periods are known to
# half a per cent from a periodogram.


# %%
def model_of(planets: int) -> pm.Model:
    """Velocities by one planet or two."""
    with pm.Model(coords={"instrument": names, "night": velocities.index, "part": ["cos", "sin"]}) as model:
        zero = pm.Normal("zero", 0, 5, dims="instrument")
        jitter = pm.HalfNormal("jitter", 3, dims="instrument")
        mean = zero[instrument]
        for planet, about in [("b", 1200.0), ("c", 75.8)][:planets]:
            period = pm.LogNormal(f"period_{planet}", np.log(about), 0.005)
            parts = pm.Normal(f"parts_{planet}", 0, 5, dims="part")
            strength = pm.Deterministic(f"strength_{planet}", pt.sqrt(pt.sum(parts**2)))
            phase = 2 * np.pi * day / period
            mean = mean + parts[0] * pt.cos(phase) + parts[1] * pt.sin(phase)
            if planet == "b":
                double = pm.Normal("double", 0, 1, dims="part")
                pm.Deterministic("eccentricity_b", pt.sqrt(pt.sum(double**2)) / strength)
                mean = mean + double[0] * pt.cos(2 * phase) + double[1] * pt.sin(2 * phase)
        sigma = pt.sqrt(error**2 + jitter[instrument] ** 2)
        pm.Normal("velocity", mean, sigma, observed=speed, dims="night")
    return model


models = {"one planet": model_of(1), "two planets": model_of(2)}
results = {}
for name, model in models.items():
    with model:
        prior = pm.sample_prior_predictive(200, random_seed=1)["prior_predictive"]["velocity"].std("night")
        results[name] = pm.sample(random_seed=1)
        pm.compute_log_likelihood(results[name])
    low, high = prior.quantile([0.05, 0.95]).to_numpy()
    print(f"{name}: sd of the velocities before the data {low:.0f} to {high:.0f} m/s")
    shown = [v for v in results[name]["posterior"].data_vars if v.startswith(("period", "strength", "ecc", "jitter"))]
    print(pm.summary(results[name], var_names=shown))
    print("status:", results[name].status)

# %% [markdown]
# ## Does the model leave something periodic?
#
# The largest share of the variance of what is left that one sine of a period between 20 and 200 days explains, in the
# data and in data that the model predicts.

# %%
trial = 2 * np.pi * day / np.geomspace(20, 200, 600)[:, None]


def power(rest: np.ndarray) -> np.ndarray:
    """Largest share of the variance that a sine explains."""
    rest = rest - rest.mean(axis=-1, keepdims=True)
    both = (rest @ np.cos(trial).T) ** 2 + (rest @ np.sin(trial).T) ** 2
    return 2 * both.max(axis=-1) / len(day) / (rest**2).sum(axis=-1)


for name, model in models.items():
    thinned = results[name]["posterior"].isel(draw=slice(None, None, 8))
    with model:
        drawn = pm.sample_posterior_predictive(thinned, random_seed=1)["posterior_predictive"]["velocity"]
    center = drawn.mean(("chain", "draw")).to_numpy()
    low, high = np.quantile(power(drawn.to_numpy().reshape(-1, len(day)) - center), [0.05, 0.95])
    print(f"{name}: {power(speed - center):.1%} of what is left; predicted {low:.1%} to {high:.1%}")

# %% [markdown]
# ## Answer
#
# With two planets more is left than noise leaves: there may be others, which these two do not explain.

# %%
posterior = results["two planets"]["posterior"]
for planet in "bc":
    period, strength = posterior[f"period_{planet}"], posterior[f"strength_{planet}"]
    print(
        f"Planet {planet}: a period of {period.mean().item():.2f} ± {period.std().item():.2f} days, a pull of", end=" "
    )
    print(f"{strength.mean().item():.2f} ± {strength.std().item():.2f} m/s")
low, high = posterior["eccentricity_b"].quantile([0.05, 0.95]).to_numpy()
print(f"The eccentricity of the outer one lies between {low:.2f} and {high:.2f} (90 %).")

# %% tags=["script"]
print(time_spent(results["two planets"]))
if arguments.no_plots:
    raise SystemExit

# %%
both = pm.compare(results, models=models, random_seed=1)
print(both[["elpd", "se", "elpd_diff", "dse"]])

# %% [markdown]
# ## Both planets

# %% alt="Velocities over the phase of each planet, the other one taken off: one wave of 7 m/s, one of 2 m/s"
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(11, 4.3), layout="constrained", sharey=True)
mean = {v: posterior[v].mean(("chain", "draw")).to_numpy() for v in posterior.data_vars}
zero = mean["zero"][instrument]


def wave(planet: str, t: np.ndarray) -> np.ndarray:
    """Pull of one planet by the means of the posterior."""
    phase = 2 * np.pi * t / mean[f"period_{planet}"]
    turned = np.array([np.cos(phase), np.sin(phase)])
    double = np.array([np.cos(2 * phase), np.sin(2 * phase)]) if planet == "b" else 0 * turned
    return mean[f"parts_{planet}"] @ turned + mean["double"] @ double


for plot, planet, other in zip(axes, "bc", "cb", strict=True):
    period = mean[f"period_{planet}"]
    rest = speed - zero - wave(other, day)
    for i, label in enumerate(names):
        one = instrument == i
        plot.errorbar(
            day[one] % period, rest[one], error[one], fmt="o", ms=2, lw=0.5, alpha=0.6, label=f"instrument {label}"
        )
    at = np.linspace(0, period, 200)
    plot.plot(at, wave(planet, at), color="black", lw=2)
    plot.set(xlabel=f"day of {period:.1f}", title=f"planet {planet}")
axes[0].set_ylabel("velocity, m/s")
axes[0].legend()

# %% tags=["script"]
save(figure, arguments.out / "exoplanet.png")

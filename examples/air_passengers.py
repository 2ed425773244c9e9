"""Time series forecasting: airline passengers by a structural model with trend and season, and by a seasonal ARIMA."""
# Subject: Economics
# Keywords: time series; forecasting; seasonality; structural time series; SARIMA; ARIMA

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # How many passengers will fly in the next two years?
#
# **Question.** Airlines counted passengers from 1949 to 1958. How many will there be in each month of 1959 and 1960,
# and how sure can we be?
#
# **Data.** Passengers of international airlines, thousands a month (Box and Jenkins 1976, series G; counts, which are
# facts and in the public domain). The last two years are held out. Two months are removed, to show what happens to
# gaps.

# %%
import numpy as np
import pandas as pd

import consilience as pm
from consilience import statespace as ss

table = pm.load_data("air_passengers")
months = pd.PeriodIndex(table["month"], freq="M").to_timestamp()
passengers = pd.Series(np.log(table["passengers"].to_numpy(float)), months)
known, later = passengers.iloc[:-24].copy(), passengers.iloc[-24:]
known.iloc[[40, 41]] = np.nan

# %% [markdown]
# ## Two models
#
# The first model is a sum: a level with a trend, a season of twelve months that may change slowly, and noise. The
# second is the seasonal ARIMA of Box and Jenkins. Both are state spaces: a Kalman filter integrates the states out,
# nothing is known of the first ones, and a handful of parameters is left to sample. The gap is filtered, and adds no
# variables.

# %%
structural = ss.LevelTrend(order=2) + ss.TimeSeasonality(12) + ss.MeasurementError()
arima = ss.SARIMAX(order=(0, 1, 1), seasonal_order=(0, 1, 1, 12))
results, forecasts = {}, {}
for name, space in {"structural": structural, "ARIMA": arima}.items():
    with pm.Model():
        space.build_statespace_graph(known)
        results[name] = pm.sample(random_seed=1)
    print(name)
    print(pm.summary(results[name]))
    print("status:", results[name].status)
    forecasts[name] = space.forecast(results[name], 24, random_seed=1)

# %% [markdown]
# ## Do the residuals look like noise?
#
# One-step residuals in units of their standard deviations should be independent and have variance 1.

# %%
found = structural.sample_conditional_posterior(results["structural"], random_seed=1)
residuals = found["residuals"].mean(("chain", "draw")).to_numpy()[13:, 0]
residuals = residuals[np.isfinite(residuals)]
print(
    f"variance {residuals.var():.2f}, correlation of neighbours {np.corrcoef(residuals[1:], residuals[:-1])[0, 1]:.2f}"
)

# %% [markdown]
# ## Answer
#
# Both models are judged by the two years that they did not see.

# %%
for name, forecast in forecasts.items():
    draws = forecast["forecast_observed"].stack(sample=("chain", "draw"))[:, 0]
    low, high = draws.quantile([0.05, 0.95], "sample").to_numpy()
    error = np.abs(np.exp(draws.median("sample").to_numpy() - later.to_numpy()) - 1).mean()
    inside = ((later >= low) & (later <= high)).sum()
    print(f"{name}: {error:.1%} off on average, {inside} of 24 months within intervals of 90 %.")
draws = forecasts["structural"]["forecast_observed"].stack(sample=("chain", "draw"))[-6, 0]
low, high = np.exp(draws.quantile([0.05, 0.95]).to_numpy())
print(f"July 1960: {low:.0f} to {high:.0f} thousand passengers; {np.exp(later.iloc[-6]):.0f} thousand came.")

# %% tags=["script"]
print(time_spent(results["structural"]))
if arguments.no_plots:
    raise SystemExit

# %% alt="Logarithm of air passengers from 1949 to 1958, the forecast of two years with intervals, and what came"
import matplotlib.pyplot as plt

figure, (above, below) = plt.subplots(2, figsize=(8, 6), constrained_layout=True)
structural.plot_forecast(forecasts["structural"], ax=above)
above.plot(later, ".", color="C1", label="held out")
above.set_ylabel("log thousand passengers")
parts = found["components"].mean(("chain", "draw"))
for name in parts["component"].to_numpy():
    values = parts.sel(component=name)
    below.plot(known.index, values - values.mean(), label=str(name))
below.set_ylabel("component, around its mean")
below.legend()

# %% tags=["script"]
save(figure, arguments.out / "air_passengers.png")

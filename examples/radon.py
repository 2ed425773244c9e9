"""Radon in 919 houses of 85 counties: intercept and floor effect vary by county (Gelman and Hill 2006).

The uranium of a county's soil predicts its intercept. Counties with few houses borrow from the others.
"""

import json
import time
from pathlib import Path

begin = time.perf_counter()

import numpy as np

import consilience as pm

imported = time.perf_counter()

DATA = Path(__file__).parent / "data" / "radon_mn.json"


def build_model() -> pm.Model:
    """Log radon of each house, given its county and its floor of measurement (0 basement, 1 above)."""
    data = {name: np.asarray(values) for name, values in json.loads(DATA.read_text(encoding="utf-8")).items()}
    county = data["county_idx"] - 1
    uranium = data["log_uppm"][np.unique(county, return_index=True)[1]]

    coords = {"county": np.arange(1, data["J"] + 1), "house": np.arange(1, data["N"] + 1)}
    with pm.Model(coords=coords) as model:
        intercept = pm.Normal("intercept", 0, 5)
        uranium_effect = pm.Normal("uranium_effect", 0, 5)
        floor_effect = pm.Normal("floor_effect", 0, 5)
        sigma_intercept = pm.HalfNormal("sigma_intercept", 1)
        sigma_floor = pm.HalfNormal("sigma_floor", 1)
        z_intercept = pm.Normal("z_intercept", 0, 1, dims="county")
        z_floor = pm.Normal("z_floor", 0, 1, dims="county")
        county_intercept = pm.Deterministic(
            "county_intercept",
            intercept + uranium_effect * uranium + sigma_intercept * z_intercept,
            dims="county",
        )
        county_floor = pm.Deterministic("county_floor", floor_effect + sigma_floor * z_floor, dims="county")
        sigma = pm.HalfNormal("sigma", 1)
        pm.Normal(
            "log_radon",
            county_intercept[county] + county_floor[county] * data["floor_measure"],
            sigma,
            observed=data["log_radon"],
            dims="house",
        )
    return model


def main() -> None:
    """Sample the posterior and print what a reader of the book would look for."""
    with build_model():
        result = pm.sample(random_seed=1)

    effects = ["intercept", "uranium_effect", "floor_effect", "sigma_intercept", "sigma_floor", "sigma"]
    print(pm.summary(result, var_names=effects))
    print("status:", result.status)
    print("divergences:", int(result["sample_stats"]["diverging"].sum()))

    steps = result["posterior"].attrs
    spent = {"import": imported - begin} | {
        step: steps[f"time_{step}"] for step in ("build", "compile", "warmup", "sampling")
    }
    print(
        "time:",
        ", ".join(f"{step} {seconds:.3f} s" for step, seconds in spent.items()),
        f"of {time.perf_counter() - begin:.3f} s",
    )


if __name__ == "__main__":
    main()

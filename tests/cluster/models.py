"""Models of rows, for workers which import them from here."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import consilience as pm


def model_of(row: Any) -> pm.Model:
    if row["n"] == 3:
        raise ValueError("three is too many")
    if row["n"] == 7:
        os._exit(1)
    with pm.Model() as model:
        mean = pm.Normal("mean")
        pm.Normal("y", mean, 1.0, observed=np.full(int(row["n"]), 0.5))
    return model


def with_data() -> pm.Model:
    with pm.Model() as model:
        values = pm.Data("values", np.zeros(4))
        pm.Normal("y", pm.Normal("mean"), 1.0, observed=values)
    return model

"""One regression as text and as a formula; features change both.

In: features one after the other. Out: the text of a model as users write it, and its log density in NumPy.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special, stats

import consilience as pm
import consilience.tensor as pt
from tests.feature_pairs.laws import NORMAL

Array = npt.NDArray[Any]
Values = dict[str, Any]
ROWS, BATCH = 6, 2


def columns(rows: int, seed: int) -> dict[str, Array]:
    """A predictor and what is observed."""
    generator = np.random.default_rng(seed)
    x = generator.integers(-8, 9, rows) / 8.0
    return {"x": x, "y": 0.5 + x + generator.integers(-8, 17, rows) / 8.0}


class Draft:
    """A regression with a level, a slope and a scale, in its making.

    The text consists of lines for data, priors, the predictor `mu`, and one distribution of `mu` and `s`; `after`
    stands behind the model. Beside each stands what it means.
    """

    def __init__(self) -> None:
        self.columns = columns(ROWS, 1)
        self.data = self.batches = False  # whether columns are `pm.Data`, and whether rows come in batches
        self.shards = False  # whether columns lie elsewhere, so that all are data
        self.pickles = True  # whether the plain pickle writes it out
        self.home = "pm"  # or pm.dims
        self.coords: dict[str, list[Any]] = {}
        self.priors: dict[str, tuple[str, Callable[[Values], Any]]] = {
            "m": ('Normal("m", 0.0, 2.0{})', lambda v: stats.norm(0, 2).logpdf(v["m"])),
            "b": ('Normal("b", 0.0, 1.0)', lambda v: stats.norm(0, 1).logpdf(v["b"])),
            "s": ('HalfNormal("s", 1.0)', lambda v: stats.halfnorm(0, 1).logpdf(v["s"])),
        }
        self.options = dict.fromkeys(self.priors, "")
        self.level, self.level_of = lambda: "m", lambda v, c: v["m"]
        self.predictor: list[tuple[Callable[[], str], Callable[[Any, Values, Mapping[str, Array]], Any]]] = []
        self.part: Callable[[str], tuple[str, str]] = lambda mu: ("pm.Normal", f"{mu}, s")
        self.base = True  # whether that is the normal distribution of the beginning
        self.law = NORMAL
        self.low, self.high = -np.inf, np.inf
        self.missing: tuple[int, ...] = ()
        self.latent: list[tuple[str, float, Callable[[int], int]]] = []  # name, probability, number for so many rows
        self.after: list[str] = []
        self.fixed: dict[str, Any] = {}
        self.drawn: dict[str, Callable[[np.random.Generator, Values], Any]] = {}  # what predictions draw anew

    # ---- text

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.columns["x"])

    def labels(self) -> None:
        """The rows get labels; where they come in batches, the places in a batch."""
        self.coords["row"] = []

    def taken(self, name: str, dim: str, index: str) -> str:
        """Elements of a variable at an index."""
        return f"{name}.isel({dim}={index})" if self.named else f"{name}[{index}]"

    @property
    def named(self) -> bool:
        """Whether tensors have named dims."""
        return self.home == "pm.dims"

    def dist(self, mu: str) -> str:
        """The distribution without a name."""
        family, arguments = self.part(mu)
        return f"{family.replace('pm.', f'{self.home}.', 1)}.dist({arguments})"

    def plain(self, expression: str) -> str:
        """An expression without its names."""
        return f"{expression}.values" if self.named else expression

    def with_names(self, expression: str) -> str:
        """An expression with the rows as its dim."""
        return f'pm.dims.as_xtensor({expression}, dims=("row",))' if self.named else expression

    def observed(self, columns: Mapping[str, Array] | None = None) -> dict[str, Array]:
        """The columns as the model is given them: values out of the support are moved into it, some are missing."""
        result = {name: np.array(value) for name, value in (columns or self.columns).items()}
        result["y"] = np.clip(result["y"], self.low + 0.125, self.high)
        result["y"][list(self.missing)] = np.nan
        return result

    def text(self) -> str:
        """The model as code; columns stand under their names in capitals."""
        names, dims = list(self.columns), ', dims="row"' if "row" in self.coords else ""
        if "row" in self.coords:
            self.coords["row"] = [f"r{i}" for i in range(BATCH if self.batches else self.rows)]
        lines = [f"with pm.Model({f'coords={self.coords!r}' if self.coords else ''}) as model:"]
        for name in names:
            given = name == "y" and self.missing and not self.shards  # an array, whose gaps become variables
            if (self.data or (self.named and not self.batches)) and not given:
                own = "" if self.batches else dims
                lines.append(f'    {name} = {"pm" if self.batches else self.home}.Data("{name}", {name.upper()}{own})')
            else:
                lines.append(f"    {name} = {name.upper()}")
        if self.batches:
            lines.append(f"    rows = {'x.shape[0]' if self.data else self.rows}")
            lines.append(f"    {', '.join(names)} = pm.Minibatch({', '.join(names)}, batch_size={BATCH})")
            lines += [f"    {n} = {self.with_names(n)}" for n in names if self.named]
        lines += [
            f"    {name} = {self.home}.{text.format(self.options[name])}" for name, (text, _) in self.priors.items()
        ]
        lines.append(f"    mu = {self.level()} + b * x")
        lines += [f"    {line}" for text, _ in self.predictor for line in text().splitlines()]
        family, arguments = self.part("mu")
        home = self.home
        if self.named and re.search(
            r"CustomDist|Mixture", f"{family}({arguments}"
        ):  # of plain tensors alone, as in PyMC
            home, arguments = "pm", arguments.replace("pm.dims.", "pm.")
            given = "y" if self.missing and not self.shards else "y.values"
            lines.append(f"    mu, s, y = mu.values, s.values, {given}")
        total = ", total_size=rows" if self.batches else ""
        lines.append(f'    {family.replace("pm.", f"{home}.", 1)}("obs", {arguments}, observed=y{total}{dims})')
        return "\n".join([*lines, *self.after])

    def build(self) -> pm.Model:
        """The model that the text makes."""
        given = {name.upper(): value for name, value in self.observed().items()}
        space: dict[str, Any] = {"pm": pm, "pt": pt, "np": np, **given}
        exec(self.text(), space)
        model: pm.Model = space["model"]
        return model

    # ---- meaning

    def natural(self, point: Mapping[str, Any]) -> tuple[Values, float]:
        """Values on their own scales, and the log Jacobian."""
        values, jacobian = dict(self.fixed), 0.0
        for key, given in point.items():
            u = np.asarray(given)
            if key.endswith("_log__"):
                value, jacobian = np.exp(u), jacobian + np.sum(u)
            elif key.endswith(("_lowerbound__", "_interval__")):
                value, jacobian = self.low + np.exp(u), jacobian + np.sum(u)
            elif key.endswith("_ordered__"):
                value = np.cumsum(np.concatenate([u[:1], np.exp(u[1:])]))
                jacobian += np.sum(u[1:])
            else:
                value = u
            values[key.removesuffix("__").rsplit("_", 1)[0] if key.endswith("__") else key] = value
        return values, float(jacobian)

    def locations(self, values: Values, given: Mapping[str, Array]) -> tuple[Array, Array]:
        """Locations of the rows for each combination of what is discrete (combination, row), and its log weights."""
        count = len(given["x"])
        numbers = [number(count) for _, _, number in self.latent]
        found = [
            np.array(list(itertools.product((0, 1), repeat=n))).reshape(2**n, n) for n in numbers
        ]  # of each latent variable
        mus, logs = [], []
        for combination in itertools.product(*found):
            own = {**values, **{name: z for (name, _, _), z in zip(self.latent, combination, strict=True)}}
            mu = self.level_of(values, given) + values["b"] * given["x"]
            for _, change in self.predictor:
                mu = change(mu, own, given)
            mus.append(np.broadcast_to(mu, (count,)))
            logs.append(
                sum(
                    (
                        np.sum(np.where(z, np.log(p), np.log1p(-p)))
                        for (_, p, _), z in zip(self.latent, combination, strict=True)
                    ),
                    0.0,
                )
            )
        return np.array(mus), np.array(logs)

    def likelihood(self, values: Values, given: Mapping[str, Array]) -> float:
        """Log density of the rows."""
        y = np.array(given["y"])
        if self.missing:
            y[np.isnan(y)] = values["obs_unobserved"]
        mu, logs = self.locations(values, given)
        return float(special.logsumexp(logs + np.sum(self.law.logpdf(y, mu, values["s"]), -1)))

    def prior(self, values: Values) -> float:
        """Log density of the variables."""
        return float(sum(np.sum(logp(values)) for _, logp in self.priors.values()))

    def logp(self, point: Mapping[str, Any]) -> float:
        """The log density of all rows at a point of the unconstrained line."""
        values, jacobian = self.natural(point)
        return self.prior(values) + jacobian + self.likelihood(values, self.observed())

    def logps_of_batches(self, point: Mapping[str, Any]) -> Array:
        """The log density for every batch that may be drawn."""
        values, jacobian = self.natural(point)
        given = self.observed()
        batches = itertools.product(range(self.rows), repeat=BATCH)
        terms = [
            self.likelihood(values, {name: column[list(rows)] for name, column in given.items()}) for rows in batches
        ]
        return self.prior(values) + jacobian + self.rows / BATCH * np.array(terms)

    def up_to(self, values: Values, threshold: float) -> Array:
        """Probability of each row to be at most the threshold."""
        mu, logs = self.locations(values, self.columns)
        below = np.exp(self.law.logcdf(threshold, mu, values["s"]))
        result: Array = np.exp(logs) @ np.broadcast_to(below, mu.shape)
        if self.missing:  # their values are in the draws
            result[list(self.missing)] = values["obs_unobserved"] <= threshold
        return result

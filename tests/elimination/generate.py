"""Random models with blocks of which integrals may be known: of normal variables and of those of conjugate families.

In: a seed. Out: statements, the arrays that they read, and the names of the blocks. Some are of no known form: a model
that is refused is no failure, one that is integrated wrongly is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd  # type: ignore[import-untyped]
import xarray as xr

import consilience as pm
import consilience.tensor as pt

Array = npt.NDArray[Any]
FAMILIES = ("positive", "inverse", "unit", "shares", "matrices", "normal", "normal")
MOVED = (*FAMILIES, "coefficients", "coefficients", "hierarchy", "hierarchy", "hierarchy")  # of coordinates of chains
ROWS = "np.array([[1.0, 0.3], [0.3, 2.0]])"  # a covariance, or a precision


@dataclasses.dataclass(frozen=True)
class Line:
    """A statement, the names that it defines, and whether the model is one without it."""

    text: str
    optional: bool = False


@dataclasses.dataclass(frozen=True)
class Program:
    """A model as text.

    `kinds`: by name of a block's variable its family. `shared`: arrays that are `pm.Data`, of which those in one of the
    `rows` have as many rows as each other. `labels`: by name of an array in which form with labels it comes.
    """

    seed: int
    lines: tuple[Line, ...]
    arrays: dict[str, Array]
    shared: tuple[str, ...]
    kinds: dict[str, str]
    discrete: dict[str, int]
    rows: tuple[tuple[str, ...], ...] = ()
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def model(self, labelled: bool = True) -> pm.Model:
        """The model that the statements build; `labelled`: False: of plain arrays."""
        given = {name: self.given(name, self.labels.get(name, "") if labelled else "") for name in self.arrays}
        values: dict[str, Any] = {"pm": pm, "pt": pt, "np": np, **given}
        with pm.Model() as model:
            for name in self.shared:
                values[name] = pm.Data(name, given[name])
            for line in self.lines:
                exec(line.text, values)
        return model

    def given(self, name: str, form: str, values: Array | None = None) -> Any:
        """An array with labels: rows of a table have any, columns the letters of the alphabet in another order."""
        array = self.arrays[name] if values is None else values
        if not form or not array.ndim or np.ma.isMA(array):
            return array
        rows = [f"row {i}" for i in range(len(array), 0, -1)]
        if form == "array":
            return xr.DataArray(array, coords=[(f"{name} {axis}", np.arange(n)) for axis, n in enumerate(array.shape)])
        if array.ndim == 1:
            return pd.Series(array, index=rows)
        return pd.DataFrame(array, index=rows) if array.ndim == 2 else array

    def without(self, line: Line) -> Program:
        """The same model with one statement less."""
        return dataclasses.replace(self, lines=tuple(own for own in self.lines if own is not line))

    def text(self) -> str:
        """The model as people read it."""
        body = "\n".join(f"    {line.text}" for line in self.lines)
        used = {name: value for name, value in self.arrays.items() if name in body}
        given = "\n".join(
            f"{name} = {value!r}" + ("  # pm.Data" * (name in self.shared)) for name, value in used.items()
        )
        return f"# seed {self.seed}\n{given}\nwith pm.Model() as model:\n{body}"


def generated(seed: int, families: Sequence[str] = FAMILIES) -> Program:
    """The model of a seed, with blocks of some families."""
    return _Draft(seed, families).program()


class _Draft:
    def __init__(self, seed: int, families: Sequence[str]) -> None:
        self.rng = np.random.default_rng([seed, 71])
        self.families = families
        self.seed = seed
        self.lines: list[Line] = []
        self.arrays: dict[str, Array] = {}
        self.shared: list[str] = []
        self.kinds: dict[str, str] = {}
        self.discrete: dict[str, int] = {}
        self.observed: set[str] = set()
        self.together: list[tuple[str, ...]] = []
        self.count = 0

    # ---- words

    def often(self, share: float) -> bool:
        return bool(self.rng.uniform() < share)

    def one(self, *choices: str) -> str:
        return choices[self.rng.integers(len(choices))]

    def name(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def array(self, values: Any, may_change: bool = True) -> str:
        name = self.name("c")
        self.arrays[name] = np.asarray(values)
        if may_change and self.often(0.15):
            self.shared.append(name)
        return name

    def add(self, text: str, optional: bool = True) -> None:
        self.lines.append(Line(text, optional))

    def number_above_0(self) -> str:
        """A positive number that chains move, or a constant."""
        words = ["a", "b", "(0.5 + a)", "pt.exp(0.3 * m)", "(1.0 + a * b)", "1.5", "0.7", "(a / (0.2 + b))"]
        if "d" in self.discrete and self.often(0.6):
            words = ["pt.switch(pt.eq(d, 1), a, 1.5)", "(1.0 + d)", "pt.stack([a, b, 1.0])[d]", "(0.5 + a * d)"]
        return self.one(*words)

    def number(self) -> str:
        words = ["m", "0.4", "-0.3 * a", "(m - b)", "m ** 2", "0.0"]
        if "d" in self.discrete and self.often(0.6):
            words = ["m * d", "(1.0 * d)", "pt.stack([m, b, 0.0])[d]"]
        return self.one(*words)

    def program(self) -> Program:
        self.add('a = pm.HalfNormal("a")', False)
        self.add('b = pm.Gamma("b", 2, 2)', False)
        self.add('m = pm.Normal("m")', False)
        if self.often(0.25):
            self.discrete["d"] = 2 if self.often(0.6) else 3
            prior = 'pm.Bernoulli("d", 0.4)' if self.discrete["d"] == 2 else 'pm.Categorical("d", [0.2, 0.3, 0.5])'
            self.add(f"d = {prior}", False)
        for _ in range(1 + int(self.rng.integers(0, 3))):
            family = self.one(*self.families)
            name = self.name("x")
            getattr(self, family)(name)
            self.kinds.setdefault(name, {"inverse": "positive"}.get(family, family))
        if self.often(0.3):
            self.rows_of_data()
        forms = self.rng.choice(["", "array", "table"], len(self.arrays), p=[0.7, 0.15, 0.15])
        # A constant of an expression is an array; a table is data of a variable, or has a name.
        named = {name for name in self.arrays if name in self.shared or name in self.observed}
        labels = {name: str(form) for name, form in zip(self.arrays, forms, strict=True) if form and name in named}
        return Program(
            self.seed, tuple(self.lines), self.arrays, tuple(self.shared), dict(self.kinds), dict(self.discrete),
            tuple(self.together), labels,
        )  # fmt: skip

    def shape(self) -> tuple[int, ...]:
        shapes: Sequence[tuple[int, ...]] = [(), (1,), (2,), (3,), (4,), (2, 2), (2, 1), (1, 2)]
        return shapes[self.rng.integers(len(shapes))]

    def moved(self, name: str, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
        """A variable with its elements moved, repeated or left out, and the shape of that."""
        if not shape:
            return (name, ()) if self.often(0.6) else (f"{name} * pt.ones(3)", (3,))
        rest = shape[1:]
        kind = self.rng.integers(8)
        if kind <= 1:
            return name, shape
        if kind == 2:
            rows = int(self.rng.integers(1, 6))
            index = self.rng.integers(-shape[0] if self.often(0.3) else 0, shape[0], rows)
            return f"{name}[{self.array(index, self.often(0.3))}]", (rows, *rest)
        if kind == 3:
            return f"{name}.T", shape[::-1]
        if kind == 4:
            return f"{name}[::-1]", shape
        if kind == 5:
            return f"{name}.reshape((-1,))", (int(np.prod(shape)),)
        if kind == 6:
            return f"pt.expand_dims({name}, -1) * pt.ones(2)", (*shape, 2)
        keep = self.rng.uniform(size=shape[0]) < 0.7
        keep[0] = True
        return f"{name}[{self.array(np.flatnonzero(keep), False)}]", (int(keep.sum()), *rest)

    def scaled(self, view: str, shape: tuple[int, ...]) -> tuple[str, Array]:
        """A rate times exposures, some of which may be 0, and where it may be 0."""
        zero = np.zeros(shape, bool)
        kind = self.rng.integers(8)
        if kind == 0:
            return f"{view} * {self.number_above_0()}", zero
        if kind == 1:
            return f"({view}) * {self.array(self.rng.uniform(0.2, 2, shape))}", zero
        if kind == 2:
            return f"{view} / {self.array(self.rng.uniform(0.5, 2, shape))}", zero
        if kind == 3:
            mask = (self.rng.uniform(size=shape) < 0.7).astype(float)
            return f"({view}) * {self.array(mask, False)}", mask == 0
        if kind == 4:
            mask = (self.rng.uniform(size=shape) < 0.7).astype(float)
            own = self.array(mask, False)
            return f"{own} * ({view}) + 1e-12 * (1 - {own})", mask == 0
        if kind == 5:
            return (
                f"pt.where({self.array(self.rng.uniform(size=shape) < 0.7, False)}, {view}, {self.number_above_0()})",
                zero,
            )
        if kind == 6:
            return f"pt.exp(pt.log({view}) + {self.number()})", zero
        return view, zero

    def missing(self, values: Array) -> Array:
        """Data of which some may be missing."""
        if values.ndim and values.size > 1 and self.often(0.12):
            gone = self.rng.uniform(size=values.shape) < 0.3
            if gone.any() and not gone.all():
                return np.ma.masked_array(values, gone)
        return values

    def data(self, text: str, values: Array) -> None:
        """A likelihood; a batch of it now and then."""
        values = np.asarray(values) if "Multinomial" in text else self.missing(np.asarray(values))
        name = self.name("y")
        own = self.name("c")
        self.arrays[own] = values
        self.observed.add(own)
        if not np.ma.isMA(values) and self.often(0.15):
            self.shared.append(own)
        extra = (
            f", total_size={3 * len(values)}"
            if values.ndim and len(values) and self.often(0.03) and not np.ma.isMA(values)
            else ""
        )
        self.add(f"{text.replace('NAME', repr(name))[:-1]}, observed={own}{extra})")

    def potential(self, text: str) -> None:
        self.add(f'pm.Potential("{self.name("q")}", {text})')

    def deterministic(self, text: str) -> str:
        name = self.name("e")
        self.add(f'{name} = pm.Deterministic("{name}", {text})', False)
        return name

    def terms(self) -> range:
        return range(1 + int(self.rng.integers(0, 3)))

    def view(self, name: str, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
        view, shape = self.moved(name, shape)
        if self.often(0.2):
            view = self.deterministic(view)
        return view, shape

    def rows(self, scale: str, view: str, shape: tuple[int, ...]) -> None:
        """Normal vectors whose covariance K = L L' is scaled by each element of a view."""
        scale = scale.replace(view, f"({view})[..., None, None]").replace("K", ROWS)
        scale = scale.replace("L", f"np.linalg.cholesky({ROWS})")
        self.data(
            f"pm.MvNormal(NAME, {self.one('np.zeros(2)', 'm * np.ones(2)')}, {scale})",
            self.rng.normal(size=(*shape, 2)),
        )

    def rows_of_data(self) -> None:
        """Data of which there may be more rows, or fewer: which element of a block each is of, exposures and values."""
        families = {"normal", "positive", "coefficients", "hierarchy"}
        vectors = [name for name, family in self.kinds.items() if family in families]
        if not vectors:
            return
        name, rows = vectors[-1], int(self.rng.integers(2, 6))
        index, exposure, values = (self.array(v, False) for v in (
            np.zeros(rows, int), self.rng.uniform(0.5, 2, rows),
            self.rng.integers(0, 4, rows) if self.kinds[name] == "positive" else self.rng.normal(size=rows),
        ))  # fmt: skip
        self.shared += [index, exposure, values]
        self.together.append((index, exposure, values))
        view = f"{name}.ravel()[{index}] * {exposure}"
        if self.kinds[name] == "positive":
            self.add(f'pm.Poisson("{self.name("y")}", {view}, observed={values})')
        else:
            self.add(f'pm.Normal("{self.name("y")}", {view}, {self.number_above_0()}, observed={values})')

    # ---- families

    def hierarchy(self, name: str) -> None:
        """Elements with a common scale of any family of a location and a scale, or a standard one times its scale."""
        shape = self.shape()
        p, r = self.number_above_0(), self.number()
        kind = self.rng.integers(14)
        n = int(self.rng.integers(2, 7))
        known = [f"Cauchy(NAME, {r}, {p}", f"Laplace(NAME, {r}, {p}", f"Logistic(NAME, {r}, {p}",
                 f"Gumbel(NAME, {r}, {p}", f"Moyal(NAME, {r}, {p}", f"LogNormal(NAME, {r}, {p}",
                 f"HalfNormal(NAME, {p}", f"HalfCauchy(NAME, {p}", f"HalfStudentT(NAME, 4, {p}",
                 f"StudentT(NAME, 3, {r}, {p}", "Cauchy(NAME, 0.3, 1.5"]  # fmt: skip
        view = name
        if kind < len(known):
            self.add(f"{name} = pm.{known[kind].replace('NAME', repr(name))}, shape={shape})", False)
        elif kind == 11:
            shape = (n,)
            self.add(f'{name} = pm.ZeroSumNormal("{name}", {p}, shape={n})', False)
        elif kind == 12:
            shape = (n, 2)
            steps = f"cov={p} * {ROWS}, init_dist=pm.MvNormal.dist(np.zeros(2), np.eye(2)), steps={n - 1}"
            self.add(f'{name} = pm.MvGaussianRandomWalk("{name}", mu=np.zeros(2), {steps})', False)
        else:
            standard = self.one("Normal", "StudentT", "Laplace", "Cauchy")
            degrees = "3, " if standard == "StudentT" else ""
            self.add(f'{name} = pm.{standard}("{name}", {degrees}0.0, 1.0, shape={shape})', False)
            more = f"{name} * {p} * {self.number_above_0()}"
            view = self.one(f"{p} * {name}", f"{name} / {p}", f"{r} + {p} * {name}", more)
        for _ in self.terms():
            own, size = self.moved(view, shape) if view == name else (view, shape)
            some, counts = self.rng.normal(size=size), self.rng.integers(0, 4, size)
            match self.one("Normal", "Poisson", "Student"):
                case "Normal":
                    self.data(f"pm.Normal(NAME, {own}, {self.number_above_0()})", some)
                case "Poisson":
                    self.data(f"pm.Poisson(NAME, pt.exp(0.3 * pt.clip({own}, -9, 9)))", counts)
                case "Student":
                    self.data(f"pm.StudentT(NAME, 4, {own}, {self.number_above_0()})", some)

    def positive_prior(self, shape: tuple[int, ...], name: str) -> None:
        p, q = self.number_above_0(), self.number_above_0()
        by_element = f"({p} * {self.array(self.rng.uniform(0.5, 2, shape))})" if shape else p
        text = self.one(
            f"Gamma(NAME, 0.6 + {p}, {q}", f"Gamma(NAME, 0.6 + {by_element}, {q}", f"Gamma(NAME, mu={p}, sigma={q}",
            f"Exponential(NAME, {by_element}", "ChiSquared(NAME, 3", f"Weibull(NAME, 1.0, {q}",
            f"Gamma(NAME, 2.0, {by_element}", f"Exponential(NAME, scale={q}", f"LogNormal(NAME, 0.0, {q}",
            f"HalfNormal(NAME, {q}", f"Weibull(NAME, 1.5, {q}", f"InverseGamma(NAME, 1.5, {q}",
        )  # fmt: skip
        self.add(f"{name} = pm.{text.replace('NAME', repr(name))}, shape={shape})", False)

    def positive_terms(self, name: str, shape: tuple[int, ...]) -> None:
        for _ in self.terms():
            view, own = self.view(name, shape)
            view, zero = self.scaled(view, own)
            counts = np.where(zero, 0, self.rng.integers(0, 4, own))
            times = self.rng.uniform(0.1, 2, own)
            some = np.where(zero, 1.0, self.rng.normal(size=own))
            kinds = ["Poisson", "Poisson", "Poisson", "Zip"] if zero.any() else [
                "Poisson", "Poisson", "Exponential", "Gamma", "Censored", "tau", "Laplace", "Weibull", "Pareto",
                "potential", "sigma", "Half", "Wald", "Custom", "Zip", "NegativeBinomial", "Chi", "wide", "rows",
            ]  # fmt: skip
            match self.one(*kinds):
                case "Poisson":
                    self.data(f"pm.Poisson(NAME, {view})", counts)
                case "rows":
                    self.rows(self.one(f"tau={view} * K", f"cov=K / ({view})"), view, own)
                case "Exponential":
                    self.data(f"pm.Exponential(NAME, {view})", times)
                case "Gamma":
                    self.data(f"pm.Gamma(NAME, {self.one('1.5', 'a', '(b + 0.3)')}, {view})", times)
                case "Censored":
                    self.data(f"pm.Censored(NAME, pm.Exponential.dist({view}), None, 1.5)", np.minimum(times, 1.5))
                case "tau":
                    self.data(f"pm.Normal(NAME, {self.number()}, tau={view})", some)
                case "Laplace":
                    self.data(f"pm.Laplace(NAME, {self.number()}, 1 / ({view}))", some)
                case "Weibull":
                    self.data(f"pm.Weibull(NAME, 1.5, ({view}) ** (-1 / 1.5))", times)
                case "Pareto":
                    self.data(f"pm.Pareto(NAME, alpha={view}, m=0.05)", times)
                case "potential":
                    self.potential(f"pt.sum(0.5 * pt.log({view}) - {self.number_above_0()} * ({view}))")
                case "sigma":
                    self.data(f"pm.Normal(NAME, {self.number()}, ({view}) ** -0.5)", some)
                case "Half":
                    self.data(f"pm.HalfNormal(NAME, 1 / pt.sqrt({view}))", times)
                case "Wald":
                    self.data(f"pm.Wald(NAME, 0.8, {view})", times)
                case "Custom":
                    self.data(
                        f"pm.CustomDist(NAME, {view}, logp=lambda v, r: pt.log(r) - r * v, class_name='E')", times
                    )
                case "Zip":
                    self.data(f"pm.ZeroInflatedPoisson(NAME, 0.6, {view})", counts)
                case "NegativeBinomial":
                    self.data(f"pm.NegativeBinomial(NAME, {view}, alpha=2.0)", counts)
                case "Chi":
                    self.data(f"pm.ChiSquared(NAME, {view})", times)
                case "wide":
                    self.data(f"pm.Poisson(NAME, pt.sum({view}))", self.rng.integers(0, 4))

    def positive(self, name: str) -> None:
        shape = self.shape()
        self.positive_prior(shape, name)
        self.positive_terms(name, shape)

    def inverse(self, name: str) -> None:
        shape = self.shape()
        p, q = self.number_above_0(), self.number_above_0()
        text = self.one(f"InverseGamma(NAME, 1.2 + {p}, {q}", f"InverseGamma(NAME, mu=1.0 + {p}, sigma=1.5")
        self.add(f"{name} = pm.{text.replace('NAME', repr(name))}, shape={shape})", False)
        for _ in self.terms():
            view, own = self.view(name, shape)
            times, some = self.rng.uniform(0.1, 2, own), self.rng.normal(size=own)
            factor = self.number_above_0()
            kinds = ("Normal", "Normal", "Half", "Laplace", "Gamma", "Exponential", "Student", "both", "rows", "steps")
            match self.one(*kinds):
                case "rows":
                    scaled = (
                        f"cov={view} * K",
                        f"cov={factor} * {view} * K",
                        f"chol=pt.sqrt({view}) * L",
                        f"cov={view} + K",
                    )
                    self.rows(self.one(*scaled), view, own)
                case "steps":
                    scale = f"pt.sqrt(({view}).ravel()[0])"
                    self.data(
                        f"pm.GaussianRandomWalk(NAME, sigma={scale}, init_dist=pm.Normal.dist())",
                        self.rng.normal(size=4),
                    )
                case "Normal":
                    self.data(f"pm.Normal(NAME, {self.number()}, {factor} * pt.sqrt({view}))", some)
                case "Half":
                    self.data(f"pm.HalfNormal(NAME, pt.sqrt({view} * {factor}))", times)
                case "Laplace":
                    self.data(f"pm.Laplace(NAME, {self.number()}, {view})", some)
                case "Gamma":
                    self.data(f"pm.Gamma(NAME, a, 1 / ({view}))", times)
                case "Exponential":
                    self.data(f"pm.Exponential(NAME, scale={view} * {factor})", times)
                case "Student":
                    self.data(f"pm.StudentT(NAME, 4, 0, pt.sqrt({view}))", some)
                case "both":
                    self.data(f"pm.Normal(NAME, {view}, pt.sqrt({view}))", some)

    def unit(self, name: str) -> None:
        shape = self.shape()
        p, q = self.number_above_0(), self.number_above_0()
        text = self.one(
            f"Beta(NAME, 0.4 + {p}, {q} + 0.3", "Uniform(NAME, 0, 1", f"Beta(NAME, mu=0.3, nu=2.0 + {p}",
            f"Kumaraswamy(NAME, 1.0, {q} + 0.5", f"Beta(NAME, 1.0, 0.5 + {q}", "Uniform(NAME, 0.1, 0.9",
        )  # fmt: skip
        self.add(f"{name} = pm.{text.replace('NAME', repr(name))}, shape={shape})", False)
        for _ in self.terms():
            view, own = self.view(name, shape)
            view = f"(1 - {view})" if self.often(0.3) else view
            bits, counts = self.rng.integers(0, 2, own), self.rng.integers(0, 6, own)
            match self.one("Binomial", "Bernoulli", "Geometric", "Negative", "potential", "logit", "half", "Zib"):
                case "Binomial":
                    trials = self.array(np.maximum(counts, self.rng.integers(3, 8, own)), False)
                    self.data(f"pm.Binomial(NAME, n={trials}, p={view})", counts)
                case "Bernoulli":
                    self.data(f"pm.Bernoulli(NAME, {view})", bits)
                case "Geometric":
                    self.data(f"pm.Geometric(NAME, {view})", counts + 1)
                case "Negative":
                    self.data(f"pm.NegativeBinomial(NAME, n={self.one('2', '(0.5 + a)')}, p={view})", counts)
                case "potential":
                    self.potential(f"pt.sum({self.number_above_0()} * pt.log({view}) + 0.5 * pt.log1p(-({view})))")
                case "logit":
                    self.data(f"pm.Bernoulli(NAME, logit_p=pm.math.logit({view}))", bits)
                case "half":
                    self.data(f"pm.Bernoulli(NAME, 0.5 * {view})", bits)
                case "Zib":
                    self.data(f"pm.ZeroInflatedBinomial(NAME, 0.7, 5, {view})", np.minimum(counts, 5))

    def shares(self, name: str) -> None:
        k = 2 if self.often(0.6) else 3
        lead: tuple[int, ...] = () if self.often(0.5) else (2,)
        p = self.number_above_0()
        a = self.one(f"0.4 + {p} * np.arange(1.0, {k + 1})", f"np.ones({k})", f"(0.5 + {p}) * np.ones({k})")
        shape = f", shape={(*lead, k)}" if lead else ""
        self.add(f'{name} = pm.Dirichlet("{name}", {a}{shape})', False)
        for _ in self.terms():
            rows = int(self.rng.integers(1, 5))
            view = f"{name}[{self.array(self.rng.integers(0, 2, rows), self.often(0.3))}]" if lead else name
            view = self.deterministic(view) if self.often(0.2) else view
            size = (rows,) if lead else (3,)
            match self.one("Categorical", "Multinomial", "element", "potential", "reversed"):
                case "Categorical":
                    self.data(f"pm.Categorical(NAME, p={view})", self.rng.integers(0, k, size))
                case "Multinomial":
                    values = self.rng.multinomial(5, np.ones(k) / k, size if lead else None)
                    self.data(f"pm.Multinomial(NAME, n=5, p={view})", values)
                case "element":
                    self.data(f"pm.Bernoulli(NAME, {view}[..., 0])", self.rng.integers(0, 2, size))
                case "potential":
                    self.potential(f"pt.sum(pt.log({view}) * np.arange(1.0, {k + 1}))")
                case "reversed":
                    self.data(f"pm.Categorical(NAME, p={view}[..., ::-1])", self.rng.integers(0, k, size))

    def matrices(self, name: str) -> None:
        p = 2 if self.often(0.6) else 1
        lead: tuple[int, ...] = () if self.often(0.5) or p == 2 else (2,)
        scale = f"{self.number_above_0()} * {f'np.eye({p}) * 0.8 + 0.3'}"
        prior = self.one("Wishart", "InverseWishart")
        self.kinds[name] = "matrices" if prior == "Wishart" else "inverse matrices"
        nu = f"{p + 1.5} + {self.number_above_0()}"
        self.add(f'{name} = pm.{prior}("{name}", nu={nu}, V={scale}, shape={(*lead, p, p)})', False)
        for _ in self.terms():
            rows = int(self.rng.integers(1, 4))
            view = f"{name}[{self.array(self.rng.integers(0, 2, rows), False)}]" if lead else name
            view = self.deterministic(view) if self.often(0.2) else view
            view = self.one(
                view, view, f"pt.swapaxes({view}, -1, -2)", f"{self.number_above_0()} * {view}", f"({view} / 2.0)"
            )
            inverse = f"pt.linalg.inv({view})"
            own, other = ("tau", "cov") if prior == "Wishart" else ("cov", "tau")
            mean = self.one(f"np.zeros({p})", f"m * np.ones({p})")
            some = self.rng.normal(size=(rows, p))
            match self.one(
                "own", "own", "own", "inverse", "other", "trace", "element", "logarithm", "root", "diagonal"
            ):
                case "own":
                    self.data(f"pm.MvNormal(NAME, {mean}, {own}={view})", some)
                case "inverse":
                    self.data(f"pm.MvNormal(NAME, {mean}, {other}={inverse})", some)
                case "other":
                    self.data(f"pm.MvNormal(NAME, {mean}, {other}={view})", some)
                case "trace":
                    self.potential(f"-0.5 * pt.sum({view if prior == 'Wishart' else inverse} * np.eye({p}))")
                case "element":
                    self.data(f"pm.Normal(NAME, 0.0, tau=({view})[..., 0, 0])", some[:, 0])
                case "logarithm":
                    self.potential(f"{'' if prior == 'Wishart' else '-'}0.4 * pt.sum(pt.log(pt.linalg.det({view})))")
                case "root":
                    self.data(f"pm.MvNormal(NAME, {mean}, chol=pt.linalg.cholesky({view}))", some)
                case "diagonal":
                    self.data(f"pm.MvNormal(NAME, {mean}, {own}=({view}) + np.eye({p}))", some)

    def normal(self, name: str) -> None:
        p, r = self.number_above_0(), self.number()
        kind = self.rng.integers(11)
        n = int(self.rng.integers(1, 6)) if self.often(0.6) else int(self.rng.integers(25, 34))
        shape: tuple[int, ...] = (n,)
        start = "init_dist=pm.Normal.dist(0, 2)"
        if kind <= 2:
            shape = self.shape() if self.often(0.5) else (n,)
            scale = self.one(f"{p}", f"tau={p}", f"{p} * {self.array(self.rng.uniform(0.5, 2, shape))}")
            text = f"Normal(NAME, {r}, {scale}, shape={shape})"
        elif kind == 3:
            text = f"GaussianRandomWalk(NAME, mu={r}, sigma={p}, {start}, shape={n})"
        elif kind == 4:
            n = max(n, 3)
            shape = (n,)
            rho = self.one("[pt.tanh(m)]", "[0.2, pt.tanh(m)]", "[0.3]")
            text = f"AR(NAME, rho={rho}, sigma={p}, {start}, shape={n})"
        elif kind == 5:
            X = self.array(np.sort(self.rng.uniform(0, 3, n)), False)
            cov = f"{p} * pt.exp(-0.5 * ({X}[:, None] - {X}) ** 2 / (0.3 + a) ** 2) + 0.1 * np.eye({n})"
            text = f"MvNormal(NAME, {self.one(f'np.zeros({n})', f'{r} * np.ones({n})')}, cov={cov})"
        elif kind == 6:
            n = max(n, 2)
            shape = (n,)
            W = np.eye(n, k=1) + np.eye(n, k=-1)
            text = f"CAR(NAME, mu={r} * np.ones({n}), W={self.array(W, False)}, alpha=0.9 * pt.sigmoid(m), tau={p})"
        elif kind == 7:
            text = f"Flat(NAME, shape={(n,)})"
        elif kind == 8:
            text = f"StudentT(NAME, 4, {r}, {p}, shape={n})"
        elif kind == 9:
            n = n if n < 25 else 14
            shape = (n, 2)
            self.add(f"L{name} = pt.stack([pt.stack([{p}, 0.0]), pt.stack([m, {self.number_above_0()}])])", False)
            text = f"MvNormal(NAME, np.zeros(2), chol=L{name}, shape={shape})"
        else:
            n = max(n, 2)
            shape = (n,)
            W = np.eye(n, k=1) + np.eye(n, k=-1)
            text = f"ICAR(NAME, W={self.array(W, False)}, sigma={p})"
        self.add(f"{name} = pm.{text.replace('NAME', repr(name))}", False)
        if kind == 7:  # proper by its data
            self.add(
                f'pm.Normal("own{name}", {name}, {self.number_above_0()}, observed=np.linspace(-1, 1, {n}))', False
            )
        others = [other for other, family in self.kinds.items() if family == "normal"]
        for _ in self.terms():
            view, own = self.view(name, shape)
            size = int(np.prod(own))
            match self.rng.integers(13):
                case 0:
                    view = f"{view} * {self.array(self.rng.normal(size=own))}"
                case 1 if len(own) == 1:
                    own = (int(self.rng.integers(1, 6)),)
                    A = self.rng.normal(size=(own[0], size)) * (self.rng.uniform(size=(own[0], size)) < 0.4)
                    view = f"{self.array(A)} @ {view}"
                case 2 if own:
                    view = f"pt.cumsum({view}, axis=0)"
                case 3 if own:
                    view = f"{view} - pt.mean({view})"
                case 4:
                    view = f"pt.where({self.array(self.rng.uniform(size=own) < 0.5, False)}, {view}, -2.0 * ({view}))"
                case 5 if len(own) == 1:
                    view = f"pt.concatenate([[0.3], {view}])"
                    own = (own[0] + 1,)
                case 6 if others:
                    view = f"{view} + pt.sum({others[-1]})"
                case 7:
                    view = f"{view} * {self.number()} + {self.number()}"
                case 8 if others:
                    view = f"{view} * {others[-1]}.ravel()[0]"
                case 10:
                    view = self.one(
                        f"pt.abs({view})", f"pt.maximum({view}, 0.0)", f"pt.where(({view}) > 0.3, {view}, 0.0)",
                        f"pt.clip({view}, -1, 1)", f"pt.sort(({view}).ravel()).reshape({own})", f"pt.max({view})",
                        f"pt.round({view})", f"(({view}) > 0) * 1.0",
                    )  # fmt: skip
                    own = () if view.startswith("pt.max(") else own
                case 9 if len(own) == 1:
                    view = f"pt.set_subtensor(pt.zeros({own[0]})[:1], ({view})[:1])"
            some = self.rng.normal(size=own)
            match self.one(
                "Normal", "Normal", "Normal", "Mv", "potential", "tau", "Student", "chain", "square", "Laplace"
            ):
                case "Normal":
                    self.data(f"pm.Normal(NAME, {view}, {self.number_above_0()})", some)
                case "Mv" if len(own) == 1:
                    cov = f"{self.number_above_0()} * (np.eye({own[0]}) + 0.3)"
                    self.data(f"pm.MvNormal(NAME, {view}, cov={cov})", some)
                case "potential":
                    self.potential(f"-0.5 * pt.sum(({view} - {self.number()}) ** 2) / {self.number_above_0()}")
                case "Student":
                    self.data(f"pm.StudentT(NAME, 4, {view}, {self.number_above_0()})", some)
                case "Laplace":
                    self.data(f"pm.Laplace(NAME, {view}, {self.number_above_0()})", some)
                case "chain":
                    other = self.name("x")
                    self.add(f'{other} = pm.Normal("{other}", {view}, {self.number_above_0()}, shape={own})', False)
                    self.kinds[other] = "normal"
                    self.data(f"pm.Normal(NAME, {other}, {self.number_above_0()})", some)
                case "square":
                    self.data(f"pm.Normal(NAME, ({view}) ** 2, 1.0)", some)
                case _:
                    self.data(f"pm.Normal(NAME, {view}, tau={self.number_above_0()})", some)

    def coefficients(self, name: str) -> None:
        """Independent numbers that a matrix, an index or a sum makes values of a process of, which data read."""
        n = int(self.rng.integers(1, 6)) if self.often(0.5) else int(self.rng.integers(20, 30))
        shape: tuple[int, ...] = (n, 2) if self.often(0.15) else (n,)
        each = self.array(self.rng.uniform(0.1, 2, (n, *(1 for _ in shape[1:]))), False)
        scales = f"({self.number_above_0()} * {each})"
        centred = self.often(0.3)
        prior = self.one(f"0.0, {scales if centred else 1.0}", f"{self.number()}, {self.number_above_0()}")
        self.add(f'{name} = pm.Normal("{name}", {prior}, shape={shape})', False)
        view = self.one(f"{name} * {scales}", name, f"{name} * {self.number_above_0()}", f"{scales} * {name} + m")
        view = name if centred else view
        rows = int(self.rng.integers(1, 9))
        A = self.array(self.rng.normal(size=(rows, n)) * (self.rng.uniform(size=n) < 0.9))
        others = [f"f{other}" for other, family in self.kinds.items() if family == "coefficients"]
        match self.rng.integers(8):
            case 0 if len(shape) == 1:
                view = f"({A} * {scales}) @ {name}"
            case 1:
                view = f"({view})[{self.array(self.rng.integers(0, n, rows))}]"
            case 2:
                view = f"pt.cumsum({view}, axis=0)[:{rows}]"
                rows = min(rows, n)
            case 3 if len(shape) == 1:
                view = f"({view}) @ {A}.T"
            case _:
                view = f"{A} @ ({view})"
        view = f"({view})[:, 0] + ({view})[:, 1]" if len(shape) > 1 else view
        view = self.one(view, f"{self.number_above_0()} * ({view})", f"{self.number()} + {view}", f"-({view})")
        if others and self.often(0.4):
            view, rows = f"{view} + pt.mean({others[-1]})", rows
        self.add(f"f{name} = {view}", False)
        self.kinds[name] = "coefficients"
        some, counts = self.rng.normal(size=rows), self.rng.integers(0, 4, rows)
        for _ in self.terms():
            match self.one("Normal", "Normal", "tau", "Poisson", "Binomial", "Student", "Negative", "Mv", "potential"):
                case "Normal":
                    self.data(f"pm.Normal(NAME, f{name}, {self.number_above_0()})", some)
                case "tau":
                    tau = f"{self.number_above_0()} * {self.array(self.rng.uniform(0.5, 2, rows))}"
                    self.data(f"pm.Normal(NAME, f{name}, tau={tau})", some)
                case "Poisson":
                    self.data(f"pm.Poisson(NAME, pt.exp(0.3 * f{name}))", counts)
                case "Binomial":
                    self.data(f"pm.Binomial(NAME, n=4, logit_p=f{name} + {self.number()})", counts)
                case "Student":
                    self.data(f"pm.StudentT(NAME, 4, f{name}, {self.number_above_0()})", some)
                case "Negative":
                    alpha = self.number_above_0()
                    self.data(f"pm.NegativeBinomial(NAME, pt.exp(0.3 * f{name}), alpha={alpha})", counts)
                case "Mv":
                    self.data(f"pm.MvNormal(NAME, f{name}, cov={self.number_above_0()} * np.eye({rows}))", some)
                case "potential":
                    self.potential(f"-0.5 * pt.sum((f{name} - {self.number()}) ** 2) / {self.number_above_0()}")


__all__ = ["MOVED", "Line", "Program", "generated"]

"""Random models: variables, named expressions and likelihoods around the expressions of `grammar`.

In: a seed and a number. Out: a program with a finite log density in NumPy, always the same one.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable

import numpy as np

from tests.random_models import chains as chains  # fills the table
from tests.random_models import derived as derived  # fills the table
from tests.random_models import idioms as idioms  # fills the table
from tests.random_models.composed import WRITERS
from tests.random_models.densities import FAMILIES
from tests.random_models.grammar import Grammar, Known
from tests.random_models.oracle import InvalidProgramError, Truth, truth
from tests.random_models.program import Axes, Line, Program, with_draws
from tests.random_models.vocabulary import KINDS

SUPPORT = {
    "Normal": "real", "StudentT": "real", "Cauchy": "real", "Laplace": "real", "Uniform": "real",
    "HalfNormal": "positive", "HalfCauchy": "positive", "LogNormal": "positive", "Exponential": "positive",
    "Gamma": "positive", "InverseGamma": "positive", "Beta": "unit", "Dirichlet": "simplex", "MvNormal": "real",
}  # fmt: skip
PRIORS = (
    "Normal", "Normal", "Normal", "Normal", "StudentT", "Cauchy", "Laplace", "Uniform", "HalfNormal", "HalfNormal",
    "HalfCauchy", "LogNormal", "Exponential", "Gamma", "InverseGamma", "Beta", "Dirichlet", "MvNormal",
)  # fmt: skip
LIKELIHOODS = (
    "Normal", "Normal", "Normal", "StudentT", "Laplace", "Cauchy", "Poisson", "Poisson", "Bernoulli", "Bernoulli",
    "Binomial", "NegativeBinomial", "Exponential", "Gamma", "HalfNormal", "LogNormal", "InverseGamma", "Beta",
    "Categorical", "MvNormal", "Dirichlet", "Uniform",
)  # fmt: skip
FURTHER_PRIORS = tuple(name for name, kinds in KINDS.items() if kinds.prior)
FURTHER_LIKELIHOODS = (*KINDS, *WRITERS)
REGIMES = {"tiny": 0.8, "large": 0.1, "one": 0.04, "empty": 0.03, "many": 0.03}
ATTEMPTS = 50


@dataclasses.dataclass(frozen=True)
class Generated:
    """A program, what NumPy says of it, and the idioms in it."""

    program: Program
    truth: Truth
    features: Counter[str]


def generated(seed: int, number: int) -> Generated:
    """The model `number` of `seed`."""
    rejected: Counter[str] = Counter()
    for attempt in range(ATTEMPTS):
        generator = np.random.default_rng([seed, number, attempt])
        draft = Draft(seed, number, generator)
        program = draft.program()
        try:
            found = truth(program, program.arrays())
        except InvalidProgramError as error:
            rejected[f"rejected: {str(error)[:60]}"] += 1
            continue
        draft.grammar.features.update(rejected)
        return Generated(program, found, draft.grammar.features)
    raise AssertionError(f"no valid model of seed {seed}, number {number} in {ATTEMPTS} attempts: {rejected}")


class Draft:
    """One attempt at a model."""

    def __init__(self, seed: int, number: int, generator: np.random.Generator) -> None:
        regime = str(generator.choice(list(REGIMES), p=list(REGIMES.values())))
        sizes = {
            "N": {"large": int(generator.integers(300, 420)), "one": 1, "empty": 0}.get(
                regime, int(generator.integers(2, 10))
            ),
            "K": int(generator.choice([1, 2, 2, 3, 3, 4, 5])),
            "P": int(generator.choice([1, 2, 2, 3, 4])),
            "M": int(generator.integers(2, 8)) if regime != "large" else int(generator.choice([4, 20, 33, 60])),
        }  # fmt: skip
        self.grammar = Grammar(seed, number, sizes, generator)
        self.grammar.plain = self.grammar.often(0.5)
        self.grammar.features[f"regime {regime}"] += 1
        self.regime = regime
        self.lines: list[Line] = []

    def program(self) -> Program:
        """All lines, with the data they use."""
        g = self.grammar
        for number in range(g.number(5, 8)):
            self.variable(f"v{number}")
        for number in range(g.number(0, 3)):
            axes = self.predictor_axes()
            self.add(Line(g.one("let", "let", "deterministic"), f"e{number}", (("value", g.real(axes, 3)),)))
            g.known.append(Known(f"e{number}", axes, "real"))
        for number in range(g.number(26, 34) if self.regime == "many" else g.number(1, 4)):
            self.term(number)
        return dataclasses.replace(g.program, data=tuple(g.data.values()), lines=tuple(self.lines)).used()

    def add(self, line: Line) -> None:
        """One more line."""
        self.lines.append(line)
        self.grammar.features[f"{line.kind} {line.family}".strip()] += 1

    def predictor_axes(self) -> Axes:
        """Mostly vectors of observations."""
        g = self.grammar
        return [("N",), ("N",), ("N",), ("K",), ("N", "P"), ("K", "P"), (), ("M",)][g.number(0, 7)]

    # ---- variables

    def shape(self) -> Axes:
        """A shape of a variable."""
        g = self.grammar
        choice = g.number(0, 19)
        if choice < 6:
            return ()
        if choice < 10:
            return ("K",)
        if choice < 13:
            return ("P",)
        if choice < 15:
            return ("K", "P")
        return [("1",), ("2",), ("N",), ("M",), ("K", "2")][choice - 15] if g.often(0.98) else ("0",)

    def variable(self, name: str) -> None:
        """A free variable; half of its parameters are expressions of earlier variables."""
        g = self.grammar
        family, axes = g.one(*(FURTHER_PRIORS if g.often(0.25) else PRIORS)), self.shape()
        known_axes, shape = axes, axes if g.often(0.85) else None
        depth = 2 if g.often(0.15) else 1

        def real(at: Axes = axes) -> str:
            return self.parameter(at, depth, g.literal, g.real)

        def positive() -> str:
            return self.parameter(axes, depth, lambda: str(g.number(2, 12) / 4.0), g.positive)

        if family == "Dirichlet":
            last = g.one("2", "3", "K")
            lead = ("P",) if g.often(0.15) else ()
            known_axes, shape = (*lead, last), None
            if g.length(last) < 2:
                family = "Normal"
                arguments = {"mu": real(()), "sigma": "1.0"}
                known_axes, shape = axes, axes
            elif lead:
                arguments = {"a": f"ones({last}) * {g.positive((), 1)} + 0.5"}
                shape = (*lead, last)
            else:
                arguments = {
                    "a": g.one(
                        f"ones({last})",
                        f"ones({last}) * {g.positive((), 1)} + 0.5",
                        f"0.5 + softplus({g.real((last,), 1)})",
                    )
                }
        elif family == "MvNormal":
            axis = g.one("K", "P", "2", "M")
            if not g.solvable(axis):
                axis = "2"
            known_axes, shape = (axis,), None
            arguments = {"mu": g.one(f"zeros({axis})", g.real((axis,), 1))}
            arguments |= self.matrix_parameter(axis)
        elif family in ("Normal", "Laplace", "Cauchy", "StudentT", "LogNormal"):
            names = {"Laplace": ("mu", "b"), "Cauchy": ("alpha", "beta")}.get(family, ("mu", "sigma"))
            arguments = {names[0]: real(), names[1]: positive()}
            if family == "LogNormal":  # whose starting value is an exponential
                arguments["mu"] = f"2.0 * tanh({arguments['mu']})"
            if family == "StudentT":
                arguments = {"nu": g.one("4.0", "7.5", f"2.0 + {g.positive((), 1)}"), **arguments}
            if family == "Normal" and g.often(0.1):
                arguments = {"mu": arguments["mu"], "tau": arguments["sigma"]}
        elif family == "Uniform":
            low = g.one("-2.0", "0.0", f"-(0.5 + {g.positive((), 1)})", f"-1.0 - {g.positive(axes, 1)}")
            high = g.one("1.0", "3.0", f"(0.1 + {g.positive((), 1)})")
            arguments = {"lower": low, "upper": high}
        elif family in KINDS:
            write = {"real": real, "positive": positive, "unit": lambda: g.unit(axes, 1)}
            arguments = {
                name: write[kind]() if kind in write else f"{kind[-1]}.0 + {g.positive((), 1)}"
                for name, kind in KINDS[family].parameters.items()
            }
        elif family in ("HalfNormal", "HalfCauchy", "Exponential"):
            word = {"HalfNormal": "sigma", "HalfCauchy": "beta", "Exponential": g.one("lam", "lam", "scale")}[family]
            arguments = {word: positive()}
        elif family == "Gamma" and g.often(0.2):
            arguments = {"mu": positive(), "sigma": positive()}
        elif family == "Beta" and g.often(0.3):
            arguments = {"mu": g.unit(axes, 1), "nu": positive()}
        else:  # draws of tiny shapes underflow, and what depends on them has no parameters
            least = "0.25 + " if with_draws(g.program.number) else ""
            arguments = {"alpha": f"{least}{positive()}", "beta": positive()}
        if shape is None and family not in ("Dirichlet", "MvNormal"):
            known_axes = ()  # what its parameters give, which are exact only where they are numbers
            arguments = {n: v if self.is_number(v) else f"({v}) * 1.0" for n, v in arguments.items()}
            shape = () if all(self.is_number(v) for v in arguments.values()) else axes
            known_axes = shape
        self.add(Line("variable", name, tuple(arguments.items()), family, shape))
        kind = SUPPORT.get(family) or FAMILIES[family].support
        if family == "Uniform" and arguments["lower"] == "0.0":
            kind = "unit" if arguments["upper"] == "1.0" else "positive"
        g.known.append(Known(name, known_axes, kind))

    @staticmethod
    def is_number(text: str) -> bool:
        """Whether a parameter is a literal."""
        return text.replace(".", "").replace("-", "").isdigit()

    def parameter(self, axes: Axes, depth: int, literal: Callable[[], str], write: Callable[[Axes, int], str]) -> str:
        """A number, an array, or an expression of what is known."""
        g = self.grammar
        if not g.known or g.often(0.5):
            return literal()
        g.features["hierarchical parameter"] += 1
        return write(axes if g.often(0.6) else (), depth)

    def matrix_parameter(self, axis: str) -> dict[str, str]:
        """A covariance, its factor or its inverse."""
        g = self.grammar
        k = g.covariance(axis, 1)
        return {0: {"chol": f"cholesky({k})"}, 1: {"tau": k}}.get(g.number(0, 4), {"cov": k})

    # ---- likelihoods

    def term(self, number: int) -> None:
        """Data with a distribution, or a potential."""
        g = self.grammar
        depth = 1 if self.regime == "many" else g.number(2, 3)
        if g.often(0.2):
            axes = self.predictor_axes()
            value = g.real(axes, depth)
            if g.often(0.3) or with_draws(g.program.number):  # what is sampled has a bounded density
                value = f"-0.5 * square({value})"
            self.add(Line("potential", f"q{number}", (("value", value),)))
            return
        family = g.one(*FURTHER_LIKELIHOODS) if g.often(0.4) else g.one(*LIKELIHOODS)
        axes = [("N",), ("N",), ("N",), ("N",), ("M",), ("N", "P"), ("K",), ()][g.number(0, 7)]
        if self.regime == "many":
            axes = [(), ("K",), ("P",)][g.number(0, 2)]
        if family in WRITERS:
            WRITERS[family](self, f"y{number}", axes, depth)
            return
        write = self._by_kinds if family in KINDS else getattr(self, f"_{family.lower()}", self._location)
        write(f"y{number}", family, axes, depth)

    def observe(self, name: str, family: str, arguments: dict[str, str], observed: str) -> None:
        """A line of data."""
        self.add(Line("observed", name, tuple(arguments.items()), family, None, observed))

    def _by_kinds(self, name: str, family: str, axes: Axes, depth: int) -> None:
        """One parameter of the data's axes, the others often numbers."""
        g = self.grammar
        kinds = KINDS[family]
        first = g.number(0, len(kinds.parameters) - 1)

        def parameter(place: int, kind: str) -> str:
            at, deep = (axes, depth) if place == first else ((), 1)
            if kind == "real":  # exponentials of exponentials are no model to draw from
                return f"3.0 * tanh({g.real(at, deep)})" if family in ("Gumbel", "Moyal") else g.real(at, deep)
            if kind == "unit":
                return g.unit(at, deep)
            if kind in ("low", "high"):
                return f"{'-' if kind == 'low' else ''}(2.5 + {g.positive(at, 1)})"
            if kind == "trials":
                return g.one("12", g.datum("trials", axes, "int64 int32 int8"))
            if kind == "zero":
                return "0"
            above = {"above1": "1.0 + ", "above2": "2.0 + "}.get(kind, "")
            return f"{above}{g.positive(at, deep)}"

        arguments = {word: parameter(i, kind) for i, (word, kind) in enumerate(kinds.parameters.items())}
        whole = {"count": self.counts, "count1": lambda at: f"({self.counts(at)} + 1)"}
        write = whole.get(kinds.data, lambda at: g.datum(kinds.data, at, "int64" if kinds.data == "bit" else "float64"))
        self.observe(name, family, arguments, write(axes))

    def _location(self, name: str, family: str, axes: Axes, depth: int) -> None:
        g = self.grammar
        mu = g.real(axes, depth) if g.often(0.9) else g.real((), depth)
        names = {"Laplace": ("mu", "b"), "Cauchy": ("alpha", "beta")}.get(family, ("mu", "sigma"))
        arguments = {names[0]: mu, names[1]: g.positive(axes, depth - 1)}
        if family == "StudentT":
            arguments = {"nu": g.one("3.0", f"1.5 + {g.positive((), 1)}"), **arguments}
        if family == "LogNormal":
            self.observe(name, family, arguments, g.datum("positive", axes))
            return
        if family == "Normal" and g.often(0.1):
            arguments = {"mu": mu, "tau": arguments["sigma"]}
        if axes == ("N",) and g.length("N") > 2 and g.often(0.1):  # time series: the data less the first
            rho, y = g.named((), 1), g.datum("real", axes)
            if g.data[y].container == "array":
                g.features["autoregressive likelihood"] += 1
                arguments.pop("tau", None)
                arguments |= {names[0]: f"{rho} * {y}[:-1]", names[1]: g.positive((), 1)}
                self.observe(name, family, arguments, f"{y}[1:]")
                return
        y = g.datum("real", axes) if g.often(0.8) else g.datum("real", axes, "float32")
        if g.often(0.15):
            y = g.datum("count", axes, "int64 int32 int8 uint8 int16")
        self.observe(name, family, arguments, y)

    def _positive_data(self, name: str, family: str, axes: Axes, depth: int) -> None:
        g = self.grammar
        first, second = g.positive(axes, depth), g.positive((), depth - 1)
        words = {
            "Exponential": {g.one("lam", "scale"): first},
            "HalfNormal": {"sigma": first},
        }.get(family, {"alpha": f"0.5 + {second}", "beta": first})
        if family in ("Gamma", "InverseGamma") and g.often(0.3):
            g.features["positive data by mean and spread"] += 1
            words = {"mu": first, "sigma": second}
        self.observe(name, family, words, g.datum("positive", axes, "float64" if g.often(0.8) else "float32"))

    _exponential = _halfnormal = _gamma = _inversegamma = _positive_data

    def _beta(self, name: str, family: str, axes: Axes, depth: int) -> None:
        g = self.grammar
        words = {"alpha": g.positive(axes, depth), "beta": g.positive((), 1)}
        if g.often(0.5):
            words = {"mu": g.unit(axes, depth), "nu": f"1.0 + {g.positive((), 1)}"}
        elif g.often(0.3):  # the spread is below that of the two ends
            g.features["proportions by mean and spread"] += 1
            mu = g.unit(axes, depth)
            words = {"mu": mu, "sigma": f"0.9 * {g.unit((), 1)} * sqrt({mu} * (1.0 - {mu}))"}
        self.observe(name, family, words, g.datum("unit", axes))

    def counts(self, axes: Axes) -> str:
        """Counts of some type."""
        return self.grammar.datum("count", axes, "int64 int64 int32 int8 uint8 int16")

    def _poisson(self, name: str, family: str, axes: Axes, depth: int) -> None:
        g = self.grammar
        rate = g.positive(axes, depth)
        if g.often(0.5):
            rate = f"exp({g.one('0.5 * tanh({})', 'clip({}, -2.0, 2.0)').format(g.real(axes, depth))})"
        self.observe(name, family, {"mu": rate}, self.counts(axes))

    def _negativebinomial(self, name: str, family: str, axes: Axes, depth: int) -> None:
        g = self.grammar
        words = {"mu": g.positive(axes, depth), "alpha": g.positive((), 1)}
        if g.often(0.3):
            words = {"p": g.unit(axes, depth), "n": g.positive((), 1)}
        self.observe(name, family, words, self.counts(axes))

    def chance(self, axes: Axes, depth: int) -> dict[str, str]:
        """A probability or its log odds."""
        g = self.grammar
        return {"logit_p": g.real(axes, depth)} if g.often(0.6) else {"p": g.unit(axes, depth)}

    def _bernoulli(self, name: str, family: str, axes: Axes, depth: int) -> None:
        data = self.grammar.datum("bit", axes, "int64 bool int8 int32 float64".replace(" float64", ""))
        self.observe(name, family, self.chance(axes, depth), data)

    def _binomial(self, name: str, family: str, axes: Axes, depth: int) -> None:
        trials = self.grammar.one("12", self.grammar.datum("trials", axes, "int64 int32 int8"))
        data = self.grammar.datum("bit", axes, "int64 int32")
        self.observe(name, family, {"n": trials, **self.chance(axes, depth)}, data)

    def _categorical(self, name: str, family: str, axes: Axes, depth: int) -> None:
        g = self.grammar
        n = g.one("K", "3", "2")
        if g.length(n) < 1 or len(axes) != 1:
            self._poisson(name, "Poisson", axes, depth)
            return
        wide = (*axes, n) if g.often(0.7) else (n,)
        p = {"logit_p": g.real(wide, depth)} if g.often(0.5) else {"p": g.simplex(wide, depth)}
        self.observe(name, family, p, g.datum("index", axes, "int64 int32 int8", n))

    def _mvnormal(self, name: str, family: str, axes: Axes, depth: int) -> None:
        g = self.grammar
        axis = g.one("K", "P", "N", "M")
        if not g.solvable(axis):
            axis = "2"
        lead = ("P",) if g.often(0.2) else ()
        mu = g.one(f"zeros({axis})", g.real((axis,), depth), g.real((*lead, axis), depth))
        self.observe(name, family, {"mu": mu, **self.matrix_parameter(axis)}, g.datum("real", (*lead, axis)))

    def _dirichlet(self, name: str, family: str, axes: Axes, depth: int) -> None:
        g = self.grammar
        n = g.one("2", "3")
        y = g.datum("simplex", (), upto=n) if g.often(0.5) else g.datum("simplex", ("K",), upto=n)
        self.observe(name, family, {"a": f"0.5 + softplus({g.real((n,), depth)})"}, y)

    def _uniform(self, name: str, family: str, axes: Axes, depth: int) -> None:
        g = self.grammar
        words = {"lower": f"-2.5 - {g.positive((), 1)}", "upper": f"2.5 + {g.positive(axes, depth)}"}
        self.observe(name, family, words, g.datum("real", axes))

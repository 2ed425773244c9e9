"""The public names, by subject: what has a page of the reference, and where.

In: the tables of names of the library's packages. Out: each object once, with all its spellings. A module of the
library that has no subject here is an error, so that a new name cannot be left out.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

SHORT = {"consilience.tensor": "pt", "consilience.xtensor": "px", "consilience": "pm"}

# Subjects of `pm`, by the row of `consilience._NAMES` a name stands in.
SUBJECTS = {
    "Models": "consilience.model consilience.logprob",
    "Sampling": "consilience.sample consilience.estimators.studies.many_fits consilience.sample.report "
    "consilience.diagnostics consilience.datasets",
    "Step methods": "consilience.inference",
    "Variational inference and SMC": "consilience.estimators.approximations consilience.estimators.inla "
    "consilience.estimators.variational consilience.estimators.smc consilience.estimators.filters",
    "Calibration and cross-validation": "consilience.estimators.refutation consilience.estimators.calibration "
    "consilience.estimators.cross_validation",
    "Plots and comparison": "consilience.plots",
    "Import and export": "consilience.foreign consilience.engines.c_library.folder consilience.engines.jax.read.jaxpr "
    "consilience.engines.jax.read.wrapped consilience.engines.stablehlo.emit.module "
    "consilience.engines.stablehlo.read.module consilience.engines.torch.read.graph",
    "Functions and compilation": "consilience.tensor consilience.backends.modes consilience.backends.request "
    "consilience.compile consilience.backends.printing consilience.tensor.random consilience.tensor.flattened",
    "Errors and warnings": "consilience.errors",
}

# Subjects of distributions, by the file that declares them.
DISTRIBUTIONS = {
    "Continuous distributions": "bounded circular constrained_prior extreme_values first_passage gamma_family "
    "normal_relatives polya_gamma positive real_line skewed unit_interval waiting_times improper",
    "Discrete distributions": "conway_maxwell_poisson counts skellam whole_intervals zero_inflated hurdle ordered",
    "Distributions of vectors and matrices": "autoregression_in_space kronecker_normal lkj matrix_normal multinomial "
    "multivariate_normal of_normal_vectors simplex sphere stick_breaking wishart zero_sum_normal",
    "Time series": "autoregression diffusion hidden_markov random_walk state_space volatility",
    "Regression trees": "bart",
    "Mixtures, truncation, censoring, custom distributions": "mixture truncation custom distribution simulator drawing",
}

# Subjects of `pt`, by the file in which a function is written.
TENSORS = {
    "Symbolic inputs": "inputs",
    "Tensor creation": "construction grids contexts values ir.settings",
    "Elementwise functions": "elementwise formulas rounding gamma_functions notation complex_numbers special",
    "Reductions, sorting and counting": "reductions reduction quantiles order ordering counting index piecewise_linear "
    "interpolate",
    "Shapes and joining": "arrangement joining gathering shape packing padding",
    "Products and linear algebra": "linalg linear_systems products einstein",
    "Loops, branches and batches": "loops branches control vectorize.mapped vectorize.named_axes vectorize.signature",
    "Functions and derivatives": "function functions evaluation differentiation python_ops python_functions "
    "printing.tree ir.node ir.types",
}

# Packages that are a subject each.
PACKAGES = {
    "consilience.tensor.linalg": "Linear algebra",
    "consilience.tensor.special": "Special functions",
    "consilience.tensor.fft": "Fourier transforms",
    "consilience.tensor.signal": "Signals",
    "consilience.tensor.interpolate": "Interpolation",
    "consilience.tensor.optimize": "Optimization and root finding",
    "consilience.tensor.random": "Random numbers",
    "consilience.tensor.extra_ops": "PyTensor's extra functions",
    "consilience.math": "Mathematical functions of pm.math",
    "consilience.gp": "Gaussian processes",
    "consilience.statespace": "State space models",
    "consilience.gp.cov": "Covariance functions",
    "consilience.gp.mean": "Mean functions",
    "consilience.gp.util": "Utilities for Gaussian processes",
    "consilience.ode": "Differential equations",
    "consilience.bart": "Regression trees",
    "consilience.sparse": "Sparse matrices",
    "consilience.smc": "Sequential Monte Carlo",
    "consilience.variational": "Variational inference",
    "consilience.dims": "Models with named dims",
    "consilience.xtensor": "Tensors with named dims",
    "consilience.scan": "Loops",
    "consilience.graph": "Graphs",
    "consilience.gradient": "Derivatives",
    "consilience.compile": "Compilation",
    "consilience.ifelse": "Branches",
    "consilience.raise_op": "Assertions",
    "consilience.printing": "Printing",
    "consilience.logprob": "Densities of expressions",
    "consilience.callbacks": "Callbacks",
    "consilience.cluster": "Clusters",
    "consilience.errors": "Errors",
    "consilience.distributions": "Building blocks of distributions",
}
# Names that stand first in their subject, as users meet them first; the others follow in the order of the alphabet.
FIRST = """
Model Data Deterministic Potential set_data sample summary sample_posterior_predictive sample_prior_predictive NUTS
Metropolis Slice HamiltonianMC fit sample_smc find_MAP fit_laplace loo compare sbc challenge plot_trace plot_forest
plot_posterior from_pymc from_bridgestan from_jax export function config Minibatch ConsilienceError
ConvergenceWarning Normal HalfNormal Uniform Exponential Gamma Beta StudentT Bernoulli Poisson Binomial
NegativeBinomial MvNormal Dirichlet LKJCholeskyCov ZeroSumNormal GaussianRandomWalk AR Mixture Truncated Censored
CustomDist BART scalar vector matrix constant zeros ones arange as_tensor exp log sqrt abs sum mean max min
concatenate stack reshape dot matmul scan cond grad
"""
NO_LISTING = {"consilience.gp.mean", "consilience.gp.util", "consilience.callbacks", "consilience.errors"}
"""Modules without `__all__`: public is what they define."""


class WithoutSubject(ValueError):
    """A public name that no subject of the reference takes."""


@dataclass
class Entry:
    """A public object: its name, the object, its subject, and all names it goes by."""

    name: str
    thing: Any
    subject: str
    spellings: list[str] = field(default_factory=list)

    @property
    def page(self) -> str:
        """The page, in the folder of the reference; letters of both cases meet in some file systems."""
        capital = "".join(i for i in self.name.rpartition(".")[2] if i.isupper())
        return self.name + (f"-{capital}" if self.name.casefold() in _meeting() else "")

    @property
    def kind(self) -> str:
        """How Sphinx calls such things."""
        if inspect.isclass(self.thing):
            return "exception" if issubclass(self.thing, BaseException) else "class"
        return "function" if callable(self.thing) else "data"


def short(name: str) -> str:
    """A name as users write it: `pm.sample`, `pt.linalg.solve`."""
    for package, alias in SHORT.items():
        if name.startswith(f"{package}."):
            return f"{alias}{name.removeprefix(package)}"
    return name


def _rows(table: dict[str, str]) -> dict[str, str]:
    return {row: subject for subject, rows in table.items() for row in rows.split()}


def _written_in(name: str, thing: Any) -> str:
    """The file of `pt` that a function stands in, or the module of a class, as far as the tables above need it."""
    from consilience.tensor import elementwise

    if name in elementwise.ROWS:
        return "elementwise"
    if inspect.isclass(thing):
        return str(thing.__module__)
    code = getattr(inspect.unwrap(thing), "__code__", None) if callable(thing) else None
    if code is None:
        module = str(getattr(type(thing), "__module__", ""))
        return module if module.startswith("consilience.") else "values"
    path = Path(code.co_filename)
    return ".".join(path.with_suffix("").parts[path.parts.index("consilience") :])


def _subject_of_tensor(name: str, thing: Any) -> str:
    rows, where = _rows(TENSORS), _written_in(name, thing)
    parts = where.split(".")
    for tail in (parts[-1], ".".join(parts[-2:])):
        if tail in rows:
            return rows[tail]
    raise WithoutSubject(f"pt.{name}, written in {where}: name that in TENSORS of docs/building/names.py")


def listed(module: str) -> list[str]:
    """Public names of a module."""
    found = import_module(module)
    if module not in NO_LISTING:
        return sorted(found.__all__)
    own = {n: t for n, t in vars(found).items() if not n.startswith("_") and inspect.isroutine(t) | inspect.isclass(t)}
    return sorted(n for n, t in own.items() if t.__module__.startswith(module) or t.__module__ == found.__name__)


@cache
def entries() -> dict[str, Entry]:
    """Every public object by its first name: `pm`, then `pt`, then packages."""
    import consilience as pm
    import consilience.tensor as pt
    from consilience import distributions

    by_thing: dict[int, Entry] = {}
    found: dict[str, Entry] = {}

    def add(name: str, thing: Any, subject: str) -> None:
        if inspect.ismodule(thing):
            return
        plain = isinstance(thing, str | int | float | tuple | type(None))
        known = None if plain else by_thing.get(id(thing))
        if known is None:
            known = found[name] = Entry(name, thing, subject)
            if not plain:
                by_thing[id(thing)] = known
        known.spellings.append(name)

    subjects, declared = _rows(SUBJECTS), _rows(DISTRIBUTIONS)
    files = {
        n: file
        for table in (distributions.PUBLIC, distributions.INTERNAL)
        for file, ns in table.items()
        for n in ns.split()
    }
    for module, names in pm._NAMES.items():
        for name in sorted(names.split(), key=lambda n: (n in distributions.SPELLINGS, n)):
            if module == "consilience.distributions":
                row = files.get(distributions.SPELLINGS.get(name, name), "")
                subject = declared.get(row)
            else:
                row, subject = module, subjects.get(module)
            if subject is None:
                raise WithoutSubject(f"pm.{name}, of {row}: name that in docs/building/names.py")
            add(f"consilience.{name}", getattr(pm, name), subject)
    for name in pt.__all__:
        thing = getattr(pt, name)
        if not inspect.ismodule(thing):
            add(f"consilience.tensor.{name}", thing, _subject_of_tensor(name, thing))
    for module, title in PACKAGES.items():
        for name in listed(module):
            add(f"{module}.{name}", getattr(import_module(module), name), title)
    return found


@cache
def spellings() -> dict[str, Entry]:
    """The entry of every public name, however it is spelled: whole, and as users write it."""
    return {s: e for e in entries().values() for name in e.spellings for s in (name, short(name))}


@cache
def _meeting() -> set[str]:
    seen: dict[str, set[str]] = {}
    for name in entries():
        seen.setdefault(name.casefold(), set()).add(name)
    return {folded for folded, names in seen.items() if len(names) > 1}


def subjects() -> dict[str, list[Entry]]:
    """Entries by subject, in the order of the tables: the usual names first."""
    usual = {name: place for place, name in enumerate(FIRST.split())}
    order = [*SUBJECTS, *DISTRIBUTIONS, *TENSORS, *PACKAGES.values()]
    made: dict[str, list[Entry]] = {subject: [] for subject in order}
    for entry in entries().values():
        made[entry.subject].append(entry)

    def place(entry: Entry) -> tuple[int, str]:
        return usual.get(short(entry.name).partition(".")[2], len(usual)), entry.name.casefold()

    return {subject: sorted(found, key=place) for subject, found in made.items() if found}

"""The modules of PyTensor and PyMC that programs import names from, and the places here where those names are.

In: the path of a module that this library does not have under that name. Out: a module that finds its names in those
places. Outside: modules that are there by their own name, and names that nobody has here (`absent`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, MutableSequence, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final, cast

from consilience.first_use import NamedModule
from consilience.names import absent

_ROOT: Final = "consilience"
_PLACES: Final = {
    "util": "foreign.pymc_names.value_names . errors model inference",
    "initial_point": "foreign.pymc_names.points . model distributions",
    "blocking": "foreign.pymc_names.points",
    "pytensorf": ". foreign.pymc_names.graphs model distributions logprob inference tensor",
    "testing": "foreign.pymc_names.testing .",
    "data": ".",
    "exceptions": "errors foreign.pymc_names.exceptions",
    "basic conditional configdefaults func_utils model_graph progress_bar "
    "sampling stats step_methods tuning": ". errors model distributions logprob inference tensor",
    "compile.aliasing compile.builders compile.debug compile.debug.debugmode compile.debug.nanguardmode "
    "compile.executor compile.io compile.maker compile.mode compile.ops compile.sharedvalue": (
        "compile . tensor backends.modes"
    ),
    "graph.basic graph.fg graph.null_type graph.op graph.replace graph.rewriting graph.rewriting.utils "
    "graph.traversal graph.type graph.utils": ("graph tensor errors"),
    "scan.basic scan.op scan.utils": "scan",
    "tensor.basic tensor.blas tensor.blockwise tensor.elemwise tensor.exceptions tensor.functional "
    "tensor.inplace tensor.math tensor.sharedvar tensor.subtensor "
    "tensor.symbolic tensor.type tensor.type_other tensor.utils tensor.variable ": (
        "tensor tensor.extra_ops tensor.special graph errors compile tensor.dtypes tensor.scalar_types tensor.indexed "
        "foreign.pymc_names.graphs"
    ),
    "scalar scalar.basic scalar.math scalar.sharedvar": "tensor.scalar_types tensor tensor.special errors",
    "tensor.linalg.constructors tensor.linalg.decomposition tensor.linalg.decomposition.cholesky "
    "tensor.linalg.decomposition.eigen tensor.linalg.decomposition.lu tensor.linalg.decomposition.qr "
    "tensor.linalg.decomposition.schur tensor.linalg.decomposition.svd tensor.linalg.inverse tensor.linalg.products "
    "tensor.linalg.solvers tensor.linalg.solvers.general tensor.linalg.solvers.linear_control "
    "tensor.linalg.solvers.lstsq tensor.linalg.solvers.psd tensor.linalg.solvers.triangular "
    "tensor.linalg.solvers.tridiagonal tensor.linalg.summary": "tensor.linalg tensor",
    "tensor.random.basic tensor.random.op tensor.random.type tensor.random.utils tensor.random.variable": (
        "tensor.random tensor foreign.pymc_names.graphs"
    ),
    "tensor.signal.conv": "tensor.signal",
    "sparse.basic sparse.linalg sparse.math sparse.sharedvar sparse.type sparse.variable": "sparse",
    "xtensor.basic xtensor.shape xtensor.type": "xtensor",
    "vartypes": "foreign.pymc_names.vartypes",
    "backends.arviz": "foreign.pymc_names.datasets . sample",
    "backends.base": "foreign.pymc_names.traces . sample",
    "backends.ndarray": "foreign.pymc_names.traces",
    "distributions.censored distributions.continuous distributions.discrete distributions.multivariate "
    "distributions.timeseries distributions.truncated": "distributions . logprob",
    "distributions.moments distributions.moments.means": "distributions.densities foreign.pymc_names.exceptions",
    "distributions.shape_utils": "foreign.pymc_names.shapes distributions",
    "gp.gp": "gp",
    "gp.hsgp_approx": "gp.hilbert_space gp",
    "gp.util": "gp.numerics gp",
    "logprob.abstract logprob.basic logprob.transforms logprob.utils": (
        "logprob distributions.transforms errors foreign.pymc_names.value_names foreign.pymc_names.graphs"
    ),
    "model.core model.fgraph model.transform model.transform.conditioning model.transform.deterministic "
    "model.transform.optimization": "model .",
    "ode.ode": "ode",
    "sampling.deterministic sampling.forward sampling.jax sampling.mcmc sampling.parallel": ". sample",
    "stats.convergence stats.log_density": ". sample diagnostics",
    "step_methods.arraystep step_methods.compound step_methods.hmc step_methods.hmc.hmc step_methods.hmc.nuts "
    "step_methods.metropolis step_methods.slicer": "inference .",
    "tuning.starting": ".",
    "variational.approximations variational.callbacks variational.opvi variational.updates": (
        "estimators.variational callbacks ."
    ),
}
HOMES: Final = {path: homes.split() for paths, homes in _PLACES.items() for path in paths.split()}
"""Where the names of a module are, by its path in PyTensor or PyMC; the first place that has one gives it."""
NAMED_AS_FUNCTIONS: Final = {
    f"tensor.{name}": ["tensor", "tensor.extra_ops", "foreign.pymc_names.graphs"]
    for name in ["einsum", "pad", "reshape", "shape", "sort", "xlogx"]
}
"""Modules whose name is that of a function here: importing them by this library's name would take its place."""
PACKAGES: Final = {
    "printing": "backends.printing",
    "smc": "estimators.smc",
    "variational": "estimators.variational",
}
"""Packages whose path is shorter in PyTensor or PyMC: importing one by that path gives the package itself."""
BESIDE: Final = {
    "backends.MultiTrace": "foreign.pymc_names.traces",
    "backends.NDArray": "foreign.pymc_names.traces",
    "backends.printing.str_for_dist": "foreign.pymc_names.value_names",
    "backends.printing.str_for_potential_or_deterministic": "foreign.pymc_names.value_names",
    "distributions.distribution.DiracDelta": "distributions",
    "distributions.distribution.support_point": "distributions.densities",
}
"""Names of PyMC's in modules that are there by their own name, with the stand-in."""

_DOC: Final = "Names of PyTensor or PyMC, found where they are here."


class _Module(NamedModule):
    """A module of PyTensor or PyMC by its path: its names are those of the places in `HOMES`."""

    __path__: MutableSequence[str] = []  # noqa: RUF012 - the form of a module; further modules may lie below it

    def __reduce__(self) -> tuple[Callable[[str], ModuleType], tuple[str]]:
        path = self.__name__.removeprefix(f"{_ROOT}.")
        return (named_as_function, (path,)) if path in NAMED_AS_FUNCTIONS else super().__reduce__()

    def __getattr__(self, name: str) -> Any:
        path = self.__name__.removeprefix(f"{_ROOT}.")
        if not name.startswith("__"):
            for home in _homes(path):
                place = _place(home)
                if name in _public(place):
                    return getattr(place, name)
        return attribute(self.__name__, name, [] if name.startswith("_") else dir(self))

    def __dir__(self) -> list[str]:
        return sorted({n for home in _homes(self.__name__.removeprefix(f"{_ROOT}.")) for n in _public(_place(home))})


def _homes(path: str) -> Sequence[str]:
    return HOMES.get(path) or NAMED_AS_FUNCTIONS[path]


def _place(home: str) -> ModuleType:
    return import_module(_ROOT if home == "." else f"{_ROOT}.{home}")


def _public(place: ModuleType) -> list[str]:
    return vars(place).get("__all__") or [name for name in vars(place) if not name.startswith("_")]


def below(package: str, name: str) -> ModuleType | None:
    """The module `name` of PyTensor's or PyMC's `package`, whose names are elsewhere here; None for another name."""
    path = f"{package}.{name}"
    return import_module(path) if _is_elsewhere(path) else None


def attribute(package: str, name: str, there: Sequence[str]) -> Any:
    """What a package that has no `name` gives: a module below; AttributeError says what serves instead."""
    module: Any = below(package, name)
    if module is None and "consilience.as_pymc" in sys.modules:  # programs for PyMC name its graphs' classes
        home = BESIDE.get(f"{package}.{name}".removeprefix(f"{_ROOT}."))
        module = getattr(_place(home), name) if home else _place("foreign.pymc_names.graph_classes").find(name)
    if module is None:
        where = sys.modules.get(package)  # not there by this library's name if it is named as a function
        near = [] if name.startswith("_") else list(there)
        raise AttributeError(absent.reason(f"module {package!r}", name, near), name=name, obj=where)
    return module


def spec(path: str) -> ModuleSpec | None:
    """How to import the module with this path; None where it is none of PyTensor or PyMC."""
    return ModuleSpec(path, cast(Any, _Loader()), is_package=True) if _is_elsewhere(path) else None


def _is_elsewhere(path: str) -> bool:
    return path.removeprefix(f"{_ROOT}.") in HOMES or path.removeprefix(f"{_ROOT}.") in PACKAGES


def named_as_function(path: str) -> ModuleType:
    """The module with a path of `NAMED_AS_FUNCTIONS`, for those who import it by another name than this library's."""
    return _Module(f"{_ROOT}.{path}", _DOC)


class _Loader:  # a subclass of `importlib.abc.Loader` would load much else
    def __init__(self) -> None:
        self._own: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        package = PACKAGES.get(spec.name.removeprefix(f"{_ROOT}."))
        if package is None:
            return _Module(spec.name, _DOC)
        there = _place(package)
        self._own = there.__spec__
        return there

    def exec_module(self, module: ModuleType) -> None:
        """There is no code to run: names are looked up when they are used, and packages are there already."""
        if self._own is not None:
            module.__spec__ = self._own

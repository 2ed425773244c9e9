"""Names that PyTensor or PyMC has and this library has not, filled in while their own tests are imported: a plugin.

In: `import pytensor` and `import pymc` that mean this library. Out: files that import such names are collected; tests
that use one fail with `AbsentNameError`; the names, one a line, in the file that `FILLED_NAMES` names. Outside: what
those names mean.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator, MutableSequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np

import consilience.as_pymc  # what `import pytensor` means
from consilience.ir.kinds import Kind

PACKAGES = ("pytensor", "pymc")
AS_THEY_ARE = ("pymc.testing",)
"""Modules of the installed PyMC that are run over this library: what its tests compare by."""
VALUES: dict[str, Any] = {
    "npy_2_compat.old_np_unique": np.unique,
    "tensor.math.float32_atol": 1e-5,
    "tensor.math.float32_rtol": 1e-5,
    "tensor.math.float64_atol": 1e-8,
    "tensor.math.float64_rtol": 1e-10,
    "utils.LOCAL_BITWIDTH": 64,
    "utils.PYTHON_INT_BITWIDTH": 64,
}
"""What tests compare with: PyTensor's tolerances (`pytensor/tensor/math.py`) and facts of the machine."""


def _shapes_of_beta(alpha: Any = None, beta: Any = None, mu: Any = None, sigma: Any = None, nu: Any = None) -> Any:
    nu = mu * (1 - mu) / sigma**2 - 1 if nu is None and mu is not None else nu
    return (alpha, beta) if mu is None else (mu * nu, (1 - mu) * nu)


def _shapes_of_gamma(alpha: Any = None, beta: Any = None, mu: Any = None, sigma: Any = None) -> Any:
    return (alpha, beta) if mu is None else (mu**2 / sigma**2, mu / sigma**2)


def _shapes_of_inverse_gamma(alpha: Any = None, beta: Any = None, mu: Any = None, sigma: Any = None) -> Any:
    return (alpha, beta) if mu is None else ((2 * sigma**2 + mu**2) / sigma**2, mu * (mu**2 + sigma**2) / sigma**2)


def _trials(mu: Any = None, alpha: Any = None, p: Any = None, n: Any = None) -> Any:
    n = alpha if n is None else n
    return n, n / (mu + n) if p is None else p


def _scales(tau: Any = None, sigma: Any = None) -> Any:
    tau, sigma = (tau, tau**-0.5) if sigma is None else (np.sign(sigma) * sigma**-2.0, sigma)
    return consilience.tensor.as_tensor(tau), consilience.tensor.as_tensor(sigma)


def _conditional_logp(values: Any, warn_rvs: Any = None, **_: Any) -> Any:
    return consilience.conditional_logp(values, warn_rvs)  # PyMC's densities pass over other keywords


VALUES["distributions.continuous.get_tau_sigma"] = _scales
VALUES["logprob.basic.conditional_logp"] = _conditional_logp
ATTRIBUTES: dict[tuple[str, str], Any] = {
    ("AsymmetricLaplace", "get_kappa"): lambda kappa=None, q=None: kappa if q is None else (q / (1 - q)) ** 0.5,
    ("Beta", "get_alpha_beta"): _shapes_of_beta,
    ("Gamma", "get_alpha_beta"): _shapes_of_gamma,
    ("InverseGamma", "_get_alpha_beta"): _shapes_of_inverse_gamma,
    ("Metropolis", "stats_dtypes_shapes"): None,
    ("NegativeBinomial", "get_n_p"): _trials,
    ("Wald", "get_mu_lam_phi"): lambda mu, lam, phi: (mu, mu * phi if lam is None else lam, phi or lam / mu),
}
"""What PyMC's classes have and tests compute with while they are imported: other parameters, mostly."""
_collecting = True


def allclose(a: Any, b: Any, rtol: float | None = None, atol: float | None = None) -> bool:
    """PyTensor's `_allclose`: near by the tolerances above."""
    short = any(np.asarray(x).dtype in ("float16", "float32", "complex64") for x in (a, b))
    return bool(np.allclose(a, b, rtol or (1e-5 if short else 1e-10), atol or (1e-5 if short else 1e-8)))


VALUES["tensor.math._allclose"] = allclose


class AbsentNameError(Exception):
    """A test uses what is not here."""


class _Filling(type):
    """The class of classes that stand for absent names: anything while tests are collected, an error in a test."""

    path: str

    def __call__(cls, *_: Any, **__: Any) -> Any:
        return cls._used("called") if "path" in vars(cls) else super().__call__()

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls._used(name)

    def __getitem__(cls, _: object) -> Any:
        return cls._used("indexed")

    def __index__(cls) -> int:
        cls._used("counted")
        return 1

    def __iter__(cls) -> Iterator[Any]:
        return iter((cls,))

    def __add__(cls, other: Any) -> list[Any]:
        return []

    __radd__ = __add__

    def _used(cls, how: str) -> Any:
        if not _collecting:
            raise AbsentNameError(f"{cls.path} ({how})")
        return filling(cls.path)


def filling(path: str) -> Any:
    """What stands for a name."""
    with open(os.environ["FILLED_NAMES"], "a", encoding="utf-8") as names:
        names.write(f"{path}\n")
    takes_all = classmethod(lambda cls, **_: None)
    return _Filling(path.rpartition(".")[2], (), {"path": path, "__init_subclass__": takes_all})


class _Seen(ModuleType):
    """A module of PyTensor or PyMC: the names of ours, and behind them what is filled in."""

    __path__: MutableSequence[str] = []  # noqa: RUF012 - the form of a module

    def __init__(self, name: str, ours: Any) -> None:
        super().__init__(name, ours.__doc__)
        vars(self)["ours"] = ours

    def __getattr__(self, name: str) -> Any:
        path = f"{self.__name__}.{name}"
        value = VALUES.get(path.removeprefix("pytensor.").removeprefix("pymc."))
        if value is not None:
            return value
        if name == "__all__":
            return [n for n in dir(self.ours) if not n.startswith("_")]
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self.ours, name, None)
        if found is None or type(found).__name__ == "_NotImitated":  # which refuses already while tests are collected
            found = sys.modules[path] if path in sys.modules else filling(path)
            vars(self)[name] = found
        if not isinstance(found, ModuleType):
            return found
        module = importlib.import_module(path)
        if not isinstance(found, _Seen):  # `compile` is a function and a module, in several places
            vars(module)["ours"] = found
        return module

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:  # `scan` and others are functions, too
        return self.ours(*arguments, **keywords)

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
        elif not isinstance(value, ModuleType):  # a test replaces something
            setattr(self.ours, name, value)
        elif not hasattr(self.ours, name):
            vars(self)[name] = value


class _Finder:
    """Finds all modules of PyTensor and PyMC, those that are not here, too."""

    @staticmethod
    def find_spec(name: str, *_: object) -> ModuleSpec | None:
        package = name.partition(".")[0]
        if name in AS_THEY_ARE and (root := PathFinder.find_spec(package)) is not None:
            return PathFinder.find_spec(name, root.submodule_search_locations)
        return ModuleSpec(name, cast(Any, _Loader), is_package=True) if package in PACKAGES else None


class _Loader:
    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        _root, _dot, path = spec.name.partition(".")
        ours = f"consilience.{path}" if path else "consilience"
        stand_in = sys.modules.get(f"{spec.name} here")
        if stand_in is None:
            with contextlib.suppress(ModuleNotFoundError):  # nor its package
                stand_in = importlib.import_module(ours)
        return _Seen(spec.name, stand_in or ModuleType(spec.name))

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """The names are there."""


def pytest_collection_finish() -> None:
    """From here on names are used."""
    global _collecting
    _collecting = False


def _kind(kind: Any, *_: object, **__: object) -> Any:
    """A random op that a file makes when it is imported, of a class that is only a test here."""
    return filling(f"{kind.__name__} (made)") if _collecting else kind.refuse(kind.__name__)


for (_class, _attribute), _meaning in ATTRIBUTES.items():
    setattr(getattr(consilience, _class), _attribute, staticmethod(_meaning or filling(f"{_class}.{_attribute}")))
Kind.__init__ = lambda cls, *parts: type.__init__(cls, *parts)  # type: ignore[method-assign]
Kind.__call__ = _kind  # type: ignore[method-assign]
for _name in [name for name in sys.modules if name.split(".")[0] in PACKAGES]:  # named as functions
    sys.modules[f"{_name} here"] = sys.modules.pop(_name)
Path(os.environ["FILLED_NAMES"]).touch()
sys.meta_path.insert(0, cast(Any, _Finder))

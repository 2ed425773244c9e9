"""A stand-in for PyMC and PyTensor: `import pymc` and `import pytensor` mean this library, for those who ask for it.

In: `import consilience.as_pymc`, before a library that imports PyMC. Out: `pymc`, `pytensor` and modules below, which
are those of this library. Outside: PyTensor's graph classes, whose users keep PyMC and `import consilience.for_pymc`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, MutableSequence, Sequence
from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final, cast

from consilience.errors import ConsilienceError
from consilience.foreign.pymc_names import inference_data
from consilience.names import module_paths

VERSIONS: Final = {"pymc": ("6.4.0", "5.28.5"), "pytensor": ("3.3.8", "2.38.3")}
"""The versions whose interface is imitated: PyMC 6, and where ArviZ is below 1 that of PyMC 5, whose results are its
`InferenceData`. `__version__` is followed by `+consilience`."""

IN_PARTS: Final = ("pymc_extras",)
"""Packages of which some modules work with the stand-in, and others build on what is not imitated."""

TREES: Final = ("pymc_bart", "bartrs")
"""PyMC's packages of regression trees, for which `pm.bart` stands."""

_OWN: Final = "consilience"


class _Root(ModuleType):
    """`pymc` or `pytensor`: this library's public names, under that name and version."""

    __path__: MutableSequence[str] = []  # noqa: RUF012 - the form of a module; further modules lie below it

    def __getattr__(self, name: str) -> Any:
        try:
            found = getattr(import_module(_OWN), name)
        except AttributeError as error:
            raise AttributeError(str(error).replace(repr(_OWN), repr(self.__name__)), name=name, obj=self) from None
        return inference_data.taking(found) if name in inference_data.FUNCTIONS and inference_data.expected() else found

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("__"):
            super().__setattr__(name, value)
        else:  # what a test replaces in `pymc` is replaced for all who ask this library
            setattr(import_module(_OWN), name, getattr(value, "of_trees", value))

    def __delattr__(self, name: str) -> None:
        delattr(import_module(_OWN), name)

    def __dir__(self) -> list[str]:
        return dir(import_module(_OWN))


class _InParts(ModuleType):
    """A package whose own code is run when a name of it is asked for that is none of its modules.

    It imports all its modules, among them those that build on PyTensor's graph classes, which are not imitated.
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__version__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)
        if find_spec(f"{self.__name__}.{name}") is not None:
            return import_module(f"{self.__name__}.{name}")
        object.__setattr__(self, "__class__", ModuleType)
        try:
            _run(cast(Any, self.__spec__).loader.of_the_package.exec_module, self)
        except BaseException:
            object.__setattr__(self, "__class__", _InParts)
            raise
        return getattr(self, name)


def _run(body: Callable[[ModuleType], None], module: ModuleType) -> None:
    """Run a module's code; an ImportError for what the stand-in lacks tells how to use that module with PyMC itself."""
    try:
        body(module)
    except ImportError as error:
        lacking = (error.name or _OWN).partition(".")[0]
        if lacking not in (_OWN, *VERSIONS) or "for_pymc`" in str(error):
            raise
        raise ImportError(
            f"`{module.__name__}` cannot be imported under `consilience.as_pymc`, which lacks a part of PyMC or "
            f"PyTensor that it needs: {str(error).removesuffix('.')}. To use it, keep PyMC: leave out `import "
            "consilience.as_pymc`, write `import consilience.for_pymc`, and call "
            '`pm.sample(nuts_sampler="consilience")`.',
            name=error.name,
        ) from error


class _LoaderInParts:
    def __init__(self, of_the_package: Any) -> None:
        self.of_the_package = of_the_package

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _InParts(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """The package's code waits until it is needed."""


class _Finder:
    """Finds `pymc.X` and `pytensor.X` where `consilience.X` is, before any other finder is asked."""

    @staticmethod
    def find_spec(name: str, places: Sequence[str] | None = None, *_: object) -> ModuleSpec | None:
        root, _dot, path = name.partition(".")
        if name in IN_PARTS:
            found = PathFinder.find_spec(name)
            if found is not None and found.loader is not None:
                found.loader = cast(Any, _LoaderInParts(found.loader))
            return found
        if root in IN_PARTS:
            found = PathFinder.find_spec(name, places)
            if found is not None and isinstance(found.loader, SourceFileLoader):
                cast(Any, found.loader).exec_module = partial(_run, found.loader.exec_module)
            return found
        if root in TREES:
            return ModuleSpec(name, cast(Any, _LoaderOfTrees()), is_package=True)
        if root not in VERSIONS:
            return None
        if path and (find_spec(f"{_OWN}.{path}") is None):
            return None
        return ModuleSpec(name, cast(Any, _LoaderOfOurs()), is_package=True)


class _LoaderOfTrees:
    """`pymc_bart`, and modules below it: `pm.bart`."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        found = ModuleType(spec.name, "Sums of regression trees: `pm.bart` under the name of PyMC's package.")
        vars(found)["__version__"] = f"0.13.1+{_OWN}"
        return found

    def exec_module(self, module: ModuleType) -> None:
        """Names are looked up when they are asked for."""
        own = import_module(f"{_OWN}.bart")
        vars(module).update({name: getattr(own, name) for name in own.__all__}, __all__=own.__all__)


class _LoaderOfOurs:
    def __init__(self) -> None:
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        root, _dot, path = spec.name.partition(".")
        if not path:
            module: ModuleType = _Root(
                root, f"This library under the name {root}, as consilience.as_pymc was imported."
            )
            vars(module)["__version__"] = f"{VERSIONS[root][inference_data.expected()]}+{_OWN}"
            return module
        module = import_module(f"{_OWN}.{path}")
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is run: the module is there, and keeps the name by which it can be found without the stand-in.

        A module of this library that happens to have the path of one of PyMC's answers for names of PyMC's, too.
        """
        if self._spec is not None:
            module.__spec__ = self._spec
            vars(module).setdefault("__getattr__", partial(module_paths.attribute, module.__name__, there=()))


def install() -> None:
    """Have `pymc` and `pytensor` mean this library from now on; importing this module does it.

    Raises ConsilienceError if PyMC or PyTensor themselves have been imported: what holds their classes would not know
    ours.

    Examples
    --------
    >>> import consilience.as_pymc
    >>> import pymc as pm
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu")
    >>> type(model).__module__
    'consilience.model.model'
    >>> consilience.as_pymc.undo()
    """
    real = [name for name in VERSIONS if name in sys.modules and not isinstance(sys.modules[name], _Root)]
    if real:
        raise ConsilienceError(
            f"{' and '.join(real)} {'was' if len(real) == 1 else 'were'} imported before `consilience.as_pymc`; what "
            "imported it keeps it: `import consilience.as_pymc` has to come first in the program, before `pymc`, "
            "`pytensor` and the libraries that import them; `python -m consilience run --as-pymc script.py` and "
            "`pytest -p consilience.as_pymc` see to it. Those who keep PyMC and want its `pm.sample` to sample here "
            "`import consilience.for_pymc`."
        )
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, cast(Any, _Finder))
    for path in module_paths.NAMED_AS_FUNCTIONS:  # what is there already is not set as an attribute of its package
        sys.modules[f"pytensor.{path}"] = module_paths.named_as_function(path)


def undo() -> None:
    """Let `import pymc` and `import pytensor` mean those packages again; what imported them meanwhile keeps ours."""
    if _Finder in sys.meta_path:
        sys.meta_path.remove(cast(Any, _Finder))
    for name in [name for name in sys.modules if name.partition(".")[0] in (*VERSIONS, *TREES)]:
        del sys.modules[name]


install()

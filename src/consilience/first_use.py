"""Packages and tables of which only what is used is loaded.

In: a package's names, or the families of a table's rows, by the file that has them. Out: a package and a table that
load a file when one of its names or rows is asked for, and list them all. Type checkers read `__init__.pyi`, which
`python tools/names.py` writes from the table of a package.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar


class NamedModule(ModuleType):
    """A module of a class of its own, which pickles by its name, as others do: functions of users refer to it."""

    def __reduce__(self) -> tuple[Callable[[str], ModuleType], tuple[str]]:
        return import_module, (self.__name__,)


class _PackageOnUse(NamedModule):
    """A package in which a name of its table is what the table says: a module of that name does not take its place."""

    def __getattr__(self, name: str) -> Any:
        homes = vars(self)["HOMES"]
        if name not in homes:
            refuse = vars(self)["_refuse"]
            if refuse is not None and not name.startswith("__"):
                return refuse(self.__name__, name, self.__all__)
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)
        file, _, spelled = homes[name].partition(":")
        found = getattr(import_module(file if "." in file else f"{self.__name__}.{file}"), spelled or name)
        vars(self)[name] = found
        return found

    def __setattr__(self, name: str, value: object) -> None:
        if name not in vars(self)["HOMES"] or not isinstance(value, ModuleType):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *vars(self)["__all__"]})


def load_on_use(
    package: str, files: Mapping[str, str], refuse: Callable[[str, str, list[str]], Any] | None = None
) -> None:
    """Give a package, from its `__init__`, the names in `files`: by file, `name=other` where the file spells it so.

    A file of another package is written with its whole path.

    Parameters
    ----------
    refuse : callable, optional
        What to do about a name that is not there: gives it after all, or raises AttributeError.
    """
    module = sys.modules[package]
    homes = {}
    for file, names in files.items():
        for name in names.split():
            name, _, spelled = name.partition("=")
            homes[name] = f"{file}:{spelled}"
    vars(module).update(HOMES=homes, __all__=sorted(homes), _refuse=refuse)
    module.__class__ = _PackageOnUse


_Row = TypeVar("_Row")


class RowsByFamily(dict[Any, _Row]):
    """A table whose rows are entered by files, one for each family of classes; a file is read when one is looked up.

    Parameters
    ----------
    package : str
        Where the files are.
    below : str
        The package with the modules of the classes.
    families : mapping of str to str
        By file, modules in `below` that have its classes; those elsewhere with their whole path.

    Notes
    -----
    Keys of other modules are those entered already. Whoever goes through the whole table reads all files first.
    """

    def __init__(self, package: str, below: str, families: Mapping[str, str]) -> None:
        super().__init__()
        self._files: dict[str, list[str]] = {}
        for file, modules in families.items():
            for module in modules.split():
                place = module if module.startswith("consilience.") else f"{below}.{module}"
                self._files.setdefault(place, []).append(f"{package}.{file}")

    def __missing__(self, key: Any) -> _Row:
        for file in self._files.get(getattr(key, "__module__", ""), ()):
            import_module(file)  # which waits for another thread that is reading it
        if not super().__contains__(key):
            raise KeyError(key)
        return super().__getitem__(key)

    def get(self, key: Any, default: Any = None) -> Any:
        """The row for a key, or `default`."""
        try:
            return self[key]
        except KeyError:
            return default

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or self.get(key, self) is not self

    def read(self) -> None:
        """Read the files of all families."""
        for files in self._files.values():
            for file in files:
                import_module(file)

    def __iter__(self) -> Iterator[Any]:
        self.read()
        return super().__iter__()

    def __len__(self) -> int:
        self.read()
        return super().__len__()

    def keys(self) -> Any:
        """Keys of the whole table."""
        self.read()
        return super().keys()

    def values(self) -> Any:
        """Rows of the whole table."""
        self.read()
        return super().values()

    def items(self) -> Any:
        """Keys and rows of the whole table."""
        self.read()
        return super().items()

"""Packages and tables of which only what is used is loaded, and what is found by its name.

In: a package's names, or the families of a table's rows, by the file that has them. Out: a package and a table that
load a file when one of its names or rows is asked for, and list them all. `FACES` has what stands above who asks for
it, one row each, and the only such names: modules, or what they have there. Type checkers read `__init__.pyi`, which
`python tools/names.py` writes from the table of a package.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any, Final, TypeVar, cast

_GUARDED: Final[dict[int, Any]] = {}
# The file of wrappers, as far as `warnings` can tell: it counts no frames of the import system, whose files it knows by
# "importlib" and "_bootstrap" in their names. So `stacklevel=` counts as if there were no wrapper. Python 3.12 can skip
# files by `skip_file_prefixes=`, which each call of `warn` would have to give; 3.11 has nothing else.
WRAPPER: Final = "<consilience importlib _bootstrap>"
_LISTED: Final = r"(bool|None|Literal\[[^\[\]]*\]|Callable(\[(\[[^\[\]]*\]|\.\.\.), [\w.]+\])?)"
_LISTING: Final = re.compile(rf"{_LISTED}( \| {_LISTED})*")
_PLAIN_FIELDS: Final = re.compile(rf"({_LISTED}|int|str)( \| ({_LISTED}|int|str))*")  # records take any value otherwise


def guarded(thing: Any) -> Any:
    """A function or class of this library as users get it: bad arguments raise an error that names them.

    What its annotations list is checked before the call; the rest when an error escapes from inside. A class is
    changed in place.
    """
    if isinstance(thing, type):
        _fill(thing)
        for name in ("__init__", "__new__", "__call__"):
            for base in thing.__mro__:
                if name in vars(base):
                    if base.__module__.startswith("consilience"):
                        _guard_method(base, name)
                    break
        return thing
    if not isinstance(thing, FunctionType) or not thing.__module__.startswith("consilience"):
        return thing
    if id(thing) not in _GUARDED:
        wrapped = telling(thing)
        home: Any = sys.modules.get(thing.__module__)
        if home is not None and vars(home).get(thing.__name__) is thing:  # where pickle looks for it
            vars(home)[thing.__name__] = wrapped
        _GUARDED[id(thing)] = wrapped
    return _GUARDED[id(thing)]


def _fill(thing: Any) -> None:
    """Complete a docstring that leaves out what its code says, or what many share."""
    text = vars(thing).get("__doc__") if isinstance(thing, type) else thing.__doc__
    made_when_asked_for = isinstance(vars(type(thing)).get("__doc__"), property)
    if type(text) is str and ": " in text and not made_when_asked_for:
        thing.__doc__ = import_module("consilience.names.shared_parameters").filled(thing, text)


def _guard_method(kind: type, name: str) -> None:
    method = vars(kind)[name]
    plain = method.__func__ if isinstance(method, staticmethod) else method
    if isinstance(plain, FunctionType) and id(plain) not in _GUARDED:
        fields: Mapping[str, Any] | None = None
        if name == "__init__" and not plain.__annotations__ and "__post_init__" not in vars(kind):
            # A record, whose constructor has no annotations, and which does not check its fields itself.
            known = {n: a for base in reversed(kind.__mro__) for n, a in vars(base).get("__annotations__", {}).items()}
            fields = {n: known[n] for n in getattr(kind, "__match_args__", ()) if n in known}
        told = telling(plain, bound=True, noted=fields)
        setattr(kind, name, staticmethod(told) if isinstance(method, staticmethod) else told)


def telling(
    function: FunctionType,
    bound: bool = False,
    noted: Mapping[str, Any] | None = None,
    translated: Callable[[int, dict[str, Any]], dict[str, Any]] | None = None,
) -> FunctionType:
    """A function that checks what is listed for its arguments, and whose errors name them.

    `bound`: whether it is a method that stands for its class. `noted`: in place of the annotations of a method, in the
    order of its parameters after the first. `translated`: gives other keywords, from the number of arguments that are
    given by place and the keywords.
    """
    unlisted = checked(function, noted)
    _fill(function)

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        if keywords and translated is not None:
            keywords = translated(len(arguments), keywords)
        if unlisted is not None:
            unlisted(_called(function, arguments[0]) if bound else function, arguments, keywords)
        try:
            return function(*arguments, **keywords)
        except Exception as error:
            told = explained(function, bound, arguments, keywords, error)
            if told is error:
                raise
            raise told from error

    told = cast(FunctionType, call)
    told.__code__ = told.__code__.replace(co_filename=WRAPPER)
    _GUARDED[id(told)] = told
    return told


def checked(
    function: FunctionType, noted: Mapping[str, Any] | None = None
) -> Callable[[Any, tuple[Any, ...], Mapping[str, Any]], None] | None:
    """What refuses arguments of other values than the annotations list; None where these list nothing.

    Functions are checked as well: many are called later, or never, and a wrong one would be taken in silence.
    """
    given = function.__annotations__ if noted is None else noted
    known = [(name, a if isinstance(a, str) else _written(a)) for name, a in given.items()]
    pattern = _LISTING if noted is None else _PLAIN_FIELDS
    listed = {
        n: a
        for n, a in known
        if n != "return" and a != "None" and (pattern.fullmatch(a) or (n.endswith("name") and a == "str | None"))
    }
    if not listed:
        return None
    plain = {n: [kind for kind in (int, str) if kind.__name__ in a.split(" | ")] for n, a in listed.items()}
    order, names = by_place(function) if noted is None else ("self", *noted), listed.keys()
    places = {place: n for place, n in enumerate(order) if n in listed}
    first = min(places, default=sys.maxsize)

    def check(thing: Any, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
        if len(arguments) <= first and names.isdisjoint(keywords):
            return
        by_place = {name: arguments[place] for place, name in places.items() if place < len(arguments)}
        for name, value in {**by_place, **keywords}.items():
            if name not in listed or value is True or value is False or value is None:
                continue
            if type(value) not in plain[name] and not (callable(value) and "Callable" in listed[name]):
                import_module("consilience.names.bad_arguments").check(thing, name, listed[name], value)

    return check


def by_place(function: Any) -> tuple[str, ...]:
    """Names of what a function takes by place; of a decorated one, that of the function inside, if it begins alike."""
    code = function.__code__
    own = code.co_varnames[: code.co_argcount]
    inner = by_place(function.__wrapped__) if isinstance(getattr(function, "__wrapped__", None), FunctionType) else own
    return inner if inner[: len(own)] == own else own


def _written(annotation: object) -> str:
    """An annotation that is no text, as people write it."""
    if isinstance(annotation, type):
        return annotation.__name__
    return repr(annotation).replace("typing.", "").replace("NoneType", "None")


def explained(
    function: Any, bound: bool, arguments: tuple[Any, ...], keywords: Mapping[str, Any], error: Exception
) -> Exception:
    """The error to raise for one that a call of a public function, or of a method of its kind, ended with."""
    if bound:
        function, arguments = _called(function, arguments[0]), arguments[1:]
    found: Exception = import_module("consilience.names.bad_arguments").explained(function, arguments, keywords, error)
    return found


def _called(method: Any, first: Any) -> Any:
    """What a user called: of a constructor that a subclass of the user's calls in its own, the class that has it."""
    if method.__name__ not in ("__init__", "__new__"):
        return first
    name, made = method.__name__, first if isinstance(first, type) else type(first)
    return next((k for k in made.__mro__ if getattr(getattr(k, name), "__wrapped__", None) is method), made)


class NamedModule(ModuleType):
    """A module of a class of its own, which pickles by its name, as others do: functions of users refer to it."""

    def __reduce__(self) -> tuple[Callable[[str], ModuleType], tuple[str]]:
        return import_module, (self.__name__,)


class _PackageOnUse(NamedModule):
    """A package in which a name of its table is what the table says: a module of that name does not take its place."""

    def __getattr__(self, name: str) -> Any:
        homes = vars(self)["HOMES"]
        if name not in homes:
            if name.startswith("__"):
                raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)
            return import_module("consilience.names.module_paths").attribute(self.__name__, name, self.__all__)
        place, spelled = homes[name]
        found = getattr(import_module(place), spelled) if spelled else import_module(place)
        if vars(self)["_publish"] is not None:
            found = vars(self)["_publish"](found, self.__name__, name)
        vars(self)[name] = found
        return found

    def __setattr__(self, name: str, value: object) -> None:
        if name not in vars(self)["HOMES"] or not isinstance(value, ModuleType):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*(name for name in vars(self) if name.startswith("_")), *vars(self)["__all__"]})


class _CalledOnUse(_PackageOnUse):
    """A package that PyMC's users call as the function that it is named after."""

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        place, name = vars(self)["_called"]
        return getattr(import_module(place), name)(*arguments, **keywords)


def load_on_use(
    package: str,
    files: Mapping[str, str],
    public: bool = False,
    publish: Callable[[Any, str, str], Any] | None = None,
    called: str = "",
) -> None:
    """Give a package, or a module, the names in `files`: by file, `name=other` where the file spells it so.

    Files are those of the package, or of the package around a module; one of another package is written with its whole
    path. In place of a file, "" stands for modules of the package, and the whole path of a package for what it has.
    Names that the module has itself by now are published at once: those of its `__all__`, or else what it makes. A name
    that is missing is an error that says what serves in its place.

    `public`: whether users call what is in it. `publish`: makes what users get of what a file has, in place of
    `guarded`. `called`: "file:name" of the function that a call of the module itself means.
    """
    module = sys.modules[package]
    around = module.__package__ or package

    def home(file: str) -> str:
        return file if file.startswith("consilience.") else f"{around}.{file}"

    homes: dict[str, tuple[str, str]] = {}
    for file, names in files.items():
        for word in names.split():
            name, _, spelled = word.partition("=")
            homes[name] = (home(file), spelled or name) if file else (f"{around}.{spelled or name}", "")
    space, publish = vars(module), publish or (_guarded_there if public else None)
    made = [n for n, thing in space.items() if getattr(thing, "__module__", 0) == package and not n.startswith("_")]
    listed = space.get("__all__", made)
    if publish is not None:
        space.update({name: publish(space[name], package, name) for name in listed if name in space})
    space.update(HOMES=homes, __all__=sorted({*listed, *homes}), _publish=publish)
    if called:
        file, _, name = called.partition(":")
        vars(module)["_called"] = (home(file), name)
    module.__class__ = _CalledOnUse if called else _PackageOnUse


def _guarded_there(thing: Any, _module: str, _name: str) -> Any:
    return guarded(thing)


FACES: Final = {
    "Function.jax": ("consilience.engines.jax.function", "of_function"),
    "Function.numba": ("consilience.engines.numba.function", "of_function"),
    "Function.torch": ("consilience.engines.torch.function", "of_function"),
    "Function.torch_module": ("consilience.engines.torch.function", "module_of"),
    "ModelDensity.jax": ("consilience.engines.jax.function", "of_density"),
    "ModelDensity.torch": ("consilience.engines.torch.function", "of_density"),
    "Posterior.challenge": ("consilience.estimators.refutation.portfolio", "challenge"),
    "backend c": ("consilience.backends.c", "compile"),
    "backend jax": ("consilience.engines.jax.emit", "compile"),
    "backend llvm": ("consilience.backends.llvm", "compile"),
    "backend reference": ("consilience.backends.reference", "compile"),
    "backend torch": ("consilience.engines.torch.emit", "compile"),
    "meanings of operators": (
        "consilience.tensor.meanings",
        "",
    ),  # expressions may be unpickled where only the graph is loaded
    "meanings of random keys": ("consilience.tensor.random", ""),
    "page of a run": ("consilience.watch.live", "page_of"),
    "page of a result": ("consilience.watch.page_file", "write"),
    "words of variables": ("consilience.model.printing", ""),
    "machine code helpers": ("consilience.native.shared_work", ""),
    "machine code random": ("consilience.native.random.library", ""),  # the just-in-time compiler compiles these itself
    "machine code routine": ("consilience.native.routines.library", ""),
    "machine code of vector mathematics": ("consilience.native.vectormath", ""),
}


def face(name: str) -> Any:
    """What a row of `FACES` names, loaded when it is asked for."""
    module, attribute = FACES[name]
    found = import_module(module)
    return getattr(found, attribute) if attribute else found


_Row = TypeVar("_Row")


class RowsByFamily(dict[Any, _Row]):
    """A table whose rows are entered by files, one for each family of classes; a file is read when one is looked up.

    `package`: where the files are. `below`: the package with the modules of the classes. `families`: by file, modules
    in `below` that have its classes, or single classes of them (`module.Class`); those elsewhere with their whole path.

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
        place = getattr(key, "__module__", "")
        for name in (place, f"{place}.{getattr(key, '__qualname__', '')}"):
            for file in self._files.get(name, ()):
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

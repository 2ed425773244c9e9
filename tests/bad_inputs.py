"""Bad inputs for every public callable: a docstring's example is run, with one argument of its call replaced.

A case is `callable|parameter|kind`; what comes of it is one of `OUTCOMES`. Cases run in processes of their own
(`outcomes`), which are ended where a call does not end: `python -m tests.bad_inputs CASE …` tries some by hand.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import decimal
import doctest
import fractions
import inspect
import io
import itertools
import json
import linecache
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import traceback
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

import consilience as pm
import consilience.tensor as pt
from consilience.errors import ConsilienceError
from consilience.names.bad_arguments import short

OUTCOMES: Final = ("right", "clear", "vague", "raw", "wrong", "hang")
PATIENCE: Final = 30.0  # seconds for one case
MEMORY: Final = 6 << 30  # bytes of addresses that a process may have beyond those it begins with
SOURCES: Final = str(Path(pm.__file__).parent)


class Stranger:
    """An object that nothing can know."""

    def __repr__(self) -> str:
        return "<a stranger>"


def _pandas() -> Any:
    import pandas as pd

    return pd


def _xarray() -> Any:
    import xarray

    return xarray


def _a_model() -> pm.Model:
    with pm.Model() as model:
        pm.Normal("of_another_model")
    return model


# A kind of values -> one of them. Those of NEVER no parameter can have been meant to take.
KINDS: Final[Mapping[str, Callable[[], Any]]] = {
    "none": lambda: None,
    "true": lambda: True,
    "zero": lambda: 0,
    "negative": lambda: -3,
    "fraction": lambda: 0.5,
    "negative fraction": lambda: -1.5,
    "beyond int64": lambda: 2**63,
    "huge": lambda: 10**12,
    "beyond floats": lambda: 10**400,
    "nan": lambda: float("nan"),
    "infinite": lambda: float("-inf"),
    "complex": lambda: 1j,
    "decimal": lambda: decimal.Decimal("0.1"),
    "ratio": lambda: fractions.Fraction(1, 3),
    "text": lambda: "no such thing",
    "empty text": lambda: "",
    "lone surrogate": lambda: "a\ud800",
    "bytes": lambda: b"bytes",
    "empty list": list,
    "list of texts": lambda: ["a", "b"],
    "ragged list": lambda: [[1.0, 2.0], [3.0]],
    "empty mapping": dict,
    "mapping": lambda: {"no such name": 1.0},
    "mapping by numbers": lambda: {3: "x"},
    "set": lambda: {"a"},
    "range": lambda: range(2),
    "iterator": lambda: iter([1.0, 2.0]),
    "stranger": Stranger,
    "class": lambda: Stranger,
    "function": lambda: lambda *arguments: "called",
    "function that fails": lambda: _fails,
    "module": lambda: json,
    "ellipsis": lambda: ...,
    "slice": lambda: slice(1, None),
    "date": lambda: dt.date(2020, 1, 1),
    "array of nan": lambda: np.array([np.nan, 1.0]),
    "empty array": lambda: np.zeros((0,)),
    "array of many axes": lambda: np.zeros((2, 1, 3, 2)),
    "array of texts": lambda: np.array(["a", "b"]),
    "array of objects": lambda: np.array([None, Stranger()], dtype=object),
    "array of dates": lambda: np.array(["2020-01-01"], dtype="datetime64[D]"),
    "array of complex": lambda: np.array([1j, 2.0]),
    "masked array": lambda: np.ma.masked_array([1.0, 2.0], [True, False]),
    "records": lambda: np.zeros(2, dtype=[("a", float), ("b", int)]),
    "series of texts": lambda: _pandas().Series(["a", "b"], index=["x", "y"]),
    "frame": lambda: _pandas().DataFrame({"a": [1.0, np.nan], "b": ["x", "y"]}),
    "categories": lambda: _pandas().Categorical(["u", "v", None]),
    "labelled array": lambda: _xarray().DataArray([1.0, 2.0], dims="time", coords={"time": ["p", "q"]}),
    "tree": lambda: _xarray().DataTree(),
    "symbolic vector": lambda: pt.dvector("free"),
    "random variable": lambda: pm.Normal.dist(shape=2),
    "model": _a_model,
    "path": lambda: Path("/no/such/place"),
}  # fmt: skip
NEVER: Final = frozenset({"stranger", "records"})
NUMERIC: Final = frozenset({"none", "true", "zero", "negative", "fraction", "negative fraction", "beyond int64", "huge",
                            "beyond floats", "nan", "infinite", "decimal", "ratio"})  # fmt: skip
WORDLESS: Final = frozenset({"text", "stranger", "class", "function", "module", "mapping", "tree", "model", "path",
                             "date"})  # fmt: skip
"""Kinds that no number and no flag can be."""


def _fails(*arguments: Any) -> Any:
    raise RuntimeError("raised by the user's own function")


class Made(BaseException):
    """What a call with a bad argument came to."""

    def __init__(self, outcome: str, told: str) -> None:
        self.outcome, self.told = outcome, told


class Door:
    """Stands for a callable in the namespace of an example: its first call is made in another way."""

    def __init__(self, thing: Any, call: Callable[..., Any]) -> None:
        self._thing, self._call = thing, call

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        return self._call(self._thing, arguments, keywords)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._thing, name)

    def __instancecheck__(self, other: object) -> bool:
        return isinstance(other, self._thing)


def callables() -> dict[str, Any]:
    """Public callables by name, those with an example that needs no package of others."""
    from tests.test_docstrings import others_are_there, public

    found = {}
    for name, thing in public():
        text = inspect.getdoc(thing) or ""
        if ">>>" in text and others_are_there(text) and not _is_error(thing):
            found[name] = thing
    return found


def _is_error(thing: Any) -> bool:
    return inspect.isclass(thing) and issubclass(thing, BaseException)


def run_example(name: str, thing: Any, call: Callable[..., Any]) -> None:
    """Run the example of a callable up to its own call, which `call(thing, arguments, keywords)` makes."""
    example = doctest.DocTestParser().get_doctest(inspect.getdoc(thing) or "", {}, name, None, 0)
    attribute = name.rpartition(".")[2]
    from tests.test_docstrings import SPACES

    spaces = [import_module(space) for space in SPACES]
    publics = [m for m in spaces if attribute in m.__all__ and getattr(m, attribute) is thing]
    door = Door(thing, call)
    space: dict[str, Any] = {}
    with contextlib.ExitStack() as stack:
        for module in publics:
            module.__dict__[attribute] = door
            stack.callback(module.__dict__.__setitem__, attribute, thing)
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        for one in example.examples:
            code = one.source
            exec(compile(code, f"<{name}>", "single"), space)


def parameters(thing: Any) -> list[str]:
    """Names of what a callable takes, by its signature."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return []
    skipped = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return [p.name for p in signature.parameters.values() if p.kind not in skipped]


def all_cases(count: int, seed: int, only: Sequence[str] = ()) -> list[str]:
    """So many cases, spread evenly over the callables and drawn by the seed."""
    rng = random.Random(seed)
    rows = {name: parameters(thing) for name, thing in callables().items() if not only or name in only}
    rows = {name: own for name, own in rows.items() if own}
    names = sorted(rows)
    rng.shuffle(names)
    found: dict[str, None] = {}
    for name in itertools.islice(itertools.cycle(names), 20 * count):
        if len(found) >= count:
            break
        found[f"{name}|{rng.choice(rows[name])}|{rng.choice(list(KINDS))}"] = None
    return list(found)


def tried(case: str) -> tuple[str, str]:
    """The outcome of a case, and what was told."""
    name, parameter, kind = case.split("|")
    module, _, attribute = name.rpartition(".")
    thing = getattr(import_module(module), attribute)
    value = KINDS[kind]()  # before the callable is behind a `Door`: it may be what makes values of this kind

    def call(thing: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        signature = inspect.signature(thing)
        bound = signature.bind_partial(*arguments, **keywords)
        usual = bound.arguments.get(parameter, signature.parameters[parameter].default)
        bound.arguments[parameter] = value
        order = [n for n in signature.parameters if n in bound.arguments]
        bound.arguments = {n: bound.arguments[n] for n in order}
        given = list(bound.args), dict(bound.kwargs)
        raise Made(*judged(thing, given, parameter, kind, value, usual))

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run_example(name, thing, call)
    except Made as made:
        return made.outcome, made.told
    except BaseException as error:
        return "unmade", f"{type(error).__name__}: {error}"
    return judged(thing, ((), {parameter: value}), parameter, kind, None, None)


def judged(thing: Any, given: Any, parameter: str, kind: str, value: Any, usual: Any) -> tuple[str, str]:
    """Make a call, and say what its outcome is."""
    try:
        found = thing(*given[0], **given[1])
        _use(found)
    except Made:
        raise
    except BaseException as error:
        return classed(error, getattr(thing, "__name__", ""), parameter, value)
    number = isinstance(usual, (bool, int, float, np.ndarray, np.generic)) and not isinstance(usual, str)
    if kind in NEVER or (number and kind in WORDLESS):
        return "wrong", f"accepted in silence: {type(found).__name__}"
    return "right", ""


def _use(found: Any) -> None:
    """What a person would do with what came: evaluate an expression, print a thing."""
    if isinstance(found, pt.TensorVariable):
        with contextlib.suppress(ConsilienceError):
            found.eval()
    elif not isinstance(found, (type, types.ModuleType, types.FunctionType)):
        str(found)


def classed(error: BaseException, title: str, parameter: str, value: Any) -> tuple[str, str]:
    """Whether an error is one of ours, and says what it is about: clear if it does, vague if it does not."""
    told = f"{type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1]
    if isinstance(error, RuntimeError) and "the user's own function" in str(error):
        return "clear", told
    if isinstance(error, TypeError) and last.filename == __file__ and "argument" in str(error):
        return "clear", told  # Python's own binding of the call
    place = f" at {last.filename.removeprefix(SOURCES)}:{last.lineno}"
    if isinstance(error, ConsilienceError) or (last.filename.startswith(SOURCES) and _is_raised(last)):
        message = "\n".join([str(error), *getattr(error, "__notes__", [])])
        return "clear" if says(message, title, parameter, value) else "vague", told + place
    return "raw", told + place


def says(message: str, title: str, parameter: str, value: Any) -> bool:
    """Whether a message has the name of a parameter, what was given for it, or the name of the callable."""
    given = {short(value), type(value).__name__, getattr(value, "__name__", "")}
    if isinstance(value, str | bytes | int | float | type(...)):
        given |= {repr(value), str(value)}
    if len(parameter) == 1:
        parameter = f"`{parameter}`"  # which may be a word
    words = {parameter, title, *given} - {""}
    return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", message) for word in words)


def _is_raised(frame: traceback.FrameSummary) -> bool:
    """Whether a frame stands at a `raise` of its own."""
    line = linecache.getline(frame.filename, frame.lineno or 0).strip()
    return line.startswith("raise ")


def _serve() -> None:
    """Cases by lines enter; outcomes by lines leave."""
    import resource

    with open("/proc/self/statm", encoding="ascii") as file:
        there = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (there + MEMORY, there + MEMORY))
    answer = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for line in sys.stdin:
        outcome = tried(json.loads(line))
        answer.write(json.dumps(outcome) + "\n")


def outcomes(cases: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Case, outcome and what was told. Files that calls write are gone with the last one."""
    process: subprocess.Popen[str] | None = None
    place = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    paths = os.pathsep.join([str(Path(__file__).parent.parent), *map(os.path.abspath, sys.path)])
    for case in cases:
        if process is None:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.bad_inputs"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True, cwd=place.name, env={**os.environ, "PYTHONPATH": paths},
            )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(case) + "\n")
        process.stdin.flush()
        timer = threading.Timer(PATIENCE, process.kill)
        timer.start()
        line = process.stdout.readline()
        in_time = timer.is_alive()
        timer.cancel()
        if line:
            yield (case, *json.loads(line))
            continue
        process.kill()
        code = process.wait()
        process.stdin.close()
        process.stdout.close()
        process = None
        yield case, "raw" if in_time else "hang", f"the process ended with {code}" if in_time else "no answer"
    if process is not None:
        process.communicate()
    place.cleanup()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        for one in sys.argv[1:]:
            print(one, *tried(one))
    else:
        _serve()

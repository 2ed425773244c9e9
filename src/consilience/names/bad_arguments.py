"""Errors from inside a public function, told as errors about its arguments; loaded when one of these happens.

A function, what it was given, and the error that escaped enter; an error that names the argument leaves. What each
parameter takes is read from its annotation.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import inspect
import numbers
import operator
import os
import re
import sys
import sysconfig
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MethodType, ModuleType, TracebackType
from typing import Any, Final, get_args, get_origin

import numpy as np

from consilience.errors import (
    ArgumentError,
    ConsilienceError,
    GraphError,
    MemoryShortage,
    MissingRuleError,
    ParameterError,
)

ESCAPING: Final = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RecursionError, np.ma.MAError)
# Deliberate errors about what was given, of places that need not know names; those about models name variables.
NAMELESS: Final = (GraphError, ParameterError, TypeError, IndexError, AttributeError)
VARIABLE: Final = "This is the variable"  # a note that says which one, and nothing of arguments
RAISING: Final = "RAISE_VARARGS"
MOST_LOOKED_AT: Final = 20  # elements of a sequence
LIBRARIES: Final = (
    str(Path(__file__).parents[1]),
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    str(Path(np.__file__).parent.parent),
)
WORDS: Final[Mapping[str, str]] = {
    "None": "None", "Any": "anything", "TensorLike": "a tensor or numbers", "bool": "True or False",
    "float": "a number", "int": "a whole number", "str": "text", "dict": "a dictionary", "Mapping": "a mapping",
    "Path": "a path", "PathLike": "a path", "Callable": "a function", "Model": "a model", "Node": "a tensor",
    "SupportsIndex": "a whole number", "ArrayLike": "numbers", "DTypeLike": "a dtype",
}  # fmt: skip
SEQUENCES: Final = frozenset({"Sequence", "list", "tuple", "Iterable", "Collection", "Iterator", "set", "frozenset"})


def explained(thing: Any, arguments: tuple[Any, ...], keywords: Mapping[str, Any], error: Exception) -> Exception:
    """The error to raise for one that a call ended with: the same if it is deliberate, or raised by the user's code.

    A deliberate one about arguments, which was raised where their names are not known, is told them.
    """
    notes = [note for note in getattr(error, "__notes__", ()) if not note.startswith(VARIABLE)]
    if notes:  # it was seen on its way, and told what it needs
        return error
    title = thing.__qualname__ if isinstance(thing, MethodType) else getattr(thing, "__name__", str(thing))
    if isinstance(error, MemoryError) and not isinstance(error, ConsilienceError):
        return MemoryShortage(f"`{title}` needs arrays that are larger than the memory ({error}).")
    deliberate = isinstance(error, ConsilienceError) or _is_raised(error.__traceback__)
    if not isinstance(error, NAMELESS if deliberate else ESCAPING) or _has_users_lines(error.__traceback__):
        return error
    if deliberate and (isinstance(error, MissingRuleError) or _is_asked_by_the_library(error.__traceback__)):
        return error  # it names a step of an expression; the outermost function knows the names that the user wrote
    try:
        signature = inspect.signature(thing)
        parameters, given = signature.parameters, signature.bind(*arguments, **keywords).arguments
    except TypeError as refused:  # names and numbers of arguments: Python's own words
        few = _named_alone(thing, len(arguments)) if "too many positional" in str(refused) else None
        return error if deliberate else ArgumentError(f"`{title}`: {few or f'{refused}{_nearest(thing, keywords)}'}")
    except ValueError:
        return error
    what = str(error.args[0]) if error.args else type(error).__name__
    words = {*re.findall(r"\w+", what)} if deliberate else set()
    if not words.isdisjoint(title.split(".")) or (
        deliberate and any(f"`{n}`" in what or f"`{n}=" in what for n in parameters)
    ):
        return error
    space = vars(sys.modules.get(getattr(inspect.unwrap(thing), "__module__", ""), builtins))
    unsure = []
    for name, value in given.items():
        parameter = parameters[name]
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        annotation = _parsed(_annotated(thing, name, parameter.annotation))
        found = None if annotation is None else fits(value, annotation, space)
        if found is False and annotation is not None and value is not parameter.default:
            if deliberate:
                return _with_words(error, f"`{name}` of `{title}`: ")
            return ArgumentError(f"`{title}`: `{name}` must be {in_words(annotation, space)}, got {short(value)}.")
        if found is None:
            unsure.append(name)
    if deliberate:
        return _with_words(error, f"`{next(iter(given))}` of `{title}`: " if len(given) == 1 else f"`{title}`: ")
    several = {
        n for n in given if parameters[n].kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    }
    if keywords:  # those that have names of the user's
        given = {name: value for name, value in given.items() if name not in several} | dict(keywords)
    told = ", ".join(f"`{name}` = {short(given[name])}" for name in (unsure or list(given))[:6])
    what = re.sub(r"\s+", " ", what)[:300]
    return ArgumentError(f"`{title}` cannot be computed with {told}: {type(error).__name__}: {what}")


def _named_alone(thing: Any, count: int) -> str | None:
    """What to say where more values were given than a function takes by position."""
    known = inspect.signature(thing).parameters.values()
    placed = [p.name for p in known if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    named = [p.name for p in known if p.kind is p.KEYWORD_ONLY]
    if not named:
        return None
    takes = f"only {' and '.join(f'`{n}`' for n in placed)} by position" if placed else "no argument by position"
    return f"it takes {takes}, got {count} values; give the others by name, as `{named[0]}=…`."


def _nearest(thing: Any, keywords: Mapping[str, Any]) -> str:
    """What to say of the first keyword that a function does not have."""
    known = inspect.signature(thing).parameters
    wrong = next((name for name in keywords if name not in known), None)
    near = difflib.get_close_matches(wrong, known, n=1) if wrong is not None else []
    return f"; did you mean `{near[0]}`?" if near else f"; its arguments are {', '.join(known)}." if wrong else "."


def _with_words(error: Exception, words: str) -> Exception:
    """The same error, its message after some words."""
    if error.args and isinstance(error.args[0], str):
        error.args = (words + error.args[0], *error.args[1:])
    return error


def _annotated(thing: Any, name: str, own: Any) -> Any:
    """The annotation of a parameter; of one that is made from a field of a class, that of the field."""
    if own is inspect.Parameter.empty and isinstance(thing, type):
        fields = (vars(base).get("__annotations__", {}) for base in thing.__mro__)
        return next((some[name] for some in fields if name in some), own)
    return own


def check(thing: Any, name: str, annotation: str, value: Any) -> None:
    """ArgumentError unless a value is one of those that an annotation lists."""
    parsed = _parsed(annotation)
    if parsed is not None and fits(value, parsed, {}) is False:
        raise ArgumentError(f"`{thing.__name__}`: `{name}` must be {in_words(parsed, {})}, got {short(value)}.")


def _is_raised(trace: TracebackType | None) -> bool:
    """Whether an error was raised by a `raise` of this library."""
    import dis

    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not trace.tb_frame.f_code.co_filename.startswith(LIBRARIES[0]):
        return False
    return dis.opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]] == RAISING


def _has_users_lines(trace: TracebackType | None) -> bool:
    """Whether a line of the user's, such as one of a function that was given, took part in an error."""
    trace = trace.tb_next if trace is not None else None  # the first is the frame of the wrapper
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if os.path.isabs(file) and not file.startswith(LIBRARIES):
            return True
        if file.startswith(("<stdin", "<ipython", "<doctest", "<console")):
            return True
        trace = trace.tb_next
    return False


def _is_asked_by_the_library(trace: TracebackType | None) -> bool:
    """Whether a public function, at the frame of whose wrapper a trace begins, was called by another one."""
    caller = trace.tb_frame.f_back if trace is not None else None
    return caller is not None and caller.f_code.co_filename.startswith((LIBRARIES[0], "<consilience "))


def _parsed(annotation: Any) -> ast.expr | None:
    if not isinstance(annotation, str):
        return None
    try:
        return ast.parse(annotation, mode="eval").body
    except SyntaxError:
        return None


def fits(value: Any, annotation: ast.expr, space: Mapping[str, Any]) -> bool | None:
    """Whether a value is one of those that an annotation means; None where that cannot be told."""
    match annotation:
        case ast.Constant(value=None):
            return value is None
        case ast.Constant(value=str(text)):
            inner = _parsed(text)
            return None if inner is None else fits(value, inner, space)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _any([fits(value, left, space), fits(value, right, space)])
        case ast.Subscript(value=outer, slice=inner):
            return _fits_generic(value, _name(outer), inner.elts if isinstance(inner, ast.Tuple) else [inner], space)
        case ast.Name() | ast.Attribute():
            return _fits_name(value, _name(annotation), space)
    return None


def _any(found: Iterable[bool | None]) -> bool | None:
    some = list(found)
    return True if True in some else None if None in some else False


def _name(expression: ast.expr) -> str:
    return expression.attr if isinstance(expression, ast.Attribute) else getattr(expression, "id", "")


def _fits_generic(value: Any, outer: str, inner: list[ast.expr], space: Mapping[str, Any]) -> bool | None:
    if outer == "Literal":
        known = [element.value for element in inner if isinstance(element, ast.Constant)]
        return any(type(value) is type(one) and value == one for one in known)
    if outer == "Optional":
        return value is None or fits(value, inner[0], space)
    if outer == "Union":
        return _any([fits(value, one, space) for one in inner])
    if outer in ("Final", "Annotated"):
        return fits(value, inner[0], space)
    if outer not in SEQUENCES:
        return _fits_name(value, outer, space)
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return False
    if not isinstance(value, list | tuple | set | frozenset | range | np.ndarray) or outer == "tuple":
        return None
    some = list(value[:MOST_LOOKED_AT] if isinstance(value, list | tuple | np.ndarray) else value)
    parts = [fits(element, inner[0], space) for element in some]
    return False if False in parts else None if None in parts else True


def _fits_name(value: Any, name: str, space: Mapping[str, Any]) -> bool | None:
    match name:
        case "Any" | "object":
            return None
        case "bool":
            return is_flag(value)
        case "int" | "SupportsIndex":
            return _converts(operator.index, value)
        case "float":
            return not isinstance(value, str | bytes | complex) and (
                isinstance(value, numbers.Real) or _converts(float, value)
            )
        case "None":
            return value is None
        case "PathLike":
            return isinstance(value, os.PathLike)
        case "Callable":
            return callable(value)
        case "Mapping" | "dict":
            return isinstance(value, Mapping) or hasattr(value, "items")
        case _ if name in SEQUENCES:
            return isinstance(value, Iterable) and not isinstance(value, str)
        case "TensorLike" | "ArrayLike":
            return _fits_numbers(value)
    known = space.get(name, getattr(builtins, name, None))
    if isinstance(known, type):
        return isinstance(value, known)
    if (alias := _alias(known)) is not None:
        return fits(value, alias, {})
    if name[:1].isupper() and any(name == kind.__name__ for kind in type(value).__mro__):
        return True
    plain = isinstance(value, PLAIN) or type(value).__name__ == "Node"
    return False if name in ("Model", "DataTree") and plain else None


def _alias(known: Any) -> ast.expr | None:
    """What a name for several types stands for."""
    if get_origin(known) is None or not get_args(known):
        return None
    return _parsed(repr(known).replace("NoneType", "None"))


def _fits_numbers(value: Any) -> bool | None:
    if isinstance(value, bool | int | float | np.number) or type(value).__name__ == "Node":
        return True
    if value is None or isinstance(value, str | bytes | Mapping | set | type | ModuleType | np.ma.MaskedArray):
        return False
    if isinstance(value, list | tuple) or hasattr(value, "__array__"):
        try:
            value = np.asarray(value)
        except Exception:
            return None
        if value.dtype == object and any(isinstance(one, str | None) for one in value.ravel()[:MOST_LOOKED_AT]):
            return False
        return None if value.dtype == object else value.dtype.kind in "biufc"
    return False if callable(value) else None


PLAIN: Final = (str, bytes, int, float, complex, list, tuple, set, np.ndarray, np.generic)


def is_flag(value: Any) -> bool:
    """Whether a value is meant as a truth value."""
    return isinstance(value, bool | np.bool_) or (isinstance(value, int | np.integer) and value in (0, 1))


def _converts(convert: Callable[[Any], Any], value: Any) -> bool:
    try:
        convert(value)
    except Exception:
        return False
    return True


def in_words(annotation: ast.expr, space: Mapping[str, Any]) -> str:
    """An annotation as people say it."""
    parts = list(dict.fromkeys(_spoken(annotation, space)))
    return " or ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _spoken(annotation: ast.expr, space: Mapping[str, Any]) -> list[str]:
    match annotation:
        case ast.Constant(value=None):
            return ["None"]
        case ast.Constant(value=str(text)) if (inner := _parsed(text)) is not None:
            return _spoken(inner, space)
        case ast.BinOp(left=left, right=right):
            return [*_spoken(left, space), *_spoken(right, space)]
        case ast.Subscript(value=outer, slice=inner):
            name = _name(outer)
            some = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            if name == "Literal":
                return [repr(e.value) for e in some if isinstance(e, ast.Constant)]
            if name in ("Optional", "Union"):
                return [
                    *(word for one in some for word in _spoken(one, space)),
                    *(["None"] if name == "Optional" else []),
                ]
            if name in SEQUENCES and some:
                return [
                    {"int": "whole numbers", "float": "numbers", "str": "texts"}.get(
                        _name(some[0]).replace("SupportsIndex", "int"), "a sequence"
                    )
                ]
            return [WORDS.get(name, name)]
    name = _name(annotation)
    if name not in WORDS and (alias := _alias(space.get(name))) is not None:
        return _spoken(alias, {})
    return [WORDS.get(name, name) or ast.unparse(annotation)]


def short(value: Any) -> str:
    """What a value is, in a line."""
    try:
        text = re.sub(r"\s+", " ", repr(value))
    except Exception:
        text = f"a {type(value).__name__}"
    if isinstance(value, np.ndarray):
        text = f"an array of {value.dtype} of shape {value.shape}"
    elif len(text) > 80 or not (isinstance(value, PLAIN) or value is None):
        text = f"{text[:60]}{'…' if len(text) > 60 else ''} ({type(value).__name__})"
    return text.encode("utf-8", "backslashreplace").decode()

"""What docstrings say of parameters, defaults, accepted values, errors and attributes is what the code does."""

from __future__ import annotations

import builtins
import inspect
import re
import sys
import types
import typing
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Literal, get_args, get_origin

import numpy as np
import pytest
import scipy.sparse

import consilience as pm
import consilience.tensor as pt
from consilience.distributions.documentation import entries, sections
from consilience.names import shared_parameters
from tests.test_docstrings import public

EMPTY = inspect.Parameter.empty
QUOTED = re.compile(r'"([^"\s]+)"')
STARRED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@cache
def documented() -> dict[str, tuple[Any, dict[str, str]]]:
    """Public callables and methods of public classes by name, each once, with the sections of their docstrings."""
    found: dict[int, tuple[str, Any]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, thing in public():
            found.setdefault(id(thing), (name, thing))
            for method, each in methods(thing):
                found.setdefault(id(each), (f"{name}.{method}", each))
        return {name: (thing, sections(inspect.getdoc(thing) or "")) for name, thing in found.values()}


def methods(thing: Any) -> Iterator[tuple[str, Any]]:
    for name in dir(thing) if inspect.isclass(thing) else ():
        if not name.startswith("_") and (raw := inspect.getattr_static(thing, name, None)) is not None:
            plain = raw.__func__ if isinstance(raw, staticmethod | classmethod) else raw
            if inspect.isfunction(plain) and plain.__module__.startswith("consilience"):
                yield name, plain


def parameters() -> Iterator[tuple[str, Any, dict[str, inspect.Parameter], dict[str, tuple[str, str]]]]:
    """Each callable that lists parameters, or is a class: those of its signature and those of its docstring."""
    for name, (thing, told) in documented().items():
        try:
            signature = inspect.signature(thing)
        except (TypeError, ValueError):
            continue
        there = {n: p for n, p in signature.parameters.items() if n not in ("self", "cls") and not n.startswith("_")}
        written = {n.lstrip("*"): row for n, row in entries(told.get("Parameters", "")).items()}
        if written or (inspect.isclass(thing) and there):
            yield name, thing, there, written


def test_parameters_are_those_of_the_signature() -> None:
    """None is left out and none is invented, of functions, constructors and methods."""
    wrong = {name: there.keys() ^ written.keys() for name, _, there, written in parameters()}
    assert len(wrong) > 1500
    assert {name: names for name, names in wrong.items() if names} == {}


def is_default(text: str, value: Any) -> bool:
    """Whether the text of a docstring stands for the default: as Python, or by the name of a function or class."""
    try:
        said = eval(text, {"np": np, "pm": pm, "inf": np.inf, "nan": np.nan, "pi": np.pi})
    except (NameError, SyntaxError):
        return text in (getattr(value, "__name__", None), repr(value), str(value))
    return said is value or (repr(said) == repr(value)) or (type(said) is not bool and bool(np.all(said == value)))


def test_defaults_are_those_of_the_signature() -> None:
    """A default in words is the default, "optional" has one, and whatever has one says so."""
    wrong = []
    for name, _, there, written in parameters():
        for parameter, (kind, text) in written.items():
            told = re.search(r"\bdefault (.+)$", kind)
            shown = there.get(parameter)
            if shown is None or shown.kind in STARRED:
                continue
            if told:
                right = shown.default is not EMPTY and is_default(told.group(1), shown.default)
            elif "optional" in kind:
                right = shown.default is None or (shown.default is not EMPTY and "default" in text)
            else:
                right = shown.default is EMPTY
            if not right:
                wrong.append(f"{name}({parameter}): {kind!r}, but {shown.default!r}")
    assert not wrong, "\n".join(wrong)


def literals(annotation: Any) -> set[Any]:
    """The values that an annotation lists."""
    if get_origin(annotation) is Literal:
        return set(get_args(annotation))
    unions = (typing.Union, types.UnionType)
    return set().union(*map(literals, get_args(annotation))) if get_origin(annotation) in unions else set()


def annotation_of(thing: Any, parameter: inspect.Parameter) -> Any:
    """The annotation as an object, where it can be had; of the fields of records, that of the class."""
    plain, known = inspect.unwrap(thing), parameter.annotation
    owners = plain.__mro__ if inspect.isclass(plain) else (plain,)
    for owner in owners:
        text = vars(owner).get("__annotations__", {}).get(parameter.name) if known is EMPTY else known
        spaces = vars(typing) | vars(sys.modules[owner.__module__])
        try:
            return eval(text, spaces) if isinstance(text, str) else text
        except (NameError, TypeError, AttributeError):
            continue
    return None


def test_values_in_braces_are_those_of_the_annotation() -> None:
    """Where values are listed in a `Literal`, which is checked at each call, the docstring names all of them."""
    compared, wrong = 0, []
    for name, thing, there, written in parameters():
        for parameter, (kind, text) in written.items():
            listed = literals(annotation_of(thing, there[parameter])) if parameter in there else set()
            braces = re.search(r"\{([^}]*)\}", kind)
            words = {value for value in listed if isinstance(value, str)}
            if not listed:
                continue
            compared += 1
            said = set(eval(f"({braces[1]},)")) - {None} if braces else set(QUOTED.findall(kind + text))
            if not words <= said or (braces and said != listed - {None}):
                wrong.append(f"{name}({parameter}): {sorted(map(str, said))}, but {sorted(map(str, listed))}")
    assert compared > 20
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("section", "base"), [("Raises", BaseException), ("Warns", Warning)])
def test_errors_and_warnings_exist(section: str, base: type) -> None:
    """What a section "Raises" or "Warns" names is one of this library, of Python or of NumPy."""
    known = vars(builtins) | vars(np.linalg) | {name: getattr(pm.errors, name) for name in dir(pm.errors)}
    wrong = [
        f"{name}: {error}"
        for name, (_, told) in documented().items()
        for error in entries(told.get(section, ""))
        if not issubclass(known.get(error.rpartition(".")[2], int), base)
    ]
    assert not wrong, "\n".join(wrong)


def has(kind: type, name: str) -> bool:
    """Whether instances have the attribute: a class attribute, an annotation, set in a method, or asked for there."""
    bases = [base for base in kind.__mro__ if base.__module__.startswith("consilience")]
    return hasattr(kind, name) or any(
        name in vars(base).get("__annotations__", {})
        or re.search(rf"self\.{name}\b[^=\n]*=[^=]", inspect.getsource(base))
        or re.search(rf"\.{name}\b|\"{name}\"", inspect.getsource(sys.modules[base.__module__]))  # given by users
        for base in bases
    )


def test_attributes_exist() -> None:
    wrong = [
        f"{name}.{attribute}"
        for name, (thing, told) in documented().items()
        for attributes in entries(told.get("Attributes", ""))
        for attribute in attributes.split(", ")
        if inspect.isclass(thing) and not has(thing, attribute)
    ]
    assert not wrong, "\n".join(wrong)


def test_shared_parameters_are_all_used_and_filled_in() -> None:
    """No public docstring shows the line that stands for them."""
    assert shared_parameters.SHARED.keys() == {key for keys in shared_parameters.ROWS for key in keys.split(", ")}
    texts = {name: inspect.getdoc(thing) or "" for name, (thing, _) in documented().items()}
    assert [name for name, text in texts.items() if " : ...\n" in text] == []
    shorter = re.compile(r"^(Returns( \(.+\))?|(See|Raises|Warns) [\w.]+): ", re.MULTILINE)
    assert [name for name, text in texts.items() if shorter.search(text)] == []


def test_a_shorter_docstring_is_read_as_a_whole_one() -> None:
    """Types, defaults and imports that a docstring leaves out come from the code."""

    def f(x: pt.TensorVariable, y: Mapping[str, Any] | None = None, *rest: Any, many: bool = False) -> list[Any]:
        """Sum of all, in
        Note: this order.

        x, rest (TensorLike): First operand,
            of any rank.
        y: Words.
        many (bool or int): Whether there are many.
        Returns: The sum.
        Raises ShapeError: If the shapes differ.
        See np.sum, prod: Others.

        Notes
        -----
        Compensated.

        >>> pt.sum([1.0]).eval(), np.e
        """

    told = shared_parameters.filled(f, f.__doc__ or "")
    assert told == inspect.cleandoc("""Sum of all, in
        Note: this order.

        Parameters
        ----------
        x, rest : TensorLike
            First operand,
            of any rank.
        y : mapping of str to object, optional
            Words.
        many : bool or int, default False
            Whether there are many.

        Returns
        -------
        list of object
            The sum.

        Raises
        ------
        ShapeError
            If the shapes differ.

        See Also
        --------
        np.sum, prod : Others.

        Notes
        -----
        Compensated.

        Examples
        --------
        >>> import numpy as np
        >>> import consilience.tensor as pt
        >>> pt.sum([1.0]).eval(), np.e
        """)
    assert shared_parameters.filled(f, told) == told


X, V, M = pt.dscalar("x"), pt.dvector("v"), pt.dmatrix("m")
TINY: dict[str, Any] = {
    "progressbar": False, "compute_convergence_checks": False, "random_seed": 1, "draws": 4, "tune": 4, "chains": 1,
}  # fmt: skip


def small() -> pm.Model:
    with pm.Model() as model:
        x = pm.Normal("x")
        pm.Normal("y", x, 1, observed=[0.5, 1.0])
    return model


@cache
def drawn() -> Any:
    return pm.sample(model=small(), **{**TINY, "draws": 40, "chains": 2}, idata_kwargs={"log_likelihood": True})


def sampled(**given: Any) -> Any:
    return pm.sample(model=small(), **TINY, **given)


def simulated(**given: Any) -> None:
    with pm.Model():
        pm.Simulator("y", lambda rng, mu, size: mu, 1.0, observed=[1.0, 2.0], **given)


def started(value: str) -> None:
    with pm.Model() as model:
        pm.Normal("x", initval=value)
    model.initial_point()


# Parameters whose docstring lists words in quotes, with a cheap call: each word is accepted, and another one refused.
TRIED: Mapping[tuple[str, str], Callable[[Any], Any]] = {
    ("consilience.DEMetropolis", "tune"): lambda word: pm.DEMetropolis(tune=word),
    ("consilience.DEMetropolisZ", "tune"): lambda word: pm.DEMetropolisZ(tune=word),
    ("consilience.NUTS", "metric"): lambda word: pm.NUTS(metric=word),
    ("consilience.NUTS", "jumps"): lambda word: pm.NUTS(jumps=word),
    ("consilience.Tuning", "metric"): lambda word: pm.Tuning(metric=word),
    ("consilience.Save", "deterministics"): lambda word: pm.Save(deterministics=word),
    ("consilience.Model.debug", "fn"): lambda word: small().debug(fn=word),
    ("consilience.Model.compile_fn", "mode"): lambda word: small().compile_fn(X, inputs=[X], mode=word),
    ("consilience.model_to_graphviz", "formatting"): lambda word: pm.model_to_graphviz(small(), formatting=word),
    ("consilience.model_to_networkx", "formatting"): lambda word: pm.model_to_networkx(small(), formatting=word),
    ("consilience.model_to_mermaid", "formatting"): lambda word: pm.model_to_mermaid(small(), formatting=word),
    ("consilience.sample", "remedies"): lambda word: sampled(remedies=word),
    ("consilience.sample", "init"): lambda word: sampled(init=word),
    ("consilience.sample", "idata_kwargs"): lambda word: sampled(idata_kwargs={word: True}),
    ("consilience.sample", "nuts"): lambda word: sampled(nuts={word: 0.9 if word == "target_accept" else 2}),
    ("consilience.fit_pathfinder", "importance_sampling"): lambda word: pm.fit_pathfinder(
        model=small(), importance_sampling=word, random_seed=1
    ),
    ("consilience.grad", "disconnected_inputs"): lambda word: pm.grad(X, X, disconnected_inputs=word),
    ("consilience.grad", "return_disconnected"): lambda word: pm.grad(X, X, return_disconnected=word),
    ("consilience.function", "on_unused_input"): lambda word: pt.function([X], X, on_unused_input=word),
    ("consilience.function", "backend"): lambda word: pt.function([X], X, backend=word),
    ("consilience.summary", "kind"): lambda word: pm.summary(drawn(), kind=word),
    ("consilience.summary", "ci_kind"): lambda word: pm.summary(drawn(), ci_kind=word),
    ("consilience.summary", "round_to"): lambda word: pm.summary(drawn(), round_to=word),
    ("consilience.summary", "fmt"): lambda word: pm.summary(drawn(), fmt=word),
    ("consilience.summary", "filter_vars"): lambda word: pm.summary(drawn(), var_names=["x"], filter_vars=word),
    ("consilience.tensor.choose", "mode"): lambda word: pt.choose(pt.lvector("i"), M, mode=word),
    ("consilience.tensor.take", "mode"): lambda word: pt.take(V, [0], mode=word),
    ("consilience.tensor.pad", "mode"): lambda word: pt.pad(V, 1, mode=word),
    ("consilience.tensor.pad", "reflect_type"): lambda word: pt.pad(V, 1, mode="reflect", reflect_type=word),
    ("consilience.tensor.quantile", "method"): lambda word: pt.quantile(V, 0.5, method=word),
    ("consilience.tensor.meshgrid", "indexing"): lambda word: pt.meshgrid(V, V, indexing=word),
    ("consilience.tensor.ravel_multi_index", "mode"): lambda word: pt.ravel_multi_index(([0], [0]), (2, 2), mode=word),
    ("consilience.tensor.ravel_multi_index", "order"): lambda word: pt.ravel_multi_index(
        ([0], [0]), (2, 2), order=word
    ),
    ("consilience.tensor.unravel_index", "order"): lambda word: pt.unravel_index([0], (2, 2), order=word),
    ("consilience.tensor.round", "mode"): lambda word: pt.round(X, mode=word),
    ("consilience.tensor.searchsorted", "side"): lambda word: pt.searchsorted(V, 0.5, side=word),
    ("consilience.tensor.solve", "assume_a"): lambda word: pt.solve(M, V, assume_a=word),
    ("consilience.tensor.solve_triangular", "trans"): lambda word: pt.solve_triangular(M, V, trans=word),
    ("consilience.tensor.cholesky", "on_error"): lambda word: pt.cholesky(M, on_error=word),
    ("consilience.tensor.signal.convolve1d", "mode"): lambda word: pt.signal.convolve1d(V, V, mode=word),
    ("consilience.tensor.fft.rfft", "norm"): lambda word: pt.fft.rfft(M, norm=word),
    ("consilience.scan.scan", "checkpoint"): lambda word: pt.scan(
        lambda a: a + 1, outputs_info=X, n_steps=2, checkpoint=word
    ),
    ("consilience.sparse.hstack", "format"): lambda word: pm.sparse.hstack(
        [pm.sparse.as_sparse(scipy.sparse.eye_array(2))] * 2, format=word
    ),
    ("consilience.Simulator", "distance"): lambda word: simulated(distance=word),
    ("consilience.Simulator", "sum_stat"): lambda word: simulated(sum_stat=word),
    ("consilience.Normal", "initval"): started,
    ("consilience.compare", "method"): lambda word: pm.compare({"a": drawn(), "b": drawn()}, method=word),
}
# Words in quotes that are part of a sentence about a parameter.
BESIDE = {
    ("consilience.sample", "remedies"): {"converged", "lbfgs"},
    ("consilience.sample", "init"): {"dense", "…_grad"},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", TRIED, ids=lambda key: f"{key[0].removeprefix('consilience.')}-{key[1]}")
def test_words_that_are_listed_are_accepted_and_others_refused(key: tuple[str, str]) -> None:
    name, parameter = key
    kind, text = entries(documented()[name][1]["Parameters"])[parameter]
    words = {*QUOTED.findall(text), *re.findall(r"\'([^\' ]+)\'", kind)} - BESIDE.get(key, set())
    assert words
    for word in words:
        TRIED[key](word)
    with pytest.raises((TypeError, ValueError, pm.ConsilienceError)):
        TRIED[key]("no such word")

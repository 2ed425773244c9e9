"""Docstrings of public names are complete in numpydoc's form, and their examples run."""

from __future__ import annotations

import doctest
import inspect
import math
import re
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.distributions import densities
from consilience.distributions.examples import EXAMPLES
from consilience.distributions.moment_rows import MOMENTS

SPACES = """
    consilience consilience.tensor consilience.tensor.linalg consilience.tensor.special consilience.tensor.random
    consilience.tensor.fft consilience.tensor.signal consilience.tensor.extra_ops consilience.tensor.interpolate
    consilience.tensor.optimize consilience.math consilience.gp consilience.gp.cov consilience.gp.mean consilience.ode
    consilience.sparse consilience.dims consilience.xtensor consilience.xtensor.math consilience.xtensor.random
    consilience.xtensor.signal consilience.distributions.transforms consilience.scan consilience.gradient
    consilience.graph consilience.compile consilience.ifelse consilience.raise_op consilience.logprob
    consilience.cluster consilience.diagnostics consilience.estimators.smc consilience.estimators.variational
    consilience.backends.printing consilience.model consilience.statespace
""".split()  # noqa: SIM905 -- a list of words reads as one
# Layout and order of sections (GL), the summary (SS), parameters as in the signature, each with type and description
# (PR), what is returned with type and description (RT), relatives (SA), an example (EX).
CHECKS = """
    GL03 GL05 GL06 GL07 GL08 SS01 SS02 SS03 SS06 PR01 PR02 PR03 PR04 PR07 PR08 PR09 PR10 RT03 RT04 RT05 SA01 SA04
    EX01
""".split()  # noqa: SIM905
PACKAGES = re.compile(r"^>>> import .*\b(jax|numpyro|pymc|pytensor|ray|torch)\b", re.MULTILINE)


def public() -> Iterator[tuple[str, Any]]:
    """Callables of this library, each under the first of its names."""
    seen: set[int] = set()
    for space in SPACES:
        module = import_module(space)
        for name in sorted(module.__all__):
            thing = getattr(module, name)
            own = getattr(thing, "__module__", "consilience").startswith("consilience")
            if isinstance(thing, ModuleType) or not callable(thing) or not own or id(thing) in seen:
                continue
            if getattr(thing, "__origin__", None) is None:
                seen.add(id(thing))
                yield f"{space}.{name}", thing


def lacks(thing: Any) -> list[str]:
    """The checks that a docstring does not pass."""
    from numpydoc.docscrape import get_doc_object
    from numpydoc.validate import validate

    found = {f"{check}: {text}" for check, text in validate(get_doc_object(thing))["errors"] if check in CHECKS}
    text = inspect.getdoc(thing) or ""
    said = inspect.isclass(thing) or "Returns\n-------" in text or "Yields\n------" in text
    return sorted({*found, *(() if said else ("it does not say what is returned",))})


def test_docstrings_are_complete() -> None:
    """Every public name has a docstring in numpydoc's form that leaves out nothing."""
    pytest.importorskip("numpydoc")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: wanting for name, thing in public() if (wanting := lacks(thing))}
    assert found == {}


def others_are_there(text: str) -> bool:
    """Whether the packages of other projects that an example imports are installed."""
    return all(find_spec(package) for package in PACKAGES.findall(text))


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # ArviZ uses it
@pytest.mark.filterwarnings("ignore:The return type of `Dataset.dims`")  # versions of ArviZ before 1.0 ask for it
@pytest.mark.timeout(900)  # 1,600 examples
def test_examples_of_docstrings_run() -> None:
    """Every example gives what stands below it."""
    told: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for name, thing in public():
        text = inspect.getdoc(thing) or ""
        if others_are_there(text):
            runner.run(doctest.DocTestParser().get_doctest(text, {}, name, None, 0), out=told.append)
        if pyplot := sys.modules.get("matplotlib.pyplot"):
            pyplot.close("all")
    assert runner.tries > 4000
    assert not told, "\n".join(told)


def value_of(text: str, given: dict[str, object]) -> float | None:
    """The number that a moment's text stands for; None for prose and for vectors."""
    formula = re.sub(r"(?<=[\w)]) (?=[\w(])", " * ", text.partition(", for")[0]).replace("^", "**")
    names = {"Gamma": math.gamma, "exp": math.exp, "log": math.log, "sqrt": math.sqrt, "pi": math.pi, **given}
    names |= {"tanh": math.tanh, "sin": math.sin, "B": lambda a, b: math.gamma(a) * math.gamma(b) / math.gamma(a + b)}
    try:
        return float(eval(formula, {"__builtins__": {}}, names))
    except (NameError, SyntaxError, TypeError):
        return None


def test_moments_that_are_written_are_those_of_the_formulas() -> None:
    """Mean and variance in docstrings, at the parameters of the examples."""
    compared = 0
    for name, row in MOMENTS.items():
        if name not in EXAMPLES or "[" in EXAMPLES[name].given:
            continue
        given = eval(f"dict({EXAMPLES[name].given})", {"pm": pm})
        variable = getattr(pm, name).dist(**given)
        for text, formula in ((row.mean, densities.mean), (row.variance, densities.variance)):
            if text and (written := value_of(text, given)) is not None:
                computed = formula(variable).eval()
                if np.isfinite(computed).all():  # a formula holds where the moment exists
                    np.testing.assert_allclose(computed, written, rtol=2e-4, err_msg=f"{name}: {text}")
                    compared += 1
    assert compared > 60


def test_rows_of_distributions_name_distributions() -> None:
    """No row of the tables of examples and moments stands for nothing."""
    names = {name.rpartition(".")[2] for name, _ in public()}
    assert not {*EXAMPLES, *MOMENTS} - names

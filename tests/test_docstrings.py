"""Docstrings of public names are complete in numpydoc's form, and their examples run."""

from __future__ import annotations

import doctest
import inspect
import math
import re
import warnings

import numpy as np
import pytest

import consilience as pm
from consilience.distributions import densities
from consilience.distributions.examples import EXAMPLES
from consilience.distributions.moments import MOMENTS
from tests.numpydoc_of_names import LACKING, lacking, public

DEAR = (
    "consilience.plots",
    "consilience.estimators",
    "consilience.cluster",
    "consilience.foreign",
    "consilience.engines",
    "consilience.sample.report",
)
"""Modules whose examples take seconds, random prose, or processes and packages of their own."""


def test_no_docstring_becomes_incomplete() -> None:
    """Names that lack something are those of incomplete_docstrings.txt, which only shrinks.

    `python -m tests.numpydoc_of_names` writes it.
    """
    pytest.importorskip("numpydoc")
    listed = dict(line.split(" ", 1) for line in LACKING.read_text(encoding="utf-8").splitlines())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: " ".join(what) for name, what in lacking().items()}
    assert found.keys() - listed.keys() == set()
    assert {name: what for name, what in found.items() if not {*what.split()} <= {*listed[name].split()}} == {}
    assert listed.keys() - found.keys() == set(), "complete now: run `python -m tests.numpydoc_of_names`"


def test_examples_of_docstrings_run() -> None:
    """Every example gives what stands below it."""
    told: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for name, thing in public():
        text = inspect.getdoc(thing) or ""
        if ">>>" in text and not getattr(thing, "__module__", "").startswith(DEAR):
            test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
            runner.run(test, out=told.append)
    assert runner.tries > 1000
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

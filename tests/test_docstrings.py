"""Docstrings of public names are complete in numpydoc's form, and their examples run."""

from __future__ import annotations

import doctest
import inspect
import warnings

import pytest

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


def test_rows_of_distributions_name_distributions() -> None:
    """No row of the tables of examples and moments stands for nothing."""
    names = {name.rpartition(".")[2] for name, _ in public()}
    assert not {*EXAMPLES, *MOMENTS} - names

"""Names and labels that hold control characters, markup or signs of a language are shown as text, everywhere."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import consilience as pm
from consilience.errors import ConsilienceWarning, shown

NAME = 'a\x1b[31m<script>alert(1)<img src=x onerror=y>\u202e"b\n%c#d`'
LABEL = "p\x1b[1m<b>\r\n"


def hostile() -> pm.Model:
    with pm.Model(coords={NAME + "axis": [LABEL, "q"]}) as model:
        x = pm.Normal(NAME, dims=NAME + "axis")
        pm.Deterministic("twice" + NAME, 2 * x)
        pm.Potential("potential" + NAME, x.sum())
        pm.Data("data" + NAME, [1.0, 2.0])
        pm.Normal("y" + NAME, x.sum(), 1.0, observed=[1.0, 2.0])
    return model


def result_of(model: pm.Model) -> Any:
    with model, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pm.sample(20, tune=20, random_seed=1, progressbar=False)


def refused(model: pm.Model) -> str:
    with model, pytest.raises(pm.ModelError) as told:
        pm.Normal(NAME)
    return str(told.value)


# Where names are seen -> the text that a person, a terminal, a browser or a program reads.
TEXTS: dict[str, Callable[[pm.Model], str]] = {
    "model": str,
    "model in notebooks": lambda m: m._repr_html_(),
    "LaTeX": lambda m: m._repr_latex_(),
    "variable": lambda m: str(m[NAME]),
    "mermaid": pm.model_to_mermaid,
    "graphviz": lambda m: pm.model_to_graphviz(m).source,
    "error": refused,
    "warning": lambda m: str(ConsilienceWarning(f"`{NAME}` is odd.")),
    "result": lambda m: repr(result_of(m)),
    "summary": lambda m: str(pm.summary(result_of(m))),
    "summary in notebooks": lambda m: pm.summary(result_of(m))._repr_html_(),
}
MARKUP = ("model in notebooks", "mermaid", "summary in notebooks")  # where signs of HTML would be markup


@pytest.mark.parametrize("place", TEXTS)
def test_names_are_text_wherever_they_are_seen(place: str) -> None:
    if place == "graphviz":
        pytest.importorskip("graphviz")
    text = TEXTS[place](hostile())
    assert "alert(1)" in text
    unseen = {letter for letter in text if not letter.isprintable() and letter not in "\n"}
    assert unseen == set()
    if place not in ("error", "warning"):  # which have lines of their own
        assert "\n%" not in text
    if place in MARKUP:
        assert "<script>" not in text
        assert "<img" not in text
        assert "<b>" not in text
    if place == "mermaid":  # quotes of labels alone
        assert all(line.count('"') in (0, 2) for line in text.split("\n"))


def test_words_of_all_scripts_stay_as_they_are() -> None:
    for word in ("σ²", "größe", "температура", "می\u200cخواهم", "👩\u200d🔬", "温度", "a b"):
        assert shown(word) == word
    assert shown("a\x1b[2J\u202eb\x00") == "a\\x1b[2J\\u202eb\\x00"

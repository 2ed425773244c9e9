"""Translations of the library's own functions are kept between processes, and only those."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from consilience.inference import nuts_chain
from consilience.native import cache, jit
from consilience.native.emit import emit
from consilience.native.random import library as draws
from consilience.native.target import host
from consilience.native.typed_python import f64, native, translations
from consilience.native.typed_python.function import NativeFunction
from consilience.native.typed_python.translate import translate

KERNEL = {"start_nuts": nuts_chain.start_nuts, "step_nuts": nuts_chain.step_nuts}

ONE_CHAIN = """
from consilience.inference import nuts_chain
from consilience.native.random import library
from consilience.native.typed_python import compile_native
assert compile_native([nuts_chain.start_nuts, nuts_chain.step_nuts]).address("step_nuts")
assert library.library("consilience_random_gamma_f64x4").address("consilience_random_gamma_f64x4")
"""
WITHOUT_TRANSLATION = """
from consilience.native.typed_python import function, translate
def refuse(*arguments):
    raise AssertionError("translated again")
translate._function = function._functions = refuse
"""


@native
def halved(x: f64) -> f64:
    """Not part of the library."""
    return 0.5 * x


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has a cache of its own."""
    monkeypatch.setenv("CONSILIENCE_CACHE", str(tmp_path))


def test_what_is_kept_is_what_translation_gives() -> None:
    """The text is the same, made and read back."""
    wanted = emit(translate(KERNEL), host())
    assert translations.written(KERNEL, lambda: translate(KERNEL)) == wanted
    assert len(cache.entries()) == 1
    assert translations.written(KERNEL, lambda: pytest.fail("translated again")) == wanted


@pytest.mark.parametrize("name", ["random_normal", "random_gamma"])
def test_draws_are_kept_at_every_width(name: str) -> None:
    """Draws with and without rejection, with all vector widths, each have an entry."""
    for count, lanes in enumerate(draws.LANES, 1):
        export = {draws.symbol(name, lanes): draws.DRAWS[name]}
        translations.written(export, lambda lanes=lanes: draws._program(name, lanes))  # type: ignore[misc]  # in a loop
        assert len(cache.entries()) == count


def test_a_second_process_neither_parses_nor_translates() -> None:
    """The first process fills the cache, the second one finds all it needs."""
    for code in (ONE_CHAIN, WITHOUT_TRANSLATION + ONE_CHAIN):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        assert done.returncode == 0, done.stderr


def other_options() -> NativeFunction[..., object]:
    """A function of the library under other options: not the one its module defines."""
    return NativeFunction(nuts_chain.start_nuts.python, True, True, False, False)


@pytest.mark.parametrize("function", [halved, other_options()], ids=["of a user", "with other options"])
def test_other_functions_are_translated_in_every_process(function: NativeFunction[..., object]) -> None:
    """Nothing tells when functions outside the library, or constants they use, have changed."""
    export = {"function": function}
    translations.written(export, lambda: translate(export))
    assert not cache.entries()


def test_changed_source_is_translated_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The digest of an entry depends on the source text of the layers concerned."""
    translations.written(KERNEL, lambda: translate(KERNEL))
    monkeypatch.setattr(translations, "_sources", lambda layers: "other " + " ".join(layers))
    asked: list[int] = []
    translations.written(KERNEL, lambda: asked.append(1) or translate(KERNEL))
    assert asked == [1]


def test_every_source_of_a_layer_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One byte in one file, or another name of a file, changes the digest; no source gives none."""
    monkeypatch.setattr(translations, "_ROOT", tmp_path)
    assert translations._sources.__wrapped__(("native",)) is None
    found: set[str | None] = set()
    for name, content in [("a.py", "x = 1"), ("a.py", "x = 2"), ("deeper/b.py", "x = 2"), ("c.py", "")]:
        path = tmp_path / "native" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        found.add(translations._sources.__wrapped__(("native",)))
    assert len(found) == 4


def test_an_entry_of_a_translation_is_no_machine_code() -> None:
    """Text and object of one program are kept under two digests."""
    text = translations.written(KERNEL, lambda: translate(KERNEL))
    jit.load(text, KERNEL, passes="light")
    assert len(cache.entries()) == 2

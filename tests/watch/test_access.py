"""Pages for those who see little, use the keyboard alone, or print: contrast, motion, names, narrow screens, heads."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.watch.folder import Folder
from tests.watch.stores import Make, begin, make, moment
from tests.watch.test_page import CHROMIUM, Seen, browser, seen, server

__all__ = ["browser", "make", "seen"]
STYLE = (server.PAGE / "style.css").read_text(encoding="utf-8")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="pages are looked at with Chromium")


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb`, as WCAG 2.2 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def whole(colour: str) -> str:
    return colour if len(colour) == 7 else "#" + "".join(2 * c for c in colour[1:])


def test_black_on_white_is_the_largest_contrast() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("place", range(3), ids=["light", "dark", "print"])
def test_words_and_lines_stand_out_from_what_they_are_on(place: int) -> None:
    """WCAG AA: 4.5 for text, 3 for what pictures are made of."""
    blocks = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
    known = {name: whole(colour) for name, colour in re.findall(r"--(\w+): (#\w+)", blocks[place])}
    known = {**{n: whole(c) for n, c in re.findall(r"--(\w+): (#\w+)", blocks[0])}, **known}
    for ground in ("back", "card"):
        for name in ("text", "dim", "link", "good", "warn", "bad", "busy"):
            assert contrast(known[name], known[ground]) >= 4.5, (name, ground)
        for number in range(8):
            assert contrast(known[f"c{number}"], known[ground]) >= 3, (number, ground)
    for name in ("text", "dim"):  # in observed variables of the model's picture
        assert contrast(known[name], known["line"]) >= 4.5, name


def test_nothing_moves_by_itself() -> None:
    """So there is nothing that `prefers-reduced-motion` would have to stop."""
    own = [
        STYLE,
        *((server.PAGE / file).read_text(encoding="utf-8") for file in server.FILES.values() if "/" not in file),
    ]
    assert len(own) > 2
    assert all(own)
    for text in own:
        assert not re.search(r"transition|animation|@keyframes|\.animate\(|behavior: *smooth", text)


WIDE = """[...document.querySelectorAll('*')]
    .filter(e => e.getBoundingClientRect().right > 361 && !e.closest('.scroll')).map(e => e.outerHTML.slice(0, 120))"""
NAMELESS = """[...document.querySelectorAll('a, button, input, [role=img], [role=region], [tabindex="0"]')]
    .filter(e => !(e.textContent.trim() || e.getAttribute('aria-label'))).map(e => e.outerHTML.slice(0, 200))"""


@needs_browser
def test_narrow_screens_keyboards_and_screen_readers(seen: Seen, make: Make, tmp_path: Path) -> None:
    long = "long_" * 40
    draws = np.random.default_rng(1).normal(size=(4, 300, 3))
    make("one.zarr", {"theta": draws, long: draws[..., 0]}, stats={"diverging": draws[..., 0] > 2},
         records=[begin(digest="0123456789"), *(moment(float(i), 10 * i) for i in range(5))])  # fmt: skip
    shutil.copytree(tmp_path / "one.zarr", tmp_path / "two.zarr")
    shown = server.Server(Folder(tmp_path), "127.0.0.1", 0).start()
    page: Any = seen.page
    page.set_viewport_size({"width": 360, "height": 700})
    page.goto(shown.address)
    page.wait_for_selector("text=2 runs")
    for name in ("one", "two"):
        page.check(f"[aria-label='{name}.zarr beside another'], [data-focus='both {name}.zarr']")
    page.wait_for_selector("h2:has-text('Comparison')")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360, page.evaluate(WIDE)
    assert page.evaluate(NAMELESS) == []
    page.goto("about:blank")
    page.goto(f"{shown.address}#run=one.zarr")
    page.wait_for_selector("article.trace canvas")
    page.wait_for_selector("section[aria-label=Divergences] svg")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360, page.evaluate(WIDE)
    assert page.evaluate(NAMELESS) == []
    page.wait_for_timeout(1500)  # until its places are filled
    # By the Tab key alone one comes to all that can be done.
    controls = """[...document.querySelectorAll('a, button, input, [tabindex="0"]')].filter(e => e.checkVisibility())"""
    page.evaluate("document.activeElement.blur(); window.met = new Set()")
    for _ in range(page.evaluate(controls + ".length") + 5):
        page.keyboard.press("Tab")
        page.evaluate("window.met.add(document.activeElement)")
    assert page.evaluate(controls + ".filter(e => !window.met.has(e)).map(e => e.outerHTML.slice(0, 120))") == []
    page.focus("[aria-label='Table of events']")
    page.keyboard.press("Enter")
    assert seen.faults == []
    shown.close()


@needs_browser
def test_a_printed_table_has_its_head_on_each_page(seen: Seen, tmp_path: Path) -> None:
    with pm.Model():
        pm.Normal("theta", shape=150)
        result = pm.sample(random_seed=1, progressbar=False)
    pm.report(result, tmp_path / "a.html")
    page: Any = seen.page
    # A printer does not wait until plots are drawn anew for its paper.
    page.add_init_script("window.ResizeObserver = class { observe() {} unobserve() {} disconnect() {} }")
    page.goto((tmp_path / "a.html").as_uri())
    page.wait_for_selector("article.trace canvas")
    page.emulate_media(media="print")
    head = "[data-part=summary] thead"
    style = f"getComputedStyle(document.querySelector('{head}'))"
    # What Chromium repeats: a group of rows that is not broken, in which there is nothing to press.
    assert page.evaluate(f"[{style}.display, {style}.breakInside]") == ["table-header-group", "avoid"]
    assert (
        page.evaluate(f"[...document.querySelectorAll('{head} button')].filter(e => e.checkVisibility()).length") == 0
    )
    assert page.evaluate(f"getComputedStyle(document.querySelector('{head} th'), '::after').content") == '"parameter"'
    assert (
        page.evaluate("getComputedStyle(document.querySelector('[data-part=summary] .scroll')).overflow") == "visible"
    )
    page.set_viewport_size({"width": 720, "height": 1000})  # A4 less its margins
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    if shutil.which("pdftotext"):
        import subprocess

        page.pdf(path=str(tmp_path / "a.pdf"), format="A4")
        told = subprocess.run(["pdftotext", "-layout", str(tmp_path / "a.pdf"), "-"], capture_output=True, check=True)
        pages = told.stdout.decode().split("\f")
        rows = [text for text in pages if re.search(r"theta\[\d+\]( +-?[\d.,]+){6}", text)]
        assert len(rows) > 1
        assert all("ess bulk" in text for text in rows)

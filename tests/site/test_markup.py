"""Markup that a build makes is read by screen readers: signatures are no lists of definitions, tables have headings."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from building import reference, run_cells  # noqa: E402


def test_parameters_on_lines_of_their_own_are_no_definitions() -> None:
    lines = "<dl>\n<dd>a,</dd>\n<dd>b</dd>\n</dl>"
    body = f'<dt>f<span class="sig-paren">(</span>\n{lines}\n<span class="sig-paren">)</span></dt>'
    context = {"body": f"{body}<dl><dt>a</dt><dd>b</dd></dl>"}
    reference.signature_lines(None, "", "", context, None)
    assert "<dl>\n" not in context["body"]
    assert context["body"].count("<dd>") == 1  # that of the list of definitions
    assert (
        '<span class="sig-lines">\n<span>a,</span>\n<span>b</span>\n</span><span class="sig-paren">)' in context["body"]
    )


def test_tables_of_cells_have_no_empty_headings_and_are_reached_by_tab() -> None:
    (shown,) = run_cells.shown(pd.DataFrame({"elpd": [1.0]}, index=["degree 1"]))
    assert "<th></th>" not in shown["html"]
    assert 'tabindex="0"' in shown["html"]

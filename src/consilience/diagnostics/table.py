"""A table of numbers per parameter as text: columns enter, aligned lines leave.

The standard deviation has three significant digits; what is in its unit shows as many decimals.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from consilience.errors import shown

FloatArray = npt.NDArray[np.float64]

COUNTS = {"ess_bulk", "ess_tail"}
RATIOS = {"r_hat"}
ERRORS = {"mcse_mean", "mcse_sd"}
MOST_DECIMALS = 8
ROUNDING = 16 * np.finfo(float).eps  # of a constant that is computed from draws, as the diagonal of a correlation is


def decimals_for(value: float, digits: int) -> int | None:
    """Decimals that show `value` to `digits` significant digits; None if that takes an exponent."""
    if value == 0 or not math.isfinite(value):
        return 0
    exponent = int(f"{abs(value):.{digits - 1}e}".partition("e")[2])
    decimals = max(0, digits - 1 - exponent)
    return decimals if decimals <= MOST_DECIMALS and exponent < 9 else None


def number(value: float, decimals: int | None, digits: int) -> str:
    """A number with so many decimals, or with an exponent and `digits` significant digits if that is None."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if decimals is None or abs(value) >= 1e12:
        return f"{value:.{digits - 1}e}"
    shown = f"{value:.{decimals}f}"
    return shown.removeprefix("-") if float(shown) == 0 else shown  # no minus before zeros


def cell(column: str, value: float, deviation: float) -> str:
    """Text of one number; `deviation` is the standard deviation of its row, NaN if unknown."""
    if column in COUNTS:
        return number(value, 0, 3)
    if column in RATIOS:
        return number(value, 3, 4)
    if column in ERRORS:
        return number(value, decimals_for(value, 2), 2)
    if column == "sd":
        return number(value, decimals_for(value, 3), 3)
    if not deviation > 0 or math.isinf(deviation):
        return f"{value:.6g}" if math.isfinite(value) else number(value, 0, 3)
    decimals = decimals_for(deviation, 3)
    if decimals is None:
        return number(value, None, 6)
    return number(value, decimals, 6)


def constants(columns: Mapping[str, FloatArray]) -> npt.NDArray[np.bool_]:
    """Which rows are constant up to rounding; none where mean and deviation are not among the columns."""
    if not {"mean", "sd"} <= columns.keys():
        return np.zeros(len(next(iter(columns.values()), ())), dtype=bool)
    return np.asarray(columns["sd"] <= ROUNDING * np.abs(columns["mean"]))


def cells(columns: Mapping[str, FloatArray], rows: Sequence[int]) -> list[list[str]]:
    """Text of the numbers in `rows`, one list per column; a constant has no diagnostics, whose cells stay empty."""
    deviations, constant = columns.get("sd"), constants(columns)

    def text(name: str, row: int, value: float) -> str:
        if constant[row]:
            return "" if name in COUNTS | RATIOS | ERRORS else f"{0.0 if name == 'sd' else value:.6g}"
        return cell(name, value, math.nan if deviations is None else float(deviations[row]))

    return [[text(name, row, float(values[row])) for row in rows] for name, values in columns.items()]


def align(texts: Sequence[str]) -> list[str]:
    """Numbers padded so that their decimal points stand in one column; words such as NaN end with it."""
    parts = [text.partition(".") for text in texts]
    numbers = [part for part, text in zip(parts, texts, strict=True) if not text.isalpha()]
    whole = max((len(before) for before, _, _ in numbers), default=0)
    rest = max((len(point + after) for _, point, after in numbers), default=0)
    width = max([whole + rest, *map(len, texts)]) if texts else 0
    return [
        f"{text:>{width}}" if text.isalpha() else f"{before:>{width - rest}}{point + after:<{rest}}"
        for text, (before, point, after) in zip(texts, parts, strict=True)
    ]


def plain(header: Sequence[str], labels: Sequence[str], columns: Sequence[Sequence[str]]) -> list[str]:
    """Lines of an aligned table: a header, then one line per label."""
    labels = list(map(shown, labels))
    width = max(map(len, labels), default=0)
    lines = [" " * width, *(f"{label:<{width}}" for label in labels)]
    for name, texts in zip(header, columns, strict=True):
        aligned = align(texts)
        breadth = max([len(name), *map(len, aligned)])
        lines = [f"{line}  {entry:>{breadth}}" for line, entry in zip(lines, [name, *aligned], strict=True)]
    return [line.rstrip() for line in lines]


def hypertext(
    header: Sequence[str], labels: Sequence[str], columns: Sequence[Sequence[str]], note: str, gap: int | None
) -> str:
    """The same as a table of a web page, with the row of dots before row `gap` and a note below."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in ["", *header])
    right = ' style="text-align:right"'
    body = []
    for row, label in enumerate(labels):
        if row == gap:
            body.append(f'<tr><td colspan="{len(header) + 1}">&#8942;</td></tr>')
        entries = "".join(f"<td{right}>{html.escape(texts[row])}</td>" for texts in columns)
        body.append(f'<tr><th style="text-align:left">{html.escape(shown(label))}</th>{entries}</tr>')
    below = f"<p>{html.escape(note)}</p>" if note else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>{below}"

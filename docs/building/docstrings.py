"""Docstrings as reStructuredText: those of numpydoc's form by its parser, plain ones as they stand.

In: an object. Out: its summary, and the body of its page. Names between backticks become links where they are public.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from typing import Any

HEADING = re.compile(
    r"^(Parameters|Other Parameters|Attributes|Methods|Returns|Yields|Receives|Raises|Warns|Warnings|See Also|Notes|"
    r"References|Examples)\n-{3,}$",
    re.MULTILINE,
)
COLUMNS = re.compile(r"^\S.{0,40}? {2,}\S|^\S.*\n {8,}\S", re.MULTILINE)
"""Names and what they mean side by side, the form that docstrings had before."""
CODE = re.compile(r"(:[\w:.+-]+:`[^`]+`|``.+?``|(?<!`)`[^`\n]+(?:\n[^`\n]+)?`(?!`)_{0,2})", re.DOTALL)
FIELDS = ("Parameters", "Returns", "Yields", "Receives", "Other Parameters", "Raises", "Warns", "Attributes")


def text_of(thing: Any) -> str:
    """The docstring of an object, without its margin; none where it is that of its type."""
    found = getattr(thing, "__doc__", None)
    if not isinstance(found, str):
        return ""
    if not inspect.isclass(thing) and not inspect.isroutine(thing) and found == (type(thing).__doc__ or ""):
        return ""
    return inspect.cleandoc(found)


def is_numpydoc(text: str) -> bool:
    """Whether what a docstring says stands in sections, or is no more than paragraphs."""
    return not COLUMNS.search(HEADING.split(text)[0])


def summary(thing: Any) -> str:
    """The first sentence or paragraph, on one line."""
    return " ".join(text_of(thing).partition("\n\n")[0].split())


def inline(text: str) -> str:
    """Prose as reStructuredText: names in backticks as links, signs of markup as signs."""
    parts = CODE.split(text)
    for place, part in enumerate(parts):
        if place % 2 == 0:
            parts[place] = re.sub(r"([*|])", r"\\\1", re.sub(r"(\w)_(?=\W|$)", r"\1\\_", part))
        elif part.startswith("`") and not part.startswith("``") and part.endswith("`"):
            parts[place] = f":name:`{' '.join(part[1:-1].split())}`"
        if place and parts[place][:1].isalnum() and parts[place - 1].endswith("`"):
            parts[place] = "\\" + parts[place] if place % 2 == 0 else parts[place]
        if place % 2 and parts[place - 1][-1:].isalnum():
            parts[place] = "\\ " + parts[place]
    return "".join(parts)


def prose(lines: list[str]) -> list[str]:
    """Paragraphs; directives, doctests and indented blocks are left as they are."""
    out: list[str] = []
    for block in re.split(r"\n\s*\n", "\n".join(lines).strip("\n")):
        if COLUMNS.search(block) and not block.startswith((">>>", "..")):
            out += as_it_stands(block)
            continue
        literal = block.startswith((" ", "..", ">>>")) or (out and out[-2:] and out[-2].endswith("::"))
        out += [*(block if literal else inline(block)).splitlines(), ""]
    return out


def body(thing: Any) -> list[str]:
    """The page's text below the signature."""
    text = text_of(thing)
    if not text:
        return []
    if not HEADING.search(text) and not is_numpydoc(text):
        first, _, rest = text.partition("\n\n")
        made = prose(first.splitlines())
        return [*made, *as_it_stands(rest)] if rest.strip() else made
    return of_sections(text)


def as_it_stands(text: str) -> list[str]:
    """A block that keeps its lines."""
    return ["", ".. code-block:: none", "   :class: plain-docstring", "", textwrap.indent(text, "   "), ""]


def of_sections(text: str) -> list[str]:
    """A docstring of numpydoc's form."""
    from numpydoc.docscrape import NumpyDocString

    found = NumpyDocString(text)
    lines = prose(found["Summary"]) + prose(found["Extended Summary"])
    for title in FIELDS:
        if found[title]:
            lines += [f".. rubric:: {title}", "", *fields(found[title], title), ""]
    if found["Warnings"]:
        lines += [".. warning::", "", *(f"   {line}" for line in prose(found["Warnings"])), ""]
    if found["See Also"]:
        lines += [".. rubric:: See also", ""]
        for functions, description in found["See Also"]:
            names = ", ".join(f":see:`{name}`" for name, _ in functions)
            told = inline(" ".join(description))
            lines.append(f"* {names}{' — ' + told if told else ''}")
        lines.append("")
    for title in ("Notes", "References", "Examples"):
        if found[title]:
            made = (
                references(found[title]) if title == "References" else plain_code(found[title]) or prose(found[title])
            )
            lines += [f".. rubric:: {title}", "", *made, ""]
    return lines


def plain_code(lines: list[str]) -> list[str]:
    """Lines that are Python without prompts, as a block of code; none where they are anything else."""
    text = textwrap.dedent("\n".join(lines)).strip("\n")
    try:
        ast.parse(text)
    except SyntaxError:
        return []
    return [".. code-block:: python", "", textwrap.indent(text, "   ")]


def fields(rows: list[Any], title: str) -> list[str]:
    """A definition list of parameters, or of what is returned or raised."""
    lines = []
    for row in rows:
        if row.name and row.type:
            head = f"**{inline(row.name)}** : *{inline_plain(row.type)}*"
        elif row.name:
            head = f"**{inline(row.name)}**"
        else:
            head = f":name:`{row.type}`" if title in {"Raises", "Warns"} else f"*{inline_plain(row.type)}*"
        lines += [head, *(f"    {line}" for line in prose(row.desc) or [""]), ""]
    return lines


def inline_plain(text: str) -> str:
    """Text inside emphasis: without markup of its own."""
    return re.sub(r"([*|\\])", r"\\\1", text.replace("`", "")).strip()


def references(lines: list[str]) -> list[str]:
    """References as a list; numbers in brackets would be targets of the whole site."""
    text = re.sub(r"^\.\. \[(\w+)\] ", r"* ", "\n".join(lines), flags=re.MULTILINE)
    return [line if line.startswith("* ") else re.sub(r"^\s+", "  ", line) for line in inline(text).splitlines()]


def signature(thing: Any) -> str:
    """Parameters with their defaults, without annotations, which the docstring tells in words."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    empty = inspect.Parameter.empty
    plain = [
        p.replace(annotation=empty, default=p.default if p.default is empty else _Shown(p.default))
        for p in found.parameters.values()
    ]
    return str(inspect.Signature(plain))


class _Shown:
    """A default as readers see it: no address in memory, no module."""

    def __init__(self, value: Any) -> None:
        text = repr(value)
        if inspect.isclass(value) or inspect.isroutine(value):
            text = value.__name__
        elif re.search(r" at 0x[0-9a-f]+>", text) or text.startswith("<"):
            text = re.sub(r"^<[\w.]*?(\w+)\b.*>$", r"\1", text, flags=re.DOTALL) or "…"
        self._text = text if len(text) < 60 else "…"

    def __repr__(self) -> str:
        return self._text

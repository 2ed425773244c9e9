"""Pictures of graphs as files and objects: PyTensor's `pydotprint`, text for Graphviz and Mermaid, a web page.

Graphviz is optional: its language is written without it, and drawn where its program `dot` is.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from shutil import which
from typing import Any, Final

from consilience.backends.printing.labels import GraphLike
from consilience.backends.printing.page import page
from consilience.backends.printing.picture import dot, mermaid, picture
from consilience.errors import GraphError

_LOOKS: Final = (
    "compact with_ids high_contrast cond_highlight colorCodes max_label_size scan_graphs var_with_name_simple "
    "print_output_file return_image"
)
DRAWN: Final = ("png", "svg", "pdf", "jpg", "ps")


def to_dot(graph: GraphLike) -> str:
    """The graph in the language of Graphviz; GraphError for what is no graph.

    graph : ...
    Returns: Text.
    See to_graphviz: As a picture.
    >>> import consilience.tensor as pt
    >>> from consilience.backends.printing import to_dot
    >>> to_dot(pt.exp(pt.dscalar("x"))).splitlines()[0]
    'digraph {'
    """
    return dot(picture(graph))


def to_graphviz(graph: GraphLike) -> Any:
    """The graph as a `graphviz.Source`, which notebooks show; ImportError without the package `graphviz`.

    graph : ...
    Returns: A `graphviz.Source`.
    See to_dot: The text alone.
    >>> import consilience.tensor as pt
    >>> from consilience.backends.printing import to_graphviz
    >>> "exp" in to_graphviz(pt.exp(pt.dscalar("x"))).source
    True
    """
    try:
        import graphviz
    except ImportError:
        raise ImportError(
            "the picture needs the package `graphviz` (`pip install graphviz`); `to_dot`, `to_mermaid` and `to_html` "
            "need nothing."
        ) from None
    return graphviz.Source(to_dot(graph))


def to_mermaid(graph: GraphLike) -> str:
    """The graph in Mermaid's language, which GitHub and notebooks draw; GraphError for what is no graph.

    graph : ...
    Returns: Text for a block of Mermaid.
    See to_dot: In the language of Graphviz.
    >>> import consilience.tensor as pt
    >>> from consilience.backends.printing import to_mermaid
    >>> "exp" in to_mermaid(pt.exp(pt.dscalar("x")))
    True
    """
    return mermaid(picture(graph))


def to_html(graph: GraphLike, path: str | Path | None = None, title: str = "graph") -> str:
    """The graph as one web page with zoom that loads nothing else.

    graph : ...
    path: Where to write it, if anywhere.
    title: Title of the page.
    Returns: The page's text.
    See to_graphviz: For notebooks.
    >>> import consilience.tensor as pt
    >>> from consilience.backends.printing import to_html
    >>> to_html(pt.exp(pt.dscalar("x"))).splitlines()[0]
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
    """
    text = page(picture(graph), title)
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def pydotprint(fct: GraphLike, outfile: str | Path | None = None, format: str = "png", **options: Any) -> str:
    """Write the picture of a graph to a file, as PyTensor's function of this name.

    fct: An expression, a list of expressions, a compiled function or a model.
    outfile: Where to; its suffix decides what: .html (a page with zoom) and .mmd (Mermaid) and .dot need nothing, png
        svg pdf jpg ps need the program `dot` of Graphviz; without a suffix `format` counts. None: nowhere.
    format: Format of the picture: "png", "svg", "pdf".
    **options: Others of PyTensor's function, which change the looks of its pictures, are accepted without effect.
    Returns: The text in Graphviz's language.
    Raises GraphError: For what is no graph.
    Raises ValueError: For an unknown format.
    Raises OSError: Without `dot`.
    See to_graphviz: For notebooks.
    >>> import consilience.tensor as pt
    >>> from consilience.backends.printing import pydotprint
    >>> pydotprint(pt.exp(pt.dscalar("x")))[:7]
    'digraph'
    """
    unknown = set(options) - set(_LOOKS.split())
    if unknown:
        raise TypeError(
            f"`pydotprint` does not take {', '.join(map(repr, sorted(unknown)))}; it takes fct, outfile, format."
        )
    drawn = picture(fct)
    text = dot(drawn)
    if outfile is None:
        return text
    path = Path(outfile)
    kind = path.suffix.removeprefix(".") or format
    if not path.suffix:
        path = path.with_suffix(f".{format}")
    if kind in ("html", "mmd", "dot", "gv"):
        written = page(drawn, path.stem) if kind == "html" else mermaid(drawn) if kind == "mmd" else text
        path.write_text(written, encoding="utf-8")
        return text
    if kind not in DRAWN:
        raise ValueError(f"the format must be one of html, mmd, dot, {', '.join(DRAWN)}, got {kind!r}.")
    program = program_dot(f"a picture as {kind}", "write .html, .mmd or .dot, which need nothing")
    done = subprocess.run(
        [program, f"-T{kind}", "-o", str(path)], input=text, text=True, capture_output=True, check=False
    )
    if done.returncode:
        raise GraphError(f"Graphviz could not draw the graph: {done.stderr.strip()}")
    return text


def program_dot(what: str, instead: str) -> str:
    """The path of Graphviz's program, which draws files; FileNotFoundError where it is not installed."""
    program = which("dot")
    if program is None:
        raise FileNotFoundError(
            f"{what} needs the program `dot` of Graphviz, which is not on the path; install Graphviz "
            f"(`apt install graphviz`, `brew install graphviz`, `conda install graphviz`), or {instead}."
        )
    return program

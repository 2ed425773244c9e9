"""Pages of the reference: one for each public name, one for each subject, and the table of contents of both.

In: the names of `names.py` with their docstrings. Out: pages of reStructuredText in `docs/reference/api`, written when
the site is built.
"""

from __future__ import annotations

import hashlib
import html
import inspect
import re
from functools import cache
from pathlib import Path
from typing import Any

from building import docstrings, formulas, mathml, pictures
from building.cells import ROOT, source_digest
from building.names import Entry, entries, short, spellings, subjects

SOURCE = ROOT / "src"
INTRODUCTION = """\
# Reference

Every public name of the library has a page. `pm` is `consilience`, `pt` is `consilience.tensor` and `px` is
`consilience.xtensor`.

```python
import consilience as pm
import consilience.tensor as pt
import consilience.xtensor as px
```
"""


def slug(subject: str) -> str:
    """The file of a subject."""
    return re.sub(r"\W+", "-", subject.lower()).strip("-")


def titled(text: str, mark: str = "=") -> list[str]:
    """A heading."""
    return [text, mark * len(text), ""]


def link(entry: Entry) -> str:
    """A link to a page of the reference."""
    return f":doc:`{short(entry.name)} </reference/api/{entry.page}>`"


def source_of(thing: Any) -> tuple[Path, int] | None:
    """File and line of an object, where it is written in Python and in this library."""
    try:
        found = inspect.unwrap(thing) if callable(thing) else thing
        path = Path(inspect.getsourcefile(found) or "")
        line = inspect.getsourcelines(found)[1]
    except (TypeError, OSError):
        return None
    return (path, line) if SOURCE in path.parents else None


def page(entry: Entry, facts: dict[str, list[dict[str, str]]]) -> str:
    """The page of a name."""
    name = short(entry.name)
    lines = [":orphan:", ""]
    lines += titled(name)
    others = [f"``{short(s)}``" for s in entry.spellings if s != entry.name]
    call = docstrings.signature(entry.thing) if entry.kind in {"function", "class", "exception"} else ""
    call = re.sub(r"\s+", " ", call)
    lines += [f".. py:{entry.kind}:: {name}{call}", f"   :canonical: {entry.name}", ""]
    inner = docstrings.body(entry.thing)
    if not inner and entry.kind == "data":
        inner = [
            f"The value ``{entry.thing!r}``."
            if len(repr(entry.thing)) < 60
            else f"Of type ``{type(entry.thing).__name__}``.",
            "",
        ]
    if is_distribution(entry):
        if entry.thing.__name__ in facts:
            summary = inner.index("") + 1
            inner[summary:summary] = drawing(entry.thing)
        inner += distribution(entry, facts)
    formula = formulas.of(name.removeprefix("pm."))
    if formula and "" in inner:
        summary = inner.index("") + 1
        inner[summary:summary] = [".. raw:: html", "", f"   {mathml.mathml(formula)}", ""]
    if others:
        inner += [f"Also {', '.join(others)}.", ""]
    place = source_of(entry.thing)
    if place:
        path, line = place
        relative = path.relative_to(SOURCE)
        address = f"../../source/{relative.with_suffix('').as_posix()}.html#L{line}"
        inner += [
            ".. raw:: html",
            "",
            f'   <p class="source-link"><a href="{address}">Source: {relative}, line {line}</a></p>',
            "",
        ]
    lines += [f"   {line}" if line else "" for text in inner for line in text.split("\n")]
    if entry.kind == "class" and not is_distribution(entry):
        lines += methods(entry)
    return "\n".join(lines).rstrip() + "\n"


def members(cls: type) -> dict[str, Any]:
    """What the library defines for a class under a public name, as it stands in the class or in one of its bases."""
    found: dict[str, Any] = {}
    for base in cls.__mro__:
        if base.__module__.startswith("consilience"):
            found |= {name: member for name, member in vars(base).items() if name[0] != "_" and name not in found}
    return found


def methods(entry: Entry) -> list[str]:
    """Public methods and properties that the library defines for a class, with their docstrings."""
    lines: list[str] = []
    for name, member in sorted(members(entry.thing).items()):
        thing = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if isinstance(thing, property) or not inspect.isroutine(thing):
            if not isinstance(thing, property) or not docstrings.text_of(thing.fget):
                continue
            head, text = f"   .. py:property:: {name}", docstrings.body(thing.fget)
        else:
            if not docstrings.text_of(thing):
                continue
            call = re.sub(r"\((?:self|cls)(?:, )?(/, )?", "(", docstrings.signature(thing), count=1)
            head, text = f"   .. py:method:: {name}{re.sub(chr(10), ' ', call)}", docstrings.body(thing)
        lines += [head, "", *(f"      {line}" if line else "" for part in text for line in part.split("\n")), ""]
    return lines


def is_distribution(entry: Entry) -> bool:
    """Whether a page shows a distribution."""
    from consilience.distributions import Distribution

    thing = entry.thing
    return (
        inspect.isclass(thing) and issubclass(thing, Distribution) and bool(thing.title) and entry.name.count(".") == 1
    )


def drawing(declared: Any) -> list[str]:
    """The picture of a distribution."""
    name = declared.__name__
    discrete = "Discrete" in {base.__name__ for base in declared.__mro__}
    lines = [f".. image:: /_build/distributions/{name}.svg", "   :class: cell-picture"]
    return [*lines, f"   :alt: {pictures.alternative_text(name, discrete)}", ""]


def distribution(entry: Entry, facts: dict[str, list[dict[str, str]]]) -> list[str]:
    """Picture, parameters, support and moments of a distribution, as declared."""
    declared = entry.thing
    name = declared.__name__
    lines: list[str] = []
    rows = [(p.name, constraint(p), default(p)) for p in declared.parameters]
    rows += [(p.name, "known when the variable is made", default(p)) for p in declared.static_parameters]
    rows += [
        (p.name, "a distribution or several, made by ``.dist``", default(p)) for p in declared.component_parameters
    ]
    for instead in declared.alternatives:
        rows += [
            (n, f"{plain(c)}; in place of {' and '.join(instead.replaced)}", "") for n, c in instead.constraints.items()
        ]
    if rows:
        lines += table(("parameter", "values", "default"), [(f"``{n}``", c, d) for n, c, d in rows])
    has = [f for f in ("logp", "logcdf", "logccdf", "icdf", "draw", "mean", "variance") if declares(declared, f)]
    lines += [f"Support: {plain(declared.support)}. Formulas: {', '.join(has)}.", ""]
    if name in facts:
        lines += table(("parameters", "mean", "variance"), [(f["row"], f["mean"], f["variance"]) for f in facts[name]])
    return lines


def declares(declared: Any, formula: str) -> bool:
    """Whether a distribution has a formula; the upper tail follows from the lower."""
    return bool(declared.declares(formula)) or (formula == "logccdf" and bool(declared.declares("logcdf")))


def plain(constraint: Any) -> str:
    """A constraint in words."""
    return docstrings.inline_plain(str(constraint.rule))


def constraint(parameter: Any) -> str:
    """The values a parameter may have."""
    found = getattr(parameter, "constraint", None)
    return plain(found) if found is not None else ""


def default(parameter: Any) -> str:
    """The default of a parameter, as text."""
    found = getattr(parameter, "default", inspect.Parameter.empty)
    return f"``{found!r}``" if isinstance(found, int | float | str | bool) else ""


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """A table of reStructuredText."""
    lines = [".. list-table::", "   :header-rows: 1", "   :class: narrow", ""]
    for row in (head, *rows):
        lines += [f"   {'* -' if place == 0 else '  -'} {cell}" for place, cell in enumerate(row)]
    return [*lines, ""]


def subject_page(subject: str, found: list[Entry]) -> str:
    """The page of a subject: its names with a line each."""
    lines = titled(subject)
    if subject == "Symbolic inputs":
        lines += [
            "A first letter says the dtype (b, w, i, l integers of 8 to 64 bits, f, d floating-point, c, z complex;",
            "none: ``config.floatX``), the word the number of axes, an s at the end that several are made.",
            "",
            " ".join(f":doc:`{e.name.rpartition('.')[2]} </reference/api/{e.page}>`" for e in found),
        ]
        return "\n".join(lines) + "\n"
    lines += table(
        ("name", "what it is"), [(link(e), docstrings.inline(docstrings.summary(e.thing)) or "a value") for e in found]
    )
    return "\n".join(lines)


def index() -> str:
    """The first page of the reference."""
    lines = [INTRODUCTION]
    for title, wanted in (("pm", "consilience"), ("pt", "consilience.tensor"), ("Packages", "")):
        rows = [
            f"- [{subject}]({slug(subject)}.rst): "
            + ", ".join(f"`{short(e.name)}`" for e in found[:4])
            + (" …" if len(found) > 4 else "")
            for subject, found in subjects().items()
            if (found[0].name.rpartition(".")[0] == wanted)
            or (not wanted and found[0].name.rpartition(".")[0] not in ("consilience", "consilience.tensor"))
        ]
        lines += [f"## {title}", "", *rows, ""]
    lines += [
        "## Tables",
        "",
        "- [At a glance](at-a-glance.md): what the library does, by its calls",
        "- [Formulas of each distribution](distributions.md)",
    ]
    lines += [
        "- [PyTensor's and PyMC's names](names.md): there, different, not yet",
        "- [What is known of each function and op](tables.md)",
        "",
    ]
    toc = [slug(subject) for subject in subjects()]
    lines += ["```{toctree}", ":hidden:", "", *toc, "at-a-glance", "distributions", "names", "tables", "```", ""]
    return "\n".join(lines)


def written(path: Path, text: str) -> None:
    """Write a file if its text changed: what did not change is not read again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def write(docs: Path) -> None:
    """Write all pages, and delete those of names that are gone."""
    digest = hashlib.sha256(source_digest().encode()).hexdigest()
    facts = pictures.all_drawn(docs / "_build" / "distributions", digest)
    wanted = {docs / "reference" / "api" / f"{e.page}.rst": page(e, facts) for e in entries().values()}
    wanted |= {docs / "reference" / f"{slug(s)}.rst": subject_page(s, found) for s, found in subjects().items()}
    for path, text in wanted.items():
        written(path, text)
    written(docs / "reference" / "index.md", index())
    for path in (*(docs / "reference" / "api").glob("*.rst"), *(docs / "reference").glob("*.rst")):
        if path not in wanted:
            path.unlink()


def name_role(
    name: str, rawtext: str, text: str, lineno: int, inliner: Any, options: Any = None, content: Any = ()
) -> Any:
    """A name between backticks: a link where it has a page, code where not."""
    from docutils import nodes
    from sphinx import addnodes

    bare = text.strip().removesuffix("()").lstrip("~")
    known = spellings()
    page = inliner.document.settings.env.docname
    if name == "see":
        entry = seen_also(bare, page)
    elif not re.fullmatch(r"[\w.]+", bare) or bare in arguments_of(page):
        entry = None
    else:
        entry = next((known[s] for s in (bare, f"pm.{bare}", f"pt.{bare}") if s in known), None)
        if bare.islower() and "." not in bare and f"pm.{bare}" not in known:
            entry = None
    code = nodes.literal(rawtext, text.lstrip("~"))
    if entry is None:
        return [code], []
    made = addnodes.pending_xref(
        "",
        code,
        refdomain="std",
        reftype="doc",
        reftarget=f"/reference/api/{entry.page}",
        refexplicit=True,
        refwarn=True,
    )
    made["refdoc"] = page
    return [made], []


@cache
def of_pages() -> dict[str, Entry]:
    """Names by the document that shows them."""
    return {f"reference/api/{entry.page}": entry for entry in entries().values()}


@cache
def arguments_of(page: str) -> frozenset[str]:
    """Names of the arguments of what a page shows: these are no links, whatever else is called so."""
    entry = of_pages().get(page)
    try:
        return frozenset(inspect.signature(entry.thing).parameters) if entry is not None else frozenset()
    except (TypeError, ValueError):
        return frozenset()


def seen_also(bare: str, page: str) -> Entry | None:
    """What a line of "See also" names: first of the same package, then of `pm`, `pt` and `px`."""
    known, own = spellings(), of_pages().get(page)
    above = short(own.name).rpartition(".")[0] if own is not None else "pm"
    spelled = (f"{above}.{bare}", bare, *(f"{package}.{bare}" for package in ("pm", "pt", "px")))
    found = next((known[s] for s in spelled if s in known), None)
    if found is None:  # of a package inside, where one alone has it
        inner = {id(e.thing): e for s, e in known.items() if s.rpartition(".")[2] == bare}
        found = next(iter(inner.values())) if len(inner) == 1 else None
    return found


def unlinked() -> list[str]:
    """Lines of "See also" that lead nowhere; names of ArviZ's packages have their pages elsewhere."""
    lost = []
    for page, entry in of_pages().items():
        for named in re.findall(r":see:`([^`]+)`", "\n".join(docstrings.body(entry.thing))):
            bare = named.strip().removesuffix("()").lstrip("~")
            if not bare.startswith("arviz_") and seen_also(bare, page) is None:
                lost.append(f'{short(entry.name)}: "See also" names {bare}, which has no page')
    return lost


def write_sources(app: Any, failed: Exception | None) -> None:
    """The library's source as pages with numbered lines, beside the site."""
    if failed or app.builder.name != "html":
        return
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    files = {place[0] for e in entries().values() if (place := source_of(e.thing))}
    for path in files:
        relative = path.relative_to(SOURCE).with_suffix("")
        target = Path(app.outdir) / "source" / f"{relative.as_posix()}.html"
        if target.exists() and target.stat().st_mtime > path.stat().st_mtime:
            continue
        form = HtmlFormatter(full=True, linenos="inline", lineanchors="L", title=relative.as_posix(), style="tango")
        text = highlight(path.read_text(encoding="utf-8"), PythonLexer(), form).replace('name="L-', 'id="L')
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text.replace('id="L-', 'id="L'), encoding="utf-8")


def anchors(app: Any, doctree: Any) -> None:
    """Headings of a page's own docstring can be linked to; those of its methods cannot."""
    from docutils import nodes
    from sphinx import addnodes

    if app.env.docname in of_pages():
        for rubric in doctree.findall(nodes.rubric):
            inside = rubric.parent
            if isinstance(inside, addnodes.desc_content) and not isinstance(
                inside.parent.parent, addnodes.desc_content
            ):
                rubric["ids"] = [nodes.make_id(rubric.astext())]


def parents(app: Any, name: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """The path above the page of a name, which stands in no table of contents."""
    from docutils import nodes

    above = _above().get(name)
    if above:
        pathto = context["pathto"]
        context["parents"] = [
            {"link": pathto("reference/index"), "title": "Reference"},
            {"link": pathto(f"reference/{slug(above)}"), "title": above},
        ]
        for side, other in zip(("prev", "next"), _neighbours()[name], strict=True):
            if other is not None:
                context[side] = {"link": pathto(f"reference/api/{other.page}"), "title": short(other.name)}
        sections = "".join(
            f'<li><a class="reference internal" href="#{rubric["ids"][0]}">{rubric.astext()}</a></li>'
            for rubric in doctree.findall(nodes.rubric)
            if rubric["ids"]
        )
        title = short(of_pages()[name].name)
        inner = re.search(r"<ul>\s*<li>.*?(<ul>.*</ul>)\s*</li>\s*</ul>", context.get("toc", ""), re.DOTALL)
        listed = re.findall(r"<li>(?!.*<ul>)<a .*?</a></li>", inner[1], re.DOTALL) if inner else []
        members = "".join(row for row in listed if f'href="#{title}"' not in row)
        context["names_of_subject"] = {
            "title": above,
            "rows": [(_breakable(e), pathto(p := f"reference/api/{e.page}"), p == name) for e in subjects()[above]],
        }
        if sections:
            context["toc"] = (
                f'<ul><li><a class="reference internal" href="#">{title}</a><ul>{sections}{members}</ul></li></ul>'
            )


def _breakable(entry: Entry) -> str:
    """A name that may be broken behind its underscores, as HTML."""
    return html.escape(short(entry.name)).replace("_", "_<wbr>")


@cache
def _above() -> dict[str, str]:
    return {page: entry.subject for page, entry in of_pages().items()}


@cache
def _neighbours() -> dict[str, tuple[Entry | None, Entry | None]]:
    """By page the name before and the one after, in the list of their subject."""
    return {
        f"reference/api/{entry.page}": (
            found[place - 1] if place else None,
            found[place + 1] if place + 1 < len(found) else None,
        )
        for found in subjects().values()
        for place, entry in enumerate(found)
    }


def of_another_form(app: Any) -> None:
    """A docstring that is not numpydoc's stops the build, once all are meant to be."""
    from sphinx.util import logging

    for line in unlinked():
        logging.getLogger(__name__).warning("%s", line)
    if app.config.docstrings_are_numpydoc:
        for entry in entries().values():
            for name, thing in {"": entry.thing, **(members(entry.thing) if entry.kind == "class" else {})}.items():
                if not docstrings.is_numpydoc(docstrings.text_of(getattr(thing, "fget", thing))):
                    where = ".".join(filter(None, [short(entry.name), name]))
                    logging.getLogger(__name__).warning("%s: its docstring is not of numpydoc's form", where)


SIGNATURE = re.compile(
    r'(<span class="sig-paren">\(</span>)\s*<dl>(.*?)</dl>\s*(?=<span class="sig-paren">)', re.DOTALL
)


def signature_lines(app: Any, name: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Parameters on lines of their own are no list of definitions, as Sphinx has them: readers of screens lose them."""
    if "sig-paren" in context.get("body", ""):
        context["body"] = SIGNATURE.sub(_as_lines, context["body"])


def _as_lines(found: re.Match[str]) -> str:
    lines = found[2].replace("<dd>", "<span>").replace("</dd>", "</span>")
    return f'{found[1]}<span class="sig-lines">{lines}</span>'


def setup(app: Any) -> dict[str, Any]:
    """Pages are written before Sphinx looks which there are."""
    app.add_role("name", name_role)
    app.add_role("see", name_role)
    app.add_config_value("docstrings_are_numpydoc", False, "env")
    app.connect("builder-inited", of_another_form)
    app.connect("builder-inited", lambda app: write(Path(app.srcdir)), priority=100)
    app.connect("doctree-read", anchors)
    app.connect("html-page-context", parents)
    app.connect("html-page-context", signature_lines)
    app.connect("build-finished", write_sources)
    return {"parallel_read_safe": True, "version": "1"}

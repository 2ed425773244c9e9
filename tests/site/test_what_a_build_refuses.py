"""What the build of the site refuses: cells that fail or warn, names without pages, links and pictures that lack."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
sys.path.insert(0, str(DOCS))

from building import cells, checks, docstrings, gallery, names  # noqa: E402

PAGE = '<html><body id="top"><a href="{link}">x</a>{more}</body></html>'


def ran(tmp_path: Path, text: str) -> list[list[dict[str, str]]]:
    """Outputs of a page."""
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    return cells.Cells(tmp_path / "kept", "today").outputs(page)


def site(tmp_path: Path, **pages: str) -> Path:
    """A built site of these pages."""
    for name, text in pages.items():
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
    return tmp_path


def test_outputs_stand_below_their_cells(tmp_path: Path) -> None:
    """What is printed, and the value of the last line; names live on from cell to cell."""
    outputs = ran(tmp_path, "# A\n\n```python\na = 2\nprint(a)\n```\n\ntext\n\n```python\na + 3\n```\n")
    assert outputs == [[{"text": "2"}], [{"text": "5"}]]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("x = 1\nraise ValueError('no')", "page.md:5: ValueError: no"),
        ("import warnings\nwarnings.warn('old')", "page.md:5: UserWarning: old"),
        ("x = 1\nx +", "page.md:5: SyntaxError"),
    ],
)
def test_a_cell_that_fails_or_warns_stops_the_build_with_page_and_line(tmp_path: Path, code: str, told: str) -> None:
    """The line is that of the page."""
    with pytest.raises(cells.PageFails, match=told.replace(".", r"\.")):
        ran(tmp_path, f"# A\n\n```python\n{code}\n```\n")


def test_a_function_of_an_earlier_cell_fails_at_the_line_that_is_wrong(tmp_path: Path) -> None:
    """Not at the line that called it."""
    text = "```python\ndef f():\n    return 1 / 0\n```\n\n```python\nf()\n```\n"
    with pytest.raises(cells.PageFails, match=r"page\.md:3: ZeroDivisionError"):
        ran(tmp_path, text)


def test_a_warning_that_a_page_announces_is_shown(tmp_path: Path) -> None:
    """One that it announces and that does not come stops the build, and so does another."""
    cell = "<!-- warns: UserWarning -->\n```python\nimport warnings\n{}\n```\n"
    assert ran(tmp_path, cell.format("warnings.warn('old')")) == [[{"text": "UserWarning: old"}]]
    with pytest.raises(cells.PageFails, match="was to warn UserWarning, and did not"):
        ran(tmp_path, cell.format("pass"))
    with pytest.raises(cells.PageFails, match="DeprecationWarning: older"):
        ran(tmp_path, cell.format("warnings.warn('older', DeprecationWarning)"))


def test_an_error_that_a_page_announces_is_shown(tmp_path: Path) -> None:
    """With its class; one that does not come stops the build."""
    cell = "<!-- raises: ValueError -->\n```python\n{}\n```\n"
    assert ran(tmp_path, cell.format("int('a b')"))[0][0]["text"].startswith("ValueError: invalid literal")
    with pytest.raises(cells.PageFails, match="was to raise ValueError"):
        ran(tmp_path, cell.format("pass"))


def test_a_comment_counts_for_the_cell_below_it_alone() -> None:
    """Several comments above one fence all count."""
    found = cells.cells_of(
        "<!-- warns: A -->\n```python\n1\n```\n\n<!-- alt: a | b -->\n<!-- raises: B -->\n```python\n2\n```\n"
    )
    assert [c.wishes for c in found] == [{"warns": "A"}, {"alt": "a | b", "raises": "B"}]


def test_a_picture_without_alternative_text_stops_the_build(tmp_path: Path) -> None:
    """And with it, it is kept as a file."""
    pytest.importorskip("matplotlib")
    code = "```python\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]);\n```\n"
    with pytest.raises(cells.PageFails, match="1 pictures, and alternative texts"):
        ran(tmp_path, code)
    ((shown,),) = ran(tmp_path, "<!-- alt: a line that rises -->\n" + code)
    assert shown["alt"] == "a line that rises"
    assert (tmp_path / "kept" / shown["picture"]).read_text(encoding="utf-8").rstrip().endswith("</svg>")


def test_a_page_is_run_once_for_one_content(tmp_path: Path) -> None:
    """Prose may change; another line of code, or another source of the library, is another content."""
    page = tmp_path / "page.md"
    kept = tmp_path / "kept"
    for text, digest, count in (("a", "1", 1), ("b", "1", 0), ("b", "2", 1)):
        page.write_text(f"{text}\n\n```python\nprint(1)\n```\n", encoding="utf-8")
        at_work = cells.Cells(kept, digest)
        assert at_work.outputs(page) == [[{"text": "1"}]]
        assert at_work.ran == count


def test_a_page_whose_packages_are_missing_is_not_run(tmp_path: Path) -> None:
    """Its cells have no outputs."""
    assert ran(tmp_path, "---\nneeds: no_such_package\n---\n\n```python\n1 / 0\n```\n") == [[]]


def test_a_sound_site_has_no_findings(tmp_path: Path) -> None:
    """Links that leave it are not followed."""
    more = '<h2 id="two">2</h2><img src="p.svg" alt="a line"><a href="https://example.org">out</a>'
    assert (
        checks.broken(
            site(tmp_path, index=PAGE.format(link="a.html#two", more=""), a=PAGE.format(link="index.html", more=more))
        )
        == []
    )


@pytest.mark.parametrize(
    ("link", "more", "told"),
    [
        ("b.html", '<a href="a.html">a</a>', "index.html: the link b.html leads nowhere"),
        ("a.html#three", "", "index.html: the link a.html#three leads to no place on that page"),
        ("#four", '<a href="a.html">a</a>', "index.html: the link #four leads to no place on that page"),
        ("a.html", '<img src="p.svg">', "index.html: a picture without alternative text"),
        ("a.html", '<img alt="" src="p.svg">', "index.html: a picture without alternative text"),
        ("a.html", '<img src="p.svg" alt="_images/p.svg">', "index.html: a picture without alternative text"),
        ("index.html", "", "a.html: no page links to it"),
    ],
)
def test_each_fault_of_a_site_is_found(tmp_path: Path, link: str, more: str, told: str) -> None:
    """One fault, one line that begins with the page."""
    (found,) = checks.broken(
        site(tmp_path, index=PAGE.format(link=link, more=more), a=PAGE.format(link="index.html", more=""))
    )
    assert found.startswith(told)


def test_a_public_name_without_a_page_is_found(tmp_path: Path) -> None:
    """By its page's file."""
    built = site(tmp_path, Normal=PAGE)
    assert checks.without_a_page(built, [("pm.Normal", "Normal"), ("pm.Beta", "Beta")]) == [
        "the public name pm.Beta has no page"
    ]


def test_every_public_name_has_an_entry_of_the_reference() -> None:
    """Whatever package lists it; no two entries share a page, in file systems that know no capitals either."""
    import consilience as pm
    import consilience.tensor as pt

    known = names.spellings()
    for package, public in (("consilience", pm.__all__), ("consilience.tensor", pt.__all__)):
        modules = {n for n in public if isinstance(getattr({"consilience": pm}.get(package, pt), n), ModuleType)}
        assert {f"{package}.{n}" for n in public} - {f"{package}.{m}" for m in modules} <= set(known)
    pages = [entry.page.casefold() for entry in names.entries().values()]
    assert len(pages) == len(set(pages))


def test_a_name_of_no_subject_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new module of `pt` needs a row."""
    monkeypatch.setattr(names, "TENSORS", {"Loops": "loops"})
    with pytest.raises(names.WithoutSubject, match=r"pt\.sin"):
        names._subject_of_tensor("sin", object())


def test_every_example_has_what_its_page_needs() -> None:
    """A title, a subject, a line on what it shows, and the alternative text of its picture; its page has no script."""
    for script in gallery.scripts(DOCS.parent / "examples"):
        assert set(gallery.front(script)) == {"title", "subject", "keywords", "shows", "alt", "data"}
        assert "command_line" not in gallery.page(script)
        assert [cell for cell in cells.cells_of(gallery.page(script)) if "alt" in cell.wishes]


def test_an_example_that_lacks_something_is_refused(tmp_path: Path) -> None:
    """With what it lacks."""
    script = tmp_path / "x.py"
    script.write_text('"""Shows x."""\n\n# %% [markdown]\n# # X\n\n# %%\nimport os\n', encoding="utf-8")
    with pytest.raises(gallery.WithoutField, match="# Subject"):
        gallery.front(script)


def test_prose_of_docstrings_becomes_text_not_markup() -> None:
    """Stars, bars and underscores at the end of words are signs; names in backticks are links."""
    assert (
        docstrings.inline("`pm.sample` of *args | x_ and `f(x)`s")
        == r":name:`pm.sample` of \*args \| x\_ and :name:`f(x)`\s"
    )


def test_see_also_of_all_names_leads_to_pages() -> None:
    """Names of ArviZ's packages have theirs elsewhere."""
    reference = pytest.importorskip("building.reference")
    assert reference.unlinked() == []


def test_names_of_arguments_are_no_links() -> None:
    """Whatever else is called so."""
    reference = pytest.importorskip("building.reference")
    assert {"draws", "step", "model"} <= reference.arguments_of("reference/api/consilience.sample")
    assert reference.arguments_of("learn/faq") == frozenset()


def test_neighbours_of_a_name_are_those_of_its_subject() -> None:
    """Each but the first has one before it, each but the last one after it, and they agree."""
    reference = pytest.importorskip("building.reference")
    neighbours, pages = reference._neighbours(), reference.of_pages()
    assert set(neighbours) == set(pages)
    for page, (_, after) in neighbours.items():
        if after is not None:
            assert after.subject == pages[page].subject
            assert neighbours[f"reference/api/{after.page}"][0] is pages[page]


def test_heads_of_tables_say_something_or_are_left_out() -> None:
    """Markdown has a head for every table."""
    nodes = pytest.importorskip("docutils.nodes")
    from building import tables

    def table(*cells: str) -> object:
        row = nodes.row("", *(nodes.entry("", nodes.paragraph("", cell)) for cell in cells))
        head = nodes.thead("", row)
        return nodes.table("", nodes.tgroup("", head, nodes.tbody(), cols=len(cells)))

    for cells_, heads, named in ((("", ""), 0, 0), (("", "b"), 1, 1), (("a", "b"), 1, 0)):
        made = table(*cells_)
        tables.mended(made)
        assert len(list(made.findall(nodes.thead))) == heads
        assert len(list(made.findall(nodes.raw))) == named


def test_messages_are_wrapped_and_other_outputs_are_not() -> None:
    """Tables keep their columns."""
    long = "word " * 40
    assert max(map(len, cells.wrapped(f"ConvergenceWarning: {long}").split("\n"))) <= cells.WIDTH
    assert cells.wrapped(long) == long

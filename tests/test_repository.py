"""Laws of the source text itself: size, imports, documentation, wording."""

from __future__ import annotations

import ast
import functools
import graphlib
import re
import runpy
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from consilience.first_use import FACES

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
FILES = sorted((SOURCE / "consilience").rglob("*.py"))
PROSE = sorted(
    path
    for place in (".", "docs", "changelog.d", "examples", "benchmarks", "tests", "tools")
    for path in (ROOT.glob("*.md") if place == "." else (ROOT / place).rglob("*"))
    if path.suffix in {".c", ".md", ".py"} and path != Path(__file__).resolve()
)

CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
# Rows from top to bottom, of both trunks: members of one row do not know each other.
LADDERS = [
    [set(re.findall(r"\w+", row)) for row in contract["layers"]]
    for contract in CONTRACTS
    if contract["id"] in ("compiler", "sampler")
]

# What is found by name where it cannot be imported: the module that asks, of which layer, and why.
UPWARD_BY_NAME = {
    ("backends.printing.infix", "distributions"): "asks where a class is from",
    **{
        ("first_use", of): "the one place of what is found by its name"
        for of in ["backends", "engines", "estimators", "model", "native", "tensor", "watch"]
    },
    ("first_use", "names"): "is loaded when a docstring is filled in, or a call ends with an error",
    ("names.module_paths", "as_pymc"): "asks whether it is loaded",
}

WORDS_OF_UNFINISHED_WORK = re.compile(r"\b(?:TODO|FIXME|XXX|HACK|WIP)\b")
PLACES_ON_ONE_MACHINE = re.compile(r"/(?:root|work|home|Users)/\w")
UNREASONED_SILENCING = re.compile(r"#\s*(?:type:\s*ignore|noqa)(?:\[[\w, -]+\]|:[ \w,]+)?\s*$", re.MULTILINE)
NAMES_WITHOUT_MEANING = {"common", "helper", "helpers", "misc", "tools", "util", "utils"}


def module_name(path: Path) -> str:
    """Dotted name of the module in `path`."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in FILES}


@functools.cache
def tree(path: Path) -> ast.Module:
    """Syntax tree of one file."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    """All nodes of the syntax tree of one file."""
    return list(ast.walk(tree(path)))


@functools.cache
def imported(path: Path) -> list[tuple[str, int]]:
    """Every module of the library that `path` imports, at any depth of its text, with the line."""
    return list(_imported(path))


def _imported(path: Path) -> Iterator[tuple[str, int]]:
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            assert node.module is not None
            submodules = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in MODULES else node.module for name in submodules]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "consilience":
                yield name, node.lineno


@functools.cache
def named(path: Path) -> list[tuple[str, int]]:
    """Every module of the library whose path is a string in the code of `path`, for `import_module`, with the line.

    Of a string with holes its beginning counts.
    """
    prose = {id(node.value) for node in nodes(path) if isinstance(node, ast.Expr)}
    strings = [
        (node.value, node.lineno)
        for node in nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
    ]
    paths = [(text.strip("."), line) for text, line in strings if re.fullmatch(r"consilience(\.\w+)+\.?", text)]
    return [
        (found, line)
        for text, line in paths
        if (found := next((name for name in (text, text.rpartition(".")[0]) if name in MODULES), "")).count(".")
    ]


@functools.cache
def for_types_only(path: Path) -> set[int]:
    """Lines below `if TYPE_CHECKING:`, which never run."""
    lines: set[int] = set()
    for node in nodes(path):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for statement in node.body:
                lines.update(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    return lines


def layer(module: str) -> str:
    """Name of the layer a module belongs to; empty for the package itself."""
    return [*module.split("."), ""][1]


@functools.cache
def below(name: str) -> set[str]:
    """All layers that layer `name` may import; the package itself may import any."""
    if not name:
        return {layer(module) for module in MODULES}
    return {
        member
        for ladder in LADDERS
        for row, members in enumerate(ladder)
        if name in members
        for lower in ladder[row + 1 :]
        for member in lower
    }


def place(path: Path, line: int | None = None) -> str:
    """Where something was found, as editors open it."""
    return f"{path.relative_to(ROOT)}" + ("" if line is None else f":{line}")


def found_in(paths: list[Path], *patterns: re.Pattern[str]) -> list[str]:
    """Each place where a pattern stands in a text."""
    texts = [(path, path.read_text(encoding="utf-8")) for path in paths]
    return [
        f"{place(path, text.count(chr(10), 0, match.start()) + 1)} holds {match.group()!r}"
        for path, text in texts
        for pattern in patterns
        for match in pattern.finditer(text)
    ]


def described(path: Path) -> int:
    """Lines of docstrings of functions and classes."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    firsts = [node.body[0] for node in ast.walk(tree(path)) if isinstance(node, kinds) and ast.get_docstring(node)]
    return sum((one.end_lineno or one.lineno) - one.lineno + 1 for one in firsts)


def test_every_module_is_short_enough_to_read() -> None:
    """No file exceeds 800 lines, without docstrings, which are the reference of public names."""
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) - described(path) for path in FILES}
    long = [f"{place(path)} has {count} lines; split it by its ideas" for path, count in lines.items() if count > 800]
    assert not long, "\n".join(long)


def test_every_module_opens_with_a_docstring() -> None:
    """What enters, what leaves, what stays outside."""
    silent = [place(path) for path in FILES if not ast.get_docstring(tree(path))]
    assert not silent, "without module docstring:\n" + "\n".join(silent)


def test_every_module_documents_what_is_public() -> None:
    """Each public function and class of a module says what it gives."""
    silent = [
        f"{place(path, node.lineno)} {node.name}"
        for path in FILES
        for node in tree(path).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and not any(isinstance(mark, ast.Name) and mark.id == "overload" for mark in node.decorator_list)
        and not ast.get_docstring(node)
    ]
    assert not silent, "without docstring:\n" + "\n".join(silent)


def test_every_module_imports_downwards_only() -> None:
    """The ladder of pyproject.toml, inside functions, for type checkers, and for what is found by name."""
    upward = [
        ((name.removeprefix("consilience."), layer(target)), f"{place(path, line)} imports {target}")
        for name, path in MODULES.items()
        for target, line in [*imported(path), *named(path)]
        if layer(target) != layer(name) and layer(target) not in below(layer(name))
    ]
    told = [text for edge, text in upward if edge not in UPWARD_BY_NAME]
    assert not told, "against the ladder of docs/design/0001-foundation.md:\n" + "\n".join(told)
    assert {edge for edge, _ in upward} == {*UPWARD_BY_NAME}, "of these some are no longer so"


def test_what_is_found_by_its_name_is_there() -> None:
    """Each row of `FACES` names a module, and what that defines."""
    for module, attribute in FACES.values():
        there = nodes(MODULES[module])
        defined = {n.name for n in there if isinstance(n, ast.FunctionDef)}
        defined |= {n.id for n in there if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        assert not attribute or attribute in defined, f"{module} has no {attribute}"


def test_every_module_has_a_name_with_meaning() -> None:
    """A file is named by its idea, never by being left over."""
    nameless = [
        place(path) for path in FILES if NAMES_WITHOUT_MEANING & set(path.relative_to(SOURCE).with_suffix("").parts)
    ]
    assert not nameless, "\n".join(nameless)


def test_no_module_promises_or_silences_anything() -> None:
    """No marks of unfinished work, no places of one machine, no checker silenced without a reason."""
    found = found_in(FILES, WORDS_OF_UNFINISHED_WORK, PLACES_ON_ONE_MACHINE, UNREASONED_SILENCING)
    assert not found, "\n".join(found)


def test_text_outside_the_library_promises_nothing_either() -> None:
    """No marks of unfinished work and no places of one machine, wherever text is read by people."""
    found = found_in(PROSE, WORDS_OF_UNFINISHED_WORK, PLACES_ON_ONE_MACHINE)
    assert not found, "\n".join(found)


def test_every_layer_stands_on_the_ladder() -> None:
    """A new top-level module or package needs a place in the ladder."""
    assert {layer(name) for name in MODULES} - {""} == set().union(*(row for ladder in LADDERS for row in ladder))


def test_no_import_cycle_even_through_functions() -> None:
    """The modules can be ordered so that each imports earlier ones only, whatever the types refer to."""
    graph = {
        name: {target for target, line in imported(path) if line not in for_types_only(path)} - {name}
        for name, path in MODULES.items()
    }
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail("import cycle: " + " <- ".join(error.args[1]))


def test_continuous_integration_runs_the_commands_of_the_readme() -> None:
    """`.ci/run` calls what the README tells a newcomer to type."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    continuous = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "make test" in readme
    assert "make test" in continuous.splitlines()


def test_a_class_name_has_one_meaning() -> None:
    """No two classes of the package share a name, except a class and its stand-in for type checkers."""
    places: dict[str, set[Path]] = {}
    for path in FILES:
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, set()).add(path)
    twice = {name: sorted(map(str, found)) for name, found in places.items() if len(found) > 1}
    assert not twice


def test_prose_names_files_and_folders_that_are_there() -> None:
    """Paths in backticks, from the root, from `src/consilience` or from `src`; changes tell of their day."""
    path_of = re.compile(r"`((?:[a-z_0-9]+/)+[a-z_0-9]+\.py|(?:[a-z_]+/)+)`")
    gone = [
        f"{page.relative_to(ROOT)}: {path}"
        for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
        for path in path_of.findall(page.read_text(encoding="utf-8"))
        if not any((ROOT / base / path).exists() for base in (".", "src/consilience", "src"))
    ]
    assert not gone, "\n".join(gone)


def test_the_reading_path_can_be_read() -> None:
    """It names each file once, and has fewer than 22,000 lines of code."""
    page = (ROOT / "docs" / "understand" / "reading-path.md").read_text(encoding="utf-8")
    files = re.findall(r"`([a-z_/]+\.py)`", page)
    count = runpy.run_path(str(ROOT / "tools" / "count_lines.py"))["count"]
    assert len(files) == len(set(files)) > 80
    sources = [(ROOT / "src" / "consilience" / file).read_text(encoding="utf-8") for file in files]
    assert 15_000 < sum(count(text)["code"] for text in sources) < 22_000


def test_the_picture_of_packages_is_that_of_the_imports() -> None:
    """`python tools/import_picture.py` has been run; one arrow more is a decision, seen in a change."""
    picture = runpy.run_path(str(ROOT / "tools" / "import_picture.py"))
    assert picture["page"]() == picture["PAGE"].read_text(encoding="utf-8"), "run python tools/import_picture.py"

"""Other people's examples run there and here: the code in PyMC's and PyTensor's docstrings, and of pages and notebooks.

In: the installed packages, read as text, or files (.rst, .md, .ipynb, .py); an interpreter that has both libraries.
Out: a row per docstring: statements that run there, of these those that run here, what stopped the first that does not,
and values that differ. Outside: the examples themselves, which are read where they are installed.

    python tools/docstring_examples.py [--only WORD ...] [--files PATH ...]
"""

from __future__ import annotations

import argparse
import ast
import concurrent.futures
import contextlib
import doctest
import importlib.util
import inspect
import io
import json
import os
import re
import select
import signal
import sys
import tempfile
import textwrap
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

LIMIT = 60.0  # seconds for a docstring
PACKAGES = ("pymc", "pytensor")
STAY = json.loads((Path(__file__).parent / "docstring_examples.json").read_text(encoding="utf-8"))
"""Qualified names whose examples stay different, with the reason."""
PREAMBLE = {
    "there": "import pymc as pm, pymc, pytensor, pytensor.tensor as pt, pytensor.xtensor as px, pymc.dims as pmd",
    "here": "import consilience as pm, consilience as pymc, consilience as pytensor, consilience.tensor as pt,"
    " consilience.xtensor as px, consilience.dims as pmd",
}
COMMON = "import numpy as np, numpy, scipy, scipy as sp, pandas as pd, xarray as xr, arviz as az"
RANDOM = re.compile(r"random|draw|sample|\brng\b|\.fit\(|rvs")
FEWER = {  # the most that a run needs to be seen running
    "sample": {"draws": 60, "tune": 60, "chains": 2, "cores": 1},
    "sample_smc": {"draws": 100, "chains": 2, "cores": 1},
    "fit": {"n": 200},
    "sample_prior_predictive": {"draws": 50},
}


# What is run.


def blocks(text: str) -> list[str]:
    """The code of a docstring or page of reStructuredText or Markdown, in its order."""
    text = inspect.cleandoc(text)
    found: list[tuple[int, str]] = []
    with contextlib.suppress(ValueError):
        found += [(example.lineno, example.source) for example in doctest.DocTestParser().get_examples(text)]
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        line, start = lines[at], at
        at += 1
        fence = re.match(r"\s*(`{3,}|~{3,})\s*\{?(?:code-block\}\s*|code-cell\}\s*)?(\w*)", line)
        directive = re.match(r"\s*\.\. (code|code-block|testcode|ipython)::\s*(\w*)", line)
        if fence:
            end = next((i for i in range(at, len(lines)) if lines[i].strip().startswith(fence[1])), len(lines))
            body, at, language = lines[at:end], end + 1, fence[2]
        elif directive or (line.rstrip().endswith("::") and not line.lstrip().startswith("..")):
            indent = len(line) - len(line.lstrip())
            end = at
            while end < len(lines) and (not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > indent):
                end += 1
            body, at, language = lines[at:end], end, directive[2] if directive else ""
            while body and re.match(r"\s*:\w+:|\s*$", body[0]):
                body = body[1:]
        else:
            continue
        code = textwrap.dedent("\n".join(body))
        if language.lower() in {"", "python", "python3", "py", "ipython3"} and ">>>" not in code:
            found.append((start, code))
    return [code for _, code in sorted(found, key=lambda pair: pair[0]) if parses(code)]


def parses(code: str) -> bool:
    """Whether `code` is Python with something to do."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            body = ast.parse(code).body
        except (SyntaxError, ValueError):
            return False
    return any(not isinstance(s, ast.Expr) or not isinstance(s.value, ast.Name | ast.Constant) for s in body)


def docstrings() -> Iterator[tuple[str, list[str]]]:
    """Qualified names of the packages and the code of their docstrings."""
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        root = Path(spec.origin).parent
        for path in sorted(root.rglob("*.py")):
            module = ".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__")
            if "tests" in path.parts:
                continue
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for name, node in named(tree, module):
                text = ast.get_docstring(node)
                code = blocks(text) if text else []
                if code:
                    yield name, code


def named(tree: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The module, classes and functions below `tree`, qualified."""
    yield name, tree
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield from named(node, f"{name}.{node.name}")


def pages(paths: list[Path]) -> Iterator[tuple[str, list[str]]]:
    """Pages and notebooks with their code; lines for the shell are left out."""
    for path in paths:
        text = path.read_text(encoding="utf-8", errors="replace")
        if path.suffix == ".ipynb":
            cells = [c for c in json.loads(text)["cells"] if c["cell_type"] == "code"]
            code = ["".join(c["source"]) for c in cells]
            code = [re.sub(r"(?m)^[ \t]*[%!].*$", "", c) for c in code if not c.startswith("%%")]
        else:
            code = [text] if path.suffix == ".py" else blocks(text)
        code = [c for c in code if parses(c)]
        if code:
            yield str(path), [f"__import__('os').chdir({str(path.parent.resolve())!r})", *code]


OTHERS = r"(pymc3?|pytensor|aesara|theano)"


def translated(code: str) -> str:
    """The code with imports of PyMC and PyTensor replaced, as users replace them."""
    code = re.sub(rf"(?m)^(\s*from ){OTHERS}(?=[\w.]* import )", r"\1consilience", code)
    return re.sub(r"(?m)^(\s*)import ([\w.]+(?: as \w+)?(?:, *[\w.]+(?: as \w+)?)*) *$", _imports, code)


def _imports(line: re.Match[str]) -> str:
    made = []
    for part in re.split(r", *", line[2]):
        name = re.fullmatch(rf"{OTHERS}((?:\.\w+)*)( as \w+)?", part)
        if name is None:
            made.append(part)
        elif name[3] is None:  # the package is bound to its own name
            made += [f"consilience{name[2]}"] * bool(name[2]) + [f"consilience as {name[1]}"]
        else:
            made.append(f"consilience{name[2]}{name[3]}")
    return f"{line[1]}import {', '.join(made)}"


# Running it.


def plain(value: Any, depth: int = 0) -> Any:
    """A value that both sides can have, as JSON; None of what is a side's own."""
    import numpy as np

    if value is None or (isinstance(value, str | bool | int | float) and not isinstance(value, np.generic)):
        return [type(value).__name__, value]
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufc" and value.size < 5000:
        parts = [value.real, value.imag] if value.dtype.kind == "c" else [value]
        return [
            "array",
            str(value.dtype),
            list(np.shape(value)),
            [np.asarray(p, float).ravel().tolist() for p in parts],
        ]
    if isinstance(value, list | tuple) and len(value) < 50 and depth < 4:
        return [type(value).__name__, [plain(v, depth + 1) for v in value]]
    if isinstance(value, dict) and len(value) < 50 and depth < 4 and all(isinstance(k, str) for k in value):
        return ["dict", {k: plain(v, depth + 1) for k, v in value.items()}]
    if hasattr(value, "dtype") and hasattr(value, "ndim"):
        return ["tensor", str(value.dtype), int(value.ndim)]
    return None


def alike(a: Any, b: Any, values: bool = True) -> bool:
    """Whether values of both sides say the same; what only one side can say counts as alike."""
    if a is None or b is None:
        return True
    number = {"int", "float", "bool", "array"}
    if {a[0], b[0]} == {"int", "tensor"}:  # a length that is known here
        return bool(a[-1] == 0 or b[-1] == 0)
    if a[0] in number and b[0] in number:
        (shape, x), (other, y) = ((v[2], v[3]) if v[0] == "array" else ([], [[float(v[1])]]) for v in (a, b))
        if shape != other or len(x) != len(y):
            return False
        import numpy as np

        return not values or np.allclose(x, y, rtol=1e-5, atol=1e-8, equal_nan=True)
    if a[0] != b[0]:
        return {a[0], b[0]} == {"list", "tuple"} and alike([0, a[1]], [0, b[1]], values)
    if a[0] in {"list", "tuple", 0}:
        return len(a[1]) == len(b[1]) and all(alike(x, y, values) for x, y in zip(a[1], b[1], strict=True))
    if a[0] == "dict":
        return a[1].keys() == b[1].keys() and all(alike(x, b[1][k], values) for k, x in a[1].items())
    return not values or bool(a == b)


def stored(statement: ast.stmt) -> list[str]:
    """The names that a statement gives a value."""
    return sorted({n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)})


def executed(code: list[str], side: str) -> list[dict[str, Any]]:
    """What became of every statement: its text, an error or the value and what was printed."""
    os.chdir(tempfile.mkdtemp())
    space: dict[str, Any] = {"__name__": "__main__", "display": print}
    exec(COMMON + "\n" + PREAMBLE[side], space)
    rows = []
    for block in code:
        for statement in ast.parse(translated(block) if side == "here" else block).body:
            printed = io.StringIO()
            row: dict[str, Any] = {"text": ast.unparse(statement)}
            begun = time.perf_counter()
            try:
                with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
                    if isinstance(statement, ast.Expr):
                        got = eval(compile(ast.Expression(statement.value), "example", "eval"), space)
                        row["value"] = plain(got)
                    else:
                        exec(compile(ast.Module([statement], []), "example", "exec"), space)
                        row["value"] = plain({name: space[name] for name in stored(statement) if name in space})
            except BaseException as error:
                row["error"] = f"{type(error).__name__}: " + (str(error).strip().splitlines() or [""])[0]
                if isinstance(error, KeyboardInterrupt | MemoryError):
                    raise
            row["printed"] = " ".join(printed.getvalue().split())[:3000]
            row["seconds"] = round(time.perf_counter() - begun, 2)
            rows.append(row)
    return rows


def prepared(side: str) -> None:
    """Load what examples need, with few draws and no pictures."""
    warnings.simplefilter("ignore")
    import logging

    logging.disable(logging.CRITICAL)
    import matplotlib as mpl

    mpl.use("agg")
    import arviz
    import matplotlib.pyplot as plt

    space: dict[str, Any] = {}
    exec(COMMON + "\n" + PREAMBLE[side], space)
    pm = space["pm"]
    for name, most in FEWER.items():
        setattr(pm, name, fewer(getattr(pm, name), most))
    plt.show = lambda *a, **k: None
    for name in dir(arviz):
        if name.startswith("plot_"):
            setattr(arviz, name, lambda *a, **k: None)


def fewer(function: Any, most: dict[str, int]) -> Any:
    """`function` with at most that many draws."""

    def limited(*given: Any, **named: Any) -> Any:
        first = next(iter(most))
        if given and isinstance(given[0], int):
            given = (min(given[0], most[first]), *given[1:])
        for key, count in most.items():
            if not (key == first and given and isinstance(given[0], int)):
                named[key] = min(named.get(key) or count, count)
        named.setdefault("progressbar", False)
        return function(*given, **named)

    return limited


def serve(side: str, limit: float) -> None:
    """Run tasks, lines of JSON, each in a fork; answer with a line."""
    prepared(side)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    for line in sys.stdin:
        code = json.loads(line)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.setsid()
            try:
                answer = json.dumps(executed(code, side))
            except BaseException as error:
                answer = json.dumps([{"text": "", "error": f"{type(error).__name__}: {error}"}])
            with os.fdopen(writing, "w") as pipe:
                pipe.write(answer)
            os._exit(0)
        os.close(writing)
        answer = received(reading, limit)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        print(answer or json.dumps([{"text": "", "error": f"stopped: crash, or more than {limit:.0f} s"}]), file=out)
        out.flush()


def received(pipe: int, limit: float) -> str:
    """All that comes from `pipe` within the limit; nothing where it stays open."""
    parts, end = [], time.monotonic() + limit
    while select.select([pipe], [], [], max(0.0, end - time.monotonic()))[0]:
        part = os.read(pipe, 1 << 16)
        if not part:
            os.close(pipe)
            return b"".join(parts).decode()
        parts.append(part)
    os.close(pipe)
    return ""


def ran(tasks: dict[str, list[str]], side: str, limit: float, keep: Path | None) -> dict[str, list[dict[str, Any]]]:
    """The answers of a side by name; those kept in a file from an earlier run are not asked for again."""
    known = json.loads(keep.read_text(encoding="utf-8")) if keep and keep.exists() else {}
    asked = {n: c for n, c in tasks.items() if known.get(n, [None])[0] != c}
    if asked:
        command = [sys.executable, __file__, "--serve", side, "--limit", str(limit)]
        environment = {"OMP_NUM_THREADS": "1", "PYTENSOR_FLAGS": "linker=py", **os.environ}
        with Popen(command, stdin=PIPE, stdout=PIPE, text=True, env=environment) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            for name, code in asked.items():
                print(json.dumps(code), file=server.stdin, flush=True)
                known[name] = [code, json.loads(server.stdout.readline())]
                if keep:
                    keep.write_text(json.dumps(known), encoding="utf-8")
            server.stdin.close()
    return {name: known[name][1] for name in tasks}


# What is said.


def compared(there: list[dict[str, Any]], here: list[dict[str, Any]]) -> tuple[int, int, list[str]]:
    """Statements that run there, of these those that run here, and a line for each difference."""
    said, both, runs = [], 0, 0
    chance = any(RANDOM.search(row["text"]) for row in there)
    for at, row in enumerate(there):
        if "error" in row:
            continue
        runs += 1
        own = here[at] if at < len(here) else {"text": "", "error": here[-1].get("error", "ended")}
        shown = " ".join(row["text"].split())[:90]
        if "error" in own:
            if not (said and own["error"].startswith("NameError")):  # what follows from an earlier stop is not said
                said.append(f"stops   {shown}\n            {own['error'][:200]}")
            continue
        both += 1
        if not alike(row.get("value"), own.get("value"), not chance):
            said.append(f"value   {shown}\n            {row['value']} | {own['value']}"[:500])
        elif row["printed"] != own["printed"] and not chance:
            said.append(f"prints  {shown}\n            {row['printed'][:120]} | {own['printed'][:120]}")
    return runs, both, said


def main() -> None:
    """Print the rows, and a summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="WORD", help="names that contain one of these words")
    parser.add_argument(
        "--files", nargs="+", type=Path, metavar="PATH", help="pages and notebooks in place of docstrings"
    )
    parser.add_argument("--keep", type=Path, metavar="FILE", help="remember there what runs in PyMC and PyTensor")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for each (default: %(default)s)")
    parser.add_argument("--prints", action="store_true", help="differences of printed text too")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve, given.limit)
        return
    if importlib.util.find_spec("pymc") is None:
        sys.exit(f"{sys.executable} does not have PyMC; run this with an interpreter that does.")
    tasks = dict(pages(given.files) if given.files else docstrings())
    if given.only:
        tasks = {n: c for n, c in tasks.items() if any(word in n for word in given.only)}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        both = [
            pool.submit(ran, tasks, side, given.limit, given.keep if side == "there" else None)
            for side in ("there", "here")
        ]
        there, here = (future.result() for future in both)
    count: Counter[str] = Counter()
    for name in tasks:
        runs, also, said = compared(there[name], here[name])
        said = [line for line in said if given.prints or not line.startswith("prints")]
        stays = STAY.get(name)
        kind = "does not run there" if not runs else "same" if not said else "stays" if stays else "differs"
        count[kind] += 1
        if kind in {"differs", "stays"}:
            print(f"\n{name}: {runs} of {len(there[name])} statements run there, {also} of these here")
            print(f"    {stays}" if stays else "\n".join(f"    {line}" for line in said))
    print("\n" + ", ".join(f"{kind}: {number}" for kind, number in sorted(count.items())), f"of {len(tasks)}")


if __name__ == "__main__":
    main()

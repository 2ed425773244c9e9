"""Runs the cells of one page, in a process and a folder of its own; `cells.py` starts it.

In: a task as JSON on the standard input. Out: `answer.json` with outputs by cell, or with what failed, and where.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import sys
import traceback
import types
import warnings
from pathlib import Path
from typing import Any

LARGEST_SVG = 400_000


def main() -> None:
    """Run the task, write the answer."""
    task = json.loads(sys.stdin.read())
    Path("answer.json").write_text(json.dumps(answered(task)), encoding="utf-8")


def answered(task: dict[str, Any]) -> dict[str, Any]:
    """Outputs by cell, or `failed` and its line.

    The code stands in a file, at the lines it has on the page, so that functions know their source and errors the line.
    """
    script = Path("page.py").resolve()
    lines: list[str] = []
    for cell in task["cells"]:
        lines += [""] * (cell["line"] - 1 - len(lines)) + cell["code"].splitlines()
    script.write_text("\n".join(lines) + "\n", encoding="utf-8")
    module = sys.modules["page"] = types.ModuleType("page")
    module.__file__ = str(script)
    sys.path.insert(0, str(script.parent))
    outputs: list[list[dict[str, Any]]] = []
    for number, cell in enumerate(task["cells"]):
        if "not run" in cell["wishes"]:
            outputs.append([])
            continue
        try:
            made = outputs_of(cell, module, Path(task["pictures"]), f"{task['key']}-{number}")
        except Exception as error:
            return {"failed": said(error), "line": line_of(error, script, cell["line"])}
        for output in made:
            if "text" in output:
                output["text"] = output["text"].replace(str(script), Path(task["page"]).name)
        outputs.append(made)
    return {"outputs": outputs}


def said(error: Exception) -> str:
    """Class and message, with the last frames of what went on."""
    frames = "".join(traceback.format_exception(error, limit=-4))
    return f"{type(error).__name__}: {error}\n{frames}"


def line_of(error: Exception, script: Path, first: int) -> int:
    """Where on the page it happened."""
    at = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(script) and f.lineno]
    if isinstance(error, SyntaxError) and not at:
        return first + (error.lineno or 1) - 1
    return at[-1] if at else first


def outputs_of(cell: dict[str, Any], module: types.ModuleType, pictures: Path, key: str) -> list[dict[str, Any]]:
    """What one cell prints, gives and draws. Warnings are errors, unless the page announces them."""
    wishes = cell["wishes"]
    tree = ast.parse(cell["code"], module.__file__ or "page.py")
    ast.increment_lineno(tree, cell["line"] - 1)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value, raised = io.StringIO(), None, None
    with warnings.catch_warnings(record="warns" in wishes) as caught, contextlib.redirect_stdout(printed):
        warnings.simplefilter("always" if "warns" in wishes else "error")
        # What ArviZ calls of pandas is no matter of the page.
        warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"arviz|pandas|xarray|matplotlib")
        try:
            exec(compile(tree, module.__file__ or "page.py", "exec"), vars(module))
            if last is not None:
                code = compile(ast.Expression(last.value), module.__file__ or "page.py", "eval")
                value = eval(code, vars(module))
        except Exception as error:
            if wishes.get("raises") != type(error).__name__:
                raise
            raised = error
    if "raises" in wishes and raised is None:
        raise AssertionError(f"the cell was to raise {wishes['raises']}, and did not")
    outputs = [{"text": printed.getvalue().rstrip()}] if printed.getvalue().strip() else []
    for warning in caught or ():
        if type(warning.message).__name__ != wishes["warns"]:
            raise warning.message if isinstance(warning.message, Exception) else AssertionError(warning)
    if "warns" in wishes:
        if not caught:
            raise AssertionError(f"the cell was to warn {wishes['warns']}, and did not")
        outputs += [{"text": f"{wishes['warns']}: {text}"} for text in dict.fromkeys(str(w.message) for w in caught)]
    if raised is not None:
        outputs.append({"text": f"{type(raised).__name__}: {raised}"})
    if value is not None and not cell["code"].rstrip().endswith(";"):
        if isinstance(value, str) and (drawing := re.search(r"<svg .*</svg>", value, re.DOTALL)):
            outputs.append(graph(drawing[0], value, wishes.get("alt", ""), pictures / f"{key}-graph.svg"))
        else:
            outputs += shown(value)
    return outputs + drawn(wishes.get("alt", ""), pictures, key)


def graph(drawing: str, page: str, alt: str, file: Path) -> dict[str, Any]:
    """The drawing of a page that `to_html` wrote, with its style."""
    if not alt:
        raise AssertionError("a drawing without alternative text; write <!-- alt: … --> above")
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    rules = re.sub(r"(?m)^(html|svg|#).*$", "", style[1]) if style else ""
    file.write_text(drawing.replace(">", f"><style>{rules}</style>", 1), encoding="utf-8")
    return {"picture": file.name, "alt": alt}


def shown(value: Any) -> list[dict[str, Any]]:
    """A value as notebooks show it: a picture or a table where it has one, else its text."""
    if type(value).__module__.partition(".")[0] in {"matplotlib", "arviz_plots"} or isinstance(value, list | tuple):
        holds = value if isinstance(value, list | tuple) else [value]
        if all(type(v).__module__.partition(".")[0] in {"matplotlib", "arviz_plots"} for v in holds):
            return []
    if type(value).__module__.startswith("pandas") and hasattr(value, "_repr_html_"):
        table = value._repr_html_().replace("<th></th>", "<td></td>")  # a heading has words
        return [{"html": f'<div class="cell-table" tabindex="0" role="region" aria-label="Table">{table}</div>'}]
    return [{"text": repr(value)}]


def drawn(alt: str, pictures: Path, key: str) -> list[dict[str, Any]]:
    """The figures that are open, as files in `pictures`; closed afterwards."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None or not pyplot.get_fignums():
        return []
    texts = [text.strip() for text in alt.split(" | ")]
    numbers = pyplot.get_fignums()
    if len(texts) != len(numbers) or not all(texts):
        raise AssertionError(f"{len(numbers)} pictures, and alternative texts: {texts}; write <!-- alt: … --> above")
    outputs = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fonts and layouts: what is drawn is looked at
        pyplot.rcParams["svg.hashsalt"] = "consilience"
        for place, (number, text) in enumerate(zip(numbers, texts, strict=True)):
            figure = pyplot.figure(number)
            form, made = "svg", io.BytesIO()
            figure.savefig(made, format="svg", bbox_inches="tight", metadata={"Date": None})
            if len(made.getvalue()) > LARGEST_SVG:
                form, made = "png", io.BytesIO()
                figure.savefig(made, format="png", bbox_inches="tight", dpi=160)
            name = f"{key}-{place}.{form}"
            (pictures / name).write_bytes(made.getvalue())
            outputs.append({"picture": name, "alt": text})
        pyplot.close("all")
    return outputs


if __name__ == "__main__":
    main()

"""A model in words: one line per variable with its parameters, as text, LaTeX or HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from consilience.distributions.distribution import Distribution
from consilience.distributions.random_variable import distribution_of, is_random
from consilience.errors import shown
from consilience.ir import Node, Shared, constant_value, topological
from consilience.ir.arithmetic import means
from consilience.ir.side_tables import name_of
from consilience.model.variables import ModelVariables
from consilience.record import Record

# Names listed inside an expression without a name.
LISTED: Final = 6


class Line(Record):
    """One variable: `name ~ distribution(parameters)`, and a remark such as "observed"."""

    name: str
    relation: str
    distribution: str
    parameters: tuple[str, ...]
    remark: str = ""


def lines(model: ModelVariables, include_params: bool = True) -> list[Line]:
    """The free variables, deterministics, potentials and observed variables of a model."""
    own = {node for node in model.named.values() if constant_value(node) is None}

    def of(name: str, node: Node, remark: str = "") -> Line:
        parameters = _parameters(distribution_of(node), own, name) if include_params else ()
        return Line(name, "~", repr(node.op), tuple(parameters), remark)

    found = [of(v.name, v.node) for v in model.free]
    found += [of(v.name, v.node, "marginalized") for v in model.marginalized]
    deterministics = {**model.named_deterministics, **model.conditional_deterministics}
    for kind, members in (("Deterministic", deterministics), ("Potential", model.named_potentials)):
        for name, node in members.items():
            shown = (_of_parts(node, own, name),) if include_params else ()
            found.append(Line(name, "~", kind, shown))
    return found + [of(v.name, v.node, "observed") for v in model.observed]


def _parameters(distribution: Distribution, own: set[Node], name: str) -> list[str]:
    """Parameters in the order of their declaration; a component as `Normal(0, 1)`."""
    shown = {label: [_shown(value, own, name)] for label, value in distribution.by_name().items()}
    for declared, group in zip(distribution.component_parameters, distribution.components, strict=True):
        shown[declared.name] = [
            f"{part.op!r}({', '.join(_parameters(distribution_of(part), own, name))})" for part in group
        ]
    listed = [text for label in distribution.parameter_names for text in shown.get(label, [])]
    return listed if distribution.by_name() else [*(_shown(v, own, name) for v in distribution.values), *listed]


def _shown(value: Node, own: set[Node], name: str) -> str:
    """A parameter: a number, the name of a variable, or `f(…)` of the variables it depends on."""
    known = constant_value(value)
    if known is not None:
        return f"{known.item():.3g}" if known.size == 1 else "<constant>"
    called = name_of(value)
    if value in own and called is not None and called != name:
        return called
    return _of_parts(value, own, name)


def _of_parts(value: Node, own: set[Node], name: str) -> str:
    order = topological([value], stop=lambda n: n is not value and n in own)
    parts = list(dict.fromkeys(str(name_of(n)) for n in order if n is not value and n in own))
    if value in own and name_of(value) not in (None, name):
        parts = [str(name_of(value))]
    if not parts:
        return "<constant>"
    return f"f({', '.join(parts[:LISTED])}{', …' if len(parts) > LISTED else ''})"


@means("str_repr")
def variable_in_words(node: Node, formatting: str = "plain", include_params: bool = True) -> str:
    """A variable by its distribution, or the variables it depends on: `y ~ Normal(f(a, b), sigma)`."""
    if formatting not in ("plain", "latex"):
        raise ValueError(f"`formatting` must be 'plain' or 'latex', got {formatting!r}.")
    own = {n for n in topological([node]) if name_of(n) is not None and (is_random(n) or isinstance(n.op, Shared))}
    name, random = name_of(node) or "", is_random(node)
    shown = _parameters(distribution_of(node), own, name) if random else [_of_parts(node, own, name)]
    kind = repr(node.op) if random else "Deterministic"
    line = Line(name, "~", kind, tuple(shown) if include_params else ())
    if formatting == "latex":
        left, right = _latex_sides(line, include_params)
        return rf"${left} \sim {right}$" if name else f"${right}$"
    described = _right(line, include_params)
    return f"{name} ~ {described}" if name else described


def _right(line: Line, include_params: bool) -> str:
    return line.distribution + (f"({', '.join(line.parameters)})" if include_params else "")


def _latex_sides(line: Line, include_params: bool) -> tuple[str, str]:
    parameters = ",~".join(map(_latex_of, line.parameters))
    right = rf"\operatorname{{{line.distribution}}}" + (f"({parameters})" if include_params else "")
    return rf"\text{{{_escaped(line.name)}}}", right


def plain(model: ModelVariables, include_params: bool = True) -> str:
    """Aligned lines of text."""
    listed = lines(model, include_params)
    names = [shown(line.name) for line in listed]
    width = max(map(len, names), default=0)
    return "\n".join(
        f"{name:>{width}} {line.relation} {shown(_right(line, include_params))}"
        + (f" ({line.remark})" if line.remark else "")
        for name, line in zip(names, listed, strict=True)
    )


def latex(model: ModelVariables, include_params: bool = True) -> str:
    """A LaTeX array, one row per variable."""
    rows = []
    for line in lines(model, include_params):
        left, right = _latex_sides(line, include_params)
        rows.append(rf"{left} &\sim & {right}")
    if not rows:
        return ""
    return "\n".join([r"$$", r"\begin{array}{rcl}", " \\\\ ".join(rows), r"\end{array}", r"$$"])


def _latex_of(parameter: str) -> str:
    return parameter if _is_number(parameter) else rf"\text{{{_escaped(parameter)}}}"


def _escaped(text: str) -> str:
    signs = {
        "_": r"\_", "<": r"\textless{}", ">": r"\textgreater{}", "…": r"\ldots{}", "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", **{sign: f"\\{sign}" for sign in "{}$&#%"},
    }  # fmt: skip
    return "".join(signs.get(sign, sign) for sign in shown(text))


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def hypertext(model: ModelVariables) -> str:
    """A table of a web page, one row per variable, with its shape or dims."""
    import html  # for notebooks alone

    body = []
    for line in lines(model):
        dims = model.dims_of.get(line.name)
        shape = model.named[line.name].static_shape
        axes = ", ".join(str(length if dims is None or dims[i] is None else dims[i]) for i, length in enumerate(shape))
        text = f"{line.distribution}({', '.join(line.parameters)})"
        body.append(_row((line.name, line.relation, text, f"({axes})" if axes else "", line.remark), html.escape))
    return f"<table><tbody>{''.join(body)}</tbody></table>" if body else "an empty model"


def _row(cells: Iterable[str], escape: Callable[[str], str]) -> str:
    left = ' style="text-align:left"'
    return f"<tr>{''.join(f'<td{left}>{escape(shown(cell))}</td>' for cell in cells)}</tr>"

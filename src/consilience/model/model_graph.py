"""A model as a picture: what depends on what, in plates of equal axes, for Graphviz, Mermaid and networkx.

A model in, a description in one of three languages out. Graphviz and networkx are optional.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

import numpy as np

from consilience.errors import ArgumentError, ModelError, shown
from consilience.ir import Node, topological
from consilience.model.layout import known_shape
from consilience.model.observation import slot_values
from consilience.model.printing import lines
from consilience.model.variables import ModelVariables
from consilience.record import Record

FORMATS: Final = ("plain", "plain_with_params")

# Shape and style of each kind in Graphviz, and brackets in Mermaid.
STYLES: Final = {
    "free": ({"shape": "ellipse"}, ("([", "])")),
    "observed": ({"shape": "ellipse", "style": "filled"}, ("([", "])")),
    "deterministic": ({"shape": "box"}, ("[", "]")),
    "potential": ({"shape": "octagon", "style": "filled"}, ("{{", "}}")),
    "data": ({"shape": "box", "style": "rounded, filled"}, ("[(", ")]")),
}


class NodeType(StrEnum):
    """Kinds of variables in pictures, by PyMC's names.

    Parameters
    ----------
    value : str
        Name of a kind, such as "Free Random Variable".
    names, module, qualname, type : object, optional
        Of Python's enumerations: for making others.
    start : int, default 1
        Of Python's enumerations.
    boundary : object, optional
        Of Python's enumerations.

    See Also
    --------
    model_to_graphviz : Takes formatters by kind.

    Examples
    --------
    >>> from consilience.model import NodeType
    >>> NodeType.FREE_RV.value
    'Free Random Variable'
    """

    POTENTIAL = "Potential"
    FREE_RV = "Free Random Variable"
    OBSERVED_RV = "Observed Random Variable"
    DETERMINISTIC = "Deterministic"
    DATA = "Data"


# What gives the attributes of a variable's node, by kind: the variable in, names and values out.
Formatters = Mapping["NodeType | str", Callable[[Node], Mapping[str, Any]]]
Attributes = Mapping[str, Mapping[str, Any]]
_KINDS: Final = dict(zip(("potential", "free", "observed", "deterministic", "data"), NodeType, strict=True))


class Vertex(Record):
    """One named variable: its kind (a key of STYLES), its text below the name, and the plate it lies in."""

    name: str
    kind: str
    text: str
    plate: str


class ModelGraph(Record):
    """The named variables of a model, parents first, and arrows between their names."""

    vertices: tuple[Vertex, ...]
    edges: tuple[tuple[str, str], ...]

    @property
    def plates(self) -> dict[str, list[Vertex]]:
        """Vertices by plate; the plate without a name holds scalars."""
        found: dict[str, list[Vertex]] = {}
        for vertex in self.vertices:
            found.setdefault(vertex.plate, []).append(vertex)
        return found


def model_graph(
    model: ModelVariables,
    var_names: Sequence[str] | None = None,
    formatting: str = "plain",
    include_dim_lengths: bool = True,
) -> ModelGraph:
    """What depends on what among the named variables.

    `var_names`: leave out all but these and what they depend on. `formatting`: "plain": names of distributions;
    "plain_with_params": their parameters, too. `include_dim_lengths`: whether plates tell the lengths of dims.
    """
    if formatting not in FORMATS:
        raise ValueError(f"`formatting` must be one of {', '.join(map(repr, FORMATS))}, got {formatting!r}.")
    names = {node: name for name, node in model.named.items()}
    parents = {name: _parents(model, name, names) for name in model.named}
    kept = list(model.named) if var_names is None else _ancestors(model, var_names, parents)
    _, _, _, lengths = slot_values(model)
    kinds = dict.fromkeys(model.data, "data") | {v.name: "free" for v in model.free}
    kinds |= {v.name: "observed" for v in model.observed} | dict.fromkeys(model.named_deterministics, "deterministic")
    kinds |= dict.fromkeys(model.named_potentials, "potential") | {v.name: "free" for v in model.marginalized}
    kinds |= dict.fromkeys(model.conditional_deterministics, "deterministic")
    texts = dict.fromkeys(model.data, "Data")
    for name in model.named.keys() - kinds.keys():  # found by name only
        kinds[name], texts[name] = ("deterministic", "Expression") if model.named[name].inputs else ("data", "Constant")
    for line in lines(model):
        parameters = f"({', '.join(line.parameters)})" if formatting == "plain_with_params" else ""
        texts[line.name] = line.distribution + parameters
    vertices = []
    for name in kept:
        node = model.named[name]
        dims = model.dims_of.get(name, (None,) * node.ndim)
        shape = known_shape(node.static_shape, lengths, name)
        parts = [
            str(n) if dim is None else f"{dim} ({n})" if include_dim_lengths else dim
            for dim, n in zip(dims, shape, strict=True)
        ]
        vertices.append(Vertex(name, kinds[name], texts[name], " x ".join(parts)))
    edges = tuple((parent, name) for name in kept for parent in parents[name] if parent in kept)
    return ModelGraph(tuple(vertices), edges)


def _parents(model: ModelVariables, name: str, names: dict[Node, str]) -> list[str]:
    """The nearest named variables on which one depends; data come out of the variable that they observe."""
    node = model.named[name]
    reached = topological([node], stop=lambda n: n is not node and n in names)
    found = [names[n] for n in reached if n is not node and n in names]
    for variable in model.observed:
        own = {names[n] for n in topological([variable.data]) if n in names}
        if name in own:
            found.append(variable.name)
    return list(dict.fromkeys(found))


def _ancestors(model: ModelVariables, var_names: Sequence[str], parents: dict[str, list[str]]) -> list[str]:
    unknown = [name for name in var_names if name not in model.named]
    if unknown:
        raise ModelError(f"`var_names` names {unknown}, but the model's variables are {list(model.named)}.")
    reached: set[str] = set()
    waiting = list(var_names)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += parents[name]
    return [name for name in model.named if name in reached]


def mermaid(graph: ModelGraph) -> str:
    """The graph in Mermaid's language, for Markdown and notebooks."""
    written = ["graph TD"]
    marks = {vertex.name: _identifier(vertex.name, i) for i, vertex in enumerate(graph.vertices)}
    for plate, members in graph.plates.items():
        indent = "  " if plate else ""
        if plate:
            written.append(f'subgraph "{_entities(plate)}"')
        for vertex in members:
            before, after = STYLES[vertex.kind][1]
            relation = "" if vertex.kind == "data" else "~ "
            written.append(
                f'{indent}{marks[vertex.name]}{before}"{_entities(f"{vertex.name} {relation}{vertex.text}")}"{after}'
            )
        if plate:
            written.append("end")
    written += [f"{marks[parent]} --> {marks[child]}" for parent, child in graph.edges]
    filled = [marks[vertex.name] for vertex in graph.vertices if vertex.kind == "observed"]
    written += [f"style {mark} fill:#d3d3d3" for mark in filled]
    return "\n".join(written)


def _entities(text: str) -> str:
    """Text for Mermaid's labels, in which neither quotes nor markup of names mean anything."""
    signs = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;"}
    return "".join(signs.get(sign, sign) for sign in shown(text))


def _identifier(name: str, number: int) -> str:
    plain = re.sub(r"\W", "_", name)
    return plain if plain == name else f"{plain}_{number}"


def dot(
    graph: ModelGraph,
    figsize: tuple[float, float] | None = None,
    dpi: int = 300,
    attributes: Attributes | None = None,
) -> str:
    """The graph in the language of Graphviz; `figsize` in inches, `attributes` of vertices in place of ours."""
    if isinstance(dpi, bool) or not isinstance(dpi, int | np.integer) or dpi < 1:
        raise ArgumentError(f"`dpi` must be a whole number of dots per inch, got {dpi!r}.")
    written = ["digraph {", f"  dpi={dpi}"]
    if figsize is not None:
        written.append(f'  size="{figsize[0]},{figsize[1]}"')
    for number, (plate, members) in enumerate(graph.plates.items()):
        if plate:
            written.append(f"  subgraph cluster_{number} {{")
            written.append(f"    label={_quoted(plate)} labeljust=r labelloc=b style=rounded")
        for vertex in members:
            relation = "" if vertex.kind == "data" else "~\n"
            own: dict[str, Any] = {
                "label": f"{shown(vertex.name)}\n{relation}{shown(vertex.text)}",
                **STYLES[vertex.kind][0],
            }
            own |= (attributes or {}).get(vertex.name, {})
            listed = " ".join(f"{name}={_quoted(str(value))}" for name, value in own.items())
            written.append(f"    {_quoted(vertex.name)} [{listed}]")
        if plate:
            written.append("  }")
    written += [f"  {_quoted(parent)} -> {_quoted(child)}" for parent, child in graph.edges]
    return "\n".join([*written, "}"])


def _quoted(text: str) -> str:
    signs = "\n".join(map(shown, text.split("\n")))
    signs = signs.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{signs}"'


def graphviz(
    graph: ModelGraph,
    save: str | None = None,
    figsize: tuple[float, float] | None = None,
    dpi: int = 300,
    attributes: Attributes | None = None,
) -> Any:
    """The graph as a `graphviz.Source`, which notebooks show.

    `save`: a file to draw it into, its format by its suffix (needs the programs of Graphviz).
    """
    try:
        import graphviz as library
    except ImportError:
        raise ImportError(
            "the picture needs the package `graphviz` (`pip install graphviz`); `pm.model_to_mermaid` needs nothing."
        ) from None
    made = library.Source(dot(graph, figsize, dpi, attributes))
    if save is not None:
        from consilience.backends.printing.files import program_dot  # few models are drawn

        program_dot("`save`: a picture in a file", "`pm.model_to_mermaid` needs nothing")
        stem, _, suffix = save.rpartition(".")
        made.render(filename=stem or save, format=suffix if stem else "png", cleanup=True)
    return made


def networkx(graph: ModelGraph, model: ModelVariables, node_formatters: Formatters | None = None) -> Any:
    """The graph as a `networkx.DiGraph`; nodes have the attributes kind, label and plate, and those of formatters."""
    attributes = formatted(graph, model, node_formatters)
    try:
        import networkx as nx
    except ImportError:
        raise ImportError("this graph needs the package `networkx` (`pip install networkx`).") from None
    made = nx.DiGraph()
    for vertex in graph.vertices:
        own = {"kind": vertex.kind, "label": f"{vertex.name}\n~\n{vertex.text}", "plate": vertex.plate}
        made.add_node(vertex.name, **{**own, **attributes.get(vertex.name, {})})
    made.add_edges_from(graph.edges)
    return made


def formatted(graph: ModelGraph, model: ModelVariables, node_formatters: Formatters | None) -> Attributes:
    """What formatters, one per kind of variable, say of the graph's vertices."""
    given = node_formatters or {}
    unknown = [kind for kind in given if kind not in [*NodeType]]
    if unknown:
        raise ValueError(
            f"`node_formatters` has the kinds {unknown}; there are {', '.join(map(repr, map(str, NodeType)))}."
        )
    own = {NodeType(kind): formatter for kind, formatter in given.items()}
    return {v.name: own[_KINDS[v.kind]](model.named[v.name]) for v in graph.vertices if _KINDS[v.kind] in own}

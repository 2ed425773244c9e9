"""Pictures of a model under PyMC's names: for Graphviz, Mermaid and NetworkX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from consilience.model import model_graph
from consilience.model.model import Model, modelcontext


def model_to_graphviz(
    model: Model | None = None,
    *,
    var_names: Sequence[str] | None = None,
    formatting: str = "plain",
    save: str | None = None,
    figsize: tuple[float, float] | None = None,
    dpi: int = 300,
    node_formatters: model_graph.Formatters | None = None,
    include_dim_lengths: bool = True,
) -> Any:
    """Draw the graph of a model with its plates, by the package graphviz.

    model : ...
    var_names: Leave out all but these and what they depend on.
    formatting: "plain", or "plain_with_params" to show parameters.
    save: A file to draw it into, its format by its suffix (needs the programs of Graphviz).
    figsize: Width and height in inches, and dots per inch.
    dpi: Width and height in inches, and dots per inch.
    node_formatters (model_graph.Formatters): Per kind of variable, such as "Free Random Variable" (`NodeType`), a
        function that takes the variable and gives attributes of Graphviz in place of ours: label, shape, style.
    include_dim_lengths: Whether plates tell the lengths of dims.
    Returns: A `graphviz.Source`, which notebooks draw.
    Raises ImportError: If the Python package graphviz is not installed.
    Raises OSError: With `save`, if the program `dot` of Graphviz is not installed.
    Raises ValueError: If `formatting` has another value.
    See model_to_mermaid: For pages of Markdown.
    See model_to_networkx: As a graph to compute with.
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu")
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    >>> picture = pm.model_to_graphviz(model)
    >>> '"mu" -> "y"' in picture.source
    True
    """
    owner = modelcontext(model)
    graph = model_graph.model_graph(owner, var_names, formatting, include_dim_lengths)
    return model_graph.graphviz(graph, save, figsize, dpi, model_graph.formatted(graph, owner, node_formatters))


def model_to_mermaid(
    model: Model | None = None,
    *,
    var_names: Sequence[str] | None = None,
    formatting: str = "plain",
    include_dim_lengths: bool = True,
) -> str:
    """What depends on what in a model, in Mermaid's language, which Markdown pages show; as `model_to_graphviz`.

    model, var_names : ...
    formatting: "plain": the distribution of each variable; "plain_with_params": its parameters too.
    include_dim_lengths: Whether plates show the lengths of their dims.
    Returns: Text for a block of Mermaid.
    See model_to_graphviz: As a picture.
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu")
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    >>> pm.model_to_mermaid(model).splitlines()[0]
    'graph TD'
    """
    return model_graph.mermaid(model_graph.model_graph(modelcontext(model), var_names, formatting, include_dim_lengths))


def model_to_networkx(
    model: Model | None = None,
    *,
    var_names: Sequence[str] | None = None,
    formatting: str = "plain",
    node_formatters: model_graph.Formatters | None = None,
    include_dim_lengths: bool = True,
) -> Any:
    """What depends on what in a model, as a `networkx.DiGraph`; as `model_to_graphviz`.

    model, var_names : ...
    formatting: "plain": the distribution of each variable; "plain_with_params": its parameters too.
    node_formatters (model_graph.Formatters): Per kind of variable, such as "Free Random Variable" (`NodeType`), a
        function that takes the variable and gives attributes of its node.
    include_dim_lengths: Whether plates show the lengths of their dims.
    Returns: A `networkx.DiGraph` whose nodes are the variables.
    Raises ValueError: For another kind.
    See model_to_graphviz: As a picture.
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu")
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    >>> sorted(pm.model_to_networkx(model).edges)
    [('mu', 'y')]
    """
    owner = modelcontext(model)
    graph = model_graph.model_graph(owner, var_names, formatting, include_dim_lengths)
    return model_graph.networkx(graph, owner, node_formatters)

"""Expressions at every draw of a posterior: graphs of a model's variables enter, the same with axes of draws leave."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from typing import Any

from consilience.distributions.densities import realised_with
from consilience.distributions.random_variable import random_variables
from consilience.errors import ModelError
from consilience.ir import Node, constant, substitute, tensor_input
from consilience.ir.side_tables import name_of
from consilience.ops.random import Key, fold_in
from consilience.ops.shape import Iota, reshape
from consilience.sample.given import named_draws, variables_of
from consilience.transforms.vectorize import vectorize


def vectorize_over_posterior(
    outputs: Node | Sequence[Node],
    posterior: Any,
    input_rvs: Sequence[Node],
    allow_rvs_in_graph: bool = True,
    sample_dims: Sequence[str] = ("chain", "draw"),
    *,
    input_tensors: Sequence[Node] = (),
) -> Any:
    """Expressions of random variables with the draws of a posterior in their place.

    outputs: An expression or several.
    posterior: A data set of draws, or a tree with the group `posterior`.
    input_rvs: Named variables to be replaced by their draws; with none, all are drawn anew, once per draw of the
        posterior.
    allow_rvs_in_graph: Whether other random variables may remain; each draw then has one of theirs, too.
    sample_dims: Axes of the draws.
    input_tensors: Further named inputs to be replaced by values of the posterior of their name.
    Returns: Expressions with these axes in front, in the form of `outputs`.
    Raises ModelError: For variables without draws, and for remaining ones where they are not allowed.
    See sample_posterior_predictive: Draws observed variables.
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu")
    >>> draws = pm.to_inference_data({"mu": np.array([[1.0, 2.0]])}, model=model)
    >>> pm.vectorize_over_posterior(2 * mu, draws, [mu]).eval().tolist()
    [[2.0, 4.0]]
    """
    listed = [outputs] if isinstance(outputs, Node) else list(outputs)
    axes = tuple(sample_dims)
    arrays = [named_draws(posterior, str(name_of(node)), axes) for node in (*input_rvs, *input_tensors)]
    leaves = {node: tensor_input(node.dtype, node.static_shape) for node in (*input_rvs, *input_tensors)}
    graphs = substitute(listed, leaves)
    batched = {leaf: constant(array, leaf.dtype) for leaf, array in zip(leaves.values(), arrays, strict=True)}
    if random_variables(graphs):
        if not allow_rvs_in_graph:
            raise ModelError("the expressions depend on random variables that `input_rvs` does not name.")
        key = tensor_input("key", ())
        graphs = realised_with(graphs, key)
        shape = arrays[0].shape[: len(axes)] if arrays else _numbers_of_draws(posterior, axes)
        number = reshape(Node(Iota(math.prod(shape))), shape)
        batched[key] = fold_in(Node(Key(secrets.randbits(62))), number)
    made = vectorize(graphs, batched)
    return made[0] if isinstance(outputs, Node) else made


def _numbers_of_draws(posterior: Any, axes: tuple[str, ...]) -> tuple[int, ...]:
    """The lengths of the axes of draws; ModelError for a posterior without variables."""
    first = next(iter(variables_of(posterior)), None)
    if first is None:
        raise ModelError("the posterior holds no variable, so it does not tell how many draws there are.")
    return named_draws(posterior, str(first), axes).shape[: len(axes)]

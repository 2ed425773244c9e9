"""Modules of PyTorch that are called as they are, with examples of their arguments: nothing is translated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from consilience.engines.opaque import of_torch
from consilience.engines.reader.forms import called
from consilience.engines.torch.read.tensors import argument, example, form_of, is_tensor
from consilience.errors import GraphError


def as_it_is(torch: Any, module: Any, examples: Sequence[Any], name: str) -> Callable[..., Any]:
    """The module as it is, as one operation of tensors."""
    tree = torch.utils._pytree
    held: dict[str, Any] = {}
    if isinstance(module, torch.nn.Module):
        held = {k: v.detach().clone() for k, v in (*module.named_parameters(), *module.named_buffers())}
    leaves, form = tree.tree_flatten(tuple(example(torch, x) for x in examples))
    places = [i for i, leaf in enumerate(leaves) if is_tensor(leaf)]
    results: list[Any] = []

    def flat(*tensors: Any) -> list[Any]:
        parameters = dict(zip(held, tensors[: len(held)], strict=True))
        given = [*leaves]
        for i, tensor in zip(places, tensors[len(held) :], strict=True):
            given[i] = tensor
        arguments = tree.tree_unflatten(given, form)
        found = torch.func.functional_call(module, parameters, arguments) if held else module(*arguments)
        values, results[:] = tree.tree_flatten(found)[0], [tree.tree_flatten(found)[1]]
        return list(values)

    call = of_torch(torch, name, flat, [*held.values(), *(leaves[i] for i in places)])

    def translated(*arguments: Any, parameters: Mapping[str, Any] | None = None) -> Any:
        given, own = tree.tree_flatten(arguments)
        if own != form:
            raise GraphError(f"`{name}` was given {len(examples)} examples of the form {form}, got {own}.")
        if unknown := sorted(set(parameters or {}) - set(held)):
            raise GraphError(f"`{name}` has no parameters {unknown}; it has {sorted(held)}.")
        chosen = {**{k: v.cpu().numpy() for k, v in held.items()}, **(parameters or {})}
        tensors = [argument(chosen[k], form_of(v), None, f"parameter {k!r} of `{name}`") for k, v in held.items()]
        tensors += [argument(given[i], form_of(leaves[i]), None, f"argument {i} of `{name}`") for i in places]
        return tree.tree_unflatten(call(tensors), results[0])

    translated.__dict__["parameters"] = {k: v.cpu().numpy() for k, v in held.items()}
    return called(translated, name, f"`{name}` of PyTorch, called as it is")

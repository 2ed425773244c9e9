"""PyTorch's modules: what `torch.export` writes down in, functions of tensors that compute the same out.

The meaning of each op stands in `ops`, `arrays`, `factorisations` and `windows`, branches and loops here.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import consilience.tensor as pt
from consilience.engines.reader.forms import called, held
from consilience.engines.reader.loops import one_of
from consilience.engines.reader.program import Language, ProgramStep
from consilience.engines.reader.rules import Tensors, listed
from consilience.engines.torch.read import arrays as arrays  # these fill the table
from consilience.engines.torch.read import factorisations as factorisations
from consilience.engines.torch.read import windows as windows
from consilience.engines.torch.read.as_it_is import as_it_is
from consilience.engines.torch.read.export import exported, name_of, where
from consilience.engines.torch.read.ops import CHECKS, RULES
from consilience.engines.torch.read.tensors import argument, array_of, form_of, is_tensor, torch_module
from consilience.errors import GraphError, MissingRuleError

TORCH: Final = Language("PyTorch", "op", RULES, lambda _: " `opaque=True` calls PyTorch instead.")


def from_torch(module: Callable[..., Any], *examples: Any, opaque: bool = False) -> Callable[..., Any]:
    """A module or function of PyTorch's tensors as a function of tensors.

    module: A `torch.nn.Module`, or a pure function of tensors.
    *examples: Arguments as it takes them, also nested dicts, lists and tuples: shapes and dtypes are fixed, the numbers
        of tensors do not matter. Numbers of Python are taken as constants.
    opaque: Nothing is translated: PyTorch computes values and first derivatives, called in Python by each evaluation,
        whose threads then wait for each other. The module must be pure, as after `.eval()`.
    Returns: A function of as many arguments in the same form, of tensors or numbers, and of `parameters`: a dict from
        names of parameters and buffers, as in `module.named_parameters()`, to tensors or random variables that take
        their place, as in `torch.func.functional_call`. The others are constants. Its own attribute `parameters` holds
        the values of all by name, as arrays. The results have the form of those of `module`.
    Raises MissingRuleError: For an op that has no translation, with the line that it comes from.
    Raises DtypeError: For one whose result has a dtype that tensors do not hold.
    Raises GraphError: For branches, loops and shapes that depend on values.
    Raises MissingPackageError: Without PyTorch.
    Raises ShapeError: Of the function that is made: for arguments of other shapes, DtypeError for other dtypes,
        GraphError for others in number or form.
    See from_jax: The same for JAX.
    >>> import torch
    >>> import numpy as np
    >>> import consilience as pm, consilience.tensor as pt
    >>> f = pm.from_torch(lambda x: torch.exp(x).sum(), np.zeros(2))
    >>> f(pt.zeros(2)).eval().item()
    2.0
    """
    torch = torch_module()
    name = type(module).__name__ if isinstance(module, torch.nn.Module) else getattr(module, "__name__", "function")
    if opaque:
        return as_it_is(torch, module, examples, name)
    program = exported(torch, module, examples, name)
    graph, signature = program.graph_module, program.graph_signature
    kinds = torch.export.graph_signature.InputKind
    for written in signature.output_specs:
        if "MUTATION" in written.kind.name:
            raise MissingRuleError(
                f"`{name}` writes to {written.target or 'an argument'!r}, and has no translation. Call `.eval()` on "
                "modules that keep running averages, and give changed values as results."
            )
    stored = {**program.state_dict, **program.constants}
    # Copies: what the module learns later leaves them as they are.
    arrays = {
        spec.target: array_of(stored[spec.target])
        for spec in signature.input_specs
        if spec.kind in (kinds.PARAMETER, kinds.BUFFER, kinds.CONSTANT_TENSOR)
    }
    values = {
        spec.target: arrays[spec.target]
        for spec in signature.input_specs
        if spec.kind in (kinds.PARAMETER, kinds.BUFFER)
    }
    tree = torch.utils._pytree
    leaves, form = tree.tree_flatten((examples, {}))
    marks = [n for n in graph.graph.nodes if n.op == "placeholder"]
    forms = [form_of(mark.meta.get("val")) for mark in marks]
    wanted = [form for form, spec in zip(forms, signature.input_specs, strict=True) if spec.kind is kinds.USER_INPUT]

    def translated(*arguments: Any, parameters: Mapping[str, Any] | None = None) -> Any:
        given, own = tree.tree_flatten((arguments, {}))
        if own != form:
            raise GraphError(f"`{name}` was translated for {len(examples)} arguments of the form {form}, got {own}.")
        own_parameters = dict(parameters or {})
        if unknown := sorted(set(own_parameters) - set(values)):
            raise GraphError(f"`{name}` has no parameters {unknown}; it has {sorted(values)}.")
        tensors, place = [], itertools.count()
        for form_there, spec in zip(forms, signature.input_specs, strict=True):
            if spec.kind is kinds.USER_INPUT:
                i = next(place)
                tensors.append(argument(given[i], form_there, leaves[i], f"argument {i} of `{name}`"))
            elif spec.kind is kinds.TOKEN:
                tensors.append(None)
            elif spec.target in own_parameters:
                what = f"parameter {spec.target!r} of `{name}`"
                tensors.append(argument(own_parameters[spec.target], form_there, None, what))
            else:
                tensors.append(pt.constant(arrays[spec.target]))
        results = evaluated(graph, tensors)
        kept = [
            value
            for value, spec in zip(results, signature.output_specs, strict=True)
            if spec.kind.name == "USER_OUTPUT"
        ]
        return tree.tree_unflatten(kept, program.call_spec.out_spec)

    # What is missing is told now.
    symbolic = [
        leaf if own is None else held(own, "an argument").variable for own, leaf in zip(wanted, leaves, strict=True)
    ]
    translated(*tree.tree_unflatten(symbolic, form)[0])
    translated.__dict__["parameters"] = values
    return called(translated, name, f"`{name}` of PyTorch")


def evaluated(module: Any, arguments: Sequence[Any]) -> Tensors:
    """Values of the results of a graph of PyTorch's."""
    known: dict[Any, Any] = {}
    waiting = iter(arguments)

    def read(value: Any) -> Any:
        if type(value).__name__ == "Node":
            return known[value]
        if isinstance(value, list | tuple):
            return [read(x) for x in value]
        return value

    for node in module.graph.nodes:
        if node.op == "placeholder":
            known[node] = next(waiting)
        elif node.op == "get_attr":
            part_of: Any = module
            for part in node.target.split("."):
                part_of = getattr(part_of, part)
            known[node] = pt.constant(array_of(part_of)) if is_tensor(part_of) else part_of
        elif node.op == "output":
            return listed(read(node.args[0]))
        else:
            known[node] = _results(node, read(node.args), {k: read(v) for k, v in node.kwargs.items()})
    raise GraphError("a graph of PyTorch has no results; please report this.")


def _results(node: Any, operands: Tensors, keywords: dict[str, Any]) -> Any:
    """What an op gives: a tensor, or a list of several results."""
    declared = node.meta.get("val")
    many = isinstance(declared, list | tuple)
    forms = None if declared is None else [form_of(x) for x in listed(declared)]
    step = ProgramStep(name_of(node.target), str(node.target), keywords, forms, functools.partial(where, node))
    found = TORCH.values(step, operands)
    return found if many or len(found) != 1 else found[0]


@RULES("getitem")
def _one_result(results: Any, number: int) -> Any:
    return results[number]


@RULES("with_effects")
def _with_effects(_: Any, op: Any, *_operands: Any, **_keywords: Any) -> Tensors:
    """A token, then what the op gives."""
    if name_of(op) not in CHECKS:
        raise MissingRuleError(f"PyTorch's `{name_of(op)}` has effects, and no translation")
    return [None, None]


@RULES("cond")
def _cond(test: Any, first: Any, second: Any, operands: Sequence[Any]) -> Tensors:
    """One of two inner functions."""
    return one_of(test, evaluated(first, operands), evaluated(second, operands))


@RULES("while_loop")
def _while_loop(test: Any, body: Any, carried: Sequence[Any], fixed: Sequence[Any] = ()) -> Tensors:
    found = pt.while_loop(
        lambda *values: evaluated(test, [*values, *fixed])[0],
        lambda *values: evaluated(body, [*values, *fixed]),
        list(carried),
    )
    return list(found)

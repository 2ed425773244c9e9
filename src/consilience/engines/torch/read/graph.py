"""PyTorch's modules: what `torch.export` writes down in, functions of tensors that compute the same out.

PyTorch is imported here alone, and when it is asked for. The meaning of each op stands in `ops`, branches and
loops here.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import consilience.tensor as pt
from consilience.engines.opaque import of_torch
from consilience.engines.torch.read import arrays as arrays  # fills the table
from consilience.engines.torch.read import factorisations as factorisations  # fills the table
from consilience.engines.torch.read import windows as windows  # fills the table
from consilience.engines.torch.read.ops import CHECKS, RULES, rule
from consilience.errors import DtypeError, GraphError, MissingPackageError, MissingRuleError, ShapeError
from consilience.ir import DTYPES
from consilience.ir.side_tables import describe
from consilience.ops.control import cond

Tensors = list[Any]
_INSTEAD = " `opaque=True` calls PyTorch instead."


def from_torch(module: Callable[..., Any], *examples: Any, opaque: bool = False) -> Callable[..., Any]:
    """A module or function of PyTorch's tensors as a function of tensors.

    module     a `torch.nn.Module`, or a pure function of tensors
    examples   arguments as it takes them, also nested dicts, lists and tuples: shapes and dtypes are fixed, the numbers
               of tensors do not matter. Numbers of Python are taken as constants
    opaque     nothing is translated: PyTorch computes values and first derivatives, called in Python by each
               evaluation, whose threads then wait for each other. The module must be pure, as after `.eval()`
    returns    a function of as many arguments in the same form, of tensors or numbers, and of `parameters`: a dict from
               names of parameters and buffers, as in `module.named_parameters()`, to tensors or random variables that
               take their place, as in `torch.func.functional_call`. The others are constants. Its own attribute
               `parameters` holds the values of all by name, as arrays. The results have the form of those of `module`
    raises     MissingRuleError for an op that has no translation, with the line that it comes from; DtypeError for one
               whose result has a dtype that tensors do not hold; GraphError for branches, loops and shapes that depend
               on values; MissingPackageError without PyTorch; what the module itself raises; and the function itself
               ShapeError, DtypeError and GraphError for other arguments
    """
    torch = _torch()
    name = type(module).__name__ if isinstance(module, torch.nn.Module) else getattr(module, "__name__", "function")
    if opaque:
        return _as_it_is(torch, module, examples, name)
    exported = _exported(torch, module, examples, name)
    graph, signature = exported.graph_module, exported.graph_signature
    kinds = torch.export.graph_signature.InputKind
    for written in signature.output_specs:
        if "MUTATION" in written.kind.name:
            raise MissingRuleError(
                f"`{name}` writes to {written.target or 'an argument'!r}, and has no translation. Call `.eval()` on "
                "modules that keep running averages, and give changed values as results."
            )
    held = {**exported.state_dict, **exported.constants}
    # Copies: what the module learns later leaves them as they are.
    arrays = {
        spec.target: _array(held[spec.target])
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
    wanted = [
        mark.meta.get("val")
        for mark, spec in zip(marks, signature.input_specs, strict=True)
        if spec.kind is kinds.USER_INPUT
    ]

    def translated(*arguments: Any, parameters: Mapping[str, Any] | None = None) -> Any:
        given, own = tree.tree_flatten((arguments, {}))
        if own != form:
            raise GraphError(f"`{name}` was translated for {len(examples)} arguments of the form {form}, got {own}.")
        own_parameters = dict(parameters or {})
        if unknown := sorted(set(own_parameters) - set(values)):
            raise GraphError(f"`{name}` has no parameters {unknown}; it has {sorted(values)}.")
        tensors, place = [], iter(range(len(given)))
        for mark, spec in zip(marks, signature.input_specs, strict=True):
            if spec.kind is kinds.USER_INPUT:
                i = next(place)
                tensors.append(_fitted(given[i], wanted[i], leaves[i], name, f"argument {i}"))
            elif spec.kind is kinds.TOKEN:
                tensors.append(None)
            elif spec.target in own_parameters:
                tensors.append(
                    _fitted(own_parameters[spec.target], mark.meta["val"], None, name, f"parameter {spec.target!r}")
                )
            else:
                tensors.append(pt.constant(arrays[spec.target]))
        results = evaluated(graph, tensors)
        kept = [
            value
            for value, spec in zip(results, signature.output_specs, strict=True)
            if spec.kind.name == "USER_OUTPUT"
        ]
        return tree.tree_unflatten(kept, exported.call_spec.out_spec)

    # What is missing is told now.
    symbolic = [_symbol(value) if _is_tensor(value) else leaf for value, leaf in zip(wanted, leaves, strict=True)]
    translated(*tree.tree_unflatten(symbolic, form)[0])
    translated.__name__ = translated.__qualname__ = name
    translated.__doc__ = f"`{name}` of PyTorch, of tensors."
    translated.__dict__["parameters"] = values
    return translated


def _as_it_is(torch: Any, module: Any, examples: Sequence[Any], name: str) -> Callable[..., Any]:
    """The module as it is, as one operation of tensors."""
    tree = torch.utils._pytree
    held: dict[str, Any] = {}
    if isinstance(module, torch.nn.Module):
        held = {k: v.detach().clone() for k, v in (*module.named_parameters(), *module.named_buffers())}
    leaves, form = tree.tree_flatten(tuple(_example(torch, x) for x in examples))
    places = [i for i, leaf in enumerate(leaves) if _is_tensor(leaf)]
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

    def called(*arguments: Any, parameters: Mapping[str, Any] | None = None) -> Any:
        given, own = tree.tree_flatten(arguments)
        if own != form:
            raise GraphError(f"`{name}` was given {len(examples)} examples of the form {form}, got {own}.")
        if unknown := sorted(set(parameters or {}) - set(held)):
            raise GraphError(f"`{name}` has no parameters {unknown}; it has {sorted(held)}.")
        chosen = {**{k: v.cpu().numpy() for k, v in held.items()}, **(parameters or {})}
        tensors = [
            _fitted(chosen[k], held[k], None, name, f"parameter {k!r}") for k in held
        ] + [_fitted(given[i], leaves[i], leaves[i], name, f"argument {i}") for i in places]  # fmt: skip
        return tree.tree_unflatten(call(tensors), results[0])

    called.__name__ = called.__qualname__ = name
    called.__doc__ = f"`{name}` of PyTorch, called as it is."
    called.__dict__["parameters"] = {k: v.cpu().numpy() for k, v in held.items()}
    return called


def _torch() -> Any:
    try:
        torch: Any = importlib.import_module("torch")
        importlib.import_module("torch.export")
    except ImportError as error:
        raise MissingPackageError("PyTorch is not there: pip install 'consilience[torch]'.") from error
    if not hasattr(torch.export.ExportedProgram, "run_decompositions"):
        raise MissingPackageError(f"PyTorch {torch.__version__} is too old; 2.5 is the first that can be read.")
    return torch


def _exported(torch: Any, module: Any, examples: Sequence[Any], name: str) -> Any:
    """The program of core ops, with checks of arguments by distributions left out."""
    if not isinstance(module, torch.nn.Module):
        function = module

        def forward(_: Any, *arguments: Any) -> Any:
            return function(*arguments)

        # PyTorch keeps lines of `forward` alone: this one's is that on which the function begins.
        if code := getattr(function, "__code__", None):
            forward.__code__ = forward.__code__.replace(
                co_filename=code.co_filename, co_firstlineno=code.co_firstlineno - 1
            )
        module = type("Function", (torch.nn.Module,), {"forward": forward})()
        module.train(False)
    given = tuple(_example(torch, x) for x in examples)
    try:
        # What PyTorch says of its own code, as of names that it will drop, is not for users.
        with warnings.catch_warnings(), _own_derivatives_refused(torch), _arguments_unchecked(torch):
            warnings.simplefilter("ignore", FutureWarning)
            program = torch.export.export(module, given)
            _check_derivatives(program, name)
            table = torch.export.default_decompositions()
            for kept in (torch.ops.aten.detach.default,):
                table.pop(kept, None)
            program = program.run_decompositions(table)
    except MissingRuleError:
        raise
    except _refusals() as error:
        first = str(error).strip().split("\n", 1)[0]
        raise GraphError(
            f"`torch.export` cannot write `{name}` down: {type(error).__name__}: {first} Branches and loops on values "
            "are written as `torch.where`, `torch.cond` or `torch.while_loop`, and shapes do not depend on values; "
            "`opaque=True` calls PyTorch instead."
        ) from error
    except Exception as error:  # of the module itself, or of its arguments
        error.add_note(f"`torch.export` ran `{name}` on tensors without values;{_INSTEAD}")
        raise
    _check_draws(program, name)
    return program


def _refusals() -> tuple[type[Exception], ...]:
    """What PyTorch raises for code that depends on values; their modules are not of its public interface."""
    found = []
    for path, names in (
        ("torch._dynamo.exc", ("TorchDynamoException",)),
        ("torch._subclasses.fake_tensor", ("DataDependentOutputException", "DynamicOutputShapeException")),
        ("torch.fx.experimental.symbolic_shapes", ("GuardOnDataDependentSymNode", "ConstraintViolationError")),
    ):
        place = importlib.import_module(path)
        found += [getattr(place, name) for name in names if hasattr(place, name)]
    return tuple(found)


@contextmanager
def _arguments_unchecked(torch: Any) -> Iterator[None]:
    """Inside, distributions of PyTorch do not check their arguments, which some versions cannot write down."""
    kind = torch.distributions.Distribution
    before = kind._validate_args
    kind.set_default_validate_args(False)
    try:
        yield
    finally:
        kind.set_default_validate_args(before)


@contextmanager
def _own_derivatives_refused(torch: Any) -> Iterator[None]:
    """Inside, functions with derivatives of their author's own raise: what is written down is their values alone."""
    kind = torch.autograd.Function
    before = vars(kind)["apply"]

    def apply(cls: type, *arguments: Any, **named: Any) -> Any:
        if cls.__module__.partition(".")[0] != "torch":
            raise MissingRuleError(
                f"`{cls.__name__}` is a `torch.autograd.Function`, whose derivative `torch.export` leaves out; "
                "give the formula itself, or say `opaque=True`, which calls PyTorch."
            )
        return before.__get__(None, cls)(*arguments, **named)

    kind.apply = classmethod(apply)
    try:
        yield
    finally:
        kind.apply = before


def _check_derivatives(program: Any, name: str) -> None:
    """Raise for regions without derivatives, which are lost when ops are decomposed."""
    for part in program.graph_module.modules():
        for node in getattr(getattr(part, "graph", None), "nodes", ()):
            if "set_grad_enabled" in str(node.target) and node.args and node.args[0] is False:
                raise MissingRuleError(
                    f"`{name}` computes under `torch.no_grad()`, which has no translation; write `.detach()` where "
                    "derivatives end."
                )


def _check_draws(program: Any, name: str) -> None:
    """Raise for random draws, ahead of ops that only make place for them."""
    for part in program.graph_module.modules():
        for node in getattr(getattr(part, "graph", None), "nodes", ()):
            draws = "nondeterministic_seeded" in str(getattr(node.target, "tags", ""))
            if draws and _named(node.target) not in RULES:
                raise MissingRuleError(
                    f"`{name}` draws at random by PyTorch's op `{node.target}`, which has no translation "
                    f"({_where(node)}). Draw beforehand, and give it the draws as arguments; dropout is left out after "
                    "`.eval()`."
                )


def _example(torch: Any, value: Any) -> Any:
    """Arrays of NumPy, also nested, as tensors."""
    return torch.utils._pytree.tree_map(
        lambda x: torch.from_numpy(np.array(x)) if isinstance(x, np.ndarray | np.generic) else x, value
    )


def _array(value: Any) -> Any:
    """A copy on the host."""
    if not _is_tensor(value):
        raise MissingRuleError(f"a constant of the type {type(value).__name__} has no translation.")
    return np.array(value.detach().cpu().numpy())


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "detach") and hasattr(value, "dtype")


def _dtype(value: Any) -> str:
    return str(value.dtype).removeprefix("torch.")


def _symbol(value: Any) -> Any:
    if _dtype(value) not in DTYPES:
        raise DtypeError(
            f"an argument has the dtype {_dtype(value)}, which tensors do not hold; they hold {', '.join(DTYPES)}."
        )
    return pt.tensor(dtype=_dtype(value), shape=tuple(value.shape))


def _fitted(given: Any, wanted: Any, example: Any, name: str, what: str) -> Any:
    """An argument as a tensor of the type that was written down."""
    if not _is_tensor(wanted):
        if given is not example and given != example:
            raise GraphError(f"{what} of `{name}` was translated as {example!r}, which is a constant, got {given!r}.")
        return given
    tensor = pt.as_tensor(_array(given) if _is_tensor(given) and not isinstance(given, pt.TensorVariable) else given)
    shape, dtype = tuple(wanted.shape), _dtype(wanted)
    if tuple(tensor.static_shape) != shape:
        raise ShapeError(f"{what} of `{name}` was translated with the shape {shape}, got {describe(tensor)}.")
    if tensor.dtype != dtype and not np.can_cast(tensor.dtype, dtype, "same_kind"):
        raise DtypeError(f"{what} of `{name}` was translated as {dtype}, got {describe(tensor)}.")
    return tensor.astype(dtype)


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
            held: Any = module
            for part in node.target.split("."):
                held = getattr(held, part)
            known[node] = pt.constant(_array(held)) if _is_tensor(held) else held
        elif node.op == "output":
            return _listed(read(node.args[0]))
        else:
            known[node] = _called(node, read(node.args), {k: read(v) for k, v in node.kwargs.items()})
    raise GraphError("a graph of PyTorch has no results; please report this.")


def _called(node: Any, operands: Tensors, keywords: dict[str, Any]) -> Any:
    target = node.target
    if getattr(target, "__name__", "") == "getitem":
        return operands[0][operands[1]]
    name = _named(target)
    if name == "with_effects":  # a token, then what the op gives
        inner = _named(operands[1])
        if inner in CHECKS:
            return [None, None]
        raise MissingRuleError(f"PyTorch's `{inner}` has no translation: it has effects ({_where(node)}).")
    if name in CHECKS:
        return None
    own = RULES.get(name)
    if own is None:
        raise MissingRuleError(f"PyTorch's op `{target}` has no translation ({_where(node)}).{_INSTEAD}")
    declared = node.meta.get("val")
    for one in declared if isinstance(declared, list | tuple) else [declared]:
        if _is_tensor(one) and _dtype(one) not in DTYPES:
            raise DtypeError(
                f"PyTorch's op `{target}` gives {_dtype(one)}, which tensors do not hold ({_where(node)}); they hold "
                f"{', '.join(DTYPES)}."
            )
    try:
        found = own(*operands, **keywords)
    except MissingRuleError as error:
        if "(at " in str(error):
            raise
        raise MissingRuleError(f"{str(error).rstrip('.')} ({_where(node)}).{_INSTEAD}") from error
    if isinstance(found, list):
        values = declared if isinstance(declared, list | tuple) else [None] * len(found)
        return [_as_declared(x, v, node) for x, v in zip(found, values, strict=False)]
    return _as_declared(found, declared, node)


def _named(target: Any) -> str:
    """The name of an op without its overload, as `add` of `aten.add.Tensor`."""
    packet = getattr(target, "overloadpacket", target)
    return getattr(packet, "__name__", str(packet))


def _where(node: Any) -> str:
    """The innermost line outside PyTorch itself that a node comes from."""
    lines = [x.strip() for x in (node.meta.get("stack_trace") or "").splitlines() if x.strip().startswith("File ")]
    own = [x for x in lines if "/torch/" not in x] or lines
    return f"at {own[-1].removeprefix('File ')}" if own else "at an unknown line"


def _as_declared(value: Any, declared: Any, node: Any) -> Any:
    """A result in the dtype that PyTorch gives it."""
    if value is None or not _is_tensor(declared):
        return value
    if tuple(value.static_shape) != tuple(declared.shape):
        raise GraphError(
            f"the translation of PyTorch's `{node.target}` has the shape {value.static_shape} in place of "
            f"{tuple(declared.shape)} ({_where(node)}); please report this."
        )
    return value if value.dtype == _dtype(declared) else value.astype(_dtype(declared))


def _listed(value: Any) -> Tensors:
    return list(value) if isinstance(value, list | tuple) else [value]


@rule("cond")
def _cond(test: Any, first: Any, second: Any, operands: Sequence[Any]) -> Tensors:
    """One of two inner functions."""
    return list(cond(test, evaluated(first, operands), evaluated(second, operands)))


@rule("while_loop")
def _while_loop(test: Any, body: Any, carried: Sequence[Any], fixed: Sequence[Any] = ()) -> Tensors:
    found = pt.while_loop(
        lambda *values: evaluated(test, [*values, *fixed])[0],
        lambda *values: evaluated(body, [*values, *fixed]),
        list(carried),
    )
    return list(found)

"""Modules and functions of PyTorch as `torch.export` writes them down: a module with examples in, a program out.

What would be lost on the way (derivatives of the author's own, draws) is refused.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from consilience.engines.torch.read.ops import RULES
from consilience.engines.torch.read.tensors import example
from consilience.errors import GraphError, MissingRuleError


def exported(torch: Any, module: Any, examples: Sequence[Any], name: str) -> Any:
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
    given = tuple(example(torch, x) for x in examples)
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
        error.add_note(f"`torch.export` ran `{name}` on tensors without values; `opaque=True` calls PyTorch instead.")
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


def _nodes(program: Any) -> Iterator[Any]:
    """Those of all graphs of a program, inner ones included."""
    for part in program.graph_module.modules():
        yield from getattr(getattr(part, "graph", None), "nodes", ())


def _check_derivatives(program: Any, name: str) -> None:
    """Raise for regions without derivatives, which are lost when ops are decomposed."""
    if any("set_grad_enabled" in str(n.target) and n.args and n.args[0] is False for n in _nodes(program)):
        raise MissingRuleError(
            f"`{name}` computes under `torch.no_grad()`, which has no translation; write `.detach()` where derivatives "
            "end."
        )


def _check_draws(program: Any, name: str) -> None:
    """Raise for random draws, ahead of ops that only make place for them."""
    for node in _nodes(program):
        draws = "nondeterministic_seeded" in str(getattr(node.target, "tags", ""))
        if draws and name_of(node.target) not in RULES:
            raise MissingRuleError(
                f"`{name}` draws at random by PyTorch's op `{node.target}`, which has no translation "
                f"({where(node) or 'at an unknown line'}). Draw beforehand, and give it the draws as arguments; "
                "dropout is left out after `.eval()`."
            )


def name_of(target: Any) -> str:
    """The name of an op without its overload, as `add` of `aten.add.Tensor`."""
    packet = getattr(target, "overloadpacket", target)
    return getattr(packet, "__name__", str(packet))


def where(node: Any) -> str | None:
    """The innermost line outside PyTorch itself that a node comes from."""
    lines = [x.strip() for x in (node.meta.get("stack_trace") or "").splitlines() if x.strip().startswith("File ")]
    own = [x for x in lines if "/torch/" not in x] or lines
    return f"at {own[-1].removeprefix('File ')}" if own else None

"""PyTensor's kinds of variables as tests of a tensor, and its classes that are not imitated as names that say so.

In: a name. Out: a class: `isinstance` answers for the kinds there are; of another one a library may define its own
when it is imported, and is refused when it uses it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from types import FunctionType
from typing import Any, Final, NoReturn

from consilience.errors import MissingPackageError
from consilience.ir import Constant, Node
from consilience.ir.kinds import HOLDERS, Kind, SharedVariable
from consilience.ops.sparse.products import SparseProduct, TransposedSparseProduct

_KINDS: Final[dict[str, type[Any]]] = {
    **dict.fromkeys(("SharedVariable", "TensorSharedVariable", "ScalarSharedVariable"), SharedVariable),
    **dict.fromkeys(
        ("Constant", "TensorConstant"),
        Kind.of("Constant", lambda thing: isinstance(thing, Node) and isinstance(thing.op, Constant)),
    ),
    "XTensorSharedVariable": Kind.of(
        "XTensorSharedVariable", lambda thing: isinstance(thing, tuple(HOLDERS)) and isinstance(thing, SharedVariable)
    ),
    "StructuredDot": Kind.of("StructuredDot", lambda op: isinstance(op, SparseProduct | TransposedSparseProduct)),
}

_NAMES: Final = """
    _change_dist_size _logcdf _logprob _logprob_helper _support_point _vectorize_node
    AdvancedIncSubtensor AdvancedSubtensor AdvancedSubtensor1 ArrayStep Blockwise CAReduce
    Competence DimShuffle Elemwise fgraph_from_model FunctionGraph Grad2F1Loop HasInnerGraph IncSubtensor
    MeasurableElemwise MeasurableOp MinibatchRandomVariable model_deterministic
    model_free_rv model_from_fgraph model_named model_observed_rv model_potential ModelDeterministic ModelNamed
    ModelObservedRV ModelPotential ModelValuedVar ModelVar Node NoneTypeT
    RandomType RNGConsumerOp Scan Shape Shape_i Subtensor SymbolicOp SymbolicRandomVariable
    toposort_replace ViewOp
"""
_ADAPTED: Final = frozenset(
    ["BoundedContinuous", "CircularContinuous", "PositiveContinuous", "RandomVariable", "UnitContinuous"]
)
"""What a program's own distributions are derived from: `random_ops`."""
_DISTRIBUTIONS: Final = frozenset(["BoundedDiscrete"])
"""Bases of distributions: calling what is derived from one is to use it, while an op that is made waits to be used."""

_REGISTER_NAMES: Final = """
    EquilibriumDB in2out jax_funcify jax_typify node_rewriter optdb register_canonicalize register_specialize
    register_stabilize RewriteDatabaseQuery SequenceDB
"""
_REGISTERS: Final = frozenset(_REGISTER_NAMES.split())
"""Where rewrites are entered: no graph here is rewritten by them, which changes no value."""

_NOT_IMITATED: Final = frozenset(_NAMES.split()) | _DISTRIBUTIONS | _REGISTERS


@functools.cache
def find(name: str) -> Any:
    """The class or table of functions of PyTensor's or PyMC's graphs with this name; None for something else."""
    if name in _ADAPTED:
        adapted: type[Any] = getattr(import_module("consilience.foreign.pymc_names.random_ops"), name)
        return adapted
    if name == "_default_transform":
        return import_module("consilience.foreign.pymc_names.random_ops").default_transforms
    if name == "ObjectiveFunction":
        return _ObjectiveFunction
    if name == "Variable":
        variable: type[Any] = import_module("consilience.graph").Variable
        return variable
    if name in _REGISTERS:
        return _Register.of(name, lambda _: False)
    if name in _NOT_IMITATED:
        return _NotImitated(name, (_Unused,), {"test": staticmethod(lambda _: False)})
    if name.endswith("RV") and name[:-2] in dir(import_module("consilience.distributions")):
        kind: type[Any] = getattr(import_module("consilience.distributions"), name[:-2]).rv_type
        return kind
    return _KINDS.get(name)


def _refuse(name: str) -> NoReturn:
    raise MissingPackageError(_reason(name))


def _reason(name: str) -> str:
    return (
        f"`{name}` is a part of PyTensor's or PyMC's graphs, which `consilience.as_pymc` does not imitate. A "
        "library that builds on it keeps PyMC: `import consilience.for_pymc` in place of `consilience.as_pymc`, "
        "and its `pm.sample` samples here."
    )


class _Unused:
    """An op that a library makes when it is imported, of a class that is not imitated: to apply it is refused."""

    def __init__(self, *_: object, **__: object) -> None:
        """Whatever the class that is not imitated takes."""

    def __call__(self, *_: object, **__: object) -> NoReturn:
        _refuse(type(self).__name__)

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(_reason(type(self).__name__), name=name, obj=self)

    @classmethod
    def dist(cls, *_: object, **__: object) -> NoReturn:
        """What a distribution derived from one of PyMC's goes on with."""
        _refuse(cls.__name__)


class _Refusing(Kind):
    """Of which no attribute can be had, but for those by which Python asks what it is."""

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}", name=name, obj=cls)
        _refuse(cls.__name__)


class _NotImitated(_Refusing):
    """A class or table of functions of PyTensor's graphs: a library may define its own with it, and use none."""

    def __init__(cls, name: str, bases: tuple[type, ...], contents: dict[str, Any]) -> None:
        type.__init__(cls, name, bases, contents)

    def __call__(cls, *arguments: object, **keywords: object) -> Any:
        if cls.__name__ in _NOT_IMITATED or any(base.__name__ in _DISTRIBUTIONS for base in cls.__mro__):
            _refuse(cls.__name__)
        return type.__call__(cls, *arguments, **keywords)

    def register(cls, kind: object, function: Any = None) -> Any:
        """Enter a function for a class that is not imitated, of which there is nothing it could be called for."""
        if not isinstance(kind, _NotImitated):
            _refuse(cls.__name__)
        return _as_it_is if function is None else function


class _Register(_Refusing):
    """A decorator or table that takes rewrites and functions of other backends, and does nothing with them."""

    def __call__(cls, *entries: Any, **_: object) -> Any:
        return entries[0] if len(entries) == 1 and isinstance(entries[0], FunctionType) else cls

    def register(cls, *_: object, **__: object) -> Callable[[Any], Any]:
        """Leave a function as it is."""
        return _as_it_is

    def __getitem__(cls, _: object) -> _Register:
        return cls

    refuse = staticmethod(_refuse)


class _ObjectiveFunction(_Unused):
    """What programs read the keywords of variational fits from."""

    def step_function(
        self, obj_n_mc: Any = None, obj_optimizer: Any = None, total_grad_norm_constraint: Any = None
    ) -> NoReturn:
        """Those keywords that `pm.fit` takes here; there are no compiled steps that one could call."""
        _refuse("ObjectiveFunction")


def _as_it_is(function: Any) -> Any:
    return function

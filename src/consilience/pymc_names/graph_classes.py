"""PyTensor's kinds of variables as tests of a tensor, and its classes that are not imitated as names that say so.

In: a name. Out: a class: `isinstance` answers for the kinds there are; making or deriving from another one is refused.
"""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any, Final, NoReturn

from consilience.errors import MissingPackageError
from consilience.ir import Constant, Node
from consilience.ir.kinds import Kind, SharedVariable
from consilience.ops.sparse.products import SparseProduct, TransposedSparseProduct

_KINDS: Final[dict[str, type[Any]]] = {
    "Variable": Node,
    **dict.fromkeys(("SharedVariable", "TensorSharedVariable", "ScalarSharedVariable"), SharedVariable),
    **dict.fromkeys(
        ("Constant", "TensorConstant"),
        Kind.of("Constant", lambda thing: isinstance(thing, Node) and isinstance(thing.op, Constant)),
    ),
    "StructuredDot": Kind.of("StructuredDot", lambda op: isinstance(op, SparseProduct | TransposedSparseProduct)),
}

_NAMES: Final = """
    _change_dist_size _default_transform _logcdf _logprob _logprob_helper _support_point _vectorize_node
    AdvancedIncSubtensor AdvancedSubtensor AdvancedSubtensor1 ArrayStep Blockwise CAReduce CheckParameterValue
    Competence DimShuffle Elemwise EquilibriumDB fgraph_from_model FunctionGraph HasInnerGraph in2out IncSubtensor
    jax_funcify jax_typify MeasurableElemwise MeasurableOp MinibatchRandomVariable model_deterministic
    model_free_rv model_from_fgraph model_named model_observed_rv model_potential ModelDeterministic ModelNamed
    ModelObservedRV ModelPotential ModelValuedVar ModelVar Node node_rewriter NoneTypeT ObjectiveFunction
    RandomType RandomVariable register_canonicalize register_specialize register_stabilize RewriteDatabaseQuery
    RNGConsumerOp Scan SequenceDB Shape Shape_i Subtensor SymbolicOp SymbolicRandomVariable ViewOp
"""
_NOT_IMITATED: Final = frozenset(_NAMES.split())


@functools.cache
def find(name: str) -> type[Any] | None:
    """The class of PyTensor's or PyMC's graphs with this name; None for a name of something else."""
    if name in _NOT_IMITATED:
        return _NotImitated.of(name, lambda _: False)
    if name.endswith("RV") and name[:-2] in dir(import_module("consilience.distributions")):
        kind: type[Any] = getattr(import_module("consilience.distributions"), name[:-2]).rv_type
        return kind
    return _KINDS.get(name)


class _NotImitated(Kind):
    """A class, decorator or table of PyTensor's graphs: nothing here is one, and nothing can be made of it."""

    @staticmethod
    def refuse(name: str) -> NoReturn:
        """Say what `name` takes, and which way there is."""
        raise MissingPackageError(
            f"`{name}` is a part of PyTensor's or PyMC's graphs, which `consilience.as_pymc` does not imitate. A "
            "library that builds on it keeps PyMC: `import consilience.for_pymc` in place of `consilience.as_pymc`, "
            "and its `pm.sample` samples here."
        )

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}", name=name, obj=cls)
        cls.refuse(cls.__name__)

"""Distributions of tensors with named dims: one wrapper over every declaration, nothing is declared twice.

In: parameters with dims, dims of a model. Out: a plain random variable in the model, and its values with dims. Axes of
one event (`core_dims`) stand last in the plain variable; all others are a batch in the order of the dims.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import EllipsisType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from consilience.distributions import context
from consilience.distributions.context import DEFAULT
from consilience.distributions.distribution import DOCUMENTATION, PLAIN, Distribution, Making
from consilience.distributions.parameters import positional_names
from consilience.distributions.random_variable import distribution_of, is_random
from consilience.distributions.transforms.registry import requested_transform
from consilience.errors import ShapeError
from consilience.ir import Dim, Node
from consilience.ir.side_tables import name_of
from consilience.ops.shape import as_length, expand_dims
from consilience.record import Record
from consilience.xtensor.named import Dims, Named, arranged, checked_dims, common_lengths, of_lengths, read, union
from consilience.xtensor.variable import XTensorVariable, as_xtensor

WithEllipsis: TypeAlias = str | Sequence[str | EllipsisType] | None

_OF_TWO_ORDERS = ("BetaBinomial", "Triangular")  # of parameters, in PyMC
# Parameters that say how many axes an event has, which `core_dims` say already.
_RANKS_OF_EVENTS = {"ZeroSumNormal": "n_zerosum_axes"}
# Parameters that are matrices although their constraint is one of each row.
_MATRICES = {"HiddenMarkov": "P"}


class _OfEach:
    """An attribute that a class has, and each of its objects in a form of its own."""

    def __init__(self, of_class: Any, of_object: Callable[[Any], Any]) -> None:
        self.of_class, self.of_object = of_class, of_object

    def __get__(self, thing: Any, owner: type) -> Any:
        return self.of_class if thing is None else self.of_object(thing)


class DimDistribution(Record, eq=False):
    """A distribution whose parameters and values have named dims; calling it makes a variable of a model.

    Parameters
    ----------
    plain : type
        The distribution of tensors without names.

    See Also
    --------
    XTensorVariable : What it makes.

    Examples
    --------
    >>> import consilience as pm
    >>> isinstance(pm.dims.Normal, pm.dims.DimDistribution), pm.dims.Normal.plain is pm.Normal
    (True, True)
    """

    plain: type[Distribution]

    def __post_init__(self) -> None:
        if not isinstance(self.plain, type):
            raise TypeError(f"`plain` must be a class of distributions, got {self.plain!r}.")

    @property
    def __name__(self) -> str:
        return self.plain.__name__

    def __call__(
        self,
        name: str,
        *parameters: Any,
        dims: WithEllipsis = None,
        core_dims: str | Sequence[str] | None = None,
        observed: Any = None,
        transform: Any = DEFAULT,
        default_transform: Any = DEFAULT,
        initval: Any = None,
        total_size: Any = None,
        **named: Any,
    ) -> XTensorVariable:
        """A variable of the model whose `with` block this is.

        Parameters
        ----------
        *parameters : TensorLike
            Parameters of the distribution: numbers, or tensors with dims.
        dims : WithEllipsis, optional
            Dims of the variable, in order; `...` stands for those that follow from parameters and data. None: all of
            them follow.
        core_dims : str or sequence of str, optional
            Of distributions of vectors and matrices, or with such parameters: the dims that belong to one of them, in
            the order of the axes; the others are independent.
        observed : array_like, optional
            Data with dims: a `DataArray`, a tensor with dims, or an array whose axes `dims` name.
        initval : array_like or str, optional
            As for the plain distribution, or a `DataArray`.
        **named : TensorLike
            Parameters of the distribution: numbers, or tensors with dims.

        Raises
        ------
        TypeError
            For parameters without dims.
        ShapeError
            For dims that do not fit.
        """
        if not isinstance(name, str):
            raise TypeError(f"{self.__name__}: the first argument is the variable's name, got {name!r}.")
        model = context.current(self.__name__)
        order = None if dims is None else (dims,) if isinstance(dims, str) else tuple(dims)
        data, own = _data(observed, order)
        asked = union([[d for d in order or () if isinstance(d, str)], own])
        if core_dims is not None and self.__name__ in _RANKS_OF_EVENTS and (order is None or Ellipsis in order):
            asked = union([asked, checked_dims(core_dims, "`core_dims`")])  # no parameter brings these
        lengths = {d: n for d, n in zip(asked, model.lengths_of(asked), strict=True) if n is not None}
        made = self._variable(parameters, core_dims, lengths, order, named, name)
        shown = _in_order(made, order, self.__name__, name)
        if set(own) - set(made.dims):
            raise ShapeError(f"{self.__name__} `{name}`: its dims are {made.dims!r}, those of its data {own!r}.")
        node: Node = model.register(
            name,
            made.values,
            observed=_arranged_data(data, own, made.dims, self.__name__, name),
            dims=made.dims or None,
            transform=requested_transform(made.values, transform, default_transform),
            initval=initval.transpose(*made.dims).values if _is_labelled(initval) else initval,
            total_size=total_size,
        )
        variable = XTensorVariable(node, made.dims)
        variable = variable if shown.dims == made.dims else variable.transpose(*shown.dims)
        model.made_with_dims(name, variable)
        return variable

    def dist(
        self,
        *parameters: Any,
        core_dims: str | Sequence[str] | None = None,
        dim_lengths: Mapping[str, Any] | None = None,
        **named: Any,
    ) -> XTensorVariable:
        """A variable outside any model.

        Parameters
        ----------
        dim_lengths : mapping, optional
            Lengths of further dims, in which the draws are independent, and of `core_dims`.

        """
        lengths = {dim: as_length(length) for dim, length in (dim_lengths or {}).items()}
        return self._variable(parameters, core_dims, lengths, None, named, None)

    if not TYPE_CHECKING:  # the same functions, with signatures that name the parameters
        _dist, dist = dist, property(lambda self: Making.bound(self.plain, self._dist))
        __signature__ = _OfEach(
            inspect.Signature([inspect.Parameter("plain", inspect.Parameter.POSITIONAL_OR_KEYWORD)]),
            lambda self: import_module(PLAIN).signature_of_call(self.plain, [self.__call__], self._dist, "dim_lengths"),
        )

    def _variable(
        self,
        parameters: Sequence[Any],
        core_dims: str | Sequence[str] | None,
        asked: dict[str, Dim],
        order: tuple[str | EllipsisType, ...] | None,
        named: dict[str, Any],
        name: str | None,
    ) -> XTensorVariable:
        """asked: lengths of dims that are wanted; order: dims of the variable as the user gives them."""
        title = self.__name__ if name is None else f"{self.__name__} `{name}`"
        core = self._core(title, core_dims)
        refused = sorted({"shape", "size"} & named.keys())
        if refused:
            raise TypeError(f"{title}: give `dims` in place of `{refused[0]}`.")
        if parameters and self.__name__ in _OF_TWO_ORDERS:
            raise TypeError(
                f"{title}: give its parameters by name: PyMC's `dims.{self.__name__}` and `{self.__name__}` have them "
                "in different orders."
            )
        order_of_words = positional_names(self.plain.parameterizations)
        words = [*order_of_words[: len(parameters)], *["a parameter"] * (len(parameters) - len(order_of_words)), *named]
        given = [_with_dims(title, w, v) for w, v in zip(words, (*parameters, *named.values()), strict=True)]
        self._check_ranks(title, words, given, core)
        tensors = [v for value in given for v in _tensors(value)]
        lengths = common_lengths(tensors)
        for dim, length in asked.items():
            have = lengths.get(dim, length)
            if isinstance(have, int) and isinstance(length, int) and have != length:
                raise ShapeError(f"{title}: the dim `{dim}` has length {length}, but a parameter has {have} along it.")
            lengths[dim] = length
        whole = order is not None and Ellipsis not in order
        event = self._event(core, tensors, order if whole else None, asked)
        brought = union(x.dims for x in tensors)
        implied = [d for d in (*(d for d in asked if d not in brought), *brought) if d not in core]
        batch = tuple(d for d in _expanded(order, implied) if d not in core)
        lacking = [d for d in implied if d not in batch]
        if lacking:
            raise ShapeError(
                f"{title}: a parameter has the dim `{lacking[0]}`, which dims={order!r} lacks; add it, or `...` for "
                "all dims that follow from parameters."
            )
        plain = [_plain(value, (*batch, *core), core, lengths) for value in given]
        if self.__name__ in _RANKS_OF_EVENTS:  # whose parameters are one for all elements of an event
            last = tuple(range(-len(event), 0))
            plain = [expand_dims(v, last) if isinstance(v, Node) and v.ndim and event else v for v in plain]
        options = dict(zip(named, plain[len(parameters) :], strict=True))
        if self.__name__ in _RANKS_OF_EVENTS:
            options.setdefault(_RANKS_OF_EVENTS[self.__name__], len(event))
        full = (*batch, *event)
        shape = tuple(lengths[d] for d in full) if all(d in lengths for d in full) else None
        node: Any = self.plain.dist(*plain[: len(parameters)], **options, shape=shape)
        if not isinstance(node, Node) or not is_random(node):
            raise TypeError(
                f"{title} gives more than one tensor; use `pm.{self.__name__}`, and name its results' dims."
            )
        rank = distribution_of(node).event_rank
        if rank != len(event) or node.ndim != len(full):
            raise ShapeError(
                f"{title}: one event has {rank} axes, but of core_dims={core!r} its dims are {event!r}; say in `dims` "
                "which core dims the variable has."
            )
        return XTensorVariable(node, full)

    @property
    def _overrides_rank(self) -> bool:
        return self.plain.event_rank is not Distribution.event_rank

    def _ranks(self) -> dict[str, int]:
        """Rank of one value of each parameter, those of other parameterizations included."""
        ranks: dict[str, int] = {}
        for form in self.plain.parameterizations:
            ranks |= {p.name: p.event_rank for p in form.parameters}
            for alternative in form.alternatives:
                ranks |= {word: constraint.event_rank for word, constraint in alternative.constraints.items()}
        matrix = _MATRICES.get(self.__name__)
        return ranks | ({matrix: 2} if matrix else {})

    def _core(self, title: str, core_dims: str | Sequence[str] | None) -> Dims:
        of_vectors = self._overrides_rank or self.plain.support.event_rank > 0 or any(self._ranks().values())
        if core_dims is None and of_vectors:
            raise TypeError(f"{title} needs `core_dims`: the dims that belong to one vector or matrix.")
        if core_dims is not None and not of_vectors and core_dims != () and core_dims != []:
            raise TypeError(f"{title} is a distribution of numbers, and takes no `core_dims`; got {core_dims!r}.")
        return () if core_dims is None else checked_dims(core_dims, "`core_dims`")

    def _check_ranks(self, title: str, words: Sequence[str], given: Sequence[Any], core: Dims) -> None:
        """Each parameter has as many core dims as the axes of one of its values."""
        ranks = self._ranks()
        for word, value in zip(words, given, strict=True):
            if word in ranks and isinstance(value, Named) and value.ndim:
                own = tuple(dim for dim in core if dim in value.dims)
                if len(own) != ranks[word]:
                    kind = ("a number", "a vector", "a matrix")[ranks[word]]
                    raise ShapeError(
                        f"{title}: one value of {word} is {kind}, but of its dims {value.dims!r} the core dims are "
                        f"{own!r} (core_dims={core!r})."
                    )

    def _event(
        self, core: Dims, tensors: Sequence[Named], whole: tuple[Any, ...] | None, asked: Mapping[str, Dim]
    ) -> Dims:
        """The dims of one event: those of the core that the variable has, as far as the user says, or that follow."""
        there = tuple(dim for dim in core if dim in (asked if whole is None else whole))
        if whole is not None or there:
            return there
        values = [tensor for tensor in tensors if not _is_component(tensor)]
        if self._overrides_rank:
            return tuple(dim for dim in core if not any(dim in value.dims for value in values))
        rank = self.plain.support.event_rank
        of_vectors = [own[0] for v in values if len(own := [dim for dim in core if dim in v.dims]) == 1]
        return tuple(dict.fromkeys(of_vectors))[:1] if rank == 1 and of_vectors else core[:rank]


DimDistribution.__doc__ = _OfEach(  # type: ignore[assignment]  # each object has the text of its distribution
    DimDistribution.__doc__,
    lambda self: import_module(DOCUMENTATION).documented(self.plain, inspect.signature(self), named=True),
)


def _is_component(tensor: Named) -> bool:
    return is_random(tensor.values) and name_of(tensor.values) is None


def _with_dims(title: str, word: str, value: Any) -> Any:
    """A parameter with its dims; what is no tensor, and numbers, as they are."""
    if isinstance(value, list | tuple) and value and all(isinstance(v, Named) for v in value):
        return list(value)
    numeric = isinstance(value, Node | list | tuple) or hasattr(value, "__array__")
    if isinstance(value, Named) or not numeric:
        return value
    try:
        return as_xtensor(value)
    except TypeError as error:
        raise TypeError(f"{title}: {word} must have dims: {error}") from None


def _tensors(value: Any) -> list[Named]:
    return [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, Named)]


def _plain(value: Any, order: Dims, core: Dims, lengths: dict[str, Dim]) -> Any:
    """A parameter as the plain distribution takes it: axes of the batch first, then its own core dims."""
    if isinstance(value, list):
        return [_plain(v, order, core, lengths) for v in value]
    if not isinstance(value, Named):
        return value
    own = tuple(dim for dim in order if dim in value.dims or dim not in core)
    return arranged(of_lengths(value, lengths), value.dims, own)


def _expanded(order: tuple[str | EllipsisType, ...] | None, implied: Sequence[str]) -> Dims:
    """Dims in the user's order, those that are implied in place of `...`."""
    if order is None:
        return tuple(implied)
    rest = [dim for dim in implied if dim not in order]
    return checked_dims([d for part in order for d in (rest if isinstance(part, EllipsisType) else [part])], "`dims`")


def _is_labelled(value: Any) -> bool:
    return hasattr(value, "dims") and hasattr(value, "values") and not isinstance(value, Node)


def _data(observed: Any, order: tuple[Any, ...] | None) -> tuple[Any, Dims]:
    """Observed values and their dims; axes of a plain array are named by complete `dims`."""
    if observed is None:
        return None, ()
    if isinstance(observed, Named):
        return observed.values, observed.dims
    if _is_labelled(observed):
        return observed.values, checked_dims(observed.dims, "`observed`")
    if order is not None and Ellipsis not in order:
        return observed, checked_dims(order, "the variable")
    return observed, read(observed)[1]


def _arranged_data(data: Any, own: Dims, dims: Dims, title: str, name: str) -> Any:
    if data is None:
        return None
    lacking = [dim for dim in dims if dim not in own]
    if lacking:
        raise ShapeError(f"{title} `{name}`: its data have the dims {own!r}, and lack `{lacking[0]}`.")
    array = data if isinstance(data, Node | np.ndarray) else np.asarray(data)
    if array.ndim != len(own):
        raise ShapeError(f"{title} `{name}`: its data have {array.ndim} axes, which the dims {own!r} do not name.")
    order = [own.index(dim) for dim in dims]
    return data if order == sorted(order) else array.transpose(order)


def _in_order(made: XTensorVariable, order: tuple[Any, ...] | None, title: str, name: str) -> XTensorVariable:
    if order is None:
        return made
    unknown = [dim for dim in order if dim is not Ellipsis and dim not in made.dims]
    if unknown:
        raise ShapeError(f"{title} `{name}`: `{unknown[0]}` is a core dim of parameters, which the variable has not.")
    return made.transpose(*order)

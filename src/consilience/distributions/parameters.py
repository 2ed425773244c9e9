"""Parameters of distributions: their declaration, and the way from a user's arguments to canonical ones.

Arguments in PyMC's order and names in, one tensor per canonical parameter out, checked as far as they are
constants. Shapes and the variable itself stay outside.
"""

from __future__ import annotations

import functools
import inspect
import threading
import weakref
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from consilience.backends.reference import evaluate
from consilience.distributions import context
from consilience.distributions.constraints import Constraint
from consilience.distributions.mathematics import where
from consilience.distributions.random_variable import distribution_of, is_random, is_rows, random_variables
from consilience.errors import DtypeError, ParameterError, ShapeError
from consilience.ir import (
    COMPLEXES,
    FLOATS,
    Dim,
    Dimension,
    Node,
    Shared,
    TensorType,
    constant,
    constant_value,
    is_leaf,
    topological,
)
from consilience.ir.arithmetic import known_meaning
from consilience.ir.side_tables import describe, name_of, without_sources
from consilience.names.absent import elsewhere
from consilience.ops.dtypes import widened
from consilience.ops.elementwise import TensorLike, as_tensor, cast, promote
from consilience.ops.shape import LengthOf, as_length, expand_dims
from consilience.ops.sparse.variable import is_sparse
from consilience.record import Record, field_names

Conversion: TypeAlias = Callable[..., "TensorLike | tuple[TensorLike, ...]"]


class DistributionParameter:
    """One canonical parameter of a distribution; on an instance, its value.

    `constraint`: where it must lie; its event rank is the rank of one parameter.
    `default`: value when the user gives none.
    `broadcast`: a number stands for a vector of equal numbers (default False).
    `nan_check`: values outside the constraint are replaced by NaN in densities. Not needed where the formula itself is
        NaN or -inf for them, as log(sigma) is (default True).
    """

    def __init__(
        self,
        constraint: Constraint,
        default: float | None = None,
        *,
        broadcast: bool = False,
        nan_check: bool = True,
    ) -> None:
        self.constraint = constraint
        self.default = default
        self.broadcast = broadcast
        self.nan_check = nan_check
        self.name = ""

    is_declared = True

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> DistributionParameter: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Node: ...
    def __get__(self, instance: object | None, owner: type) -> DistributionParameter | Node:
        if instance is None:
            return self
        value: Node = instance.__dict__[self.name]
        return value

    @property
    def event_rank(self) -> int:
        """Rank of one value of the parameter."""
        return self.constraint.event_rank


class _Derived(DistributionParameter):
    is_declared = False

    def __init__(self, formula: Callable[[Any], Node]) -> None:
        self._formula = formula
        self.name = ""

    def __get__(self, instance: object | None, owner: type) -> Any:
        return self if instance is None else self._formula(instance)


def parameter(
    constraint: Constraint, default: float | None = None, *, broadcast: bool = False, nan_check: bool = True
) -> DistributionParameter:
    """Declare a canonical parameter; see `DistributionParameter`."""
    return DistributionParameter(constraint, default, broadcast=broadcast, nan_check=nan_check)


def derived(formula: Callable[[Any], Node]) -> DistributionParameter:
    """A parameter of a form's parent, computed from the form's own: `derived(lambda of: exp(of.log_mu))`."""
    return _Derived(formula)


class _Required:
    """Marks a parameter without a default."""


class StaticParameter:
    """A parameter known when the variable is made: a number of steps, a function; on an instance, its value.

    `convert`: function of a title, a name and what the user gives; returns a hashable value, or raises.
    `default`: value where the user gives none.
    """

    is_declared = True

    def __init__(self, convert: Callable[[str, str, Any], Hashable], default: Any = _Required) -> None:
        self.convert = convert
        self.default = default
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object | None, owner: type) -> Any:
        return self if instance is None else instance.__dict__[self.name]

    @property
    def required(self) -> bool:
        """Whether the user must give it."""
        return self.default is _Required

    def value(self, title: str, given: Any) -> Hashable:
        """The value for what the user gives; None for nothing."""
        if given is None:
            default: Hashable = self.default
            return default
        return self.convert(title, self.name, given)


def static(convert: Callable[[str, str, Any], Hashable], default: Any = _Required) -> Any:
    """Declare a static parameter; see `StaticParameter`. `whole(least)` is such a conversion."""
    return StaticParameter(convert, default)


def whole(least: int) -> Callable[[str, str, Any], int]:
    """Conversion of a static whole number not below a bound."""

    def convert(title: str, name: str, given: Any) -> int:
        known = constant_value(given) if isinstance(given, Node) else given
        if isinstance(given, Node) and known is None:
            raise ParameterError(f"{title}: {name} must be a number known when the variable is made, got {given!r}.")
        try:
            array = np.asarray(known)
        except Exception:  # of what says how it becomes an array, and refuses to
            array = np.asarray(None)
        if array.ndim or array.dtype.kind not in "iu" or array < least:
            raise ParameterError(f"{title}: {name} must be a whole number >= {least}, got {known!r}.")
        return int(array)

    return convert


def truth(title: str, name: str, given: Any) -> bool:
    """Conversion of a static truth value, and the check of one that a function takes."""
    if not isinstance(given, bool | np.bool_) and not (isinstance(given, int | np.integer) and given in (0, 1)):
        raise ParameterError(f"{title}: `{name}` must be True or False, got {given!r}.")
    return bool(given)


def length(title: str, name: str, given: Any) -> Dim:
    """Conversion of a static length: a whole number >= 0, or a length that shapes of data decide."""
    if isinstance(given, Dimension) or (isinstance(given, Node) and constant_value(given) is None):
        return as_length(given)
    return whole(0)(title, name, given)


def is_given(node: Node) -> bool:
    """Whether a random variable has a value of its own, as those of the model and the rows of a batch have.

    Elsewhere in an expression whose distribution is asked for it is then held fixed.
    """
    if not is_random(node):
        return False
    model = context.current_or_none()
    return is_rows(node) or (model is not None and model.named.get(name_of(node) or "") is node)


class ComponentParameter:
    """A parameter that is itself a distribution, given as `Normal.dist(...)`; on an instance, a random variable.

    `many`: several distributions, or one with a batch of parameters; on an instance, a tuple (default False).
    `optional`: none where the user gives none (default False).
    `name`: what users call it, if it is not the attribute's name (default '').
    """

    is_declared = True

    def __init__(self, *, many: bool = False, optional: bool = False, name: str = "") -> None:
        self.many = many
        self.required = not optional
        self.name = name

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name

    def __get__(self, instance: object | None, owner: type) -> Any:
        return self if instance is None else instance.__dict__[self.name]

    def of_group(self, group: tuple[Node, ...]) -> Any:
        """What an instance has: the variables, the only one, or None."""
        return group if self.many else group[0] if group else None

    def value(self, title: str, given: Any) -> tuple[Node, ...]:
        """Random variables for what the user gives."""
        if given is None:
            return ()
        listed = list(given) if self.many and isinstance(given, list | tuple) else [given]
        if not listed:
            raise ParameterError(f"{title}: {self.name} needs at least one distribution, got none.")
        return tuple(self._variable(title, node) for node in listed)

    def _variable(self, title: str, node: Any) -> Node:
        if not isinstance(node, Node):
            raise TypeError(
                elsewhere(node)
                or f"{title}: {self.name} must be a distribution such as `Normal.dist(0, 1)`, got {node!r}."
            )
        if is_given(node):
            raise ParameterError(
                f"{title}: {self.name} must be a distribution outside any model, `….dist(...)`, got {describe(node)}, "
                "which is a variable of this model."
            )
        if not is_random(node):
            convert = known_meaning("derived_variable")
            if convert is None or not random_variables([node]):
                raise TypeError(f"{title}: {self.name} must be a distribution, `….dist(...)`, got {describe(node)}.")
            made: Node = convert(node)
            return made
        return node


def component(*, optional: bool = False, name: str = "") -> Any:
    """Declare a parameter that is a distribution; see `ComponentParameter`."""
    return ComponentParameter(optional=optional, name=name)


def components() -> Any:
    """Declare a parameter that is several distributions; see `ComponentParameter`."""
    return ComponentParameter(many=True)


class Alternative(Record):
    """Other parameters that the user may give in place of some canonical ones."""

    replaced: tuple[str, ...]
    convert: Conversion
    constraints: Mapping[str, Constraint]


def instead_of(replaced: str | tuple[str, ...], convert: Conversion, **constraints: Constraint) -> Alternative:
    """Declare alternative parameters."""
    return Alternative((replaced,) if isinstance(replaced, str) else replaced, convert, constraints)


class Signature(Record):
    """One accepted combination: canonical parameters not replaced, and the alternative's.

    `names`: all names of the combination. `required`: names without a default.
    """

    form: type[Any]
    canonical: tuple[DistributionParameter, ...]
    alternatives: tuple[Alternative, ...]
    names: tuple[str, ...]
    required: frozenset[str]

    def accepts(self, given: Mapping[str, object]) -> bool:
        """Whether the given names are this combination."""
        return self.required <= given.keys() <= set(self.names)


@functools.cache
def signatures(forms: tuple[type[Any], ...]) -> tuple[Signature, ...]:
    """Every accepted combination of a distribution's forms, the canonical one first."""
    found = []
    for form in forms:
        canonical: tuple[DistributionParameter, ...] = form.parameters
        found.append(_signature(form, canonical, ()))
        found += [_signature(form, canonical, (a,)) for a in form.alternatives]
    return tuple(found)


def _signature(
    form: type[Any], canonical: tuple[DistributionParameter, ...], alternatives: tuple[Alternative, ...]
) -> Signature:
    replaced = {name for a in alternatives for name in a.replaced}
    names = tuple(name for name in form.parameter_names if name not in replaced)
    names += tuple(name for a in alternatives for name in a.constraints)
    optional = {p.name for p in canonical if p.default is not None and p.name not in replaced}
    optional |= {p.name for p in (*form.static_parameters, *form.component_parameters) if not p.required}
    return Signature(form, canonical, alternatives, names, frozenset(n for n in names if n not in optional))


@functools.cache
def positional_names(forms: tuple[type[Any], ...]) -> tuple[str, ...]:
    """Order of positional arguments: canonical parameters, then alternatives as they are declared."""
    names: dict[str, None] = {}
    for form in forms:
        names.update(dict.fromkeys(form.parameter_names))
        for alternative in form.alternatives:
            names.update(dict.fromkeys(alternative.constraints))
    return tuple(names)


def named_arguments(
    title: str,
    order: Sequence[str],
    positional: Sequence[object],
    named: Mapping[str, object],
    also: Sequence[str] = (),
) -> dict[str, Any]:
    """Arguments by name; those that are None count as not given.

    `also`: further keywords that the caller takes, for messages.
    """
    if len(positional) > len(order):
        raise TypeError(f"{title} takes at most {len(order)} parameters ({', '.join(order)}), got {len(positional)}.")
    given = dict(zip(order, positional, strict=False))
    for name, value in named.items():
        if name == "rng":
            check_generator(title, value)
            continue
        if name not in order:
            raise TypeError(f"{title} has no parameter `{name}`{today(name, (*order, *also))}.")
        if given.get(name) is not None:
            raise TypeError(f"{title} got `{name}` twice, by position and by name.")
        given[name] = value
    return {name: value for name, value in given.items() if value is not None}


def today(name: str, order: Sequence[str]) -> str:
    """What to say behind the name of a parameter that does not exist: the word of today's PyMC for it, and all."""
    older = import_module("consilience.names.older_names").parameter(name, order)  # loaded by mistakes alone
    return f"{older}; its parameters are {', '.join(order) or 'none'}"


def check_generator(title: str, rng: object) -> None:
    """Pass over PyMC's `rng`, shared or not, which has no effect in its models either: draws follow `random_seed`."""
    if isinstance(rng, Node) and not isinstance(rng.op, Shared):
        raise TypeError(f"{title}: `rng` is a NumPy generator, got {describe(rng)}; explicit keys are for `pt.random`.")


def choose(title: str, accepted: Sequence[Signature], given: Mapping[str, Any]) -> Signature:
    """The combination that the given names are; TypeError with all combinations otherwise."""
    for signature in accepted:
        if signature.accepts(given):
            return signature
    listed = []
    for signature in accepted:
        defaults = {p.name: p.default for p in signature.canonical}
        shown = [n if defaults.get(n) is None else f"{n}={defaults[n]:g}" for n in signature.names]
        listed.append(f"({', '.join(shown)})")
    got = ", ".join(given) or "none"
    raise TypeError(f"{title} accepts the parameters {' or '.join(dict.fromkeys(listed))}; got {got}.")


def canonical_values(title: str, signature: Signature, given: Mapping[str, Any]) -> list[Node]:
    """One tensor per canonical parameter, of a common float dtype, constants checked."""
    own = {p.name: p.constraint for p in signature.canonical}
    given = {n: own[n].taken(title, n, v) if n in own else v for n, v in given.items()}
    common = _common([v if _weak(v) else as_parameter(title, n, v) for n, v in given.items()])
    arguments = dict(zip(given, common, strict=True))
    for alternative in signature.alternatives:
        for name, constraint in alternative.constraints.items():
            check_constant(title, name, arguments[name], constraint, arguments)
    values: dict[str, Any] = {p.name: p.default for p in signature.canonical if p.default is not None}
    values |= {n: v for n, v in arguments.items() if any(p.name == n for p in signature.canonical)}
    source: dict[str, str] = {}
    for alternative in signature.alternatives:
        names = inspect.signature(alternative.convert).parameters
        made = alternative.convert(*(as_tensor({**values, **arguments}[n]) for n in names))
        results = made if isinstance(made, tuple) else (made,)
        for name, result in zip(alternative.replaced, results, strict=True):
            values[name] = _folded(as_tensor(result))
            source[name] = f", computed from {' and '.join(alternative.constraints)}"
    tensors = _common([values[p.name] for p in signature.canonical])
    dtype = next((t.dtype for t in tensors if t.dtype in FLOATS), "float64")
    bound = {p.name: t for p, t in zip(signature.canonical, tensors, strict=True)}
    result = []
    for declared, tensor in zip(signature.canonical, tensors, strict=True):
        value = _in_kind(title, declared, _of_rank(title, declared, tensor), dtype)
        origin = source.get(declared.name, "")
        check_constant(title, declared.name, value, declared.constraint, bound, origin)
        result.append(value)
    return result


def _common(values: Sequence[Any]) -> list[Node]:
    """Dense nodes; floats of one dtype, by NumPy's promotion with weak Python numbers. Integers stay integers."""
    nodes = [v if _weak(v) else as_tensor(v) for v in values]
    floats = [n for n in nodes if isinstance(n, Node) and n.dtype in FLOATS]
    dtype = widened(promote(floats)[1]) if floats else "float64"
    result = []
    for node in nodes:
        if isinstance(node, Node):
            result.append(cast(node, dtype) if node.dtype in FLOATS else node)
        else:
            result.append(constant(node, dtype) if isinstance(node, float) else constant(node))
    return result


def as_parameter(title: str, name: str, value: Any, dtype: str | None = None) -> Node:
    """The value of a parameter as a dense tensor, of a dtype if one is given; errors name the parameter."""
    try:
        return as_tensor(value.toarray() if is_sparse(value) else value, dtype)
    except (DtypeError, ShapeError) as error:
        raise type(error)(f"`{name}` of `{title}`: {error}") from None


def _weak(value: object) -> bool:
    return isinstance(value, bool | int | float) and not isinstance(value, np.generic)


def _in_kind(title: str, declared: DistributionParameter, tensor: Node, dtype: str) -> Node:
    """Numbers of a continuous set as floats; a set of whole numbers keeps the dtype it was given."""
    if tensor.dtype in FLOATS:
        return tensor
    if tensor.dtype in COMPLEXES:
        raise DtypeError(
            f"`{declared.name}` of `{title}`: real numbers were needed, got {tensor.dtype}: take `pt.real`, `pt.imag`, "
            "`pt.abs` or `pt.angle`."
        )
    if declared.constraint.discrete:
        return cast(tensor, "int64" if tensor.dtype == "bool" else widened(tensor.dtype))
    return cast(tensor, dtype)


def _of_rank(title: str, declared: DistributionParameter, tensor: Node) -> Node:
    if tensor.dtype == "key":
        raise ParameterError(f"{title}: {declared.name} must be {declared.constraint.rule}, got a random key.")
    if tensor.ndim >= declared.event_rank:
        return tensor
    if declared.broadcast and declared.event_rank == 1:
        return expand_dims(tensor, 0)
    kind = {1: "a vector", 2: "a matrix"}[declared.event_rank]
    raise ParameterError(f"{title}: {declared.name} must be {kind} or a batch of them, got rank {tensor.ndim}.")


def is_known(node: Node) -> bool:
    """Whether the value follows from constants alone, lengths among them."""
    return not any(is_leaf(n) or needs_length(n) for n in topological([node]))


def needs_length(node: Node) -> bool:
    """Whether a value takes a length that data decide, as that of `broadcast_to(2.0, data.shape)` does."""
    own = node.type.shape if isinstance(node.type, TensorType) else ()
    return isinstance(node.op, LengthOf) or not all(isinstance(length, int) for length in own)


def known_value(node: Node) -> npt.NDArray[Any] | None:
    """The value of a graph of constants; None for any other."""
    return evaluate([node], {})[0] if is_known(node) else None


def _folded(node: Node) -> Node:
    """A graph of constants as one constant, so that what the user gave as numbers is checked as numbers."""
    value = known_value(node)
    return node if value is None else constant(value)


# Constants that were checked already, with the constraints they fulfil.
_accepted: weakref.WeakKeyDictionary[Node, set[Constraint]] = weakref.WeakKeyDictionary()


def check_constant(
    title: str,
    name: str,
    value: Node,
    constraint: Constraint,
    parameters: Mapping[str, Node],
    origin: str = "",
) -> None:
    """Raise ParameterError where a constant breaks its constraint; other tensors pass.

    `parameters`: values of the parameters that the constraint names. `origin`: how the value was made, for the message.
    """
    array = constant_value(value)
    if array is None or value.ndim < constraint.event_rank:
        return
    own = constraint.bind(parameters)
    accepted = _accepted.setdefault(value, set())
    if own in accepted:
        return
    with without_sources():
        condition = own.holds(value)
    if not is_known(condition):
        return
    inside = evaluate([condition], {})[0]
    if not inside.all():
        ends = _ends(constraint, parameters, ~inside)
        shown = first_outside(array, ~inside)
        raise ParameterError(f"{title}: {name} must be {constraint.rule}, got {shown}{origin}{ends}.")
    reason = constraint.refusal(array)
    if reason is not None:
        raise ParameterError(f"{title}: {name} must be {constraint.rule}, but {reason}{origin}.")
    if own is constraint:
        accepted.add(own)


def _ends(constraint: Constraint, parameters: Mapping[str, Node], outside: npt.NDArray[np.bool_]) -> str:
    """The parameters that a constraint names, with their values where it is broken."""
    position = tuple(int(i) for i in np.argwhere(outside)[0])
    found = []
    for field in field_names(constraint):
        word = getattr(constraint, field)
        known = constant_value(parameters[word]) if isinstance(word, str) and word in parameters else None
        if known is not None and known.ndim <= outside.ndim:
            found.append(f"{word} = {np.broadcast_to(known, outside.shape)[position].item()!r}")
    return f" with {' and '.join(found)}" if found else ""


def first_outside(array: npt.NDArray[Any], outside: npt.NDArray[np.bool_]) -> str:
    """The first offending value with its place, for messages.

    `array`: values; its leading axes broadcast against those of `outside`, the rest is one event. `outside`: which
    events offend.
    """
    position = tuple(int(i) for i in np.argwhere(outside)[0])
    event = array.shape[outside.ndim :] if array.ndim > outside.ndim else ()
    value = np.asarray(np.broadcast_to(array, outside.shape + event)[position])
    shown = np.array2string(value, precision=6, threshold=8) if value.ndim else repr(value.item())
    return shown + (f" (element {', '.join(map(str, position))})" if position else "")


_checking = threading.local()


@contextmanager
def parameter_checks(wanted: bool) -> Iterator[None]:
    """Whether densities made inside are NaN for parameters out of range, or whatever their formulas give."""
    before = checks_parameters()
    _checking.wanted = wanted
    try:
        yield
    finally:
        _checking.wanted = before


def checks_parameters() -> bool:
    """Whether densities look after the range of their parameters."""
    return getattr(_checking, "wanted", True)


def nan_outside(declared: DistributionParameter, value: Node, parameters: Mapping[str, Node]) -> Node:
    """The value where it is admitted, NaN elsewhere, so that no density of a wrong parameter is finite.

    Constants were checked when the variable was made; a random variable lies in its support, or has no density.
    """
    constraint = declared.constraint.bind(parameters)
    if not (declared.nan_check and checks_parameters()):
        return value
    if is_random(value) and distribution_of(value).bound_support == constraint:
        return value
    value = constraint.settled(value)
    if constraint.contains_all(value):
        return value
    valid = constraint.admits(value)
    if constant_value(value) is not None and is_known(valid):
        return value
    if declared.event_rank:
        valid = expand_dims(valid, tuple(range(valid.ndim, valid.ndim + declared.event_rank)))
    return where(valid, value, np.nan)

"""Distributions that the user writes as functions of graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeAlias

from consilience.distributions.constraints import Constraint, Whole, real, real_vector
from consilience.distributions.densities import realise, realised_with, support_point
from consilience.distributions.distribution import static
from consilience.distributions.generator import GraphGenerator
from consilience.distributions.parameters import is_given, truth
from consilience.distributions.random_variable import distribution_of, fresh_keys, is_random, random_variables
from consilience.distributions.shapes import same_shape, summed_axes, text
from consilience.distributions.unnamed_parameters import UnnamedParameters
from consilience.errors import DtypeError, MissingRuleError, ModelError, ShapeError
from consilience.ir import INTEGERS, Dim, Node, Shape, constant, substitute, topological
from consilience.ir.arithmetic import known_meaning
from consilience.ir.side_tables import describe, name_of
from consilience.ops.elementwise import TensorLike, as_tensor
from consilience.ops.shape import as_shape, broadcast_to, length_of
from consilience.record import Record
from consilience.transforms.vectorize.signature import parse_signature

DTYPES = ("float64", "float32", "int64", "int32")
Formula: TypeAlias = Callable[..., TensorLike]


class Formulas(Record):
    """What the user gave, with the rank of one value of each parameter and the shape of one event.

    `captured` are variables of the model that `dist` uses without having them as parameters; they follow these.
    """

    title: str
    logp: Formula | None
    logcdf: Formula | None
    random: Formula | None
    dist: Formula | None
    support_point: Formula | None
    parameter_ranks: tuple[int, ...]
    event: Shape
    dtype: str
    captured: tuple[Node, ...] = ()


class CustomDist(UnnamedParameters):
    """A distribution given by functions of graphs.

    logp (callable, optional): Function (value, *parameters) -> log density, one number per event, or sums of these over
        some axes: one number per row of a matrix, or a scalar for the whole variable.
    logcdf (callable, optional): Function (value, *parameters) -> log P(X <= value), one number per event.
    dist (callable, optional): Function (*parameters, size) -> an expression of random variables made by `....dist(...,
        size=size)`, from which density, draws and support follow. The density is that of the result given the
        parameters, whatever these are, and given variables of the model that the function uses besides. With `logp`,
        the density is that function's on all numbers, and draws alone follow. The expression may be the result of
        `pm.scan` whose step draws: each step's draws, given what the steps before returned.
    numeric_inverse (bool, default False): Whether the density of `dist` may invert monotone functions numerically, as
        for `logp`.
    random (callable, optional): Function (*parameters, rng, size) -> draws of shape `size`, as a graph; `rng` has the
        methods of NumPy's generator, and is a random key for the functions of `pt.random`.
    support_point (callable, optional): Function (*parameters) -> a value from which sampling may start; 0 if not given.
    signature (str, optional): Core axes of parameters and events such as "(n),(n,n)->(n)"; all scalars if not given.
    ndim_supp (int, optional): Rank of an event, in place of `signature`; vectors then need `shape`.
    ndims_params (sequence of int, optional): Ranks of the parameters, in place of `signature`.
    dtype (str, default 'float64'): Element type; int64 makes the distribution discrete.
    class_name (str, default 'CustomDist'): Name for messages.

    Notes
    -----
    The public names of `consilience.logprob` give `dist` its meaning. The default transform follows from it, too: it
    maps the interval of the numbers that the expression can be, whose ends may depend on parameters, to the real line.
    There is none for counts, for vectors, and where single numbers have a probability.

    A series that a loop draws is one event, with one log density for all its steps. What its step draws must follow
    from what it returns: return it, or make it a variable of the model. `pm.forecast` continues from the last step.


    Examples
    --------
    An autoregression, and the log density of four values:

    >>> import consilience as pm, consilience.tensor as pt
    >>> def series(rho, size):
    ...     step = lambda last: pm.Normal.dist(rho * last, 1.0)
    ...     return pm.scan(step, outputs_info=pt.as_tensor(0.0), n_steps=4, return_updates=False)
    >>> pm.logp(pm.CustomDist.dist(0.5, dist=series), [0.2, 0.1, -0.3, 0.5]).eval().round(4).item()
    -3.9683

    A density by a formula:

    >>> import consilience as pm, consilience.tensor as pt
    >>> x = pm.CustomDist.dist(2.0, logp=lambda value, rate: pt.log(rate) - rate * value)
    >>> pm.logp(x, 0.5).eval().round(4).item()
    -0.3069
    """

    formulas: Formulas = static(lambda title, name, given: given)

    @classmethod
    def dist(
        cls,
        *parameters: Any,
        shape: Any = None,
        size: Any = None,
        logp: Formula | None = None,
        logcdf: Formula | None = None,
        random: Formula | None = None,
        support_point: Formula | None = None,
        signature: str | None = None,
        ndim_supp: int | None = None,
        ndims_params: Sequence[int] | None = None,
        dtype: str = "float64",
        class_name: str = "CustomDist",
        dist: Formula | None = None,
        numeric_inverse: bool = False,
        **unknown: Any,
    ) -> Node:
        """A variable outside any model; see the class."""
        numeric_inverse = truth(class_name, "numeric_inverse", numeric_inverse)
        if unknown:
            raise TypeError(f"{class_name} has no argument `{next(iter(unknown))}`; parameters are given by position.")
        if dist is not None:
            if random is not None:
                raise TypeError(f"{class_name}: `dist` gives the draws; leave out `random`.")
            if logp is not None:
                if numeric_inverse:
                    raise TypeError(f"{class_name}: `logp` is given, so `numeric_inverse` has nothing to do.")
                return cls._drawn_by(
                    class_name, dist, [as_tensor(p) for p in parameters], shape, size, logp, logcdf, support_point,
                    signature, ndim_supp, ndims_params,
                )  # fmt: skip
            if logcdf is not None:
                raise TypeError(f"{class_name}: `dist` without `logp` gives `logcdf`, too; leave it out.")
            make = known_meaning("generated_variable")
            if make is None:
                raise MissingRuleError(f"{class_name}: `dist=` derives densities: `import consilience.logprob` first.")
            values = [as_tensor(p) for p in parameters]
            variable: Node = make(class_name, dist, values, shape, size, support_point, numeric_inverse)
            return variable
        if numeric_inverse:
            raise TypeError(f"{class_name}: `numeric_inverse` is for densities derived from `dist`; leave it out.")
        if logp is None and random is None and logcdf is None:
            given = next((f"`logp={getattr(p, '__name__', p)}`" for p in parameters if callable(p)), "")
            hint = f"; a function is no parameter: name it, {given}" if given else ""
            raise TypeError(f"{class_name} needs `logp=` (a density), `random=` or `dist=` (draws), or several{hint}.")
        if dtype not in DTYPES:
            raise TypeError(f"{class_name}: dtype must be one of {', '.join(DTYPES)}, got {dtype!r}.")
        values = [as_tensor(p) for p in parameters]
        ranks, event_axes = core_axes(class_name, values, signature, ndim_supp, ndims_params)
        event = event_lengths(class_name, values, ranks, event_axes, shape)
        core = tuple(len(axes) for axes in ranks)
        formulas = Formulas(class_name, logp, logcdf, random, None, support_point, core, event, dtype)
        return cls.variable(values, shape, size, (formulas,))

    @classmethod
    def _drawn_by(
        cls,
        title: str,
        dist: Formula,
        values: list[Node],
        shape: Any,
        size: Any,
        logp: Formula,
        logcdf: Formula | None,
        support_point: Formula | None,
        signature: str | None,
        event_rank: int | None,
        ranks: Sequence[int] | None,
    ) -> Node:
        """A variable with the draws of an expression and a density of its own; one event is as in the expression."""
        trial = as_tensor(dist(*values, None))
        if signature is None and event_rank is None and is_random(trial):
            event_rank = distribution_of(trial).event_rank
            ranks = [value.ndim if event_rank else 0 for value in values] if ranks is None else ranks
        if shape is None and size is None:
            shape = trial.static_shape
        core, event_axes = core_axes(title, values, signature, event_rank, ranks)
        event = event_lengths(title, values, core, event_axes, trial.static_shape if shape is None else shape)
        dtype = "int64" if trial.dtype == "bool" else trial.dtype
        captured = tuple(n for n in topological([trial], stop=is_given) if is_given(n) and n not in values)
        own = (*(len(axes) for axes in core), *(n.ndim for n in captured))
        formulas = Formulas(title, logp, logcdf, None, dist, support_point, own, event, dtype, captured)
        return cls.variable([*values, *captured], shape, size, (formulas,))

    @classmethod
    def title_of(cls, settings: Sequence[Any]) -> str:
        formulas: Formulas = settings[0]
        return formulas.title

    @classmethod
    def parameter_count(cls, settings: Sequence[Any]) -> int:
        return len(settings[0].parameter_ranks)

    @property
    def bound_support(self) -> Constraint:
        if self.formulas.event:
            return real_vector
        return Whole() if self.formulas.dtype in INTEGERS else real

    @property
    def event_rank(self) -> int:
        return len(self.formulas.event)

    def event_ranks(self) -> tuple[int, ...]:
        return self.formulas.parameter_ranks

    def event_shape(self) -> Shape:
        return self.formulas.event

    def result_dtype(self) -> str:
        return self.formulas.dtype

    def _applied(self, function: Formula, *first: Node, **named: Any) -> Node:
        """A function of the user's at the parameters."""
        captured = self.formulas.captured
        number = len(self.values) - len(captured)
        made = as_tensor(function(*first, *self.values[:number], **named))
        return substitute([made], dict(zip(captured, self.values[number:], strict=True)))[0] if captured else made

    def logp(self, value: Node) -> Node:
        if self.formulas.logp is None:
            self._not_given("logp")
        return self._applied(self.formulas.logp, value)

    def logcdf(self, value: Node) -> Node:
        if self.formulas.logcdf is None:
            self._not_given("logcdf")
        return self._applied(self.formulas.logcdf, value)

    def draw(self, key: Node, shape: Shape) -> Node:
        if self.formulas.dist is not None:
            size = as_size(shape[: len(shape) - self.event_rank])
            dist = self.formulas.dist
            expression = self._applied(lambda *values: dist(*values, size))
            keys = fresh_keys([expression])
            if len(keys) == 1:  # the draws that this variable would have by itself
                return realise(substitute([expression], {keys[0]: key}))[0]
            return realised_with([expression], key)[0]
        if self.formulas.random is None:
            self._not_given("random")
        size = as_size(shape)
        expression = self._applied(self.formulas.random, rng=GraphGenerator(key), size=size)
        named = [n for n in random_variables([expression]) if name_of(n) is not None]
        if named:
            raise ModelError(
                f"{self.title}: `random` uses {describe(named[0])}, which is none of its parameters, so draws would "
                "not know its value. Pass it to the distribution as a parameter."
            )
        (made,) = realise([expression])
        if not same_shape(made.static_shape, shape):
            raise ShapeError(f"{self.title}: `random` must give draws of shape {text(shape)}, got {describe(made)}.")
        return made

    def over_batch(self, result: Node, shape: Shape, formula: str, name: str) -> Node:
        if result.dtype == "bool":
            raise DtypeError(f"{name}: `{formula}` must give numbers, got truth values: {describe(result)}.")
        if same_shape(result.static_shape, shape) or (formula == "logp" and summed_axes(result, shape) is not None):
            return result
        pairs = list(zip(result.static_shape, shape, strict=False))
        if result.ndim == len(shape) and all(a == b or (b == 1 and not isinstance(a, int)) for a, b in pairs):
            return broadcast_to(result, shape)  # parameters of one row, of which data decide that it is one
        each = ", or sums of these over some axes" if formula == "logp" else ""
        raise ShapeError(
            f"{name}: `{formula}` must give one number per event, of shape {text(shape)}{each}; got {describe(result)}."
        )

    def support_point(self) -> Node:
        if self.formulas.support_point is None:
            if self.formulas.dist is None:
                return constant(0, self.formulas.dtype)
            dist = self.formulas.dist
            made = self._applied(lambda *values: dist(*values, None))
            points: dict[Node, Node] = {}
            for rv in random_variables([made]):
                points[rv] = substitute([support_point(rv)], points)[0]
            return substitute([made], points)[0]
        return self._applied(self.formulas.support_point)

    def _not_given(self, argument: str) -> NoReturn:
        raise MissingRuleError(f"{self.title} was made without `{argument}=`; give it to use this.")


def as_size(shape: Shape) -> tuple[Any, ...]:
    """A shape as users' functions take it: numbers, and nodes for lengths that data decide."""
    return tuple(n if isinstance(n, int) else length_of(n) for n in shape)


Axes: TypeAlias = tuple[str, ...]


def core_axes(
    title: str,
    values: Sequence[Node],
    signature: str | None,
    event_rank: int | None,
    ranks: Sequence[int] | None,
) -> tuple[list[Axes], Axes]:
    """Core axes of the parameters and of one event; unnamed ones are called by their place."""
    if signature is None:
        given = [0] * len(values) if ranks is None else list(ranks)
        if len(given) != len(values):
            raise TypeError(f"{title}: `ndims_params` has {len(given)} entries for {len(values)} parameters.")
        unnamed = [tuple(f"parameter {i} axis {j}" for j in range(rank)) for i, rank in enumerate(given)]
        return unnamed, tuple(f"axis {j}" for j in range(event_rank or 0))
    if event_rank is not None or ranks is not None:
        raise TypeError(f"{title}: give `signature` or `ndim_supp` and `ndims_params`, not both.")
    arguments, results = parse_signature(signature)
    if len(arguments) != len(values) or len(results) != 1:
        raise TypeError(f"{title}: the signature {signature!r} does not fit {len(values)} parameters and one result.")
    return arguments, results[0]


def event_lengths(title: str, values: Sequence[Node], axes: Sequence[Axes], event_axes: Axes, shape: Any) -> Shape:
    """Lengths of one event's axes: from the signature, from the parameters, or from the end of `shape`."""
    lengths: dict[str, Dim] = {}
    for value, core in zip(values, axes, strict=True):
        if value.ndim < len(core):
            raise ShapeError(f"{title}: a parameter of rank {len(core)} or more was needed, got {describe(value)}.")
        lengths.update(zip(core, value.static_shape[value.ndim - len(core) :], strict=True))
    ends = as_shape(shape)[-len(event_axes) :] if shape is not None and event_axes else ()
    event: list[Dim] = []
    for place, axis in enumerate(event_axes):
        if axis.isdigit():
            event.append(int(axis))
        elif axis in lengths:
            event.append(lengths[axis])
        elif len(ends) == len(event_axes):
            event.append(ends[place])
        else:
            raise ShapeError(f"{title}: the length of an event's {axis} follows from no parameter; give `shape`.")
    return tuple(event)

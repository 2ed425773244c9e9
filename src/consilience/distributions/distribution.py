"""Distributions: a declaration of parameters and formulas is a class, bound to parameters it is an instance.

Calling the class, `Normal("x", 0, 1)` in a model or `Normal.dist(0, 1)` anywhere, makes a node of op
`RandomVariable`. What a model does with it is the model's part.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from importlib import import_module
from types import MethodType
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn, Self, TypeAlias

from consilience.distributions import context
from consilience.distributions import reparametrized as reparametrized  # fills the tables of derivatives and batches
from consilience.distributions.constraints import Constraint, natural, real
from consilience.distributions.context import DEFAULT
from consilience.distributions.mathematics import log1mexp
from consilience.distributions.parameters import (
    Alternative,
    ComponentParameter,
    DistributionParameter,
    StaticParameter,
    canonical_values,
    choose,
    component,
    components,
    derived,
    instead_of,
    named_arguments,
    parameter,
    positional_names,
    signatures,
    static,
)
from consilience.distributions.random_variable import (
    RandomVariable,
    batch_part,
    distribution_of,
    fresh_key,
    variable_of,
)
from consilience.distributions.shapes import broadcast, full_shape, shape_from, spread, text
from consilience.distributions.transforms.registry import requested_transform
from consilience.errors import ConsilienceError, MissingRuleError, ShapeError
from consilience.first_use import explained
from consilience.ir import FLOATS, Node, Shape
from consilience.ir.arithmetic import known_meaning
from consilience.ir.kinds import Kind
from consilience.ir.side_tables import set_name

__all__ = [
    "Continuous", "Discrete", "Distribution", "DistributionParameter", "component", "components", "derived",
    "instead_of", "parameter", "static",
]  # fmt: skip

PLAIN: Final = "consilience.distributions.plain_formulas"  # loaded when a program asks for such a function
DOCUMENTATION: Final = "consilience.distributions.documentation"  # loaded when somebody reads
FORMULAS = ("logp", "logcdf", "logccdf", "icdf", "draw", "mean", "variance")

Dims: TypeAlias = str | Sequence[str | None]


class Making:
    """`dist` of a class, with a signature that names its parameters; it is bound to the class, as any class method."""

    def __init__(self, cls: DistributionType, method: Callable[..., Node]) -> None:
        self._cls, self.__wrapped__ = cls, method
        self.__name__, self.__qualname__ = "dist", f"{cls.__name__}.dist"

    @classmethod
    def bound(cls, distribution: DistributionType, method: Callable[..., Node]) -> MethodType:
        """The class method of a distribution that makes variables."""
        return MethodType(cls(distribution, method), distribution)

    def __call__(self, cls: DistributionType, /, *parameters: Any, **named: Any) -> Node:
        try:
            made = self.__wrapped__(*parameters, **{key: value for key, value in named.items() if key != "name"})
        except Exception as error:
            told = explained(MethodType(self, cls), False, parameters, named, error)
            if told is error:
                raise
            raise told from error
        if "name" in named:
            set_name(made, named["name"])  # as PyTensor's random variables take it; the model gives another
        return made

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]  # each object has the text of its distribution
        module = import_module(DOCUMENTATION)
        signature = import_module(PLAIN).signature_of_dist(self._cls, self.__wrapped__)
        text: str | None = module.documented(self._cls, signature, module.OUTSIDE)
        return text

    @property
    def __signature__(self) -> Any:
        return import_module(PLAIN).with_class(import_module(PLAIN).signature_of_dist(self._cls, self.__wrapped__))


class DistributionType(type):
    """The type of distributions: of a class, the formulas are functions of a value and of parameters.

    `Normal.logp(value, mu, sigma)` is a density for expressions written by hand. An instance has its parameters, so its
    formulas are functions of the value.
    """

    if not TYPE_CHECKING:  # type checkers take the methods of instances for those of the class
        logp = property(lambda cls: import_module(PLAIN).plain_formula(cls, "logp"))
        logcdf = property(lambda cls: import_module(PLAIN).plain_formula(cls, "logcdf"))
        logccdf = property(lambda cls: import_module(PLAIN).plain_formula(cls, "logccdf"))
        icdf = property(lambda cls: import_module(PLAIN).plain_formula(cls, "icdf"))
        __signature__ = property(lambda cls: import_module(PLAIN).signature_of_call(cls, *cls.making()))
        dist = property(lambda cls: Making.bound(cls, cls.declaration("dist").__get__(None, cls)))
        __doc__ = property(lambda cls: import_module(DOCUMENTATION).documented(cls))
        rv_type = property(lambda cls: Kind.of(f"{cls.__name__}RV", lambda op: _draws_from(op, cls)))

    def making(cls) -> tuple[list[Any], Any]:
        """The functions that make a variable of a model, the class's own first, and the one for outside any."""
        calls = [vars(base)["__new__"] for base in cls.__mro__[:-1] if "__new__" in vars(base)]
        return [call.__func__.__get__(cls) for call in calls], cls.declaration("dist").__get__(None, cls)

    def declaration(cls, name: str) -> Any:
        """What the class, or the nearest of its bases that has it, declares by a name."""
        return next(vars(base)[name] for base in cls.__mro__ if name in vars(base))


def _draws_from(op: object, cls: type[Any]) -> bool:
    return isinstance(op, RandomVariable) and issubclass(op.distribution, cls)


class Distribution(metaclass=DistributionType):
    """Base of all distributions; derive from `Continuous` or `Discrete`.

    A declaration has parameters, a support and formulas, which take and give graphs; in them the parameters are
    attributes. Parameters and values broadcast against each other; a formula for vectors treats the last axes as one
    event and gives one number per event. `logp` may assume that the value lies in the support, and must be NaN or
    -inf for parameters that are declared `nan_check=False` and out of range.

    Another parameterization with formulas of its own is `class LogitBernoulli(Bernoulli, parameterization=True)`; it
    declares its own parameters and, with `derived`, those of its parent, whose formulas it then inherits.

    Parameters
    ----------

    Examples
    --------
    >>> import consilience as pm, consilience.tensor as pt
    >>> from consilience.distributions import parameter
    >>> from consilience.distributions.constraints import positive
    >>> class Rayleigh(pm.Continuous):
    ...     sigma = parameter(positive)
    ...     support = positive
    ...
    ...     def logp(self, value):
    ...         return pt.log(value / self.sigma**2) - 0.5 * (value / self.sigma) ** 2
    >>> pm.logp(Rayleigh.dist(2.0), 1.0).eval().round(4).item()
    -1.5113
    """

    title: ClassVar[str] = ""
    # In the order of their declaration: tensors, and what is known when the variable is made.
    parameters: ClassVar[tuple[DistributionParameter, ...]] = ()
    static_parameters: ClassVar[tuple[StaticParameter, ...]] = ()
    component_parameters: ClassVar[tuple[ComponentParameter, ...]] = ()
    parameter_names: ClassVar[tuple[str, ...]] = ()
    # Positional arguments of `dist` where they are not the parameters, with alternatives behind, as declared.
    arguments: ClassVar[tuple[str, ...]] = ()
    alternatives: ClassVar[tuple[Alternative, ...]] = ()
    parameterizations: ClassVar[tuple[type[Distribution], ...]] = ()
    support: ClassVar[Constraint] = real
    mapped: ClassVar[Constraint | None] = None
    takes_gaps: ClassVar[bool] = False  # whether its density is that of the observations that are not NaN
    # Of an instance: values of tensor parameters, of static ones, and random variables per component parameter.
    values: tuple[Node, ...]
    settings: tuple[Any, ...]
    components: tuple[tuple[Node, ...], ...]

    def __init_subclass__(cls, parameterization: bool = False, **arguments: object) -> None:
        super().__init_subclass__(**arguments)
        declared = [v for v in vars(cls).values() if getattr(type(v), "is_declared", False)]
        if declared:
            cls.parameters = tuple(v for v in declared if isinstance(v, DistributionParameter))
            cls.static_parameters = tuple(v for v in declared if isinstance(v, StaticParameter))
            cls.component_parameters = tuple(v for v in declared if isinstance(v, ComponentParameter))
            cls.parameter_names = tuple(v.name for v in declared)
            if "alternatives" not in vars(cls):
                cls.alternatives = ()
            if "arguments" not in vars(cls):
                cls.arguments = ()
        if parameterization:
            parent = cls.__mro__[1]
            assert issubclass(parent, Distribution)
            parent.parameterizations = (*parent.parameterizations, cls)
            cls.parameterizations = parent.parameterizations
        else:
            cls.title = cls.__name__
            cls.parameterizations = (cls,)

    # ---- making variables

    def __new__(  # type: ignore[misc]  # calling a distribution makes a variable, not an instance
        cls,
        name: str,
        *parameters: Any,
        observed: Any = None,
        dims: Dims | None = None,
        shape: Any = None,
        size: Any = None,
        transform: Any = DEFAULT,
        default_transform: Any = DEFAULT,
        initval: Any = None,
        total_size: Any = None,
        **named: Any,
    ) -> Node:
        """A variable of the model whose `with` block this is.

        name: Unique in the model.
        *parameters (TensorLike): Parameters of the distribution, in PyMC's order and names.
        observed (array_like): Data: the variable is conditioned on them.
        dims (str or sequence of str): Names of its axes; their lengths come from the model's coords.
        shape, size (int or sequence of int): Its shape, or its shape without the axes of one event.
        transform (Transform): Extra map to unconstrained space (after the default one); None for no map at all.
        default_transform (Transform): None drops the default map.
        initval (array_like or str): Starting value, or "support_point" or "prior".
        total_size (int or sequence of int): Size of the full data of which `observed` is a batch.
        **named (TensorLike): Parameters of the distribution, in PyMC's order and names.
        Returns: The node to be used in further expressions.
        Raises ModelError: Outside a model.
        Raises TypeError: For wrong combinations of parameters.
        Raises ParameterError: For constants out of range.
        Raises ShapeError: Where shapes do not fit.
        """
        if not isinstance(name, str):
            raise TypeError(
                f"{cls.title}: the first argument is the variable's name, got {name!r}; "
                f"use `{cls.title}.dist(...)` for a variable without a name."
            )
        model = context.current(cls.title)
        if isinstance(dims, str):
            dims = (dims,)
        given = model.given_data(name, observed, total_size, dims)
        if shape is None and size is None:
            shape = shape_from(model, cls.title, name, dims, None if given is None else given.shape)
        try:
            node = cls.declaration("dist").__get__(None, cls)(*parameters, shape=shape, size=size, **named)
        except (ConsilienceError, TypeError) as error:
            if f"`{name}`" not in str(error):
                error.add_note(f"This is the variable `{name}`.")
            if isinstance(error, TypeError) and observed is None and len(parameters) > len(cls.parameters) > 0:
                error.add_note("Data are given by name, `observed=…`.")
            if isinstance(error, ShapeError) and given is not None:
                error.add_note(
                    f"Its data (`observed`) have the shape {text(given.shape)}. Parameters with a value for each group "
                    "are brought to the rows by an index: `mu[group]`, with the number of each row's group."
                )
            raise
        return model.register(
            name,
            node,
            observed=given,
            dims=dims,
            transform=requested_transform(node, transform, default_transform),
            initval=initval,
        )

    @classmethod
    def dist(cls, *parameters: Any, shape: Any = None, size: Any = None, **named: Any) -> Node:
        """A variable outside any model, for `logp`, `draw` and as a component of other distributions."""
        if hasattr(cls, "rv_op"):
            make = known_meaning("variable_of_rv_op")
            if make is None:
                raise MissingRuleError(
                    f"{cls.title} draws by an op of PyTensor's (`rv_op`), as distributions written for PyMC do: for "
                    "such ops, `import consilience.as_pymc` before PyMC; or declare parameters and formulas, or write "
                    "a `pm.CustomDist` with `logp=` and `random=`. A library that builds on PyMC's graphs keeps PyMC, "
                    "and samples here with `import consilience.for_pymc`."
                )
            drawn: Node = make(cls, *parameters, shape=shape, size=size, **named)
            return drawn
        given = named_arguments(cls.title, cls.argument_names(), parameters, named)
        signature = choose(cls.title, signatures(cls.parameterizations), given)
        form: type[Distribution] = signature.form
        settings = [p.value(cls.title, given.pop(p.name, None)) for p in form.static_parameters]
        parts = [p.value(cls.title, given.pop(p.name, None)) for p in form.component_parameters]
        return form.variable(canonical_values(cls.title, signature, given), shape, size, settings, parts)

    @classmethod
    def argument_names(cls) -> tuple[str, ...]:
        """The positional arguments of `dist`, in order."""
        return cls.arguments or positional_names(cls.parameterizations)

    @classmethod
    def variable(
        cls,
        values: Sequence[Node],
        shape: Any = None,
        size: Any = None,
        settings: Sequence[Hashable] = (),
        components: Sequence[Sequence[Node]] = (),
    ) -> Node:
        """A variable of canonical parameters; `shape` and `size` as in `dist`, the others in order of declaration."""
        bound = cls.bound(values, settings, components)
        full = full_shape(bound, broadcast(bound.batch_shapes(), cls.title), shape, size)
        ops = tuple(tuple(variable_of(node, cls.title) for node in group) for group in components)
        operands = [operand for group in components for node in group for operand in node.inputs[1:]]
        op = RandomVariable(cls, full, bound.result_dtype(), tuple(settings), ops)
        return Node(op, fresh_key(), *values, *operands)

    # ---- the distribution bound to its parameters

    @classmethod
    def bound(
        cls, parameters: Sequence[Node], settings: Sequence[Any] = (), components: Sequence[Sequence[Node]] = ()
    ) -> Self:
        """The distribution with given parameters, in the order of their declaration."""
        bound = object.__new__(cls)
        attributes = bound.__dict__
        attributes.update(zip((p.name for p in cls.parameters), parameters, strict=True))
        attributes.update(zip((p.name for p in cls.static_parameters), settings, strict=True))
        for declared, group in zip(cls.component_parameters, components, strict=True):
            attributes[declared.name] = declared.of_group(tuple(group))
        attributes.update(
            values=tuple(parameters), settings=tuple(settings), components=tuple(tuple(group) for group in components)
        )
        return bound

    @classmethod
    def parameter_count(cls, settings: Sequence[Any]) -> int:
        """Number of tensor parameters."""
        del settings
        return len(cls.parameters)

    def by_name(self) -> Mapping[str, Node]:
        """The canonical parameters by name."""
        return {p.name: value for p, value in zip(self.parameters, self.values, strict=True)}

    @property
    def bound_support(self) -> Constraint:
        """The support, with the parameters it names."""
        return self.support.bind(self.by_name())

    @property
    def mapped_support(self) -> Constraint:
        """The set whose map to the line value variables tell of; another than the support where PyMC maps that one."""
        return self.bound_support if self.mapped is None else self.mapped

    @property
    def sampled_support(self) -> Constraint:
        """The set whose map to the line samplers use; it may tell of tails where the support's map has bad ones."""
        return self.bound_support

    def declared(self) -> tuple[DistributionParameter | None, ...]:
        """The declaration of each parameter; None for one without a constraint."""
        return self.parameters

    @property
    def event_rank(self) -> int:
        """Rank of one event."""
        return self.support.event_rank

    def event_ranks(self) -> tuple[int, ...]:
        """Rank of one value of each parameter."""
        return tuple(p.event_rank for p in self.parameters)

    def event_shape(self) -> Shape:
        """Shape of one event; for distributions of vectors and matrices."""
        return ()

    def batch_shapes(self) -> list[Shape]:
        """Shapes that broadcast to the batch shape: of each parameter, and of each component."""
        own = [v.static_shape[: v.ndim - rank] for v, rank in zip(self.values, self.event_ranks(), strict=True)]
        for axes, group in zip(self.component_axes(), self.components, strict=True):
            batches = [batch_part(node.static_shape, distribution_of(node)) for node in group]
            own += [batch[: len(batch) - axes] for batch in batches]
        return own

    def component_axes(self) -> tuple[int, ...]:
        """Per component parameter, how many of its last batch axes are none of this distribution's batch."""
        return (0,) * len(self.components)

    def result_dtype(self) -> str:
        """Element type of the variable: the parameters' float type, int64 for counts."""
        if self.bound_support.discrete:
            return "int64"
        floats = [v.dtype for v in self.values if v.dtype in FLOATS]
        return "float32" if floats and all(d == "float32" for d in floats) else "float64"

    # ---- formulas

    def logp(self, value: Node) -> Node:
        """Logarithm of the density, or of the mass."""
        self.missing("logp")

    def logcdf(self, value: Node) -> Node:
        """Logarithm of P(X <= value), for values between the ends of the support."""
        self.missing("logcdf")

    def logccdf(self, value: Node) -> Node:
        """Logarithm of P(X > value), for values between the ends of the support."""
        return log1mexp(self.logcdf(value))

    def icdf(self, q: Node) -> Node:
        """The quantile of q, for 0 <= q <= 1."""
        self.missing("icdf")

    def iccdf(self, q: Node) -> Node:
        """The value above which lies the probability q, for 0 <= q <= 1."""
        return self.icdf(1.0 - q)

    def draw(self, key: Node, shape: Shape) -> Node:
        """Independent draws of a shape that ends with the event's shape."""
        self.missing("draw")

    def mean(self) -> Node:
        """Expected value."""
        self.missing("mean")

    def variance(self) -> Node:
        """Variance of every element."""
        self.missing("variance")

    def support_point(self) -> Node:
        """A value in the support from which a search may start; the mean unless declared."""
        return self.mean()

    def over_batch(self, result: Node, shape: Shape, formula: str, name: str) -> Node:
        """The value of a formula, one number per event of a batch of a shape.

        Parameters
        ----------
        result : TensorVariable
            What the formula gave.
        shape : tuple of lengths
            Shape of the batch.
        formula, name : str
            What was computed, and of which variable, for messages.
        """
        return spread(result, broadcast([result.static_shape, shape], self.title))

    def can_draw(self) -> bool:
        """Whether the declaration says how to draw, and those of its components do."""
        inner = (distribution_of(node) for group in self.components for node in group)
        return self.declares("draw") and all(own.can_draw() for own in inner)

    def has(self, formula: str) -> bool:
        """Whether the declaration says how to compute a formula."""
        return self.declares(formula)

    @classmethod
    def declares(cls, formula: str) -> bool:
        """Whether the class, or one of its bases, says how to compute a formula."""
        return cls.declaration(formula) is not vars(Distribution)[formula]

    def has_atoms(self) -> bool:
        """Whether single values have positive probability beside a density, as the bound of a censored variable."""
        return any(distribution_of(node).has_atoms() for group in self.components for node in group)

    def atoms(self, value: Node) -> Node | None:
        """Where a value has a positive probability beside a density; None if nowhere."""
        if self.has_atoms():
            self.missing("atoms")
        return None

    def snapped(self, value: Node, error: Node) -> Node:
        """Such a value in place of one that differs from it by no more than an error, as rounding leaves it."""
        del error
        return value

    def elements(self, index: tuple[Any, ...]) -> Node | None:
        """A variable of some elements, for distributions whose parameters do not follow the batch; None for others."""
        del index
        return None

    def continued(self, past: Node, later: Self, periods: int) -> Node:
        """The next values of a series, as an expression of new random variables given those that are known.

        Time is the first axis of an event. A distribution of series that `pm.forecast` goes on with declares this.

        Parameters
        ----------
        past : TensorVariable
            The series so far.
        later : Distribution
            The same distribution with the parameters of the whole time, past and future.
        periods : int
            Number of values wanted.
        """
        del past, later, periods
        raise MissingRuleError(f"{self.title} is no series that could be continued.")

    def along_time(self) -> list[Node]:
        """What it reads whose values at the times so far must not depend on later ones: its parameters."""
        return list(self.values)

    def missing(self, formula: str) -> NoReturn:
        """Raise MissingRuleError: the declaration has no such formula."""
        available = [n for n in FORMULAS if self.has(n)]
        raise MissingRuleError(
            f"{self.title} has no `{formula}`; available are {', '.join(available) or 'none'}. "
            f"Add a method `{formula}` to the declaration of {self.title}."
        )


class Continuous(Distribution):
    """Base of distributions with a density.

    Parameters
    ----------

    Examples
    --------
    >>> import consilience as pm
    >>> issubclass(pm.Normal, pm.Continuous)
    True
    """

    support: ClassVar[Constraint] = real


class Discrete(Distribution):
    """Base of distributions of whole numbers, with a mass function.

    Parameters
    ----------

    Examples
    --------
    >>> import consilience as pm
    >>> issubclass(pm.Poisson, pm.Discrete)
    True
    """

    support: ClassVar[Constraint] = natural

"""The mathematics of one distribution, bound to its parameters: what a declaration may say.

A declaration is a class with parameters, a support and formulas on graphs. It makes no variables and knows
no model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NoReturn, Self

from consilience.distributions.constraints import Constraint, real
from consilience.distributions.parameters import Alternative, DistributionParameter
from consilience.distributions.shapes import broadcast, spread
from consilience.errors import MissingRuleError
from consilience.ir import Node, Shape

FORMULAS = ("logp", "logcdf", "icdf", "draw", "mean", "variance")


class Law:
    """One distribution with its parameters as attributes.

    Formulas take and give graphs. Parameters and values broadcast against each other; a formula for vectors
    treats the last axes as one event and gives one number per event. `logp` may assume that the value lies in
    the support, and must be NaN or -inf for parameters that are declared `guarded=False` and out of range.

    A form is another parameterisation with formulas of its own, `class LogitBernoulli(Bernoulli, form=True)`;
    it declares its own parameters and, with `derived`, those of its parent, whose formulas it then inherits.
    """

    title: ClassVar[str] = ""
    parameters: ClassVar[tuple[DistributionParameter, ...]] = ()
    alternatives: ClassVar[tuple[Alternative, ...]] = ()
    forms: ClassVar[tuple[type[Law], ...]] = ()
    support: ClassVar[Constraint] = real
    # Of an instance: its canonical parameters in order, and settings that are no tensors.
    values: tuple[Node, ...]
    extras: Any

    def __init_subclass__(cls, form: bool = False, **arguments: object) -> None:
        super().__init_subclass__(**arguments)
        own = [v for v in vars(cls).values() if isinstance(v, DistributionParameter) and not v.is_derived]
        if own:
            cls.parameters = tuple(own)
        if form:
            parent = cls.__mro__[1]
            assert issubclass(parent, Law)
            parent.forms = (*parent.forms, cls)
            cls.forms = parent.forms
            if "alternatives" not in vars(cls):
                cls.alternatives = ()
        else:
            cls.title = cls.__name__
            cls.forms = (cls,)

    @classmethod
    def bound(cls, parameters: Sequence[Node], extras: Any = ()) -> Self:
        """The law with given parameters, in the order of their declaration."""
        law = object.__new__(cls)
        law.__dict__.update(zip((p.name for p in cls.parameters), parameters, strict=True))
        law.__dict__.update(values=tuple(parameters), extras=extras)
        return law

    def by_name(self) -> Mapping[str, Node]:
        """The canonical parameters by name."""
        return {p.name: value for p, value in zip(self.parameters, self.values, strict=True)}

    @property
    def bound_support(self) -> Constraint:
        """The support, with the parameters it names."""
        return self.support.bind(self.by_name())

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
        """Shape of one event; for laws of vectors and matrices."""
        return ()

    def logp(self, value: Node) -> Node:
        """Logarithm of the density, or of the mass."""
        self.missing("logp")

    def logcdf(self, value: Node) -> Node:
        """Logarithm of P(X <= value), for values between the ends of the support."""
        self.missing("logcdf")

    def icdf(self, q: Node) -> Node:
        """The quantile of q, for 0 <= q <= 1."""
        self.missing("icdf")

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

        formula, name   what was computed, and of which variable, for messages
        """
        return spread(result, broadcast([result.static_shape, shape], self.title))

    @classmethod
    def can_draw(cls) -> bool:
        """Whether the declaration says how to draw."""
        return cls.draw is not Law.draw

    def missing(self, formula: str) -> NoReturn:
        """Raise MissingRuleError: the declaration has no such formula."""
        available = [n for n in FORMULAS if getattr(type(self), n) is not getattr(Law, n)]
        raise MissingRuleError(
            f"{self.title} has no `{formula}`; available are {', '.join(available) or 'none'}. "
            f"Add a method `{formula}` to the declaration of {self.title}."
        )

"""A random operand under an invertible scalar function: the change of variables, in one or two branches."""

from __future__ import annotations

import math
from collections.abc import Mapping

from consilience.backends.reference import evaluate
from consilience.distributions.constraints import Bound, is_infinite
from consilience.distributions.mathematics import (
    absolute,
    equal,
    exp,
    logical_and,
    near,
    where,
)
from consilience.ir import FLOATS, Node, constant, constant_value, is_leaf, topological
from consilience.logprob.bijections import ROWS, Bijection
from consilience.logprob.derivation import derive, require_not_repeated, rule, sole_random
from consilience.logprob.measure import ROUNDING, Ends, Measure, between, number
from consilience.logprob.powers import division, exponential, power, scaling, shift
from consilience.ops.elementwise import Cast, Elementwise, apply, as_tensor, cast, promote
from consilience.ops.reduce import reduce
from consilience.ops.shape import concatenate
from consilience.record import replace


class Transformed(Measure):
    """`f(X)` for a bijection f, or an even function."""

    def __init__(self, node: Node, argument: Measure, function: Bijection) -> None:
        low, high = argument.ends
        if (function.even or function.pole) and _at_least(low, 0.0):
            image = (0.0, math.inf) if function.pole else function.image
            function = replace(function, domain=(0.0, math.inf), image=image, even=False, pole=False)
        elif function.pole and _at_most(high, 0.0):
            function = replace(function, domain=(-math.inf, 0.0), image=(-math.inf, 0.0), pole=False)
        self.argument, self.function = argument, function
        # Part of the values may have no image, as those below 0 of a logarithm.
        start, stop = function.domain
        self.partial = not (
            (is_infinite(start) or _at_least(low, start)) and (is_infinite(stop) or _at_most(high, stop))
        )
        super().__init__(
            node,
            argument.sources,
            discrete=argument.discrete,
            atomic=argument.atomic,
            event_axes=argument.event_axes,
            ends=_ends(function, argument.ends),
        )

    def _inside(self, value: Node) -> tuple[Node, Node | None]:
        """A value of the image's inside in place of others, and where the value is one."""
        inside = between(value, self.function.image)
        if inside is None:
            return value, None
        lower, upper = (number(end) for end in self.function.image)
        finite = [end for end in (lower, upper) if not is_infinite(end)]
        middle = 0.5 * sum(finite) if len(finite) == 2 else lower + 1.0 if is_infinite(upper) else upper - 1.0
        return where(inside, value, middle), inside

    def logp(self, value: Node) -> Node:
        value = value if value.dtype in FLOATS else cast(value, "float64")
        y, inside = self._inside(value)
        origin = self.function.inverse(y)
        error = self._error(origin, y, ROUNDING * absolute(y))
        x = self.argument.snapped(origin, error)
        result = self._with_slope(x, y)
        if self.function.even:
            result = self._of_branches(result, x, self.argument.snapped(-origin, error), y)
        return result if inside is None else where(self._over_event(inside), result, -math.inf)

    def _of_branches(self, result: Node, x: Node, mirrored: Node, y: Node) -> Node:
        other = self._with_slope(mirrored, y)
        both = apply("logaddexp", result, other)
        here, there = self.argument.atoms(x), self.argument.atoms(mirrored)
        if here is None or there is None:
            return both
        # Beside an atom the density of the other branch does not count, and one at 0 is one point of both.
        only_here = logical_and(here, apply("logical_or", apply("logical_not", there), equal(x, 0.0)))
        only_there = logical_and(there, apply("logical_not", here))
        return where(only_here, result, where(only_there, other, both))

    def _with_slope(self, x: Node, y: Node) -> Node:
        density = self.argument.logp(x)
        if self.argument.discrete:
            return density
        slope = self.function.log_slope(x, y)
        atoms = self.argument.atoms(x)
        if atoms is not None:
            slope = where(atoms, 0.0, slope)
        return _added(density, self._sum_over_event(slope))

    def _error(self, x: Node, y: Node, error: Node) -> Node:
        """The error of the inverse x of a value y with an error."""
        return error * exp(self.function.log_slope(x, y)) + ROUNDING * absolute(x)

    def snapped(self, value: Node, error: Node) -> Node:
        if self.event_axes or not self.atomic:
            return value
        value = value if value.dtype in FLOATS else cast(value, "float64")
        for end in map(number, self.function.image):
            if not is_infinite(end):
                value = near(value, end, error)  # rounding may leave it outside
        y, inside = self._inside(value)
        x = self.function.inverse(y)
        error = self._error(x, y, error)
        moved = value
        for origin in (x, -x) if self.function.even else (x,):
            atom = self.argument.snapped(origin, error)
            if atom is not origin:
                moved = where(equal(atom, origin), moved, self.function.forward(atom))
        return moved if inside is None or moved is value else where(inside, moved, value)

    def origins(self, value: Node) -> Mapping[Node, Node]:
        return {} if self.function.even else self.argument.origins(self.function.inverse(value))

    def continues(self) -> bool:
        return not self.function.even and self.argument.continues()

    def continued(self, past: Node, later: Measure, periods: int) -> Node:
        assert isinstance(later, Transformed)
        before = self.function.inverse(past)
        # What is added to each time, or multiplied, is known for all times together.
        whole = concatenate(promote([before, self.argument.continued(before, later.argument, periods)])[0], 0)
        return later.function.forward(whole)[-periods:]

    def _over_event(self, condition: Node) -> Node:
        return reduce("all", condition, self.event_axes) if self.event_axes else condition

    def _sum_over_event(self, slope: Node) -> Node:
        return reduce("sum", slope, self.event_axes) if self.event_axes else slope

    def atoms(self, value: Node) -> Node | None:
        if not self.atomic:
            return None
        y, inside = self._inside(value if value.dtype in FLOATS else cast(value, "float64"))
        if self.discrete:
            return super().atoms(value)
        x = self.function.inverse(y)
        error = self._error(x, y, ROUNDING * absolute(y))
        found = self.argument.atoms(self.argument.snapped(x, error))
        if self.function.even and found is not None:
            mirrored = self.argument.atoms(self.argument.snapped(-x, error))
            assert mirrored is not None
            found = apply("logical_or", found, mirrored)
        return found if found is None or inside is None else logical_and(found, inside)

    # ---- tails

    def logcdf(self, value: Node) -> Node:
        return self._tail(value, upper=False)

    def logccdf(self, value: Node) -> Node:
        return self._tail(value, upper=True)

    def _tail(self, value: Node, *, upper: bool) -> Node:
        if self.event_axes:
            self.missing("logccdf" if upper else "logcdf")
        value = value if value.dtype in FLOATS else cast(value, "float64")
        f, argument = self.function, self.argument
        y, inside = self._inside(value)
        x = f.inverse(y)
        x = argument.snapped(x, self._error(x, y, ROUNDING * absolute(y)))
        if self.function.pole:
            result = self._tail_around_pole(x, y, upper)
        elif self.function.even:
            result = self._tail_of_even(x, upper)
        elif self.partial:
            result = self._tail_of_part(x, upper)
        else:
            same = argument.logccdf(x) if upper else argument.logcdf(x)
            turned = (argument.log_below(x) if upper else argument.log_from(x)) if f.increasing is not True else same
            if isinstance(f.increasing, bool):
                result = same if f.increasing else turned
            else:
                result = where(f.increasing, same, turned)
        if inside is None:
            return result
        low, high = self.function.image
        nothing, everything = -math.inf, self._everything()
        if not is_infinite(low):
            result = where(value < number(low), everything if upper else nothing, result)
        if not is_infinite(high):
            result = where(value > number(high), nothing if upper else everything, result)
        return result

    def _everything(self) -> Node | float:
        """Logarithm of the probability of a number, 0 unless values outside the domain have none."""
        if not self.partial:
            return 0.0
        low, high = self.function.domain
        return self.argument.log_between(
            as_tensor(number(low)), as_tensor(number(high)), lower_included=True, upper_included=True
        )

    def _tail_of_part(self, x: Node, upper: bool) -> Node:
        low, high = (as_tensor(number(end)) for end in self.function.domain)
        rising = self.function.increasing
        assert isinstance(rising, bool) or not self.discrete
        to_low = self.argument.log_between(low, x, lower_included=True, upper_included=rising is not False)
        to_high = self.argument.log_between(x, high, lower_included=rising is False, upper_included=True)
        above, below = (to_high, to_low) if upper else (to_low, to_high)
        return (above if rising else below) if isinstance(rising, bool) else where(rising, above, below)

    def _tail_of_even(self, x: Node, upper: bool) -> Node:
        argument, rising = self.argument, self.function.increasing
        assert isinstance(rising, bool)
        if upper == rising:
            if rising:
                return apply("logaddexp", argument.log_below(-x), argument.logccdf(x))
            return apply("logaddexp", argument.logcdf(-x), argument.log_from(x))
        return argument.log_between(-x, x, lower_included=rising, upper_included=rising)

    def _tail_around_pole(self, x: Node, y: Node, upper: bool) -> Node:
        """f falls from 0 to -inf below 0, and from inf to 0 above it."""
        argument, zero = self.argument, constant(0.0)
        negative = y < 0
        below, above = argument.log_below(zero), argument.logccdf(zero)
        left = where(negative, x, -1.0)
        right = where(negative, 1.0, x)
        if upper:
            in_left = argument.log_below(left)
            in_right = argument.log_between(zero, right, lower_included=False, upper_included=False)
            result = where(negative, apply("logaddexp", in_left, above), in_right)
            return where(equal(y, 0.0), above, result)
        in_left = argument.log_between(left, zero, lower_included=True, upper_included=False)
        in_right = argument.log_from(right)
        result = where(negative, in_left, apply("logaddexp", below, in_right))
        return where(equal(y, 0.0), below, result)

    def quantile(self, q: Node) -> Node:
        f, argument = self.function, self.argument
        if self.event_axes or self.function.even or self.function.pole or self.partial:
            self.missing("icdf")
        if f.increasing is True:
            return f.forward(argument.quantile(q))
        if self.discrete or argument.atoms(q) is not None:
            self.missing("icdf")
        falling = f.forward(argument.quantile(1.0 - q))
        if f.increasing is False:
            return falling
        return where(f.increasing, f.forward(argument.quantile(q)), falling)


def _added(density: Node, slope: Node) -> Node:
    """The sum; -inf wherever the density is 0, whatever the slope."""
    zero = equal(density, -math.inf)
    return where(zero, -math.inf, density + where(zero, 0.0, slope))


def _ends(f: Bijection, ends: Ends) -> Ends:
    """Ends of the values for those of the argument."""
    if f.even or f.pole or not isinstance(f.increasing, bool):
        return f.image
    found = [_end(f, *three) for three in zip(ends, f.domain, f.image if f.increasing else f.image[::-1], strict=True)]
    return (found[0], found[1]) if f.increasing else (found[1], found[0])


def _at_least(bound: Bound, limit: Bound) -> bool:
    known, least = _known(bound), _known(limit)
    return known is not None and least is not None and known >= least


def _at_most(bound: Bound, limit: Bound) -> bool:
    known, greatest = _known(bound), _known(limit)
    return known is not None and greatest is not None and known <= greatest


def _known(bound: Bound) -> float | None:
    if isinstance(bound, Node):
        value = constant_value(bound)
        return float(value.flat[0]) if value is not None and value.size and (value == value.flat[0]).all() else None
    return float(number(bound))


def _end(f: Bijection, bound: Bound, limit: Bound, image: Bound) -> Bound:
    """The value at an end of the argument; at the end of the domain it is that of the image."""
    known = _known(bound)
    if known is not None and (math.isinf(known) or known == _known(limit)):
        return image
    made = f.forward(as_tensor(number(bound)))
    if any(is_leaf(node) for node in topological([made])):
        return made
    value = evaluate([made], {})[0]
    return float(value) if value.ndim == 0 else constant(value)


@rule(*ROWS)
def function_of_one(node: Node) -> Measure | None:
    """A row of the table of bijections."""
    argument = derive(node.inputs[0])
    if argument.node.dtype == "bool":
        return None
    return Transformed(node, argument, ROWS[_name(node)])


def _name(node: Node) -> str:
    assert isinstance(node.op, Elementwise)
    return node.op.function


@rule("add", "mul")
def sum_or_product_with_constants(node: Node) -> Measure | None:
    """One random term or factor."""
    place = sole_random(node)
    if place is None:
        return None
    argument = node.inputs[place]
    require_not_repeated(node, argument)
    others = [operand for i, operand in enumerate(node.inputs) if i != place]
    combined = others[0] if len(others) == 1 else Node(node.op, *others)
    return Transformed(node, derive(argument), shift(combined) if _name(node) == "add" else scaling(combined))


@rule("sub", "true_div", "pow")
def two_operands(node: Node) -> Measure | None:
    """A difference, a quotient or a power with one random operand."""
    place = sole_random(node)
    if place is None:
        return None
    argument, other = node.inputs[place], node.inputs[1 - place]
    require_not_repeated(node, argument)
    measure, name = derive(argument), _name(node)
    if name == "sub":
        if place == 0:
            return Transformed(node, measure, shift(-other))
        return Transformed(node, Transformed(-argument, measure, ROWS["neg"]), shift(other))
    if name == "true_div":
        if place == 0:
            return Transformed(node, measure, division(other))
        inverted = Transformed(apply("reciprocal", argument), measure, ROWS["reciprocal"])
        return Transformed(node, inverted, scaling(other))
    if place == 0:
        return Transformed(node, measure, power(node, other, _at_least(measure.ends[0], 0.0)))
    return Transformed(node, measure, exponential(other))


@rule(Cast)
def another_element_type(node: Node) -> Measure | None:
    """The same numbers as floats or integers; `rounding` has floats to integers."""
    (argument,) = node.inputs
    if argument.dtype in FLOATS and node.dtype not in FLOATS:
        return None
    if node.dtype == "bool":
        return None
    return Renamed(node, derive(argument))


class Renamed(Measure):
    """The same measure for a node of equal values."""

    def __init__(self, node: Node, argument: Measure) -> None:
        super().__init__(
            node,
            argument.sources,
            discrete=argument.discrete,
            whole=argument.whole,
            atomic=argument.atomic,
            event_axes=argument.event_axes,
            ends=argument.ends,
        )
        self.argument = argument

    def logp(self, value: Node) -> Node:
        return self.argument.logp(value)

    def logcdf(self, value: Node) -> Node:
        return self.argument.logcdf(value)

    def logccdf(self, value: Node) -> Node:
        return self.argument.logccdf(value)

    def quantile(self, q: Node) -> Node:
        return self.argument.quantile(q)

    def atoms(self, value: Node) -> Node | None:
        return self.argument.atoms(value)

    def snapped(self, value: Node, error: Node) -> Node:
        return self.argument.snapped(value, error)

    def origins(self, value: Node) -> Mapping[Node, Node]:
        return self.argument.origins(value)

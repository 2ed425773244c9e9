"""Discrete variables summed out of a density, one after the other, and drawn again afterwards.

Factors of a density over such a variable in, factors without it out: the logarithm of their sum over its values. A
variable whose elements act on different elements of the factors is summed element by element; one whose elements act
together with their neighbours as a Markov chain; any other over all combinations of its values. Summed in order, the
scalars of a chain take the forward algorithm's steps. Infinitely many values are summed up to one beyond which no more
than TAIL of the sum is left; where more is left there is no number, or for samplers a lesser one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from consilience.analysis.separability import gathered, links
from consilience.distributions.densities import parameter_violation, realise, supported_density
from consilience.distributions.mathematics import equal, less, less_equal, maximum, where
from consilience.distributions.parameters import checks_parameters
from consilience.distributions.random_variable import random_variables
from consilience.elimination import NamedVariable
from consilience.elimination.addends import addends, of_elements
from consilience.elimination.markov_chain import Weights, drawn_path, log_sum, weights
from consilience.errors import ModelError
from consilience.ir import Dim, Node, constant, constant_value, is_leaf, substitute, tensor_input, topological
from consilience.ops.elementwise import StopGradient, cast
from consilience.ops.index import getitem
from consilience.ops.parameter_check import released
from consilience.ops.random import draw, fold_in
from consilience.ops.reduce import cumulative, reduce, softmax
from consilience.ops.shape import Iota, broadcast_to, expand_dims, moveaxis, reshape, transpose
from consilience.record import Record
from consilience.transforms.vectorize import vectorize

if TYPE_CHECKING:
    from consilience.elimination.integrals import Integral
    from consilience.elimination.ranges import Range, Ranges

# Combinations of values of one variable's elements that are summed together at most.
COMBINATIONS: Final = 10_000
# What values beyond the last may have of a sum over infinitely many.
TAIL: Final = 1e-12


class Sum(Record):
    """One variable that was summed out.

    `leaf`: stands for the variable in factors and tables.
    `least`: its smallest value; `count` the number of them.
    `table`: unnormalised log probability of each value (count, *shape), or of each combination (combinations,); it
        depends on variables that were summed out later. None where nothing depends on the variable, or it is a chain.
    `combined`: values of all elements per combination (combinations, *shape); None where elements are independent.
    `chain`: what the elements of a chain weigh, alone and beside each other.
    `settled`: of a variable without end: whether two thirds of the values would have been enough, bool (*shape).
    """

    variable: NamedVariable
    leaf: Node
    least: int
    count: Dim
    table: Node | None
    combined: Node | None = None
    chain: Weights | None = None
    settled: Node | None = None


def placeholders(variables: Sequence[NamedVariable]) -> dict[Node, Node]:
    """An input for each variable, by its node."""
    return {v.node: tensor_input(v.node.dtype, v.node.static_shape, v.name) for v in variables}


def summed_out(
    factors: Sequence[Node],
    variables: Sequence[NamedVariable],
    given: Mapping[Node, Node],
    values: Mapping[str, int],
    sampled: bool = False,
    weights: Mapping[int, Node] | None = None,
) -> tuple[list[Node], list[Sum | Integral]]:
    """The factors without the variables, as many as before, and the sums in their order.

    `factors`: log densities over the placeholders of the variables, elementwise.
    `given`: replacements for the nodes of all random variables, with those placeholders.
    `values`: how many are summed of variables that have infinitely many.
    `sampled`: whether densities are lower, and no NaN, where these are too few: steps of samplers that lead there are
        rejected by their energy, and do not diverge.
    `weights`: how many rows each row of a factor stands for, by the factor's place, as under `total_size`.
    Returns: integrals of continuous variables first. For each sum the joint log density in place of the first factor
        that depends on the variable, and 0 in place of the others.
    Raises ModelError where a variable is none of numbers from a least one on, or has too many combinations, and where
        rows that stand for several share a variable.
    """
    weights = weights or {}
    from consilience.elimination.branches import hoisted  # few models need it

    integrals: list[Integral] = []
    alone = _alone(factors, variables, given)  # drawn from their distributions
    continuous = [v for v in variables if v.continuous and v not in alone]
    every, variables = variables, [v for v in variables if not v.continuous and v not in alone]
    if continuous:
        from consilience.elimination.integrals import integrated  # few models need it

        others = [given[v.node] for v in variables]
        others += substitute([supported_density(v.node, given[v.node]) for v in variables], given)
        for variable in continuous:
            if any(given[variable.node] in set(topological([factors[place]])) for place in weights):
                raise _of_batches(variable)
        factors, integrals = integrated(factors, continuous, others, given)
    densities = substitute([supported_density(v.node, given[v.node]) for v in variables], given)
    from consilience.elimination.ranges import ranges_of  # few models need it

    parted = hoisted([*factors, *densities], [given[v.node] for v in variables])
    factors, densities = parted[: len(factors)], parted[len(factors) :]
    ranges = ranges_of(variables, values)
    pool = [_parts(factor, variables, given, ranges) for factor in (*factors, *densities)]
    own = {v.name: len(factors) + place for place, v in enumerate(variables)}
    sums: list[Sum | Integral] = [*integrals]
    for variable in _order(variables, ranges):
        leaf = given[variable.node]
        place = own[variable.name]
        acting = {i: [part for part in parts if leaf in set(topological([part]))] for i, parts in enumerate(pool)}
        dependent = [i for i, parts in acting.items() if parts and i != place]
        known = ranges[variable.node]
        if isinstance(known, ModelError) and dependent:
            raise known
        weighted = {weights.get(i) for i in dependent}
        by_rows = len(weighted) == 1 and all(_by_rows(part, leaf) for i in dependent for part in acting[i])
        if weighted - {None} and not by_rows:
            raise _of_batches(variable)
        if isinstance(known, ModelError) or (known.endless and not dependent):
            sums.append(Sum(variable, leaf, 0, 0, None))
        else:
            made, factor = _summed(
                variable, leaf, [part for parts in acting.values() for part in parts], known, sampled
            )
            sums.append(made)
            for i in dependent:
                pool[i] = [part for part in pool[i] if part not in acting[i]]
            if dependent:
                pool[dependent[0]].append(factor)
        pool[place] = []
        if factors and not dependent:
            pool[0] += _checks(variable, every, given)
    for variable in alone:
        if factors and not variable.continuous:
            pool[0] += _checks(variable, every, given)
    summed = [_whole(parts) for parts in pool[: len(factors)]]
    sums += [Sum(v, given[v.node], 0, 0, None) for v in alone]
    return [weights[i] * factor if i in weights else factor for i, factor in enumerate(summed)], sums


def _alone(
    factors: Sequence[Node], variables: Sequence[NamedVariable], given: Mapping[Node, Node]
) -> list[NamedVariable]:
    """Variables that nothing depends on but others of their kind, if anything; discrete ones beside continuous ones."""
    left = list(variables) if any(v.continuous for v in variables) else []
    within = set(topological(factors)) if left else set()
    while acting := [v for v in left if given[v.node] in within]:
        left = [v for v in left if v not in acting]
        within |= set(topological(substitute([supported_density(v.node, given[v.node]) for v in acting], given)))
    return left


def _by_rows(factor: Node, leaf: Node) -> bool:
    """Whether each element of a variable acts on a row of its own, so that batches of rows give unbiased estimates."""
    own = links(factor, leaf) or {}
    return 0 in own and own[0].places is None


def _of_batches(variable: NamedVariable) -> ModelError:
    what = "an integral" if variable.continuous else "a sum"
    return ModelError(
        f"`{variable.name}` is shared by rows of data of which only a batch is there (`total_size`). The logarithm of "
        f"{what} over it cannot be estimated from a batch without bias. Give the model all data"
        + (" or keep the variable." if variable.continuous else ", or give the variable one element per row.")
    )


def _checks(variable: NamedVariable, variables: Sequence[NamedVariable], given: Mapping[Node, Node]) -> list[Node]:
    """What is NaN where parameters are out of range of a variable on which nothing depends, and whose sum is 1 else."""
    valid = [each for _, _, each in parameter_violation(variable.node)] if checks_parameters() else []
    leaves = {given[v.node] for v in variables}
    conditions = [each for each in substitute(valid, given) if leaves.isdisjoint(topological([each]))]
    return [where(each, 0.0, np.nan) for each in conditions if any(is_leaf(node) for node in topological([each]))]


def _parts(factor: Node, variables: Sequence[NamedVariable], given: Mapping[Node, Node], ranges: Ranges) -> list[Node]:
    """A factor, or parts of it with the same sum, of which each acts on fewer of the variables."""
    reached = set(topological([factor]))
    acting = [v for v in variables if given[v.node] in reached]
    if not acting:
        return [factor]
    parts = addends(factor)
    alike: dict[tuple[int, int], list[Node]] = {}
    for variable in acting if len(acting) > 1 else ():
        known = ranges[variable.node]
        if not isinstance(known, ModelError) and isinstance(known.count, int):
            alike.setdefault((known.least, known.count), []).append(given[variable.node])
    for (least, count), leaves in alike.items():
        parts = [one for part in parts for one in of_elements(part, leaves, least, count)]
    return parts


def _whole(parts: Sequence[Node]) -> Node:
    """One factor with the sum of several: as it is if it is the only one, else a scalar."""
    if len(parts) == 1:
        return parts[0]
    return _added([reduce("sum", part) if part.ndim else part for part in parts]) if parts else constant(0.0)


def _order(variables: Sequence[NamedVariable], ranges: Ranges) -> list[NamedVariable]:
    """Those with more elements first: summed over a scalar, a factor of many elements becomes one number.

    Of as many elements those without end last, as the range of others may depend on them; and those that others depend
    on after these.
    """

    def without_end(variable: NamedVariable) -> bool:
        known = ranges[variable.node]
        return isinstance(known, ModelError) or known.endless

    endless = [v for v in variables if without_end(v)]
    finite = [v for v in variables if not without_end(v)]
    return sorted([*finite, *reversed(endless)], key=_size, reverse=True)


def _size(variable: NamedVariable) -> float:
    return math.prod(n if isinstance(n, int) else math.inf for n in variable.node.static_shape)


def _summed(
    variable: NamedVariable, leaf: Node, factors: Sequence[Node], known: Range, sampled: bool
) -> tuple[Sum, Node]:
    """The sum over all values of a variable, given the factors that depend on it."""
    least, count = known.least, known.count
    shape = leaf.static_shape
    needed = {axis for axis, length in enumerate(shape) if length != 1}
    linked = [links(factor, leaf) or {} for factor in factors]
    if all(needed <= {link.axis for link in own.values()} for own in linked):
        counted = constant(np.arange(least, least + count)) if isinstance(count, int) else Node(Iota(count)) + least
        each = reshape(counted, (count, *(1 for _ in shape)))
        values = broadcast_to(each, (count, *shape))
        running: list[Node | None] = [None] * len(factors)
        if not shape and isinstance(count, int):
            from consilience.elimination.running_sums import running_sums  # few models need it

            running = [running_sums(factor, leaf, np.arange(least, least + count)) for factor in factors]
        rest = [place for place, table in enumerate(running) if table is None]
        batched = vectorize([factors[place] for place in rest], {leaf: values})
        tables = [gathered(f, linked[place], leaf) for f, place in zip(batched, rest, strict=True)]
        table = _added(tables + [table for table in running if table is not None])
        return _of_table(variable, leaf, known, table, sampled)
    if not isinstance(count, int):
        raise ModelError(
            f"the elements of `{variable.name}` (shape {shape}) act together on what depends on it, and the number of "
            f"its values, {count!r}, is a length of data; `pm.freeze_dims_and_data` fixes it."
        )
    if known.endless:
        raise ModelError(
            f"the elements of `{variable.name}` (shape {shape}), which has infinitely many values, act together on "
            "what depends on it; only elements that act on parts of their own are summed so. Write a model in which "
            "each does, or one with finitely many values, as by `pm.Truncated`."
        )
    chain = weights(leaf, factors, least, count)
    if chain is not None and chain.pairs is not None:
        return Sum(variable, leaf, least, count, None, None, chain), log_sum(chain)
    if chain is not None:
        table = moveaxis(moveaxis(chain.states, 0, chain.axis), -1, 0)
        return Sum(variable, leaf, least, count, table), reduce("logsumexp", table, 0)
    size = _size(variable)
    if size * math.log(count) > math.log(COMBINATIONS):
        raise ModelError(
            f"the elements of `{variable.name}` (shape {shape}) act together on what depends on it, and all their "
            f"combinations are {count}^{size:g}; at most {COMBINATIONS} are summed. Write a model in which each "
            "element acts on its own part, or each with the next one, as in `log_p[z[:-1], z[1:]]`, or "
            "scalar variables one after the other. Chains need a known length; `pm.freeze_dims_and_data` fixes one "
            "that data decide."
        )
    listed = np.array(list(itertools.product(range(least, least + count), repeat=int(size))), int)
    combined = constant(listed.reshape(len(listed), *(n for n in shape if isinstance(n, int))), leaf.dtype)
    batched = vectorize(factors, {leaf: combined})
    table = _added([reduce("sum", f, tuple(range(1, f.ndim))) if f.ndim > 1 else f for f in batched])
    return Sum(variable, leaf, least, count, table, combined), reduce("logsumexp", table, 0)


def _of_table(variable: NamedVariable, leaf: Node, known: Range, table: Node, sampled: bool) -> tuple[Sum, Node]:
    """The sum of a table (value, *shape); where a variable without end needs more values NaN, or a lower number."""
    total = reduce("logsumexp", table, 0)
    if not known.endless:
        return Sum(variable, leaf, known.least, known.count, table), total
    assert isinstance(known.count, int)
    fewer = getitem(table, (slice(0, known.count * 2 // 3),))
    settled = less_equal(_excess(fewer, reduce("logsumexp", fewer, 0)), 0.0)
    made = Sum(variable, leaf, known.least, known.count, table, settled=settled)
    excess = Node(StopGradient(), _excess(table, total))
    if sampled:
        return made, total - maximum(excess, 0.0)
    return made, where(less_equal(excess, 0.0), total, np.nan)


def _excess(table: Node, total: Node) -> Node:
    """How much more than TAIL of its sum may follow on a table, on the log scale; not above 0: no more.

    The last eighth of the terms has at most that, and has fallen to half, or less, of the eighth before. So has every
    later one, where terms fall ever faster or as fast, as those of log-concave and of geometric tails do.
    """
    length = table.static_shape[0]
    assert isinstance(length, int)
    block = length // 8
    last, before = (
        reduce("max", getitem(table, (slice(length - (k + 1) * block, length - k * block),)), 0) for k in (0, 1)
    )
    none = equal(last, -np.inf)
    found = where(less(last - where(none, 0.0, before), math.log(0.5)), last + math.log(block) - total, 0.0)
    return where(less(-np.inf, total), where(none, -np.inf, found), np.inf) - math.log(TAIL)


def _added(parts: Sequence[Node]) -> Node:
    result = parts[0]
    for part in parts[1:]:
        result = result + part
    return result


def drawn_again(sums: Sequence[Sum | Integral], key: Node) -> dict[Node, tuple[Node, Node | None]]:
    """Draws of the variables given everything else, by their placeholders, last sum first.

    Returns: per variable its draw, and log probabilities of its values (*shape, count), given the draws of those
    variables that were summed out later; continuous ones have none. Those on which nothing depends are left out.
    """
    found: dict[Node, tuple[Node, Node | None]] = {}
    for place, one in reversed(list(enumerate(sums))):
        if not isinstance(one, Sum):
            found[one.leaf] = (one.drawn(fold_in(key, 0)), None)
            continue
        known = {leaf: value for leaf, (value, _) in found.items()}
        if one.chain is not None and one.chain.pairs is not None:
            states, pairs = substitute([one.chain.states, one.chain.pairs], known)
            own = Weights(one.chain.axis, states, pairs)
            path, each = drawn_path(own, draw("random_uniform", fold_in(key, place), states.static_shape[:-1]))
            axis = own.axis
            found[one.leaf] = (moveaxis(path, 0, axis) + one.least, moveaxis(each, 0, axis))
        if one.table is None:
            continue
        (table,) = substitute([one.table], known)
        log_p = softmax(table, 0, logarithm=True)
        sums_of_p = cumulative("sum", softmax(table, 0), 0)[:-1]
        chosen = reduce("sum", less(sums_of_p, draw("random_uniform", fold_in(key, place), table.static_shape[1:])), 0)
        if one.combined is None:
            value, each = chosen + one.least, log_p
        else:
            value = getitem(one.combined, (chosen,))
            each = _of_elements(one, log_p)
        order = [*range(1, each.ndim), 0]
        found[one.leaf] = (value, transpose(each, order))
    return found


def recovered(
    sums: Sequence[Sum | Integral], known: Mapping[Node, Node], outputs: Sequence[Node], key: Node
) -> list[Node]:
    """Expressions of random variables, with draws of those that were summed out given all others.

    `known`: what stands for each random variable of the model.
    """
    draws = drawn_again(sums, key)
    summed = {one.variable.node: one.leaf for one in sums}
    given = {node: value for node, value in known.items() if node not in summed}
    given |= {node: cast(draws[leaf][0], node.dtype) for node, leaf in summed.items() if leaf in draws}
    drawn = released(substitute(outputs, given))
    # On what is still random nothing depends. The key of a node tells it from others, whatever its parameters are now.
    places = {one.variable.node.inputs[0]: place for place, one in enumerate(sums)}
    return realise(drawn, {node: fold_in(key, -1 - places[node.inputs[0]]) for node in random_variables(drawn)})


def _of_elements(one: Sum, log_p: Node) -> Node:
    """Log probabilities of the values of each element (count, *shape) from those of combinations."""
    assert one.combined is not None
    assert isinstance(one.count, int)
    listed = constant_value(one.combined)
    assert listed is not None
    values = np.arange(one.least, one.least + one.count).reshape(-1, *(1,) * listed.ndim)
    rank = listed.ndim - 1
    spread = expand_dims(log_p, tuple(range(1, rank + 1))) if rank else log_p
    return reduce("logsumexp", where(constant(listed[None] == values), spread, -np.inf), 1)

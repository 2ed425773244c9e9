"""Loops in PyTensor's words: `scan` and what follows from it, and `while_loop`.

A Python function of one step in, tensors of all steps out. The function is called once, on symbolic values; what it
reads from around it needs no listing. What a loop is, `ops.scan` says.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from consilience.errors import DtypeError, GraphError, ShapeError
from consilience.ir import Dim, Input, Node, Shared, tensor_input
from consilience.ir.arithmetic import known_meaning
from consilience.ir.dimension import minimum
from consilience.ir.lengths import substitute
from consilience.ir.side_tables import describe, name_of, set_name
from consilience.ops.axes import integers, is_integer
from consilience.ops.elementwise import TensorLike, apply, as_tensor, promote
from consilience.ops.index import getitem
from consilience.ops.loop import UNBOUNDED, Loop
from consilience.ops.scan import scan as _scan
from consilience.ops.scan import step_limit
from consilience.ops.shape import as_length, concatenate, reshape
from consilience.record import Record

Checkpoint: TypeAlias = Literal["none", "sqrt"] | int | None
Updates: TypeAlias = dict[Node, Node]


class until(Record, eq=False):
    """Returned by the function of a step behind its outputs: the loop ends after the step in which it holds.

    condition : ...
    See scan: Ends a loop by it.
    >>> import consilience as pm, consilience.tensor as pt
    >>> doubled, _ = pm.scan(lambda x: (2 * x, pt.until(2 * x > 50.0)), outputs_info=[pt.as_tensor(1.0)], n_steps=100)
    >>> doubled.eval().tolist()
    [2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
    """

    condition: TensorLike

    def __post_init__(self) -> None:
        as_tensor(self.condition)  # refuses what is no tensor here, and not when the loop is made


class _Sequence(Record, eq=False):
    """A sequence with its taps: per tap the leaf that the function gets."""

    tensor: Node
    taps: tuple[int, ...]
    leaves: tuple[Node, ...]

    @property
    def before(self) -> int:
        """How many elements lie before the one of the first step."""
        return max(0, *(-tap for tap in self.taps))

    @property
    def behind(self) -> int:
        """How many elements lie behind the one of the last step."""
        return max(0, *self.taps)

    @property
    def length(self) -> Dim:
        """Number of steps for which there are elements."""
        length: Dim = self.tensor.static_shape[0] - self.before - self.behind
        return length

    def shifted(self, tap: int, length: Dim, backwards: bool) -> Node:
        """The elements that one tap gets in the steps, of which there are `length`."""
        first, whole = self.before + tap, self.tensor
        if self.before or self.behind:
            whole = whole[first : first + self.length]
        if backwards:
            whole = whole[::-1]
        return whole if length == self.length else whole[:length]


class _State(Record, eq=False):
    """An output that later steps read.

    `leaves`: the values of the last 1, 2, … steps, as far back as taps reach. `given`: their values before the first
    step, in the same order.
    """

    taps: tuple[int, ...]
    leaves: tuple[Node, ...]
    given: tuple[Node, ...]


def scan(
    fn: Callable[..., Any] | None = None,
    sequences: Any = None,
    outputs_info: Any = None,
    non_sequences: Any = None,
    n_steps: Any = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    mode: Any = None,
    name: str | None = None,
    profile: bool = False,
    allow_gc: bool | None = None,
    strict: bool = False,
    return_list: bool = False,
    return_updates: bool = True,
    checkpoint: Checkpoint = None,
) -> Any:
    """Repeat a step, carrying values from one to the next.

    fn: The step: called with the elements of `sequences`, the last values of outputs that have an initial value, and
        `non_sequences`; returns outputs, then perhaps `until(condition)` or a dict of updates of shared variables.
    sequences: Tensors whose elements along the first axis are read, or dicts with `input` and `taps`: tap -1 gets the
        element before that of the step.
    outputs_info: Per output its initial value, None for outputs that no step reads, or a dict with `initial` and
        `taps`: with taps [-2, -1] the step gets the last two values, and `initial` holds two, oldest first.
    non_sequences: What else `fn` is called with; other tensors may simply be used.
    n_steps: Number of steps, an integer >= 0 or an integer scalar tensor; by default the length of the shortest
        sequence.
    truncate_gradient: Derivatives pass through so many of the last steps; -1: through all.
    go_backwards: The sequences are read from their ends.
    mode, name : ...
    profile: Taken for PyTensor's sake and without effect.
    allow_gc: Taken for PyTensor's sake and without effect.
    strict: Taken for PyTensor's sake and without effect.
    return_list: Whether the result is a list even if it has one element.
    return_updates: Whether the result is (outputs, updates), as PyTensor's is by default, or the outputs alone.
    checkpoint: States that derivatives need are stored ("none"), or computed again from those of every n-th step (n, or
        "sqrt": the square root of the number of steps).
    Returns: The outputs of all steps, one tensor or a list, and a dict of updates; with `return_updates=False` the
        outputs alone.
    See map: `fn` of every element along the first axis of `sequences`.
    See reduce: The last outputs alone.
    See foldl: `reduce` from the first element to the last.

    Notes
    -----
    Outputs have the number of steps as first axis; a loop that ends early has as many as it did. Random variables made
    inside are drawn anew in every step. `mode`, `profile`, `allow_gc` and `strict` are accepted and change nothing.
    Without `fn` the result is a decorator, whose function becomes the outputs.

    Raises ShapeError for sequences that are shorter than `n_steps`, DtypeError and ShapeError for outputs that do not
    keep the type of their initial value.

    >>> x = pt.scan(lambda before: 2.0 * before, outputs_info=pt.as_tensor(1.0), n_steps=3, return_updates=False)
    >>> x.eval().tolist()
    [2.0, 4.0, 8.0]
    """
    if fn is None:

        def decorated(step: Callable[..., Any]) -> Any:
            return scan(
                step, sequences, outputs_info, non_sequences, n_steps, truncate_gradient, go_backwards, name=name,
                return_list=return_list, return_updates=False, checkpoint=checkpoint,
            )  # fmt: skip

        return decorated
    title = name or str(getattr(fn, "__name__", "scan"))
    start = _serial()
    read = [_sequence(item, title, i) for i, item in enumerate(_listed(sequences))]
    states = [_state(item, title, i) for i, item in enumerate(_listed(outputs_info))]
    length = _length(read, n_steps, title)
    fixed = [as_tensor(item) for item in _listed(non_sequences)]
    arguments = [leaf for sequence in read for leaf in sequence.leaves]
    arguments += [state.leaves[-tap - 1] for state in states if state is not None for tap in state.taps]
    outputs, stop, updates, single = _outcome(fn(*arguments, *fixed), title)
    if outputs_info is not None and states and len(states) != len(outputs):
        raise GraphError(
            f"`outputs_info` of {title} describes {len(states)} outputs, and its step returns {len(outputs)}; give one "
            "entry per output, None for those that no step reads."
        )
    states = states or [None] * len(outputs)
    carried: dict[Node, tuple[Node, Node]] = {}
    made: list[Node] = []
    for state, output in zip(states, outputs, strict=True):
        fitted = output if state is None else _fitted(output, state)
        made.append(fitted)
        if state is not None:
            following = (fitted, *state.leaves[:-1])
            carried.update(zip(state.leaves, zip(state.given, following, strict=True), strict=True))
    slots = {slot: tensor_input(slot.dtype, slot.static_shape) for slot in updates}
    carried.update({leaf: (slot, as_tensor(updates[slot])) for slot, leaf in slots.items()})
    if slots:
        made = substitute(made, slots)
        carried = {leaf: (first, substitute([value], slots)[0]) for leaf, (first, value) in carried.items()}
        stop = None if stop is None else substitute([stop], slots)[0]
    elements = {
        leaf: sequence.shifted(tap, length, go_backwards)
        for sequence in read
        for tap, leaf in zip(sequence.taps, sequence.leaves, strict=True)
    }
    every = [*made, *(value for _, value in carried.values()), *([] if stop is None else [stop])]
    keys = _fresh_keys(every, start, {*carried, *elements})
    loop = _blocks(carried, elements, made, length, stop, truncate_gradient, keys, checkpoint, title)
    traces = list(loop.traces)
    if stop is not None:
        traces = [getitem(trace, slice(None, loop.steps)) for trace in traces]
    if len(traces) == 1 and name:
        set_name(traces[0], name)
    found: Any = (traces[0] if single and not return_list else traces) if traces else None
    changed = dict(zip(slots, loop.last[len(loop.last) - len(slots) :], strict=True))
    return (found, changed) if return_updates else found


def _listed(value: Any) -> list[Any]:
    """PyTensor's way to give several things: a list or tuple, or one thing alone."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _serial() -> int:
    """A number greater than the serial numbers of all inputs that exist."""
    probe = tensor_input("bool", ()).op
    assert isinstance(probe, Input)
    return probe.serial


def _fresh_keys(nodes: Sequence[Node], start: int, leaves: set[Node]) -> list[Node]:
    """The keys of random variables that a step made, not those that it carries or reads."""
    found = known_meaning("fresh_keys")  # not known as long as there is no random variable
    keys: list[Node] = [] if found is None else list(found(nodes))
    return [key for key in keys if key not in leaves and key.op.serial > start]  # type: ignore[attr-defined]  # Input


def _leaf(like: Node, name: str | None) -> Node:
    return tensor_input(like.dtype, like.static_shape, name)


def _sequence(item: Any, title: str, number: int) -> _Sequence:
    taps: tuple[int, ...] = (0,)
    if isinstance(item, Mapping):
        unknown = set(item) - {"input", "taps"}
        if unknown or "input" not in item:
            raise GraphError(f"a sequence of {title} is a tensor or a dict of `input` and `taps`, got {item!r}.")
        given = item.get("taps", 0)
        taps = (0,) if given is None else _taps(given, title)
        item = item["input"]
    tensor = as_tensor(item)
    if not tensor.ndim:
        raise ShapeError(f"sequence {number} of {title} has no axis to go along: {describe(tensor)}.")
    own = name_of(tensor)
    first = tensor.static_shape[1:]
    leaves = tuple(tensor_input(tensor.dtype, first, f"{own}[t{tap:+d}]" if own and tap else own) for tap in taps)
    found = _Sequence(tensor, taps, leaves)
    if isinstance(found.length, int) and found.length < 0:
        raise ShapeError(
            f"taps {list(taps)} of sequence {number} of {title} need at least {found.before + found.behind} elements "
            f"along its first axis, got {describe(tensor)}."
        )
    return found


def _taps(given: Any, title: str) -> tuple[int, ...]:
    """One tap or several, as any sequence of integers gives them."""
    try:
        return integers(given)
    except TypeError:
        raise GraphError(f"taps of {title} are integers, or a sequence of them, got {given!r}.") from None


def _state(item: Any, title: str, number: int) -> _State | None:
    if item is None:
        return None
    taps: tuple[int, ...] = (-1,)
    if isinstance(item, Mapping):
        unknown = set(item) - {"initial", "taps"}
        if unknown:
            raise GraphError(f"an output of {title} is described by `initial` and `taps`, got {sorted(unknown)}.")
        given = item.get("taps", -1)
        taps = (-1,) if given is None else _taps(given, title)
        item = item.get("initial")
        if item is None:
            return None
    if not taps or any(tap >= 0 for tap in taps):
        raise GraphError(f"taps of outputs are negative integers: -1 is the last value; got {list(taps)} in {title}.")
    initial = as_tensor(item)
    depth = -min(taps)
    if taps == (-1,):
        before: tuple[Node, ...] = (initial,)
    else:
        rows = initial.static_shape[0] if initial.ndim else 0
        if not initial.ndim or (isinstance(rows, int) and rows < depth):
            raise ShapeError(
                f"taps {list(taps)} of output {number} of {title} reach {depth} steps back, so `initial` needs as many "
                f"values along its first axis, got {describe(initial)}."
            )
        # With more rows than taps reach back, those before the oldest are not read.
        before = tuple(initial[depth - 1 - j] for j in range(depth))
    own = name_of(initial)
    leaves = tuple(_leaf(value, f"{own}[t-{j + 1}]" if own else None) for j, value in enumerate(before))
    return _State(taps, leaves, before)


def _length(read: Sequence[_Sequence], n_steps: Any, title: str) -> Dim:
    """The number of steps."""
    if n_steps is not None:
        if isinstance(n_steps, float):
            raise DtypeError(f"`n_steps` of {title} is an integer, got {n_steps}.")
        if is_integer(n_steps) and operator.index(n_steps) < 0:
            raise ShapeError(f"`n_steps` of {title} must be >= 0, got {n_steps}; to go backwards: `go_backwards=True`.")
        length = as_length(n_steps)
        for sequence in read:
            if isinstance(length, int) and isinstance(sequence.length, int) and sequence.length < length:
                raise ShapeError(
                    f"{title} has {length} steps, and {describe(sequence.tensor)} has elements for "
                    f"{sequence.length} of them."
                )
        return length
    if not read:
        raise GraphError(f"{title} has no sequence that tells its number of steps; give `n_steps`.")
    return functools.reduce(minimum, [sequence.length for sequence in read])


def _outcome(result: Any, title: str) -> tuple[list[Node], Node | None, Mapping[Node, Any], bool]:
    """Outputs, condition and updates that a step returned, and whether it returned one output alone."""
    single = not isinstance(result, list | tuple)
    items = [result] if single else list(result)
    stop: Node | None = None
    updates: Mapping[Node, Any] = {}
    kept: list[Any] = []
    for item in items:
        if isinstance(item, until):
            stop = as_tensor(item.condition)
        elif isinstance(item, Mapping):
            updates = item
        elif isinstance(item, list | tuple) and (not item or not isinstance(item[0], int | float)):
            # (outputs, updates): outputs in a list of their own.
            inner, condition, more, single = _outcome(item, title)
            kept += inner
            stop = condition if condition is not None else stop
            updates = more or updates
        elif item is not None:
            kept.append(item)
    if len(items) > len(kept) and len(kept) == 1 and not any(isinstance(i, list | tuple) for i in items):
        single = True
    if stop is not None and stop.ndim:
        raise ShapeError(f"the condition of `until` must be a scalar, got {describe(stop)}.")
    if stop is not None and stop.dtype != "bool":
        stop = apply("neq", stop, 0)
    odd = next((slot for slot in updates if not isinstance(slot, Node) or not isinstance(slot.op, Shared)), None)
    if odd is not None:
        raise GraphError(f"the updates of {title} change shared variables, got {odd!r}.")
    return [as_tensor(item) for item in kept], stop, updates, single or len(kept) == 1


def _fitted(output: Node, state: _State) -> Node:
    """An output in the type of its initial value where that loses nothing: integers and shorter floats are widened."""
    leaf = state.leaves[0]
    if output.dtype != leaf.dtype and "key" not in (output.dtype, leaf.dtype):
        (wide, _), dtype = promote([output, leaf])
        if dtype == leaf.dtype:
            return wide
    return output


def _blocks(
    carried: dict[Node, tuple[Node, Node]],
    sequences: dict[Node, Node],
    traced: Sequence[Node],
    length: Dim,
    stop: Node | None,
    truncate: int,
    keys: Sequence[Node],
    checkpoint: Checkpoint,
    title: str,
) -> Loop:
    """The loop, or a loop over blocks of steps, whose borders are all that its derivative stores."""
    if isinstance(truncate, bool) or not is_integer(truncate) or operator.index(truncate) < -1 or not truncate:
        raise ValueError(f"`truncate_gradient` of {title} is a number of steps >= 1, or -1, got {truncate!r}.")
    passed = None if truncate == -1 else operator.index(truncate)
    if checkpoint in (None, "none"):
        return _scan(carried, sequences, traced, length=length, stop=stop, truncate=passed, keys=keys)
    if not isinstance(length, int) or stop is not None or passed is not None:
        raise GraphError(
            f"`checkpoint` of {title} needs a number of steps that is known when the graph is written, no `until` and "
            "no `truncate_gradient`."
        )
    given = math.isqrt(length) or 1 if checkpoint == "sqrt" else checkpoint
    size = operator.index(given) if is_integer(given) else 0
    if size < 1:
        raise ValueError(f"`checkpoint` of {title} is 'none', 'sqrt' or a number of steps >= 1, got {checkpoint!r}.")
    blocks = length // size
    outer = {leaf: _leaf(leaf, None) for leaf in carried}
    rows = {leaf: tensor_input(leaf.dtype, (size, *leaf.static_shape)) for leaf in sequences}
    inner = _scan(
        {leaf: (outer[leaf], following) for leaf, (_, following) in carried.items()},
        {leaf: rows[leaf] for leaf in sequences},
        traced,
        length=size,
        keys=keys,
    )
    whole = _scan(
        {outer[leaf]: (first, last) for (leaf, (first, _)), last in zip(carried.items(), inner.last, strict=True)},
        {
            rows[leaf]: reshape(tensor[: blocks * size], (blocks, size, *leaf.static_shape))
            for leaf, tensor in sequences.items()
        },
        inner.traces,
        length=blocks,
        keys=keys,
    )
    traces = [
        reshape(trace, (blocks * size, *element.static_shape))
        for trace, element in zip(whole.traces, traced, strict=True)
    ]
    rest = length - blocks * size
    if not rest:
        return Loop(whole.steps * size, whole.last, tuple(traces))
    tail = _scan(
        {leaf: (last, following) for (leaf, (_, following)), last in zip(carried.items(), whole.last, strict=True)},
        {leaf: tensor[blocks * size :] for leaf, tensor in sequences.items()},
        traced,
        length=rest,
        keys=keys,
    )
    joined = [concatenate([a, b]) for a, b in zip(traces, tail.traces, strict=True)]
    return Loop(whole.steps * size + tail.steps, tail.last, tuple(joined))


def map(
    fn: Callable[..., Any],
    sequences: Any,
    non_sequences: Any = None,
    truncate_gradient: int = -1,
    go_backwards: bool = False,
    mode: Any = None,
    name: str | None = None,
    return_updates: bool = True,
) -> Any:
    """`fn` of every element along the first axis of `sequences`; arguments and result as those of `scan`.

    fn: Function of an element of each sequence, of the result before and of `non_sequences`, in this order.
    sequences, non_sequences : ...
    truncate_gradient: Number of last steps that derivatives go back through; -1 for all.
    go_backwards: Whether the sequences are run through from their ends.
    mode, name, return_updates : ...
    Returns: What `fn` gives, stacked along a new first axis, and a dict of updates; with `return_updates=False` no
        dict.
    See reduce: The last outputs alone.
    See foldl: `reduce` from the first element to the last.
    See foldr: `reduce` from the last element to the first.
    >>> pt.map(lambda x: x**2, [pt.as_tensor([1.0, 2.0])], return_updates=False).eval().tolist()
    [1.0, 4.0]
    """
    return scan(
        fn, sequences, None, non_sequences, None, truncate_gradient, go_backwards, name=name,
        return_updates=return_updates,
    )  # fmt: skip


def reduce(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    go_backwards: bool = False,
    mode: Any = None,
    name: str | None = None,
    return_updates: bool = True,
) -> Any:
    """The last outputs of `scan(fn, sequences, outputs_info, non_sequences)`; OutOfBoundsError if there is no step.

    fn: Function of an element of each sequence, of the result before and of `non_sequences`, in this order.
    sequences, outputs_info, non_sequences : ...
    go_backwards: Whether the sequences are run through from their ends.
    mode, name, return_updates : ...
    Returns: The last outputs, one tensor or a list, and a dict of updates; with `return_updates=False` the outputs
        alone.
    See foldl: `reduce` from the first element to the last.
    See foldr: `reduce` from the last element to the first.
    See scan: Repeat a step.
    >>> pt.reduce(
    ...     lambda x, sum: x + sum, [pt.as_tensor([1.0, 2.0])], pt.as_tensor(0.0), return_updates=False
    ... ).eval().item()
    3.0
    """
    found = scan(
        fn, sequences, outputs_info, non_sequences, None, -1, go_backwards, name=name, return_list=True,
        return_updates=True,
    )  # fmt: skip
    outputs, updates = found
    last = [output[-1] for output in outputs]
    given: Any = last[0] if len(last) == 1 else last
    return (given, updates) if return_updates else given


def foldl(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    mode: Any = None,
    name: str | None = None,
    return_updates: bool = True,
) -> Any:
    """`reduce` from the first element to the last.

    fn: Function of an element of each sequence, of the result before and of `non_sequences`, in this order.
    sequences, outputs_info, non_sequences, mode, name, return_updates : ...
    Returns: The last outputs, one tensor or a list, and a dict of updates; with `return_updates=False` the outputs
        alone.
    See foldr: `reduce` from the last element to the first.
    See scan: Repeat a step.
    See map: `fn` of every element along the first axis of `sequences`.
    >>> pt.foldl(
    ...     lambda x, sum: x - sum, [pt.as_tensor([1.0, 5.0])], pt.as_tensor(0.0), return_updates=False
    ... ).eval().item()
    4.0
    """
    return reduce(fn, sequences, outputs_info, non_sequences, name=name, return_updates=return_updates)


def foldr(
    fn: Callable[..., Any],
    sequences: Any,
    outputs_info: Any,
    non_sequences: Any = None,
    mode: Any = None,
    name: str | None = None,
    return_updates: bool = True,
) -> Any:
    """`reduce` from the last element to the first.

    fn: Function of an element of each sequence, of the result before and of `non_sequences`, in this order.
    sequences, outputs_info, non_sequences, mode, name, return_updates : ...
    Returns: The last outputs, one tensor or a list, and a dict of updates; with `return_updates=False` the outputs
        alone.
    See scan: Repeat a step.
    See map: `fn` of every element along the first axis of `sequences`.
    See reduce: The last outputs alone.
    >>> pt.foldr(
    ...     lambda x, sum: x - sum, [pt.as_tensor([1.0, 5.0])], pt.as_tensor(0.0), return_updates=False
    ... ).eval().item()
    -4.0
    """
    return reduce(fn, sequences, outputs_info, non_sequences, True, name=name, return_updates=return_updates)


def while_loop(
    condition: Callable[..., TensorLike], body: Callable[..., Any], initial: Any, max_steps: int | None = None
) -> Any:
    """Repeat `body` as long as `condition` holds, as `jax.lax.while_loop` does.

    condition: Function of the values, tells whether another step is done.
    body: Function of the values, returns the next ones: as many, of the same types.
    initial: One value, or a tuple or list of values.
    max_steps: The loop ends after so many steps at the latest.
    Returns: The last values, in the form of `initial`.
    See scan: A loop that keeps what every step gives.
    Notes: The result has the form of `initial`. Derivatives run the loop once to count its steps.
    >>> pt.while_loop(lambda x: x < 50.0, lambda x: 2 * x, 1.0).eval().item()
    64.0
    """
    single = not isinstance(initial, list | tuple)
    values = [as_tensor(value) for value in _listed(initial)]
    if not values:
        raise GraphError("a loop needs at least one value to carry.")
    start = _serial()
    leaves = [_leaf(value, name_of(value)) for value in values]
    found = [as_tensor(value) for value in _listed(body(*leaves))]
    if len(found) != len(values):
        raise GraphError(
            f"the loop carries {len(values)} values and its body returns {len(found)}; it must return all."
        )
    found = [_fitted(output, _State((-1,), (leaf,), ())) for output, leaf in zip(found, leaves, strict=True)]
    goes = as_tensor(condition(*leaves))
    if goes.ndim or goes.dtype == "key":
        raise ShapeError(f"the condition of a loop must be a bool scalar, got {describe(goes)}.")
    goes = goes if goes.dtype == "bool" else apply("neq", goes, 0)
    begins = substitute([goes], dict(zip(leaves, values, strict=True)))[0]
    again = substitute([goes], dict(zip(leaves, found, strict=True)))[0]
    if max_steps is not None and (not is_integer(max_steps) or operator.index(max_steps) < 0):
        raise ValueError(f"`max_steps` is an integer >= 0, got {max_steps!r}.")
    bound = UNBOUNDED if max_steps is None else operator.index(max_steps)
    keys = _fresh_keys([*found, again], start, set(leaves))
    loop = _scan(
        dict(zip(leaves, zip(values, found, strict=True), strict=True)),
        {},
        [],
        length=bound,
        limit=apply("where", begins, step_limit(bound), step_limit(0)),
        stop=apply("logical_not", again),
        keys=keys,
    )
    return loop.last[0] if single else type(initial)(loop.last)

"""PyTensor's loops: an op `Scan` with its inner graph in, a loop of ours out.

PyTensor hands over states as buffers that hold the first values and room for those of all steps, and gives buffers
back. Here a state begins with its first values; a buffer is made again where more than the steps' values is read.
Gradients that PyTensor has written as a loop carry their buffers as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import consilience.tensor as pt
from consilience.errors import ConsilienceError, MissingRuleError
from consilience.foreign.pytensor_graph import RULES, Translation, index_of, is_generator
from consilience.ir import Node, constant


class StateBuffer:
    """A state of a loop.

    `taps`: how far back the step reads, as negative numbers, in the order of the step's arguments. `depth`: number of
    values before the first step. `initial`: those values along a first axis, oldest first. `length`: number of values
    that the buffer holds after the loop: an int, a symbolic length.
    """

    def __init__(self, t: Translation, variable: Any, taps: Sequence[int]) -> None:
        self.taps = [int(tap) for tap in taps]
        self.depth = -min(self.taps)
        self.length = t.tensor(variable).static_shape[0]
        self.initial = _first_values(t, variable, self.depth)

    def described(self) -> dict[str, Any]:
        """The entry of `outputs_info`."""
        single = self.taps == [-1]
        return {"initial": self.initial[0] if single else self.initial, "taps": self.taps}

    def filled(self, trace: Node) -> Node:
        """The buffer after the loop: the last `length` values, zeros behind them where it is longer."""
        return _fitted(pt.concatenate([self.initial, trace]), self.length)


def _fitted(values: Node, length: Any) -> Node:
    """The last `length` values, with zeros behind them where there are fewer."""
    count = values.static_shape[0]
    if not isinstance(length, int) or length == count:
        return values
    if not isinstance(count, int):  # a loop that may end early, whose buffer is cut where it ends
        return values[-length:]
    if length < count:
        return values[count - length :]
    return pt.concatenate([values, pt.zeros((length - count, *values.shape[1:]), values.dtype)])


def _first_values(t: Translation, variable: Any, depth: int) -> Node:
    """The values that a buffer holds before the first step."""
    apply = variable.owner
    if apply is not None and type(apply.op).__name__ == "IncSubtensor" and apply.op.set_instead_of_inc:
        room, values, *rest = apply.inputs
        if room.owner is not None and type(room.owner.op).__name__ == "AllocEmpty":
            index = index_of(t, apply.op, rest)
            if index == (slice(None, depth),) and values.type.ndim == room.type.ndim:
                return t.tensor(values)
    return t.tensor(variable)[:depth]


class ScanParts:
    """Operands, inner inputs and inner outputs of a loop of PyTensor, by kind."""

    def __init__(self, apply: Any) -> None:
        op, info = apply.op, apply.op.info
        own = "n_untraced_sit_sot" if hasattr(info, "n_untraced_sit_sot") else "n_shared_outs"
        passed = getattr(info, own)
        inside, outside = iter(op.inner_inputs), iter(apply.inputs)
        results = iter(op.inner_outputs)
        self.steps = next(outside)
        self.sequences = _take(outside, info.n_seqs)
        self.gradient_taps = [list(taps) for taps in info.mit_mot_in_slices]
        self.gradient_writes = [list(taps) for taps in info.mit_mot_out_slices]
        self.state_taps = [list(taps) for taps in (*info.mit_sot_in_slices, *info.sit_sot_in_slices)]
        self.gradients = _take(outside, len(self.gradient_taps))
        self.states = _take(outside, len(self.state_taps))
        self.passed = _take(outside, passed)
        self.lengths = _take(outside, info.n_nit_sot)
        self.fixed = list(outside)
        self.inner_sequences = _take(inside, info.n_seqs)
        self.inner_gradients = [_take(inside, len(taps)) for taps in self.gradient_taps]
        self.inner_states = _take(inside, sum(map(len, self.state_taps)))
        self.inner_passed = _take(inside, passed)
        self.inner_fixed = list(inside)
        self.gradient_values = [_take(results, len(taps)) for taps in self.gradient_writes]
        self.state_values = _take(results, len(self.state_taps))
        self.outputs = _take(results, info.n_nit_sot)
        self.passed_values = _take(results, passed)
        self.condition = next(results) if info.as_while else None


def _take(items: Any, count: int) -> list[Any]:
    return [next(items) for _ in range(count)]


@RULES("Scan")
def _scan(t: Translation, apply: Any) -> Any:
    try:
        return translated(t, apply)
    except ConsilienceError as error:
        error.add_note(f"It stands in a step of PyTensor's loop `{_title(apply)}`.")
        raise


def _title(apply: Any) -> str:
    named = next((o.name for o in apply.outputs if o.name), None)
    return str(named or apply.op.name or apply.outputs[0])


def translated(t: Translation, apply: Any) -> list[Any]:
    """Values of the outputs of a loop; None for states of generators."""
    parts = ScanParts(apply)
    buffers = [StateBuffer(t, v, taps) for v, taps in zip(parts.states, parts.state_taps, strict=True)]
    whole = [t.tensor(v) for v in parts.gradients]
    passed = [v for v in parts.passed if not is_generator(v)]
    odd = next((v for v in passed if not isinstance(t(v), Node)), None)
    if odd is not None:
        raise MissingRuleError(
            f"PyTensor's loop `{_title(apply)}` carries `{odd}`, a {type(odd.type).__name__}, which has no "
            "translation; carry tensors."
        )
    offsets = [-min(0, *taps) for taps in parts.gradient_taps]
    counter = [constant(0)] if whole else []

    def step(*given: Node) -> Any:
        values = iter(given)
        known: dict[Any, Any] = dict(zip(parts.inner_sequences, _take(values, len(parts.sequences)), strict=True))
        place = next(values) if counter else None
        rows = _take(values, len(whole))
        for own, taps, first, row in zip(parts.inner_gradients, parts.gradient_taps, offsets, rows, strict=True):
            known.update(zip(own, [row[place + (first + tap)] for tap in taps], strict=True))
        known.update(zip(parts.inner_states, _take(values, len(parts.inner_states)), strict=True))
        for inner, outer in zip(parts.inner_passed, parts.passed, strict=True):
            known[inner] = None if is_generator(outer) else next(values)
        known.update(zip(parts.inner_fixed, map(t, parts.fixed), strict=True))
        inside = Translation(known)
        written = []
        for row, first, taps, made in zip(rows, offsets, parts.gradient_writes, parts.gradient_values, strict=True):
            changed = row
            for tap, value in zip(taps, made, strict=True):
                changed = changed[place + (first + tap)].set(inside.tensor(value))
            written.append(changed)
        found = [] if place is None else [place + 1]
        found += written
        found += [inside.tensor(v) for v in parts.state_values]
        found += [inside.tensor(v) for v in parts.passed_values if not is_generator(v)]
        found += [inside.tensor(v) for v in parts.outputs]
        return found if parts.condition is None else (found, pt.until(inside.tensor(parts.condition)))

    truncate = int(getattr(apply.op, "truncate_gradient", -1))
    traces = iter(
        pt.scan(
            step,
            sequences=[t.tensor(s) for s in parts.sequences],
            outputs_info=[
                *counter,
                *whole,
                *(b.described() for b in buffers),
                *(t.tensor(v) for v in passed),
                *(None for _ in parts.outputs),
            ],
            n_steps=t.length(parts.steps),
            truncate_gradient=truncate if truncate > 0 else -1,
            return_list=True,
            return_updates=False,
            name=apply.op.name,
        )
        or ()
    )
    _take(traces, len(counter))
    found: list[Any] = [trace[-1] for trace in _take(traces, len(whole))]
    states = _take(traces, len(buffers))
    last = iter([trace[-1] for trace in _take(traces, len(passed))])
    found += [buffer.filled(trace) for buffer, trace in zip(buffers, states, strict=True)]
    outputs = list(traces)
    found += [_fitted(trace, t.length(n)) for trace, n in zip(outputs, parts.lengths, strict=True)]
    found += [None if is_generator(v) else next(last) for v in parts.passed]
    return found

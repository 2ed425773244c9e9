"""Variables that `pm.sample` sums or integrates out: what a user asks for enters, names and starting values leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from consilience.errors import ModelError, SamplingError, SupportError
from consilience.model.blocks import values_of
from consilience.model.conditioning import names_in
from consilience.model.model import Model
from consilience.model.starting_point import layout_with_data, starting_position
from consilience.model.summation import summable
from consilience.model.variables import ModelVariables
from consilience.model.warm_start import is_result
from consilience.record import replace
from consilience.run.verdicts import Verdict
from consilience.sample.step_methods import asked_for


def eliminated(model: Model, step: Any, initvals: Any, integrate: Any = True) -> tuple[tuple[str, ...], Any]:
    """The variables that are summed or integrated out, and starting values of all others.

    `step`: step methods, or None; the variables that they move are not summed out.
    `initvals`: as of `sample`: chains have no use for those of variables that are summed out, but they have to fit.
    `integrate`: as of `sample`.
    Raises ModelError.
    Raises ShapeError.
    Raises SupportError for starting values that do not.
    """
    staying = asked_for(step, model)
    names = summable(model, staying) if not all(v.continuous for v in model.free) or model.has_steps() else ()
    names = (*names, *_integrated(model, staying, names, integrate))
    if not names or initvals is None or is_result(initvals):
        return names, initvals
    listed = list(initvals) if isinstance(initvals, list | tuple) else [initvals]
    rest = [_without(model, names, own) for own in listed]
    return names, rest if isinstance(initvals, list | tuple) else rest[0]


def advised(model: Model, verdict: Verdict, moved: ModelVariables) -> Verdict:
    """A verdict on draws that failed, which names what need not have been moved: variables that can be summed out.

    `moved`: the model that chains moved in.
    """
    stayed = {v.name for v in moved.free if not v.continuous}
    names = [name for name in summable(model) if name in stayed]
    if not names:
        return verdict
    listed = ", ".join(f"`{name}`" for name in names)
    return replace(
        verdict,
        reason=f"{verdict.reason}; {listed} can be summed out, which mixes better: leave out the methods that move "
        f"{'it' if len(names) == 1 else 'them'}, or use `pm.marginalize(model, {names})`",
    )


def _integrated(model: Model, staying: Sequence[str], summed: tuple[str, ...], integrate: Any) -> tuple[str, ...]:
    """The continuous variables that are integrated out."""
    if integrate is False:
        return ()
    from consilience.model.integration import check, integrable  # few models need these

    if integrate is True:
        return integrable(model, staying, summed)
    try:
        names = names_in(model, integrate)
    except KeyError as error:
        raise ModelError(f"`integrate`: {error.args[0]}") from error
    for name in names:
        if name in staying:
            raise SamplingError(f"`{name}` is given to a step method and named by `integrate`; leave out one of both.")
    return check(model, names, summed) if names else ()


def _without(model: Model, names: tuple[str, ...], initvals: Any) -> Any:
    if not isinstance(initvals, Mapping) or set(names).isdisjoint(initvals):
        return initvals
    layout, lengths = layout_with_data(model)
    position = starting_position(model, layout, lengths, initvals)
    for stretch in layout.stretches:
        name, (least, greatest) = stretch.variable.name, values_of(stretch.variable)
        own = position[stretch.slice]
        if name in names and name in initvals and not ((least <= own) & (own <= greatest)).all():
            raise SupportError(
                f"the initial value of `{name}` is outside its support, from {least:g} to {greatest:g}: {own.tolist()}."
            )
    return {name: value for name, value in initvals.items() if name not in names} or None

"""Models whose data and lengths are constants: a model in, a new one that can no longer change out."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.errors import ModelError
from consilience.ir import constant
from consilience.ir import dimension as dimensions
from consilience.ir.side_tables import without_sources
from consilience.model.conditioning import Rebuilt
from consilience.model.log_density import slot_values
from consilience.model.model import Model


def freeze_dims_and_data(model: Model, dims: Sequence[str] | None = None, data: Sequence[str] | None = None) -> Model:
    """A model in which data are constants and lengths are numbers, as they are now.

    What depends on data alone is then computed once, when the model is compiled.

    dims   names of dimensions whose lengths are fixed; all by default
    data   names of data that become constants; all by default. Results hold them as before, `set_data` refuses them
    returns   a new model; data that are not frozen are common to both
    raises    KeyError for unknown names; ModelError where data that stay free decide a length that is fixed
    """
    known = model.coordinates.names()
    for name in dims or ():
        if name not in known:
            raise KeyError(f"the model has no dimension `{name}`; it has {', '.join(known) or 'none'}.")
    chosen = [name for name in model.data if data is None or name in data]
    for name in data or ():
        if name not in model.data:
            raise KeyError(f"the model has no data `{name}`; it has {', '.join(model.data) or 'none'}.")
    fixed = known if dims is None else list(dims)
    slots, values, _, lengths = slot_values(model)
    present = dict(zip(slots, values, strict=True))
    symbols = {atom: name for name in known if (atom := dimensions.as_symbol(model.dim_length(name))) is not None}
    frozen: set[dimensions.Atom] = {atom for atom, name in symbols.items() if name in fixed}
    for name, slot in model.data.items():
        own = {atom for length in slot.static_shape if (atom := dimensions.as_symbol(length)) is not None}
        if name in chosen:
            frozen |= own - symbols.keys()  # lengths without a name go with the data that decide them
        elif own & frozen:
            tied = symbols[min(own & frozen, key=lambda atom: atom.serial)]
            raise ModelError(f"`{name}` decides the length of `{tied}`: freeze both, or neither.")
    numbers = {atom: length for atom, length in lengths.items() if atom in frozen}
    made = Rebuilt(model, {}, set(chosen))
    with without_sources():
        for name in chosen:
            made.replaced[name] = constant(present[model.data[name]], model.data[name].dtype)
    return made.model(as_constants=set(chosen), lengths=numbers, fixed=fixed)

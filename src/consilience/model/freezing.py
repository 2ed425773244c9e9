"""Models whose data and lengths are constants: a model in, a new one that can no longer change out."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ir import Node, TensorType, constant, topological
from consilience.ir import dimension as dimensions
from consilience.ir.side_tables import without_sources
from consilience.model.conditioning import Rebuilt
from consilience.model.data import data_slot, no_such_data
from consilience.model.model import Model
from consilience.model.observation import slot_values


def freeze_dims_and_data(model: Model, dims: Sequence[str] | None = None, data: Sequence[str] | None = None) -> Model:
    """A model in which data are constants and lengths are numbers, as they are now.

    What depends on data alone is then computed once, when the model is compiled.

    model (given) : ...
    dims: Names of dimensions whose lengths are fixed; all by default.
    data: Names of data that become constants; all by default. Results hold them as before, `set_data` refuses them.
    Returns: A new model. Data that are not frozen are common to both, but for those along fixed dimensions: they may be
        exchanged for others of the same length.
    Raises KeyError: For unknown names.
    See Model: `set_data` and `set_dim` change what is not frozen.
    >>> with pm.Model() as model:
    ...     x = pm.Data("x", [1.0, 2.0, 3.0])
    ...     y = pm.Normal("y", x, 1.0)
    >>> frozen = pm.freeze_dims_and_data(model)
    >>> frozen["y"].type.shape
    (3,)
    """
    known = model.coordinates.names()
    for name in dims or ():
        if name not in known:
            raise KeyError(f"the model has no dimension `{name}`; it has {', '.join(known) or 'none'}.")
    chosen = [name for name in model.data if data is None or name in data]
    for name in data or ():
        if name not in model.data:
            raise no_such_data(name, model.data)
    fixed = known if dims is None else list(dims)
    slots, values, _, lengths = slot_values(model)
    present = dict(zip(slots, values, strict=True))
    symbols = {atom: name for name in known if (atom := dimensions.as_symbol(model.dim_length(name))) is not None}
    frozen: set[dimensions.Atom] = {atom for atom, name in symbols.items() if name in fixed}
    for name, slot in model.data.items():
        own = _symbols(slot)
        if name in chosen:
            frozen |= own - symbols.keys()  # lengths without a name go with the data that decide them
    numbers = {atom: length for atom, length in lengths.items() if atom in frozen}
    tied = [name for name, slot in model.data.items() if name not in chosen and not frozen.isdisjoint(_symbols(slot))]
    made = Rebuilt(model, {}, {*chosen, *tied})
    with without_sources():
        for name in tied:
            lengths_of = model.data[name].static_shape
            shape = [n if (atom := dimensions.as_symbol(n)) is None else numbers.get(atom, n) for n in lengths_of]
            made.replaced[name] = data_slot(name, present[model.data[name]], shape)
        for name in chosen:
            made.replaced[name] = constant(present[model.data[name]], model.data[name].dtype)
    kinds = dict.fromkeys(chosen, "frozen") | dict.fromkeys(tied, "data")
    return made.model(kinds, lengths=numbers, fixed=fixed)


def freeze_model(model: Model) -> Model:
    """A model for predictions under changing data: what free variables depend on is frozen, other data stay free.

    Functions of a model are compiled once here in any case, so `set_data` between predictions compiles nothing anew
    while lengths stay.

    model (given) : ...
    Returns: A new model, as `freeze_dims_and_data` makes it.
    See freeze_dims_and_data: Freezes all.
    >>> import consilience as pm
    >>> from consilience.model import freeze_model
    >>> with pm.Model(coords={"city": ["Bern", "Rome"]}) as model:
    ...     x = pm.Normal("x", dims="city")
    >>> freeze_model(model)["x"].type.shape
    (2,)
    """
    below = set(topological([v.node for v in model.free]))
    needed = {atom for node in below for atom in _symbols(node)}
    data = [name for name, slot in model.data.items() if slot in below or not needed.isdisjoint(_symbols(slot))]
    needed |= {atom for name in data for atom in _symbols(model.data[name])}
    known = {name: dimensions.as_symbol(model.dim_length(name)) for name in model.coordinates.names()}
    return freeze_dims_and_data(model, [name for name, atom in known.items() if atom in needed], data)


def _symbols(node: Node) -> set[dimensions.Atom]:
    """The lengths of a tensor that are no numbers."""
    lengths = node.static_shape if isinstance(node.type, TensorType) else ()
    return {atom for length in lengths if (atom := dimensions.as_symbol(length)) is not None}

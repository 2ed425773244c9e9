"""Models made from models: variables replaced by values (`do`), or given data (`observe`), or other maps to the line.

A model and what is to change in; a new model, which shares the data containers with the old one, out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.backends.shapes import Lengths
from consilience.distributions import context
from consilience.distributions.random_variable import is_rows, random_variables
from consilience.distributions.transforms.registry import requested_transform
from consilience.distributions.transforms.transform import rewritten
from consilience.errors import ModelError, ShapeError
from consilience.ir import Node, constant, constant_value, numpy_dtype, substitute, tensor_input, topological
from consilience.ir.arithmetic import plain
from consilience.ir.side_tables import name_of, set_name, without_sources
from consilience.lower.specialise import specialise
from consilience.model.data import GivenData, data_slot, given_data, in_order_of
from consilience.model.layout import known_shape
from consilience.model.model import Model
from consilience.model.observation import data_of, slot_values
from consilience.model.variables import FreeVariable
from consilience.names.absent import elsewhere
from consilience.ops.elementwise import cast
from consilience.record import Record

Choice = Mapping["str | Node", Any]

# What a named variable is: random, constant data, or an expression under the name of the model's dictionary of such.
Kind = str
EXPRESSIONS: Final = ("named_potentials", "conditional_deterministics", "named_deterministics", "data")


def do(
    model: Model,
    vars_to_interventions: Choice,
    prune_vars: bool = False,
    *,
    make_interventions_shared: bool = True,
) -> Model:
    """Intervene on a model: set variables to given values, so that what they depended on no longer acts on them.

    model (given) : ...
    vars_to_interventions: Variable, or its name -> numbers, or an expression of other variables of the model, that fit
        its shape and type. An expression of the variable itself, as `m["x"] * 2`, leaves it as it is: the others see
        the deterministic `do_x` in its place, as in PyMC.
    prune_vars: Leave out what has no part in observed variables and potentials.
    make_interventions_shared: Numbers become data, which `set_data` can exchange; False: constants, kept as
        deterministics.
    Returns: A new model. Each variable becomes data, or a deterministic if its value is an expression of other
        variables.
    Raises ModelError: If a name is not a variable of the model, or interventions depend on each other in a circle.
    See Data: Data under a name that can be exchanged later with `set_data`.
    See set_data: Exchange the values of several data slots.
    See Minibatch: The same random rows of several arrays.
    >>> with pm.Model() as model:
    ...     x = pm.Normal("x")
    ...     y = pm.Normal("y", x)
    >>> [variable.name for variable in pm.do(model, {"x": 1.0}).free_RVs]
    ['y']
    """
    chosen = {named_in(model, key): value for key, value in vars_to_interventions.items()}
    chosen = {name: _in_order_of(model, name, value) for name, value in chosen.items()}
    for name in model.frozen.intersection(chosen):
        raise ModelError(f"the data `{name}` are frozen, so they cannot be replaced; do so in the model before it was.")
    graphs = {name: value for name, value in chosen.items() if isinstance(value, Node)}
    arrays = {name: value for name, value in chosen.items() if name not in graphs}
    made = Rebuilt(model, graphs, set(arrays))
    for name, value in arrays.items():
        node = model.named[name]
        array = _fitting(model, name, value)
        if make_interventions_shared:
            made.replaced[name] = data_slot(name, array, node.static_shape)
        else:
            made.replaced[name] = constant(array, node.dtype)
    slots = set(arrays) if make_interventions_shared else set()
    acting = (made.acting.get(name, name) for name in chosen)
    kinds = {name: "data" if name in slots else "named_deterministics" for name in acting}
    return made.model(kinds, pruned=prune_vars)


def _in_order_of(model: Model, name: str, value: Any) -> Any:
    """A value with the dims of the variable as one whose axes stand as there; anything else as it is."""
    dims = model.dims_of.get(name, ())
    if plain(value) is value:
        return in_order_of(dims, value, model.coords, model.columns_of.get(name))
    if set(value.dims) != set(dims):
        raise ShapeError(
            f"`{name}` has the dims {tuple(dims)!r}, and what is to replace it has {value.dims!r}; `.rename` gives "
            "axes other names, `.broadcast_like` adds some."
        )
    return plain(value.transpose(*dims))


def observe(model: Model, vars_to_observations: Choice) -> Model:
    """A model in which variables have data.

    model (given) : ...
    vars_to_observations: Random variable, or its name -> data of its shape and type, in place of any it has; or a
        deterministic of distributions without a name, as `pm.math.clip(pm.Normal.dist(mu), 0, 1)`.
    Returns: A new model.
    Raises ModelError: For other variables.
    Raises MissingRuleError: For a deterministic whose density cannot be derived.
    Raises ShapeError, SupportError: As at definition.
    See do: A model in which variables have been set from outside.
    See Data: Data under a name that can be exchanged later with `set_data`.
    See set_data: Exchange the values of several data slots.
    >>> with pm.Model() as model:
    ...     x = pm.Normal("x")
    ...     y = pm.Normal("y", x)
    >>> [variable.name for variable in pm.observe(model, {"y": 1.0}).observed_RVs]
    ['y']
    """
    chosen = {named_in(model, key): value for key, value in vars_to_observations.items()}
    random = {v.name for v in model.variables}
    derived: dict[str, Node] = {}
    data = {name: given_data(name, _in_order_of(model, name, value)) for name, value in chosen.items()}
    for name, given in data.items():
        if name in model.named_deterministics:
            derived[name] = _random(model, name)
        elif name not in random:
            raise ModelError(f"`{name}` is neither a random variable nor a deterministic, so it cannot be observed.")
        shape = known_shape(model.named[name].static_shape, slot_values(model)[3], name)
        if not isinstance(given.values, Node) and given.numbers().shape != shape:
            raise ShapeError(f"`observed` of `{name}` has shape {given.shape}, but the variable has shape {shape}.")
    return Rebuilt(model, derived, set()).model(observed=data)


def _random(model: Model, name: str) -> Node:
    """A deterministic as a random variable, given the named variables of which it is made."""
    from consilience.logprob.derived import derived_variable, held  # few models need it

    own = model.named[name]
    others = {n for n in model.named.values() if n is not own and n.inputs}

    def given(node: Node) -> bool:
        return node in others or is_rows(node)

    graph, fixed = held(own, given)
    if not random_variables([graph]):
        listed = ", ".join(f"`{name_of(n)}`" for n in fixed.values()) or "data"
        raise ModelError(
            f"`{name}` cannot be observed: it follows from {listed} "
            "without any chance, so it has no density given these. Observe a distribution around it."
        )
    return derived_variable(own, given)


def named_in(model: Model, key: Any) -> str:
    """The name of a variable that is given by name or as it is; KeyError, ModelError for others."""
    if told := elsewhere(model) or elsewhere(key):
        raise ModelError(told)
    key = plain(key)
    if isinstance(key, str):
        node = plain(model[key])
    elif isinstance(key, Node) and key in model.named.values():
        node = key
    else:
        raise ModelError(f"{key!r} is not a named variable of the model; it has {', '.join(model.named) or 'none'}.")
    return next(name for name, own in model.named.items() if own is node)


def names_in(model: Model, keys: str | Node | Iterable[str | Node]) -> list[str]:
    """Names of one variable or several, each once."""
    keys = plain(keys)
    listed: Iterable[Any] = [keys] if isinstance(keys, str | Node) else keys
    if isinstance(listed, bytes) or (isinstance(listed, np.ndarray) and listed.dtype.kind not in "UO"):
        raise ModelError(f"names of variables, or these themselves, were needed, got {type(keys).__name__}: {keys!r}.")
    return list(dict.fromkeys(named_in(model, key) for key in listed))


def _fitting(model: Model, name: str, value: Any) -> npt.NDArray[Any]:
    """Numbers with the type and the present shape of a variable."""
    node = model.named[name]
    array = given_data(name, value).numbers()
    if not np.can_cast(array.dtype, numpy_dtype(node.dtype), "same_kind"):
        raise ModelError(f"`{name}` is {node.dtype}, got values of {array.dtype}.")
    shape = known_shape(node.static_shape, slot_values(model)[3], name)
    try:
        return np.broadcast_to(array, shape).astype(numpy_dtype(node.dtype))
    except ValueError:
        raise ShapeError(f"`{name}` has shape {shape}, got values of shape {array.shape}.") from None


def _kinds(model: Model) -> dict[str, Kind]:
    """What each named variable is."""
    kinds: dict[str, Kind] = {name: place for place in EXPRESSIONS for name in getattr(model, place)}
    kinds |= {v.name: "free" for v in (*model.free, *model.marginalized)}
    return kinds | {v.name: "observed" for v in model.observed} | dict.fromkeys(model.frozen, "frozen")


class Rebuilt:
    """The named variables of a model after some were replaced."""

    def __init__(self, model: Model, graphs: Mapping[str, Node], given: set[str]) -> None:
        self.old = model
        self.given = given
        self.replaced: dict[str, Node] = {}
        # What stands for the old variables, and lengths that become numbers, once `model` makes the new ones.
        self.known: dict[Node, Node] = {}
        self.lengths: Lengths = {}
        # Expressions by name in terms of the old variables, and by the name of a variable that of what acts for it.
        self.sources: dict[str, Node] = {}
        self.acting: dict[str, str] = {}
        # A deterministic that is a variable itself follows it.
        self.names = {node: name for name, node in reversed(model.named.items())}
        for name, node in model.named.items():
            self.sources[name] = graphs.get(name, node)
            if name in graphs and node in topological([graphs[name]], stop=self.names.__contains__):
                other = f"do_{name}"
                if other in model.named:
                    raise ModelError(f"the intervention on `{name}` is called `{other}`, which the model has already.")
                self.sources |= {name: node, other: graphs[name]}
                self.acting[name] = other

    def origin(self, name: str) -> str:
        """The variable for which a name acts: itself, except for the `do_x` of an `x`."""
        return next((own for own, other in self.acting.items() if other == name), name)

    def _seen(self, name: str = "") -> dict[Node, str]:
        """The old variables, and the names of what stands for them in an expression of this name."""
        acting = {own: other for own, other in self.acting.items() if other != name}
        return {node: acting.get(own, own) for node, own in self.names.items() if own != name}

    def _known(self, name: str = "") -> dict[Node, Node]:
        """What stands for the old variables in an expression, as far as it is made."""
        return {node: self.replaced[own] for node, own in self._seen(name).items() if own in self.replaced}

    def _order(self) -> list[str]:
        """Names, each behind those it now depends on."""
        depends: dict[str, list[str]] = {}
        for name, source in self.sources.items():
            seen = self._seen(name)
            reached = [] if name in self.given else topological([source], stop=seen.__contains__)
            depends[name] = [seen[n] for n in reached if n in seen]
        old, order = self.old.named, list[str]()
        waiting = dict.fromkeys(depends)
        while waiting:
            ready = [name for name in waiting if all(parent not in waiting for parent in depends[name])]
            if not ready:
                changed = [f"`{n}`" for n, source in self.sources.items() if source is not old.get(n)]
                raise ModelError(f"the interventions on {', '.join(changed)} make variables depend on themselves.")
            order += ready
            for name in ready:
                del waiting[name]
        return order

    def model(
        self,
        kinds: Mapping[str, Kind] | None = None,
        observed: Mapping[str, GivenData] | None = None,
        lengths: Lengths | None = None,
        fixed: Sequence[str] = (),
        pruned: bool = False,
    ) -> Model:
        """The new model.

        `kinds`: of variables that become something else; a free one then has the default map to the line. `observed`:
        data of variables that get some. `lengths`: that become numbers, as those of the dimensions `fixed` do.
        `pruned`: whether to leave out what has no part in observed variables and potentials.
        """
        old, given, self.lengths = self.old, observed or {}, lengths or {}
        with without_sources():
            for name in self._order():
                if name not in self.replaced:
                    (node,) = substitute([self.sources[name]], self._known(name))
                    self.replaced[name] = cast(node, old.named[self.origin(name)].dtype)
        self.known = self._known()
        if lengths:
            self.replaced = dict(zip(self.replaced, specialise([*self.replaced.values()], lengths)[0], strict=True))
        data = dict(zip([v.name for v in old.observed], self._moved([v.data for v in old.observed]), strict=True))
        new = Model(model=None, check_bounds=old.check_bounds)
        new.name = old.name
        new.summed_values = old.summed_values.copy()
        new.coordinates = old.coordinates.copy()
        new.coordinates.fix(fixed)
        kept = self._attached(given) if pruned else set(self.sources)
        become = {**_kinds(old), **(kinds or {}), **dict.fromkeys(given, "observed")}
        known = {v.name: v for v in (*old.free, *old.marginalized) if v.name not in (kinds or {})}
        weights = {v.name: v.weight for v in old.observed}
        titled = set[Node]()
        for name in (n for n in self.sources if n in kept):
            node = new.named[name] = self.replaced[name]
            if self.origin(name) in old.dims_of:
                new.dims_of[name] = old.dims_of[self.origin(name)]
            if self.origin(name) in old.columns_of:
                new.columns_of[name] = old.columns_of[self.origin(name)]
            # A deterministic that is a variable itself leaves it its name.
            if constant_value(node) is None and node not in titled:
                set_name(node, name)
            titled.add(node)
            match become.get(name):
                case "observed":
                    own = given.get(name) or given_data(name, data[name])
                    new.take_observed(name, node, data_of(name, node, own), weights.get(name))
                case "free" if name in known:
                    self._keep(known[name], node, new)
                case "free":
                    new.take_free(name, node, context.DEFAULT, None)
                case "frozen":
                    new.data[name] = data_slot(name, given_data(name, node).numbers(), node.static_shape)
                    new.frozen.add(name)
                case str(place_of_expressions):
                    getattr(new, place_of_expressions)[name] = node
        return new

    def _moved(self, nodes: Sequence[Node]) -> list[Node]:
        """Expressions of the old variables in terms of the new ones."""
        found = substitute(nodes, self.known)
        return specialise(found, self.lengths)[0] if self.lengths else found

    def _bound(self, bound: Node) -> Node:
        return specialise(self._moved([bound]), self.lengths)[0][0]

    def _keep(self, variable: FreeVariable, node: Node, new: Model) -> None:
        """Have a free variable, or one that is summed out, be the same in the new model."""
        transform = variable.transform and rewritten(variable.transform, self._bound)
        chosen = context.DEFAULT if variable.inside else transform
        kept = new.free_variable(variable.name, node, chosen, variable.initval)
        (new.free if any(v is variable for v in self.old.free) else new.marginalized).append(kept)

    def _attached(self, observed: Mapping[str, GivenData]) -> set[str]:
        """Names of what has a part in an observed variable or a potential."""
        ends = [v.name for v in self.old.observed] + list(self.old.named_potentials) + list(observed)
        reached = set(topological([self.replaced[name] for name in ends]))
        data = {v.data for v in self.old.observed}
        reached |= set(topological(data))
        return {name for name, node in self.replaced.items() if node in reached}


def change_value_transforms(model: Model, vars_to_transforms: Mapping[str | Node, Any]) -> Model:
    """A model with other maps of free variables to the line.

    model (given) : ...
    vars_to_transforms (mapping): Free variable, or its name -> a transform of `pm.distributions.transforms`, one's own,
        or None for values on the variable's own scale.
    Returns: A new model; `with change_value_transforms(…) as changed:` declares or samples in it.
    Raises KeyError: For unknown names.
    Raises ModelError: For what is no free variable.
    Raises TypeError: For what is no transform.
    See remove_value_transforms: Back to the scales of the variables themselves.
    >>> import consilience as pm
    >>> from consilience.model import change_value_transforms
    >>> with pm.Model() as model:
    ...     p = pm.Uniform("p", 0, 1)
    ...     y = pm.Binomial("y", n=9, p=p, observed=6)
    >>> changed = change_value_transforms(model, {"p": pm.distributions.transforms.logodds})
    >>> [v.name for v in changed.value_vars]
    ['p_logodds__']
    """
    wanted = {named_in(model, key): transform for key, transform in vars_to_transforms.items()}
    free = [v.name for v in model.free]
    for name in wanted:
        if name not in free:
            raise ModelError(f"`{name}` is not a free variable of the model; those are {', '.join(free) or 'none'}.")
    changed = Rebuilt(model, {}, set()).model()
    for place, variable in enumerate(changed.free):
        if variable.name in wanted:
            transform = requested_transform(variable.node, context.DEFAULT, wanted[variable.name])
            changed.free[place] = changed.free_variable(variable.name, variable.node, transform, variable.initval)
    return changed


def remove_value_transforms(model: Model, vars: Sequence[str | Node] | None = None) -> Model:
    """A model whose free variables, or those in `vars`, have values on their own scales; for Hessians there, say.

    The density is then 0 outside the supports. Arguments are variables or names; see `change_value_transforms`.

    model (given) : ...
    vars: The variables to work on; all free variables of the model by default.
    Returns: A copy; the given model is as it was.
    See find_hessian: Derivatives that may be wanted there.
    >>> import consilience as pm
    >>> from consilience.model import remove_value_transforms
    >>> with pm.Model() as model:
    ...     x = pm.Exponential("x", 1.0)
    >>> [v.name for v in remove_value_transforms(model).value_vars]
    ['x']
    """
    return change_value_transforms(model, dict.fromkeys([v.name for v in model.free] if vars is None else vars))


class DetachedDeterministic(Record):
    """An expression with a name, over inputs that stand for the variables of a model by their names."""

    name: str
    dims: tuple[str | None, ...] | None
    graph: Node
    inputs: Mapping[str, Node]


def extract_deterministics(
    model: Model, var_names: str | Sequence[str] | None = None
) -> tuple[Model, list[DetachedDeterministic]]:
    """A model without its deterministics, or some of them, and these for `insert_deterministics`.

    What depends on them computes them in place, so the density is the same; results hold them no more.

    model (given) : ...
    var_names: Names of deterministics; all by default.
    Returns: A new model, and the deterministics in the order of declaration.
    Raises KeyError: For unknown names.
    Raises ModelError: For what is no deterministic.
    See insert_deterministics: The inverse.
    >>> import consilience as pm
    >>> from consilience.model import extract_deterministics
    >>> with pm.Model() as model:
    ...     x = pm.Normal("x")
    ...     double = pm.Deterministic("double", 2 * x)
    >>> bare, taken = extract_deterministics(model)
    >>> bare.deterministics, len(taken)
    ([], 1)
    """
    names = [*model.named_deterministics] if var_names is None else names_in(model, var_names)
    for name in names:
        if name not in model.named_deterministics:
            there = ", ".join(model.named_deterministics) or "none"
            raise ModelError(f"`{name}` is not a deterministic of the model; those are {there}.")
    found = []
    for name, node in model.named_deterministics.items():
        if name not in names:
            continue
        # A deterministic may be another variable under one more name; then it stands for that one.
        before = [*model.named][: [*model.named].index(name)]
        named = {own: title for title, own in reversed(model.named.items()) if own is not node or title in before}
        reached = [one for one in topological([node], stop=named.__contains__) if one in named]
        inputs = {named[one]: tensor_input(one.dtype, one.static_shape, named[one]) for one in reached}
        (graph,) = substitute([node], {one: inputs[named[one]] for one in reached})
        found.append(DetachedDeterministic(name, model.dims_of.get(name), graph, inputs))
    rest = model.copy()
    for name in names:
        del rest.named[name], rest.named_deterministics[name]
        rest.dims_of.pop(name, None)
    rest.cache.clear()
    return rest, found


def insert_deterministics(model: Model, deterministics: Sequence[DetachedDeterministic]) -> Model:
    """A model with the deterministics that `extract_deterministics` gave, over its variables of the same names.

    model (given) : ...
    deterministics: Names of the deterministics.
    Returns: A new model.
    Raises ModelError: Where it has none of a name that is needed, or has the name of a deterministic already.
    See extract_deterministics: The inverse.
    >>> import consilience as pm
    >>> from consilience.model import extract_deterministics, insert_deterministics
    >>> with pm.Model() as model:
    ...     x = pm.Normal("x")
    ...     double = pm.Deterministic("double", 2 * x)
    >>> again = insert_deterministics(*extract_deterministics(model))
    >>> [v.name for v in again.deterministics]
    ['double']
    """
    made = model.copy()
    for one in deterministics:
        missing = [name for name in one.inputs if name not in made]
        if missing:
            raise ModelError(f"the deterministic `{one.name}` needs {missing}, which the model does not have.")
        (graph,) = substitute([one.graph], {stand: made[name] for name, stand in one.inputs.items()})
        made.add_deterministic(one.name, graph, one.dims)
    return made

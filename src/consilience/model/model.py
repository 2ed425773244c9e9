"""The model as users know it: `Model`, and the functions that add to the one in the context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.backends import contexts
from consilience.backends.pickling import duplicate
from consilience.distributions import context
from consilience.distributions.random_variable import variable_of
from consilience.distributions.transforms import Transform
from consilience.distributions.transforms.registry import requested_transform
from consilience.errors import ModelError, ShapeError
from consilience.ir import Node, constant
from consilience.ir.arithmetic import like, plain
from consilience.model import model_graph, printing
from consilience.model.coordinates import Labels
from consilience.model.data import labelled_axes, no_such_data, sparse_slots
from consilience.model.functions import ModelFunctions
from consilience.model.keywords import naming
from consilience.model.log_density import ModelDensity, model_density
from consilience.model.value_graphs import terms_over_values
from consilience.model.variables import DimensionNames, ModelVariables, called
from consilience.names.absent import around, elsewhere
from consilience.ops.elementwise import TensorLike, as_tensor
from consilience.ops.sparse.variable import is_scipy_sparse
from consilience.record import replace

# What PyMC's models have and ours have not, with what to use in its place.
ABSENT: Final = {
    "logp_array": "use `log_density()`, a function of one flat vector.",
    "register_data_var": "write `pm.Data('x', …)` inside `with model:`.",
    "create_value_var": "value variables are made with their variables: `model.value_vars`.",
    "table": "`print(model)` has a line for each variable; `model.to_graphviz()` draws it.",
    "make_obs_var": "give `observed=` to the distribution, or use `pm.observe`.",
}


class InitialValues(dict[Node, Any]):
    """Starting values by free variable; to set an item is `model.set_initval`."""

    def __init__(self, model: Model) -> None:
        super().__init__({v.node: v.initval for v in model.free})
        self._model = model

    def __setitem__(self, variable: Node | str, initval: Any) -> None:
        self._model.set_initval(variable, initval)
        super().__setitem__(self._model[variable] if isinstance(variable, str) else variable, initval)

    def update(self, *given: Any, **named: Any) -> None:
        """Set several."""
        for variable, initval in dict(*given, **named).items():
            self[variable] = initval


class Model(ModelFunctions):
    """A probabilistic model. Use it as a context manager: `with pm.Model() as model:`.

    Variables, data and potentials that are declared inside the `with` block belong to the model.

    name: Prefix of the names of all variables: `name::`.
    coords (mapping): Labels of dimensions: name -> sequence of labels.
    check_bounds: False leaves out of the log density the checks that make it NaN or -inf for parameters out of range,
        such as a negative scale. Use it for models in which no parameter can be out of range. A model inside another
        one takes the value of that one.
    model (Model, optional): The model that this one is a part of; by default the one whose `with` block this is. None:
        no part of another model.

    Attributes
    ----------
    free_RVs
        The free random variables, in the order of their declaration.
    observed_RVs
        The observed random variables.
    deterministics
        The named deterministics.
    coords
        Labels of dimensions by name.

    See modelcontext: The innermost model.
    See Data: Data under a name that can be exchanged later with `set_data`.
    >>> with pm.Model(coords={"city": ["Bern", "Rome"]}) as model:
    ...     mu = pm.Normal("mu", dims="city")
    >>> [variable.name for variable in model.free_RVs]
    ['mu']
    """

    @naming({})
    def __init__(
        self,
        name: str = "",
        coords: Mapping[str, Labels] | None = None,
        check_bounds: bool = True,
        *,
        model: ModelVariables | context.Default | None = context.DEFAULT,
    ) -> None:
        super().__init__(name, coords, check_bounds, model=model)

    def __getattr__(self, name: str) -> Node:
        named: dict[str, Node] = self.__dict__.get("named", {})
        for full in (name, self.name_for(name)) if named else ():
            if full in named:
                return self._shown(full)
        if name in ABSENT:
            raise AttributeError(f"PyMC's `Model.{name}` does not exist here; {ABSENT[name]}", name=name, obj=self)
        older = import_module("consilience.names.older_names").today("model", name)  # loaded by mistakes alone
        if older is not None:
            raise AttributeError(f"the model has no `{name}`: {older}.", name=name, obj=self)
        raise AttributeError(
            f"the model has neither a method nor a variable `{name}`; its variables are {', '.join(named) or 'none'}.",
            name=name,
            obj=self,
        )

    def __repr__(self) -> str:
        return printing.plain(self) or "an empty model"

    def str_repr(self, formatting: str = "plain", include_params: bool = True) -> str:
        """The variables with their distributions and parameters, one line each; `formatting` "plain" or "latex"."""
        if formatting not in ("plain", "latex"):
            raise ValueError(f"`formatting` must be 'plain' or 'latex', got {formatting!r}.")
        return (printing.latex if formatting == "latex" else printing.plain)(self, include_params)

    def _repr_latex_(self) -> str:
        return printing.latex(self)

    def _repr_html_(self) -> str:
        return printing.hypertext(self)

    @classmethod
    def get_context(cls, error_if_none: bool = True, allow_block_model_access: bool = False) -> Model | None:
        """The innermost model of the context stack; `allow_block_model_access` is of no effect, for PyMC's sake."""
        del allow_block_model_access
        found = context.current_or_none()
        if isinstance(found, Model):
            return found
        return modelcontext(None) if error_if_none else None

    def __copy__(self) -> Model:
        return self.copy()

    def copy(self) -> Model:
        """A model of its own, with data of its own; as `copy.deepcopy`."""
        return duplicate(self)

    def register_rv(
        self,
        rv_var: Node,
        name: str,
        *,
        observed: TensorLike | None = None,
        total_size: Any = None,
        dims: DimensionNames = None,
        default_transform: Any = context.DEFAULT,
        transform: Any = context.DEFAULT,
        initval: Any = None,
    ) -> Node:
        """Take a random variable made with `.dist()` into the model, as if its distribution had been given the name.

        The arguments are those of distributions, such as `pm.Normal`.

        Returns
        -------
        TensorVariable
            `rv_var`, or the deterministic of observed and free parts where values are missing.
        """
        variable_of(rv_var, "register_rv")
        return self.register(
            name,
            rv_var,
            observed=observed,
            total_size=total_size,
            dims=dims,
            transform=requested_transform(rv_var, transform, default_transform),
            initval=initval,
        )

    def add_named_variable(self, var: Node, dims: DimensionNames = None) -> None:
        """Find an expression that has a name under it, as `model[name]`; its values are not kept."""
        self.add_named(var, dims)

    @property
    def isroot(self) -> bool:
        """Whether the model is no part of another one."""
        return self.parent is None

    @property
    def root(self) -> ModelVariables:
        """The model of which this is a part, at the top."""
        return list(self.lineage())[-1]

    @property
    def prefix(self) -> str:
        """What stands before `::` in the names of its variables: the names of the models around it and its own."""
        return self.name

    def name_of(self, name: str) -> str:
        """The name of a variable without the model's prefix."""
        return name.removeprefix(f"{self.name}::") if self.name else name

    @property
    def data_vars(self) -> list[Node]:
        """Data containers."""
        return [self._shown(name, node) for name, node in self.data.items()]

    @property
    def dim_lengths(self) -> dict[str, Node]:
        """The present length of each dimension, as an integer scalar."""
        return {name: constant(self.coordinates.current_length(name)) for name in self.coordinates.names()}

    def shape_from_dims(self, dims: Sequence[str]) -> tuple[int, ...]:
        """The present lengths of dimensions."""
        return tuple(self.coordinates.current_length(name) for name in dims)

    def set_dim(self, name: str, new_length: int, coord_values: Labels = None) -> None:
        """Change the length and the labels of a dimension whose length data decide; set all data along it, too.

        Raises
        ------
        ModelError
            For a dimension of fixed length.
        ShapeError
            Where labels do not fit the length.
        """
        self.coordinates.resize(name, new_length, coord_values)

    def get_data(self, name: str) -> npt.NDArray[Any]:
        """The present values of a data container; KeyError, with those there are, for another name."""
        for full in (name, self.name_for(name)):
            if full in self.data:
                return contexts.DEFAULT.get(self.data[full])
        raise no_such_data(name, self.data)

    def set_initval(self, rv_var: Node | str, initval: Any) -> None:
        """Give a free variable another starting value."""
        node = plain(self[rv_var] if isinstance(rv_var, str) else rv_var)
        for owner in self.lineage():
            for place, variable in enumerate(owner.free):
                if variable.node is node:
                    owner.free[place] = replace(variable, initval=initval)
                    break
            else:
                raise ModelError(f"{rv_var!r} is not a free variable of the model.")
            owner.cache.clear()

    def to_graphviz(
        self,
        *,
        var_names: Sequence[str] | None = None,
        formatting: str = "plain",
        save: str | None = None,
        figsize: tuple[float, float] | None = None,
        dpi: int = 300,
    ) -> Any:
        """The model as a `graphviz.Source`; see `pm.model_to_graphviz`."""
        return model_graph.graphviz(model_graph.model_graph(self, var_names, formatting), save, figsize, dpi)

    def log_density(self) -> ModelDensity:
        """The compiled log density on the unconstrained space, for the present data."""
        return model_density(self)

    # ---- points and log densities over the value variables

    @property
    def unobserved_value_vars(self) -> list[Node]:
        """Value variables, the constrained values of the transformed ones, and deterministics, as graphs with names."""
        terms = terms_over_values(self)
        own = {v.name: c for v, c in zip(self.free, terms.constrained, strict=True) if v.transform is not None}
        own |= zip(self.named_deterministics, terms.deterministics, strict=True)
        return [*self.value_vars, *(called(node, name) for name, node in own.items())]

    @property
    def rvs_to_values(self) -> dict[Node, Node]:
        """The value variable of each random variable; the data of observed ones."""
        return {v.node: v.value for v in self.free} | {v.node: v.data for v in self.observed}

    @property
    def values_to_rvs(self) -> dict[Node, Node]:
        """The random variable of each value variable and of data."""
        return {value: rv for rv, value in self.rvs_to_values.items()}

    @property
    def rvs_to_transforms(self) -> dict[Node, Transform | None]:
        """The map of each free variable to the unconstrained line; None where there is none."""
        return {v.node: v.transform for v in self.free} | {v.node: None for v in self.observed}

    @property
    def rvs_to_initial_values(self) -> InitialValues:
        """The starting value given with each free variable, None for the default; items can be set."""
        return InitialValues(self)

    @rvs_to_initial_values.setter
    def rvs_to_initial_values(self, given: Mapping[Node | str, Any]) -> None:
        for node in self.free_RVs:
            self.set_initval(node, None)
        for variable, initval in given.items():
            self.set_initval(variable, initval)


def modelcontext(model: Model | None = None) -> Model:
    """The given model, or that of the innermost enclosing `with` block.

    model : ...
    Returns: The model; TypeError where there is none.
    See Data: Data under a name that can be exchanged later with `set_data`.
    See Model: A probabilistic model in PyMC's vocabulary.
    >>> with pm.Model() as model:
    ...     pm.modelcontext(None) is model
    True
    """
    if told := elsewhere(model):
        raise ModelError(told)
    if model is not None:
        if not isinstance(model, Model):
            raise TypeError(f"a `pm.Model` is needed, got {model!r:.200}.")
        return model
    current = context.current_or_none()
    if isinstance(current, context.Closed):
        raise current.refusal("asks for the model")
    if not isinstance(current, Model):
        if told := around():
            raise ModelError(told)
        raise TypeError("no model on the context stack: call this inside `with pm.Model():` or pass `model=`.")
    return current


def clone_model(model: Model) -> Model:
    """A model of its own with the same variables and data, which can be extended: `with clone_model(model): …`.

    model (given) : ...
    Returns: A copy; the given model is as it was.
    See freeze_model: Freezes what free variables depend on.
    >>> import consilience as pm
    >>> from consilience.model import clone_model
    >>> with pm.Model() as model:
    ...     x = pm.Normal("x")
    >>> with clone_model(model) as longer:
    ...     y = pm.Normal("y", longer["x"])
    >>> [v.name for v in model.free_RVs], [v.name for v in longer.free_RVs]
    (['x'], ['x', 'y'])
    """
    return model.copy()


def _dims_for(value: Any, dims: DimensionNames) -> DimensionNames:
    """Dims that are asked for, or those of a tensor with named dims, which may only be in another order."""
    own = () if plain(value) is value else value.dims
    if own and dims is not None and own != ((dims,) if isinstance(dims, str) else tuple(dims)):
        raise ShapeError(
            f"the value has the dims {own!r}, and {dims!r} are asked for; `pm.dims.Deterministic` orders them."
        )
    return dims if dims is not None or not own else own


def Deterministic(name: str, var: TensorLike, model: Model | None = None, dims: DimensionNames = None) -> Node:
    """Keep the values of an expression in the results, under a name. It does not change the density.

    name: Name in the model and in results.
    var: The expression.
    model : ...
    dims (str or sequence of str): Names of the axes; their lengths come from the model's coords.
    Returns: The expression itself.
    See Potential: Add a term to the model's log density.
    See Data: Data under a name that can be exchanged later with `set_data`.
    >>> with pm.Model() as model:
    ...     x = pm.Normal("x")
    ...     y = pm.Deterministic("y", x**2)
    >>> [variable.name for variable in model.deterministics]
    ['y']
    """
    made = modelcontext(model).add_deterministic(name, as_tensor(plain(var)), _dims_for(var, dims))
    kept: Node = like(var, made)  # with the named dims that `var` may have
    return kept


def Potential(name: str, var: TensorLike, model: Model | None = None, dims: DimensionNames = None) -> Node:
    """Add a term to the log density of the model, such as a constraint or a likelihood written by hand.

    name: Name in the model.
    var: The term, an expression. Its elements are added.
    model : ...
    dims (str or sequence of str): Names of the axes; their lengths come from the model's coords.
    Returns: The term itself.
    See Data: Data under a name that can be exchanged later with `set_data`.
    See Deterministic: Keep the values of an expression under a name.
    >>> with pm.Model() as model:
    ...     x = pm.Normal("x")
    ...     p = pm.Potential("p", -(x**2))
    >>> [variable.name for variable in model.potentials]
    ['p']
    """
    return modelcontext(model).add_potential(name, as_tensor(plain(var)), _dims_for(var, dims))


def Point(*points: Any, model: Model | None = None, filter_model_vars: bool = False, **values: Any) -> dict[str, Any]:
    """A point as a dictionary of arrays: `pm.Point(mu=0.0, tau_log__=1.0)`, or from dictionaries.

    *points: Mappings of names to values.
    model : ...
    filter_model_vars: Leave out what is no value variable of the model.
    **values: Values by name.
    Returns (dict): Arrays by name.
    See Model: Its `initial_point` is one.
    >>> with pm.Model():
    ...     mu = pm.Normal("mu")
    ...     point = pm.Point(mu=1.5)
    >>> point["mu"].item()
    1.5
    """
    owner = modelcontext(model)
    known = {str(v.name) for v in owner.value_vars}
    given = {str(name): value for point in points for name, value in dict(point).items()} | values
    placed = owner.placed_point(given)
    return {name: np.asarray(value) for name, value in placed.items() if not filter_model_vars or name in known}


@naming({"export_index_as_coords": "it is called `infer_dims_and_coords`."})
def Data(
    name: str,
    value: npt.ArrayLike,
    *,
    dims: DimensionNames = None,
    coords: Mapping[str, Labels] | None = None,
    infer_dims_and_coords: bool = False,
    mutable: bool | None = None,
    model: Model | None = None,
) -> Node:
    """Add data to the model under a name. `set_data` can replace their values later, also with other lengths.

    name: Name in the model.
    value: The data. A sparse matrix of SciPy gives a sparse variable: its parts are data "name.data", "name.indices",
        "name.indptr" and "name.shape", and its number of columns cannot change.
    dims (str or sequence of str): Names of the axes. A dimension without labels takes its length from the data.
    coords (mapping): Labels of dimensions to add to the model, by name.
    infer_dims_and_coords: True: take dims and coords from the named axes of a `DataArray`, `DataFrame` or `Series`.
    mutable: Accepted for compatibility with PyMC; has no effect, because all data can be replaced.
    model : ...
    Returns: The data, as an input of expressions.
    See set_data: Exchange the values of several data slots.
    See Minibatch: The same random rows of several arrays.
    See observe: A model in which variables have data.
    >>> with pm.Model():
    ...     x = pm.Data("x", [1.0, 2.0])
    >>> x.ndim
    1
    """
    del mutable
    owner = modelcontext(model)
    if is_scipy_sparse(value):
        if dims is not None or coords or infer_dims_and_coords:
            raise ShapeError(f"the data `{name}` are a sparse matrix, whose axes have no dims; leave them out.")
        made: Any = sparse_slots(name, value, owner.add_data)
        matrix: Node = made  # as far as type checkers know, SciPy's matrices being unknown to them
        return matrix
    if infer_dims_and_coords:
        axes = labelled_axes(value)
        dims = dims if dims is not None else tuple(axes)
        coords = {**{dim: labels for dim, labels in axes.items() if labels is not None}, **(coords or {})}
    owner.add_coords(coords or {})
    return owner.add_data(name, value, dims)


def set_data(
    new_data: Mapping[str, npt.ArrayLike],
    model: Model | None = None,
    *,
    coords: Mapping[str, Labels] | None = None,
) -> None:
    """Replace the values of data containers of a model.

    new_data: New values by the name of the data. Lengths may change unless labels or fixed dimensions forbid it.
        Columns of a table are placed by their names if these are the same as before, a `DataArray` by its labels.
    model: The model; by default that of the enclosing `with` block.
    coords (mapping): New labels of dimensions whose length changes, by name.
    Returns: The model has the new values.
    See Minibatch: The same random rows of several arrays.
    See observe: A model in which variables have data.
    See do: A model in which variables have been set from outside.
    >>> with pm.Model() as model:
    ...     x = pm.Data("x", [1.0, 2.0])
    ...     pm.set_data({"x": [3.0, 4.0]})
    >>> x.get_value().tolist()
    [3.0, 4.0]
    """
    modelcontext(model).set_all(new_data, coords)

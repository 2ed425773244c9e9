"""The model as users know it: `Model`, and the functions that add to the one in the context."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy.typing as npt

from consilience.distributions import context
from consilience.distributions.transforms import Transform
from consilience.ir import FLOATS, Node
from consilience.model import functions
from consilience.model.coordinates import Labels
from consilience.model.functions import Point
from consilience.model.keywords import check_compile_kwargs
from consilience.model.log_density import ModelDensity, model_density, total
from consilience.model.value_graphs import (
    Chosen,
    d2logp_graph,
    dlogp_graph,
    factors,
    logp_graph,
    over_values,
    terms_over_values,
)
from consilience.model.variables import DimensionNames, ModelVariables
from consilience.ops.elementwise import TensorLike, as_tensor


class Model(ModelVariables):
    """A probabilistic model in PyMC's vocabulary; use it as a context manager.

    coords   labels of dimensions: name -> sequence of labels
    """

    def log_density(self) -> ModelDensity:
        """The compiled log density on the unconstrained space, for the present data."""
        return model_density(self)

    # ---- points and log densities over the value variables

    @property
    def value_vars(self) -> list[Node]:
        """Inputs of the log density: the unconstrained value of each free variable."""
        return [v.value for v in self.free]

    @property
    def continuous_value_vars(self) -> list[Node]:
        """Value variables of floats."""
        return [v.value for v in self.free if v.value.dtype in FLOATS]

    @property
    def discrete_value_vars(self) -> list[Node]:
        """Value variables of integers."""
        return [v.value for v in self.free if v.value.dtype not in FLOATS]

    @property
    def unobserved_value_vars(self) -> list[Node]:
        """Value variables, the constrained values of the transformed ones, and deterministics, as graphs."""
        terms = terms_over_values(self)
        own = [c for v, c in zip(self.free, terms.constrained, strict=True) if v.transform is not None]
        return [*self.value_vars, *own, *terms.deterministics]

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
    def rvs_to_initial_values(self) -> dict[Node, Any]:
        """The starting value given with each free variable; None for the default."""
        return {v.node: v.initval for v in self.free}

    def initial_point(self, random_seed: Any = None) -> dict[str, npt.NDArray[Any]]:
        """The default starting values on the unconstrained line, by PyMC's names (`tau_log__`).

        random_seed   of the draws for variables with `initval="prior"`
        """
        return functions.initial_point(self, random_seed)

    def replace_rvs_by_values(self, graphs: Sequence[Node]) -> list[Node]:
        """Expressions of the model's variables, written over its value variables and data."""
        return over_values(self, graphs)

    def logp(self, vars: Chosen = None, jacobian: bool = True, sum: bool = True) -> Any:
        """The log density as a graph over `value_vars`.

        vars       random variables and potentials, or their names; all by default
        jacobian   whether the log Jacobians of the transforms are added
        sum        one scalar; False: a list with one expression per variable, elementwise
        raises     ModelError for what is no variable of this model
        """
        return logp_graph(self, vars, jacobian, sum)

    def dlogp(self, vars: Chosen = None, jacobian: bool = True) -> Node:
        """The gradient of the log density along `vars` (continuous free variables), one flat vector, as a graph."""
        return dlogp_graph(self, vars, jacobian)

    def d2logp(self, vars: Chosen = None, jacobian: bool = True, negate_output: bool = True) -> Node:
        """The matrix of second derivatives along `vars`, as a graph; with the other sign by default, as in PyMC."""
        graph = d2logp_graph(self, vars, jacobian)
        return -graph if negate_output else graph

    @property
    def varlogp(self) -> Node:
        """Log density of the free variables with their Jacobians, as a graph."""
        return total(factors(self, self.free_RVs))

    @property
    def observedlogp(self) -> Node:
        """Log density of the observed variables, as a graph."""
        return total(factors(self, self.observed_RVs))

    @property
    def potentiallogp(self) -> Node:
        """The sum of the potentials, as a graph."""
        return total(factors(self, self.potentials))

    @property
    def datalogp(self) -> Node:
        """Log density of the observed variables plus the potentials, as a graph."""
        return self.observedlogp + self.potentiallogp

    def compile_fn(
        self,
        outs: Any,
        *,
        inputs: Sequence[Node] | None = None,
        mode: str | None = None,
        point_fn: bool = True,
        **ignored: Any,
    ) -> Callable[..., Any]:
        """A compiled function of graphs over the value variables.

        outs       a graph, a list or a dict of graphs; results come in the same form
        inputs     value variables in the order of the call; those that occur in `outs` by default
        mode       "llvm" (machine code, the default) or "reference" (NumPy)
        point_fn   the function takes a point (a mapping of names to values); False: values by position
        """
        check_compile_kwargs(ignored)
        return functions.compile_fn(self, outs, inputs, mode, point_fn)

    def compile_logp(
        self,
        vars: Chosen = None,
        jacobian: bool = True,
        sum: bool = True,
        *,
        mode: str | None = None,
        point_fn: bool = True,
        **ignored: Any,
    ) -> Callable[..., Any]:
        """A function from a point (as `initial_point` gives) to the log density, for the data of the moment.

        vars, jacobian, sum   as in `logp`; mode, point_fn as in `compile_fn`
        returns               a function that gives a float, or a list of arrays with `sum=False`. Where a parameter
                              is out of range or a matrix has no factor, the log density is -inf
        """
        check_compile_kwargs(ignored)
        return functions.compile_logp(self, vars, jacobian, sum, mode=mode, point_fn=point_fn)

    def compile_dlogp(
        self,
        vars: Chosen = None,
        jacobian: bool = True,
        *,
        mode: str | None = None,
        point_fn: bool = True,
        **ignored: Any,
    ) -> Callable[..., npt.NDArray[Any]]:
        """A function from a point to the gradient along `vars`, one flat vector in the order of the point."""
        check_compile_kwargs(ignored)
        return functions.compile_dlogp(self, vars, jacobian, mode=mode, point_fn=point_fn)

    def compile_d2logp(
        self,
        vars: Chosen = None,
        jacobian: bool = True,
        negate_output: bool = True,
        *,
        mode: str | None = None,
        point_fn: bool = True,
        **ignored: Any,
    ) -> Callable[..., npt.NDArray[Any]]:
        """A function from a point to the matrix of second derivatives; with the other sign by default, as in PyMC."""
        check_compile_kwargs(ignored)
        return functions.compile_d2logp(self, vars, jacobian, negate_output, mode=mode, point_fn=point_fn)

    # ---- examination

    def point_logps(self, point: Point | None = None, round_vals: int | None = None) -> dict[str, float]:
        """Log density of each variable with its Jacobian, and each potential; they sum to the model's.

        point        values as `initial_point` gives; the default starting point if none is given
        round_vals   decimals to round to; exact by default
        """
        return functions.point_logps(self, point, round_vals)

    def check_start_vals(self, start: Point | Sequence[Point]) -> None:
        """Raise InitialPointError, with the term at fault, for a point without a finite log density."""
        functions.check_start_vals(self, start)

    def eval_rv_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the free variables and of their value variables, by name, for the present data."""
        return functions.eval_rv_shapes(self)

    def debug(self, point: Point | None = None, fn: str = "logp", verbose: bool = False) -> None:
        """Print the log density of each variable at a point, and what is at fault if one is not finite.

        fn        "logp"; "dlogp": the gradient too; "random": whether each variable can be drawn
        verbose   print the graph of each term that is not finite
        """
        print(functions.report(self, point, fn, verbose))


def modelcontext(model: Model | None = None) -> Model:
    """The given model, or the innermost one of the context stack."""
    if model is not None:
        return model
    current = context.current_or_none()
    if not isinstance(current, Model):
        raise TypeError("no model on the context stack: call this inside `with pm.Model():` or pass `model=`.")
    return current


def Deterministic(name: str, var: TensorLike, model: Model | None = None, dims: DimensionNames = None) -> Node:
    """Keep the values of an expression under a name."""
    return modelcontext(model).add_deterministic(name, as_tensor(var), dims)


def Potential(name: str, var: TensorLike, model: Model | None = None, dims: DimensionNames = None) -> Node:
    """Add a term to the model's log density; all its elements are summed."""
    return modelcontext(model).add_potential(name, as_tensor(var), dims)


def Data(
    name: str,
    value: npt.ArrayLike,
    *,
    dims: DimensionNames = None,
    coords: Mapping[str, Labels] | None = None,
    model: Model | None = None,
) -> Node:
    """Data under a name that can be exchanged later with `set_data`.

    dims     names of the axes; a length that has no labels yet is the data's
    coords   labels of dimensions
    """
    owner = modelcontext(model)
    owner.add_coords(coords or {})
    return owner.add_data(name, value, dims)


def set_data(
    new_data: Mapping[str, npt.ArrayLike],
    model: Model | None = None,
    *,
    coords: Mapping[str, Labels] | None = None,
) -> None:
    """Exchange the values of several data slots; `coords` gives new labels of dimensions that change."""
    modelcontext(model).set_all(new_data, coords)

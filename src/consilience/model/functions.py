"""What users ask of a model beside sampling: log densities, derivatives, points and reports, as graphs and functions.

A model's variables in, methods of `Model` out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from consilience.backends.function import function
from consilience.distributions.random_variable import RandomVariable, is_rows
from consilience.elimination.addends import total
from consilience.errors import ConsilienceError, InitialPointError, LinearAlgebraError, ModelError
from consilience.ir import FLOATS, Input, Node, topological
from consilience.ir.arithmetic import like, plain, without_dims
from consilience.ir.side_tables import name_of
from consilience.ir.text import text
from consilience.model import diagnosis
from consilience.model.extension import check_fit
from consilience.model.joint_function import LogpDlogp
from consilience.model.keywords import check_compile_kwargs
from consilience.model.layout import known_shape, point_arrays
from consilience.model.observation import check_data, slot_values
from consilience.model.predictive import predict
from consilience.model.starting_point import initial_point, layout_with_data, starting_position
from consilience.model.value_graphs import Chosen, d2logp_graph, dlogp_graph, factors, logp_graph, over_values
from consilience.model.variables import ModelVariables

if TYPE_CHECKING:
    from consilience.backends.inspect.kernel_profile import KernelProfile

Array = npt.NDArray[Any]
Point = Mapping[str, Any]

# Modes of compilation under PyTensor's names, and the mode of `function` that each means here.
MODES: Final[dict[str | None, str]] = {
    None: "llvm",
    "llvm": "llvm",
    "FAST_RUN": "llvm",
    "NUMBA": "llvm",
    "JAX": "llvm",
    "c": "c",
    "C": "c",
    "reference": "reference",
    "FAST_COMPILE": "reference",
    "PY": "reference",
    **dict.fromkeys(("nan_guard", "NanGuardMode"), "nan_guard"),
    **dict.fromkeys(("debug", "DebugMode"), "debug"),
}

Outputs = Node | Sequence[Node] | Mapping[str, Node]


class PointFunction:
    """A compiled function of a point: a mapping of the names of its inputs to values.

    `inputs`: the variables a point must hold. `f`: the function of the inputs that occur in the outputs, by position.
    """

    def __init__(
        self,
        model: ModelVariables,
        inputs: Sequence[Node],
        outputs: Outputs,
        mode: str,
        name: str,
    ) -> None:
        self.model = model
        self.inputs = tuple(inputs)
        graph = topological(_listed(outputs))
        for node in graph:
            if isinstance(node.op, RandomVariable) and not is_rows(node):
                own = any(v.node is node for v in model.variables)
                wanted = (
                    "write the graph over `model.value_vars`, with `model.replace_rvs_by_values`"
                    if own
                    else "declare it inside the model's `with` block, with a name"
                )
                raise ModelError(
                    f"the graph depends on `{node.name or repr(node.op)}`, a random variable"
                    f"{'' if own else ' that is not a variable of this model'}; {wanted}."
                )
        used = {node for node in graph if isinstance(node.op, Input)}
        self.used = [node for node in self.inputs if node in used]
        self._names, self._used = ([str(name_of(node)) for node in nodes] for nodes in (self.inputs, self.used))
        # Versions of the data of the latest call, shapes of the inputs for these, and names that a point may have too.
        self._latest: tuple[list[int], dict[str, tuple[int, ...]], set[str]] | None = None
        self.f = function(self.used, outputs, name=name, mode=mode)

    def labelled_outputs(self) -> Sequence[tuple[Node, str]]:
        """The graph that is computed, for `debugprint` and pictures."""
        return self.f.labelled_outputs()

    def __call__(self, point: Point) -> Any:
        """The outputs at a point; ModelError where it lacks an input or has others, ShapeError for wrong shapes."""
        slots, values, versions, lengths = slot_values(self.model)
        key = ("checked", *versions)
        if key not in self.model.cache or self.model.coordinates.moved():
            check_fit(self.model, lengths)
            check_data(self.model, dict(zip(slots, values, strict=True)))
            self.model.cache[key] = True
            self._latest = None
        if self._latest is None or self._latest[0] != versions:
            shapes = {
                name: known_shape(n.static_shape, lengths, name)
                for n, name in zip(self.inputs, self._names, strict=True)
            }
            self._latest = versions, shapes, {str(v.value.name) for v in self.model.free}
        arrays = point_arrays(self.model.placed_point(point), *self._latest[1:])
        return self.f(*[arrays[name] for name in self._used])

    def positional(self, *values: npt.ArrayLike) -> Any:
        """The outputs at values of the inputs, in their order."""
        return self(dict(zip(self._names, values, strict=True)))


class LogpFunction:
    """The log density as a function of a point, -inf where it cannot be computed.

    `f`: the function of the value variables beneath.
    """

    def __init__(self, compiled: Callable[..., Any], sum: bool) -> None:
        self._compiled, self._sum = compiled, sum
        owner = compiled if isinstance(compiled, PointFunction) else compiled.__self__  # type: ignore[attr-defined]  # bound
        self.f = owner.f

    def labelled_outputs(self) -> Sequence[tuple[Node, str]]:
        """The graph that is computed, for `debugprint` and pictures."""
        return self.f.labelled_outputs()

    def __call__(self, *point: Any) -> Any:
        """A float, or one array per term."""
        try:
            values = self._compiled(*point)
        except LinearAlgebraError:
            if self._sum:
                return -np.inf  # as in sampling: what cannot be computed has no probability
            raise
        if self._sum:
            return -np.inf if np.isnan(values) else float(values)
        return [np.where(np.isnan(v), -np.inf, v) for v in values]


class ModelFunctions(ModelVariables):
    """The part of a model that makes graphs and functions of its value variables."""

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

    def initial_point(self, random_seed: Any = None) -> dict[str, npt.NDArray[Any]]:
        """The default starting values on the unconstrained line, by PyMC's names (`tau_log__`).

        Parameters
        ----------
        random_seed : int, sequence of int or Generator, optional
            Of the draws for variables with `initval="prior"`.
        """
        return initial_point(self, random_seed)

    def replace_rvs_by_values(self, graphs: Sequence[Node]) -> list[Node]:
        """Expressions of the model's variables, written over its value variables and data."""
        return [
            like(given, node) for given, node in zip(graphs, over_values(self, list(map(plain, graphs))), strict=True)
        ]

    def logp(self, vars: Chosen = None, jacobian: bool = True, sum: bool = True) -> Any:
        """The log density as a graph over `value_vars`.

        Parameters
        ----------
        vars : Chosen, optional
            Random variables and potentials, or their names; all by default.
        jacobian : bool, default True
            Whether the log Jacobians of the transforms are added.
        sum : bool, default True
            One scalar; False: a list with one expression per variable, elementwise.

        Raises
        ------
        ModelError
            For what is no variable of this model.
        """
        return logp_graph(self, vars, jacobian, sum)

    def dlogp(self, vars: Chosen = None, jacobian: bool = True) -> Node:
        """The gradient of the log density along `vars` (continuous free variables), one flat vector, as a graph."""
        return dlogp_graph(self, vars, jacobian)

    def d2logp(self, vars: Chosen = None, jacobian: bool = True, negate_output: bool = True) -> Node:
        """The matrix of second derivatives along `vars`, as a graph; with the other sign by default, as in PyMC."""
        graph = d2logp_graph(self, vars, jacobian)
        return -graph if negate_output else graph

    def __repr__(self) -> str:
        lines = [f"{v.name} ~ {v.node.op!r}" for v in self.free]
        lines += [f"{name} = deterministic" for name in self.deterministics]
        lines += [f"{name} = potential" for name in self.potentials]
        lines += [f"{v.name} ~ {v.node.op!r} (observed)" for v in self.observed]
        return "\n".join(lines) if lines else "an empty model"

    # ---- PyMC's names for the parts

    @property
    def free_RVs(self) -> list[Node]:  # PyMC's name
        """Random variables to be inferred."""
        return [self._shown(v.name, v.node) for v in self.free]

    @property
    def observed_RVs(self) -> list[Node]:  # PyMC's name
        """Random variables with data."""
        return [self._shown(v.name, v.node) for v in self.observed]

    @property
    def unobserved_RVs(self) -> list[Node]:  # PyMC's name
        """Random variables to be inferred, and deterministics."""
        return self.free_RVs + self.deterministics

    @property
    def basic_RVs(self) -> list[Node]:  # PyMC's name
        """All random variables."""
        return self.free_RVs + self.observed_RVs

    # ---- log densities of parts

    @property
    def varlogp(self) -> Node:
        """Log density of the free variables with their Jacobians, as a graph."""
        return total(factors(self, self.free_RVs))

    @property
    def varlogp_nojac(self) -> Node:
        """Log density of the free variables on their own scales, as a graph."""
        return total(factors(self, self.free_RVs, False))

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

        Parameters
        ----------
        outs : object
            A graph, a list or a dict of graphs; results come in the same form.
        inputs : sequence of TensorVariable, optional
            Value variables in the order of the call; those that occur in `outs` by default.
        mode : str, optional
            "llvm" (machine code, the default), "c" (through the system's C compiler) or "reference" (NumPy).
        point_fn : bool, default True
            The function takes a point (a mapping of names to values); False: values by position.
        **ignored : object
            Other keywords of PyMC, without effect.
        """
        check_compile_kwargs(ignored)
        return _compiled(self, without_dims(outs), inputs, mode, point_fn)

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

        Parameters
        ----------
        vars : Chosen, optional
            As in `logp`.
        jacobian, sum : bool, default True
            As in `logp`; mode, point_fn as in `compile_fn`.
        jacobian, sum : bool, default True
            As in `logp`.
        mode : str, optional
            As in `compile_fn`.
        point_fn : bool, default True
            As in `compile_fn`.
        **ignored : object
            Other keywords of PyMC, without effect.

        Returns
        -------
        callable
            A function that gives a float, or a list of arrays with `sum=False`. Where a parameter is out of range or a
            matrix has no factor, the log density is -inf.
        """
        check_compile_kwargs(ignored)
        graph = logp_graph(self, vars, jacobian, sum)
        return LogpFunction(_compiled(self, graph, self.value_vars, mode, point_fn, "logp"), sum)

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
        return _compiled(self, dlogp_graph(self, vars, jacobian), self.value_vars, mode, point_fn, "dlogp")

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
        graph = self.d2logp(vars, jacobian, negate_output)
        return _compiled(self, graph, self.value_vars, mode, point_fn, "d2logp")

    def logp_dlogp_function(
        self,
        grad_vars: Chosen = None,
        tempered: bool = False,
        initial_point: Point | None = None,
        ravel_inputs: bool | None = None,
        **ignored: Any,
    ) -> LogpDlogp:
        """A compiled function that gives the log density and its gradient at once.

        Parameters
        ----------
        grad_vars : Chosen, optional
            Continuous free variables along which the gradient is taken, and which the call gives; all by default. The
            others are extra values, which `set_extra_values` changes.
        tempered : bool, default False
            The density is that of the free variables plus weights times that of data and potentials; `set_weights`
            changes the weights, at first 1.
        initial_point : Point, optional
            Extra values; the default starting point if none is given.
        ravel_inputs : bool, optional
            Whether a call takes one flat vector, or one value per variable.
        **ignored : object
            Other keywords of PyMC, without effect.
        """
        check_compile_kwargs(ignored)
        return LogpDlogp(self, grad_vars, tempered, initial_point, bool(ravel_inputs))

    # ---- examination

    def profile(
        self, outs: Any, *, n: int = 1000, point: Point | None = None, mode: str | None = None, **ignored: Any
    ) -> KernelProfile:
        """Where the time of a compiled function of graphs over the value variables goes; print it, or its `summary`.

        Parameters
        ----------
        outs : object
            A graph, a list or a dict of graphs.
        n : int, default 1000
            Number of calls.
        point : Point, optional
            Where the function is called; the default starting point if none is given.
        mode : str, optional
            As in `compile_fn`.
        **ignored : object
            Other keywords of PyMC, without effect.
        """
        check_compile_kwargs(ignored)
        at = self.initial_point() if point is None else point
        made = PointFunction(self, self.value_vars, outs, MODES[mode], "function of a point")
        made(at)  # checks the point
        return made.f.profile_kernels(*(np.asarray(at[str(name_of(node))]) for node in made.used), repeat=n)

    def labelled_outputs(self) -> list[tuple[Node, str]]:
        """Random variables, deterministics and potentials, with "observed" beside those that are."""
        observed = {v.name for v in self.observed}
        shown = {name: node for name, node in self.named.items() if name not in self.data}
        return [(node, "[observed]" if name in observed else "") for name, node in shown.items()]

    def point_logps(self, point: Point | None = None, round_vals: int | None = None) -> dict[str, float]:
        """Log density of each variable with its Jacobian, and each potential; they sum to the model's.

        Parameters
        ----------
        point : Point, optional
            Values as `initial_point` gives; the default starting point if none is given.
        round_vals : int, optional
            Decimals to round to; exact by default.
        """
        values = diagnosis.point_logps(self, position_of(self, point))
        return values if round_vals is None else {name: round(value, round_vals) for name, value in values.items()}

    def check_start_vals(self, start: Point | Sequence[Point]) -> None:
        """Raise InitialPointError, with the term at fault, for a point without a finite log density."""
        for point in [start] if isinstance(start, Mapping) else start:
            position = position_of(self, point)
            if not np.isfinite(sum(diagnosis.point_logps(self, position).values())):
                raise InitialPointError(
                    "the log density at the start is not finite:\n" + "\n".join(diagnosis.diagnosis(self, position))
                )

    def eval_rv_shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the free variables and of their value variables, by name, for the present data."""
        _, _, _, lengths = slot_values(self)
        named = {n: node for v in self.free for n, node in ((str(v.value.name), v.value), (v.name, v.node))}
        return {name: known_shape(node.static_shape, lengths, name) for name, node in named.items()}

    def debug(self, point: Point | None = None, fn: str = "logp", verbose: bool = False) -> None:
        """Print the log density of each variable at a point, and what is at fault if one is not finite.

        Parameters
        ----------
        point : Point, optional
            Values of the variables by name; the default starting point if none is given.
        fn : str, default 'logp'
            "logp"; "dlogp": the gradient too; "random": whether each variable can be drawn.
        verbose : bool, default False
            Print the graph of each term that is not finite.
        """
        print(_report(self, point, fn, verbose))


def _compiled(
    model: ModelVariables,
    outs: Outputs,
    inputs: Sequence[Node] | None = None,
    mode: str | None = None,
    point_fn: bool = True,
    name: str = "function of a point",
) -> Callable[..., Any]:
    """A compiled function of graphs over the model's value variables; see `ModelFunctions.compile_fn`."""
    if inputs is None:
        inputs = [node for node in topological(_listed(outs)) if isinstance(node.op, Input) and node.dtype != "key"]
    if mode not in MODES:
        raise ValueError(f"`mode` must be one of {', '.join(repr(m) for m in MODES if m)}, got {mode!r}.")
    made = PointFunction(model, inputs, outs, MODES[mode], name)
    return made if point_fn else made.positional


def _report(model: ModelFunctions, point: Point | None = None, fn: str = "logp", verbose: bool = False) -> str:
    """What is wrong with a model at a point, in lines; see `ModelFunctions.debug`."""
    if fn not in ("logp", "dlogp", "random"):
        raise ValueError(f"`fn` must be 'logp', 'dlogp' or 'random', got {fn!r}.")
    if fn == "random":
        return "\n".join(_faults_of_draws(model) or ["every variable can be drawn"])
    outside: list[str] = []
    position = position_of(model, point, outside)
    values = diagnosis.point_logps(model, position)
    width = max(map(len, values), default=0)
    lines = [f"{name:<{width}}  {value:.6g}" for name, value in values.items()]
    lines += [*outside, *diagnosis.diagnosis(model, position)]
    if fn == "dlogp":
        layout, _ = layout_with_data(model)
        slope = model.compile_dlogp()(layout.point(position))
        places = np.flatnonzero(~np.isfinite(slope))
        lines += [f"the gradient along `{layout.coordinate(int(i))}` is {slope[i]}" for i in places]
    if verbose:
        graphs = dict(zip(values, factors(model, None, True), strict=True))
        lines += [f"{name}:\n{text([graphs[name]])}" for name, value in values.items() if not np.isfinite(value)]
    return "\n".join(lines)


def _faults_of_draws(model: ModelVariables) -> list[str]:
    lines = []
    for variable in model.variables:
        try:
            predict(model, [variable.name], {}, 1, 0)
        except (ConsilienceError, ValueError) as error:
            lines.append(f"`{variable.name}` cannot be drawn: {error}")
    return lines


def position_of(
    model: ModelVariables, point: Point | None, outside: list[str] | None = None
) -> npt.NDArray[np.float64]:
    """A point as a vector; the default starting point if none is given, for `outside` see `starting_position`."""
    layout, lengths = layout_with_data(model)
    return (
        starting_position(model, layout, lengths, outside=outside)
        if point is None
        else layout.position(model.placed_point(point))
    )


def _listed(outputs: Outputs) -> list[Node]:
    if isinstance(outputs, Node):
        return [outputs]
    return list(outputs.values() if isinstance(outputs, Mapping) else outputs)

"""What users ask of a model beside sampling: log densities, derivatives, points and reports as functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from consilience.backends.function import function
from consilience.backends.shapes import Lengths
from consilience.distributions.random_variable import RandomVariable
from consilience.distributions.seeds import seed_from
from consilience.errors import ConsilienceError, InitialPointError, LinearAlgebraError, ModelError
from consilience.ir import Input, Node, topological
from consilience.ir.side_tables import name_of
from consilience.ir.text import text
from consilience.model import diagnosis
from consilience.model.extension import check_fit
from consilience.model.layout import Layout, known_shape, layout_of, point_arrays
from consilience.model.minibatch import is_rows
from consilience.model.observation import check_data, slot_values
from consilience.model.predictive import predict
from consilience.model.starting_point import starting_position
from consilience.model.value_graphs import Chosen, d2logp_graph, dlogp_graph, factors, logp_graph
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

    inputs   the variables a point must hold
    f        the function of the inputs that occur in the outputs, by position
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
        shapes = {str(name_of(n)): known_shape(n.static_shape, lengths, str(name_of(n))) for n in self.inputs}
        others = {str(v.value.name) for v in self.model.free}
        arrays = dict(zip(self.inputs, point_arrays(point, shapes, others).values(), strict=True))
        return self.f(*(arrays[node] for node in self.used))

    def positional(self, *values: npt.ArrayLike) -> Any:
        """The outputs at values of the inputs, in their order."""
        return self(dict(zip([str(name_of(node)) for node in self.inputs], values, strict=True)))


class LogpFunction:
    """The log density as a function of a point, -inf where it cannot be computed.

    f   the function of the value variables beneath
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


def initial_point(
    model: ModelVariables, random_seed: Any = None, initvals: Mapping[str, Any] | None = None
) -> dict[str, Array]:
    """The default starting values on the unconstrained line, by PyMC's names (`tau_log__`).

    random_seed   an integer or Generator: of the draws for variables with `initval="prior"`
    initvals      values, or "support_point" or "prior", in place of the model's own, by name
    """
    layout, lengths = _layout(model)
    seed = 0 if random_seed is None else seed_from(random_seed)
    point = layout.point(starting_position(model, layout, lengths, initvals, seed))
    return {name: array.astype(v.value.dtype) for (name, array), v in zip(point.items(), model.free, strict=True)}


def compile_fn(
    model: ModelVariables,
    outs: Outputs,
    inputs: Sequence[Node] | None = None,
    mode: str | None = None,
    point_fn: bool = True,
    name: str = "function of a point",
) -> Callable[..., Any]:
    """A compiled function of graphs over the model's value variables; see `Model.compile_fn`."""
    if inputs is None:
        inputs = [node for node in topological(_listed(outs)) if isinstance(node.op, Input) and node.dtype != "key"]
    if mode not in MODES:
        raise ValueError(f"`mode` must be one of {', '.join(repr(m) for m in MODES if m)}, got {mode!r}.")
    made = PointFunction(model, inputs, outs, MODES[mode], name)
    return made if point_fn else made.positional


def profile(model: ModelVariables, outs: Outputs, n: int, point: Point, mode: str | None) -> KernelProfile:
    """See `Model.profile`."""
    made = PointFunction(model, [v.value for v in model.free], outs, MODES[mode], "function of a point")
    made(point)  # checks the point
    return made.f.profile_kernels(*(np.asarray(point[str(name_of(node))]) for node in made.used), repeat=n)


def compile_logp(
    model: ModelVariables, chosen: Chosen, jacobian: bool, sum: bool, **settings: Any
) -> Callable[..., Any]:
    """See `Model.compile_logp`."""
    graph = logp_graph(model, chosen, jacobian, sum)
    return LogpFunction(compile_fn(model, graph, [v.value for v in model.free], name="logp", **settings), sum)


def compile_dlogp(model: ModelVariables, chosen: Chosen, jacobian: bool, **settings: Any) -> Callable[..., Array]:
    """See `Model.compile_dlogp`."""
    graph = dlogp_graph(model, chosen, jacobian)
    return compile_fn(model, graph, [v.value for v in model.free], name="dlogp", **settings)


def compile_d2logp(
    model: ModelVariables, chosen: Chosen, jacobian: bool, negate_output: bool, **settings: Any
) -> Callable[..., Array]:
    """See `Model.compile_d2logp`."""
    graph = d2logp_graph(model, chosen, jacobian)
    return compile_fn(
        model, -graph if negate_output else graph, [v.value for v in model.free], name="d2logp", **settings
    )


def eval_rv_shapes(model: ModelVariables) -> dict[str, tuple[int, ...]]:
    """Shapes of the free variables and of their value variables, by name, for the present data."""
    _, _, _, lengths = slot_values(model)
    shapes = {}
    for variable in model.free:
        for node, name in ((variable.value, str(variable.value.name)), (variable.node, variable.name)):
            shapes[name] = known_shape(node.static_shape, lengths, name)
    return shapes


def point_logps(model: ModelVariables, point: Point | None = None, round_vals: int | None = None) -> dict[str, float]:
    """Log density of each variable with its Jacobian, and each potential; they sum to the model's."""
    values = diagnosis.point_logps(model, position_of(model, point))
    return values if round_vals is None else {name: round(value, round_vals) for name, value in values.items()}


def check_start_vals(model: ModelVariables, start: Point | Sequence[Point]) -> None:
    """Raise InitialPointError, with the term at fault, for a point without a finite log density."""
    for point in [start] if isinstance(start, Mapping) else start:
        position = position_of(model, point)
        if not np.isfinite(sum(diagnosis.point_logps(model, position).values())):
            raise InitialPointError(
                "the log density at the start is not finite:\n" + "\n".join(diagnosis.diagnosis(model, position))
            )


def report(model: ModelVariables, point: Point | None = None, fn: str = "logp", verbose: bool = False) -> str:
    """What is wrong with a model at a point, in lines; see `Model.debug`."""
    if fn not in ("logp", "dlogp", "random"):
        raise ValueError(f"`fn` must be 'logp', 'dlogp' or 'random', got {fn!r}.")
    if fn == "random":
        return "\n".join(_faults_of_draws(model) or ["every variable can be drawn"])
    position = position_of(model, point)
    values = diagnosis.point_logps(model, position)
    width = max(map(len, values), default=0)
    lines = [f"{name:<{width}}  {value:.6g}" for name, value in values.items()]
    lines += diagnosis.diagnosis(model, position)
    if fn == "dlogp":
        layout, _ = _layout(model)
        slope = compile_dlogp(model, None, True)(layout.point(position))
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


def position_of(model: ModelVariables, point: Point | None) -> npt.NDArray[np.float64]:
    """A point as a vector; the default starting point if none is given."""
    layout, lengths = _layout(model)
    return starting_position(model, layout, lengths) if point is None else layout.position(point)


def _listed(outputs: Outputs) -> list[Node]:
    if isinstance(outputs, Node):
        return [outputs]
    return list(outputs.values() if isinstance(outputs, Mapping) else outputs)


def _layout(model: ModelVariables) -> tuple[Layout, Lengths]:
    _, _, _, lengths = slot_values(model)
    return layout_of(model.free, lengths), lengths

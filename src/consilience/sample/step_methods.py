"""Which step method moves which variables: a model and what the user asks for enter, one kernel leaves.

Variables without a step method get PyMC's defaults: NUTS for continuous ones, Gibbs sampling for discrete ones with
finitely many values, Metropolis for the rest. Those that are summed out before need none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from consilience import inference
from consilience.errors import SamplingError
from consilience.inference import NUTS, Block, Kernel
from consilience.inference.block import Needs
from consilience.model.blocks import LARGEST_TABLE, values_of
from consilience.model.log_density import ModelDensity
from consilience.model.model import Model
from consilience.model.variables import FreeVariable
from consilience.record import replace


class DivisibleDensity:
    """A model's density as step methods see it: one density for each block of variables. See `block.Divisible`."""

    def __init__(self, density: ModelDensity) -> None:
        self.model = density
        self.dimension = density.dimension
        self.entry, self.constants, self.workspace = density.entry, density.constants, density.workspace
        self._priors: dict[str, Any] = {}

    def block(self, names: tuple[str, ...], needs: Needs) -> Block:
        """The block of these variables, all of them for none."""
        stretches = [s for s in self.model.layout.stretches if not names or s.variable.name in names]
        whole = len(stretches) == len(self.model.layout.stretches)
        own: Any = self.model
        places = np.arange(self.dimension)
        if not (whole and needs == "gradient"):
            own = self.model.restricted(names, needs)
            places = own.places
        ends = [(s.size, values_of(s.variable)) for s in stretches]
        trees = [s.variable for s in stretches if s.variable.has_trees] if len(stretches) == 1 else []
        return Block(
            prior=self._prior(trees[0]) if trees else None,
            density=own,
            places=places,
            names=tuple(s.variable.name for s in stretches),
            discrete=np.concatenate([np.full(s.size, not s.variable.continuous) for s in stretches]),
            lower=np.concatenate([np.full(size, least) for size, (least, _) in ends]),
            upper=np.concatenate([np.full(size, greatest) for size, (_, greatest) in ends]),
            separable=needs == "table",
        )

    def _prior(self, variable: FreeVariable) -> Any:
        """Covariates and prior of a sum of trees."""
        if variable.name not in self._priors:
            from consilience.sample.bart import tree_prior  # few models have one

            self._priors[variable.name] = tree_prior(variable, self.model)
        return self._priors[variable.name]


def assigned(model: Model, density: ModelDensity, step: Any, default: NUTS) -> Kernel:
    """The kernel to sample with.

    `step`: a step method, several, or None; variables that none of them names get the defaults. Raises SamplingError
    for step methods for variables that are not there, or that two would move, or that they cannot move, and for a model
    with a Simulator.
    """
    free = {v.name: v for v in model.free}
    if density.simulated:
        raise SamplingError(
            f"{type(step).__name__ if isinstance(step, Kernel) else 'NUTS'} cannot sample this model: "
            f"{density.without_gradient}"
        )
    given = [] if step is None else list(step) if isinstance(step, list | tuple) else [step]
    methods: list[Kernel] = []
    for method in given:
        if not isinstance(method, Kernel):
            raise SamplingError(
                f"`step` must be a step method such as pm.NUTS() or pm.Metropolis(), or a list of such, got {method!r}."
            )
        methods += method.parts
    taken: dict[str, Kernel] = {}
    for method in methods:
        for name in method.vars:
            _check_name(name, free, taken, method)
            taken[name] = method
    rest = [v for v in model.free if v.name not in taken]
    done: list[Kernel] = []
    for method in methods:
        own = method
        if not own.vars:
            own = replace(own, vars=tuple(v.name for v in rest if _takes(own, v)))
            if not own.vars:
                raise SamplingError(_nothing_left(own, model, rest))
            rest = [v for v in rest if v.name not in own.vars]
        for name in own.vars:
            _check_kind(own, free[name])
            if free[name].has_trees != own.trees:
                raise SamplingError(
                    f"{type(own).__name__} cannot move `{name}` ({free[name].node.op!r}): pm.BARTStep moves sums of "
                    "trees, and nothing else. Leave both to the default, or name the variables of each step method."
                )
        done += _divided(own, density)
    done += _defaults(rest, density, default)
    needing = [method for method in done if method.needs == "gradient"]
    if needing and density.without_gradient:
        raise SamplingError(
            f"{type(needing[0]).__name__} needs the gradient of the log density, and there is none: "
            f"{density.without_gradient}"
        )
    filled = {s.variable.name for s in density.layout.stretches if s.size}
    done = [method for method in done if not filled.isdisjoint(method.vars)]  # no elements, nothing to move
    if len(done) == 1 and "log density" in done[0].roles:
        return replace(done[0], vars=()) if done[0].needs != "table" else done[0]
    return inference.CompoundStep(methods=tuple(done))


def _takes(method: Kernel, variable: FreeVariable) -> bool:
    """Whether a step method that names no variables moves this one."""
    if method.trees != variable.has_trees:
        return False
    return method.continuous if variable.continuous else method.discrete


def asked_for(step: Any, model: Model) -> list[str]:
    """Names of the variables that a user's step methods move though they might be summed out."""
    given = list(step) if isinstance(step, list | tuple) else [step]
    methods = [part for method in given if isinstance(method, Kernel) for part in method.parts]
    named = {name for method in methods for name in method.vars}
    unnamed = [method for method in methods if not method.vars]
    every = any(method.discrete for method in unnamed)
    # A method with gradients is asked for what has slopes.
    numbers = any(method.continuous and method.needs != "gradient" for method in unnamed)
    return [v.name for v in model.free if v.name in named or (numbers if v.continuous else every)]


def _check_name(name: str, free: dict[str, FreeVariable], taken: dict[str, Kernel], method: Kernel) -> None:
    if name not in free:
        raise SamplingError(
            f"{type(method).__name__} is given `{name}`, which is no free variable of the model: {list(free)}."
        )
    if name in taken:
        raise SamplingError(
            f"`{name}` is given to {type(taken[name]).__name__} and to {type(method).__name__}; name it once."
        )


def _nothing_left(method: Kernel, model: Model, rest: Sequence[FreeVariable]) -> str:
    """Why a method that names no variables gets none, and what to do."""
    name, kind = type(method).__name__, "continuous" if method.continuous else "discrete"
    if not rest:
        return f"{name} is given no variables, and the other step methods have all of them; leave it out."
    listed = ", ".join(f"`{v.name}` ({v.node.op!r})" for v in rest)
    other = "discrete" if kind == "continuous" else "continuous"
    whose = "the model's variables are" if len(rest) == len(model.free) else "those without a step method are"
    remedy = "pm.Metropolis or pm.CategoricalGibbsMetropolis" if other == "discrete" else "pm.NUTS"
    return (
        f"{name} moves {kind} variables, and {whose} {other}: {listed}; leave `step=` out, and each gets a method that "
        f"fits, or use {remedy}."
    )


def _check_kind(method: Kernel, variable: FreeVariable) -> None:
    if variable.continuous and not method.continuous:
        raise SamplingError(
            f"{type(method).__name__} moves discrete variables, and `{variable.name}` ({variable.node.op!r}) is "
            "continuous; use pm.NUTS."
        )
    if not variable.continuous and not method.discrete:
        raise SamplingError(
            f"{type(method).__name__} needs continuous variables, and `{variable.name}` ({variable.node.op!r}) is "
            "discrete; leave it to the default, or use pm.BinaryGibbsMetropolis, pm.CategoricalGibbsMetropolis or "
            "pm.Metropolis."
        )


def _divided(method: Kernel, density: ModelDensity) -> list[Kernel]:
    """The method, or one for each variable where that lets all elements be drawn side by side, or has trees."""
    if method.trees:
        return [_with_room(replace(method, vars=(name,)), density) for name in method.vars]
    if not isinstance(method, inference.CategoricalGibbsMetropolis):
        return [method]
    return [replace(method, vars=(name,), separable=_has_table(density, name)) for name in method.vars]


def _with_room(method: Kernel, density: ModelDensity) -> Kernel:
    """A step method for trees that knows how long they may be when they are written, and of latent normals."""
    from consilience.sample.bart import has_latent_normals, words_of  # few models have trees

    variable = next(v for v in density.model.free if v.name == method.vars[0])
    return replace(method, words=words_of(variable, density), latent=has_latent_normals(variable, density))


def _has_table(density: ModelDensity, name: str) -> bool:
    stretch = next(s for s in density.layout.stretches if s.variable.name == name)
    least, greatest = values_of(stretch.variable)
    return greatest - least < LARGEST_TABLE and stretch.variable.sampled is None and density.separable(name)


def _defaults(variables: Sequence[FreeVariable], density: ModelDensity, default: NUTS) -> list[Kernel]:
    """PyMC's assignment: NUTS, Gibbs sampling, or Metropolis; Slice where the density has no gradient."""
    found: list[Kernel] = []
    trees = [v for v in variables if v.has_trees]
    continuous = tuple(v.name for v in variables if v.continuous and v not in trees)
    if continuous:
        found.append(
            inference.Slice(vars=continuous) if density.without_gradient else replace(default, vars=continuous)
        )
    for variable in trees:
        found += _divided(inference.BARTStep(vars=(variable.name,)), density)
    for variable in variables:
        if variable.continuous:
            continue
        least, greatest = values_of(variable)
        count = greatest - least + 1
        if count <= 2:
            kind: type[Kernel] = inference.BinaryGibbsMetropolis
        elif count <= LARGEST_TABLE and (count <= 100 or _has_table(density, variable.name)):
            kind = inference.CategoricalGibbsMetropolis
        else:
            kind = inference.Metropolis
        found += _divided(kind(vars=(variable.name,)), density)
    return found


def title(kind: type[Kernel]) -> str:
    """The name of a class of kernels in checkpoints: with its module, unless it is one of this package."""
    own = getattr(inference, kind.__name__, None) is kind
    return kind.__name__ if own else f"{kind.__module__}.{kind.__qualname__}"


def kernel_from(plain: Sequence[Any]) -> Kernel:
    """A kernel as `OnThreads.settings` has it.

    Raises SamplingError for a class that is not defined in this process.
    """
    kinds: dict[str, Any] = {title(kind): kind for kind in _descendants(Kernel)}
    own = {name: getattr(inference, name) for name, _ in plain if name in inference.__all__}  # loaded on use
    kinds.update({name: kind for name, kind in own.items() if isinstance(kind, type) and issubclass(kind, Kernel)})
    unknown = [name for name, _ in plain if name not in kinds]
    if unknown:
        raise SamplingError(
            f"the run was sampled with the step method {unknown[0]!r}, which is not defined here; import or define it "
            "under this name before `pm.resume`."
        )
    methods: list[Kernel] = [
        kinds[name](**{key: tuple(v) if isinstance(v, list) else v for key, v in settings.items()})
        for name, settings in plain
    ]
    alone = len(methods) == 1 and "log density" in methods[0].roles
    return methods[0] if alone else inference.CompoundStep(methods=tuple(methods))


def _descendants(kind: type[Kernel]) -> list[type[Kernel]]:
    """Classes derived from this one, directly or not; of those with one name the youngest comes last."""
    return [one for own in kind.__subclasses__() for one in (own, *_descendants(own))]

"""Fits of approximations to posteriors: variational inference by stochastic ascent in machine code.

A model, a family of approximations and a rule for steps in; the approximation where the ascent has arrived, with what
tells how far it can be relied on, out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

import numpy as np

from consilience.distributions.seeds import seed_from
from consilience.errors import ModelError, ShapeError, warn
from consilience.estimators.approximations.target import Floats, TargetDensity
from consilience.estimators.variational.approximation import (
    Approximation,
    target_of,
)
from consilience.estimators.variational.ascent import preparing
from consilience.estimators.variational.course import Callbacks, Course
from consilience.estimators.variational.fitting import Fitting
from consilience.estimators.variational.optimizers import Optimizer, optimizer_of
from consilience.estimators.variational.reliability import examined
from consilience.estimators.variational.short_chains import moved
from consilience.estimators.variational.state import FLOW, FULL_RANK
from consilience.inference.streams import chain_key
from consilience.model.minibatch import has_batches
from consilience.model.model import Model
from consilience.native.threads import NativeThreads
from consilience.native.typed_python import address

SCATTER: Final = 1.0  # of the starting points of restarts, on the unconstrained scale
START_SIGMA: Final = 1.0
FEWEST_CHECKED: Final = 300  # draws whose importance ratios are looked at
MOST_CHECKED: Final = 4000
CHECKING: Final = 2e9  # floating-point operations that this may take, from the fewest on
CHAINS: Final = 300  # short ones, that begin at draws
SLOPE_COST: Final = 3.0  # of a gradient, in densities
SLOPES: Final = 4  # draws per coordinate at which slopes are looked at, beside 50
DRAWS: Final = 8  # per step


class Inference:
    """One method of variational inference for one model.

    model: The model around by default.
    random_seed (int, sequence of int or Generator): As in `pm.sample`.
    start (mapping): Where to begin, values by name, as `initvals` of `pm.sample`.
    start_sigma (mapping): Standard deviations to begin with by name, on the unconstrained scale; 1 where nothing is
        said.

    Attributes
    ----------
    taken
        Steps so far.

    See ADVI: The most usual one.
    See fit: Fits by the name of a method.
    Notes: Raises ModelError for discrete variables, InitialPointError where the density is not finite at the start.
    >>> issubclass(pm.ADVI, pm.Inference)
    True
    """

    kind: ClassVar[type[Approximation]]
    stein: ClassVar[bool] = False

    def __init__(
        self,
        *,
        model: Model | None = None,
        random_seed: Any = None,
        start: Mapping[str, Any] | None = None,
        start_sigma: Mapping[str, Any] | None = None,
    ) -> None:
        preparing()
        self.seed = seed_from(random_seed)
        self.target = target_of(model, start, self.seed)
        _check_scaling(self.target)
        self._sigma = self._sigmas(start_sigma or {})
        self._starts = self.target.starts(1, SCATTER)
        self.taken = 0
        self._memory: tuple[Optimizer, Floats] | None = None  # of the rule that was used last
        self.approx = self._approximation(self._begin(self._starts[0]))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "target"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, target=state["approx"].target)

    @property
    def hist(self) -> Floats:
        """Negative evidence lower bound at every step so far."""
        return self.approx.hist

    def _sigmas(self, given: Mapping[str, Any]) -> Floats:
        result = np.full(self.target.dimension, START_SIGMA)
        stretches = {key: s for s in self.target.density.layout.stretches for key in (s.variable.name, s.key)}
        for name, value in given.items():
            if name not in stretches:
                raise ModelError(f"`start_sigma` names `{name}`; the free variables are {self.target.names}.")
            s = stretches[name]
            sigma = np.asarray(value, float)
            if not (np.isfinite(sigma).all() and (sigma > 0).all()):
                raise ValueError(f"`start_sigma` of `{name}` must be numbers > 0, got {value!r}.")
            try:
                result[s.slice] = np.broadcast_to(sigma, s.shape).ravel()
            except ValueError:
                raise ShapeError(
                    f"`start_sigma` of `{name}` has shape {sigma.shape}; on the unconstrained scale it is {s.shape}."
                ) from None
        return result

    def _approximation(self, parameters: Floats) -> Approximation:
        return self.kind(self.target, parameters)

    def _begin(self, position: Floats) -> Floats:
        """Parameters around a position."""
        if self.kind.family == FULL_RANK:
            return np.concatenate([position, np.diag(np.log(self._sigma)).ravel()])
        return np.concatenate([position, np.log(self._sigma)])

    def _optimizer(self, given: Any) -> Optimizer:
        return optimizer_of(given)

    def _draws(self, obj_n_mc: int | None) -> int:
        """Draws per step."""
        found = DRAWS if obj_n_mc is None else obj_n_mc
        if isinstance(found, bool) or not isinstance(found, int | np.integer) or found < 1:
            raise ValueError(f"`obj_n_mc` must be a whole number > 0, got {obj_n_mc!r}.")
        return int(found)

    def fit(
        self,
        n: int = 10_000,
        score: Any = None,
        callbacks: Callbacks | Callable[..., Any] | None = None,
        progressbar: bool = True,
        progressbar_theme: Any = None,
        *,
        backend: str | None = None,
        include_transformed: bool = False,
        obj_n_mc: int | None = None,
        obj_optimizer: Optimizer | Callable[[], Optimizer] | None = None,
        total_grad_norm_constraint: float | None = None,
        restarts: int = 1,
        executor: Any = None,
        converge: bool = True,
        check: bool = True,
        blocking: bool = True,
    ) -> Any:
        """Ascend the evidence lower bound, from where the last call ended.

        Parameters
        ----------
        n : int, default 10000
            Steps at most.
        score : object, optional
            Accepted: `hist` always has the bounds.
        callbacks : Callbacks or callable, optional
            Called between steps, as `pm.callbacks` has them.
        progressbar : bool, default True
            Whether a fit that takes long shows a progress line.
        progressbar_theme, backend : object, optional
            Accepted for compatibility with PyMC; has no effect.
        include_transformed : bool, default False
            Whether draws of the approximation also have values on the unconstrained line.
        obj_n_mc : int, optional
            Draws per step, in pairs of opposite ones; 8 by default.
        obj_optimizer : Optimizer or callable, optional
            Rule of the steps, as `pm.adam(learning_rate=0.01)`; the natural gradient by default.
        total_grad_norm_constraint : float, optional
            Greatest norm of a gradient.
        restarts : int, default 1
            Ascents from scattered points on as many threads, of which the highest bound counts; those that find no
            finite density are left out, unless all do.
        executor : Executor, optional
            Makes the ascents on other processes and machines, in place of threads: an executor of `concurrent.futures`,
            a Dask client or `pm.cluster.ray()`. The result does not depend on it.
        converge : bool, default True
            Whether to stop when the bound has stopped rising and averages of parameters stay where they are, and to
            return these averages; else all `n` steps are taken and the last parameters returned.
        check : bool, default True
            Whether to look how far the approximation is from the posterior: 300 to 4,000 evaluations of the density of
            all data.
        blocking : bool, default True
            False returns at once with a handle, whose `wait()` gives the approximation, as for `pm.sample`; callbacks
            are then called in another thread.

        Returns
        -------
        object
            The approximation, `self.approx`; after Ctrl-C or a stop as far as it came.

        Raises
        ------
        SamplingError
            Where no draw has a finite log density.

        Warns
        -----
        ConvergenceWarning
            Where the rule did not find it to have arrived within `n` steps.
        ConsilienceWarning
            Where importance ratios say that the approximation is far off.
        """
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise ValueError(f"`n` must be a whole number > 0, got {n!r}.")
        if restarts < 1:
            raise ValueError(f"`restarts` must be at least 1, got {restarts!r}.")
        called = [callbacks] if callable(callbacks) else list(callbacks or ())
        if called and restarts > 1:
            raise ValueError("`callbacks` see one ascent; leave out `restarts`.")
        if called and executor is not None:
            raise ValueError("`callbacks` see an ascent in this process; leave out `executor`.")
        if total_grad_norm_constraint is not None and not total_grad_norm_constraint > 0:
            raise ValueError(f"`total_grad_norm_constraint` must be > 0, got {total_grad_norm_constraint!r}.")
        settings = self._optimizer(obj_optimizer), self._draws(obj_n_mc), float(total_grad_norm_constraint or 0.0)
        begins: list[Floats | None] = [None]
        if restarts > 1:
            begins += [self._begin(p) for p in self.target.starts(restarts, SCATTER)[1:]]
        stop = np.zeros(1, np.int64)
        runs = [self.course(*settings, k, begin, stop) for k, begin in enumerate(begins)]
        runs[0].approx = self.approx
        self.approx.include_transformed = bool(include_transformed)
        fitting = Fitting(
            self, settings, begins, runs, int(n), called, stop, converge=converge, check=check, executor=executor,
            progressbar=progressbar,
        )  # fmt: skip
        return fitting.delivered(blocking)

    def went_on(self, optimizer: Optimizer, best: Course) -> None:
        """Take over what an ascent ended with."""
        self.taken += best.taken
        self._memory = optimizer, best.memory
        if best.approx is not self.approx:
            self.approx.take(best.approx.parameters)
        self.approx.hist = np.concatenate([self.approx.hist, -best.bounds])
        self.approx.elbo, self.approx.converged = best.level, best.arrived

    def course(
        self, optimizer: Optimizer, draws: int, most: float = 0.0, number: int = 0, begin: Any = None, stop: Any = None
    ) -> Course:
        """One ascent with random numbers of its own."""
        approx = self.approx.with_parameters(self.approx.parameters if begin is None else begin)
        stopping = np.zeros(1, np.int64) if stop is None else stop
        course = Course(approx, self.stein, optimizer, draws, most, chain_key(self.seed, number), self.taken, stopping)
        if begin is None and self._memory is not None and self._memory[0] == optimizer:
            course.memory[:] = self._memory[1]
        return course

    def refine(self, n: int, progressbar: bool = True, progressbar_theme: Any = None, **options: Any) -> Any:
        """Further steps, all of them; options are those of `fit`."""
        del progressbar_theme
        return self.fit(n, progressbar=progressbar, converge=False, **options)

    def examine(self) -> None:
        """How far the approximation is from the posterior, by importance ratios, slopes and short chains."""
        approx = self.approx
        generator = np.random.Generator(np.random.Philox(key=[self.seed & (2**64 - 1), 4]))
        points, logq = approx.points(self._checked(), generator)
        logp = self.log_densities(points)
        if logp is None:
            return
        # A normal's slopes say nothing about a flow.
        slopes = None if approx.family == FLOW else self._slopes(points)
        found = examined(approx, points, logp, logq, slopes, self._ends(points[:CHAINS]))
        approx.pareto_k, approx.deviation = found.pareto_k, found.deviation
        if found.warning:
            warn(
                f"the {type(self).__name__} approximation may be far from the posterior: {found.warning}. Compare with "
                "`pm.sample`."
            )

    def _checked(self) -> int:
        """How many draws are looked at: more where they cost little."""
        density = self.target.density
        batches = density.batches[0].data / density.batches[0].length if density.batches else 1.0
        affordable = CHECKING / max(1.0, density.operations * batches)
        return int(np.clip(affordable, FEWEST_CHECKED, MOST_CHECKED))

    def _slopes(self, points: Floats) -> Floats | None:
        """Of the log density at some of the points; None for batches."""
        count = SLOPES * self.target.dimension + 50
        if self.target.density.batches or count > len(points):
            return None
        with self.target.evaluations(count) as evaluations:
            return evaluations.gradients(points[:count])

    def _ends(self, points: Floats) -> Floats | None:
        """Where short chains come to that begin at the points; None for batches, and where gradients cost too much."""
        if self.target.density.batches:
            return None
        gradients = int(CHECKING / (SLOPE_COST * max(1.0, self.target.density.operations) * len(points)))
        with self.target.evaluations(len(points)) as evaluations:
            return moved(points, self.approx.moments()[1], evaluations, gradients, self.seed)

    def log_densities(self, points: Floats) -> Floats | None:
        """Log densities of all data; None for batches of several lengths, whose sum is not known."""
        batches = self.target.density.batches
        if not batches:
            with self.target.evaluations(len(points)) as evaluations:
                return evaluations.at(points)
        if len({(b.length, b.data) for b in batches}) > 1:
            return None
        logps = np.empty(len(points))
        flat = np.ascontiguousarray(points)
        evaluate = preparing().result().evaluate
        threads = max(1, min(len(points), os.cpu_count() or 1))
        courses = [self.course(self._optimizer(None), self._draws(None)) for _ in range(threads)]
        edges = np.linspace(0, len(points), threads + 1).astype(int)
        with NativeThreads(threads, "consilience-fit") as pool:
            work = [
                pool.submit(evaluate, address(c.ascent), flat[a:].ctypes.data, logps[a:].ctypes.data, int(b - a))
                for c, a, b in zip(courses, edges, edges[1:], strict=False)
            ]
            for one in work:
                one.result()
        return logps


def _check_scaling(target: TargetDensity) -> None:
    """Raise where observations of a batch count as if they were all data."""
    if not target.density.batches:
        return
    for v in target.model.observed:
        if v.weight is None and has_batches([v.node, v.data]):
            raise ModelError(
                f"`{v.name}` observes a minibatch, which would count as all the data there are; give its distribution "
                "`total_size=`, the length of all data."
            )

"""State-space models as functions that return distributions, and particle filters for them.

Functions and data in; filtered, smoothed and predicted states, and the likelihood, as labelled trees out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from consilience.diagnostics.measurement import usable_processors
from consilience.distributions.custom import CustomDist
from consilience.distributions.generator import GraphGenerator
from consilience.distributions.random_variable import fresh_key
from consilience.distributions.seeds import is_integer, seed_from
from consilience.errors import ModelError, SamplingError, ShapeError, warn
from consilience.estimators.filters.definition import Definition, Given
from consilience.estimators.filters.forward import AT_TIMES, FilterGraph, Settings
from consilience.estimators.filters.labelling import evidence_of, tree, weighted_quantiles
from consilience.estimators.filters.paths import BackwardGraph, ForwardGraph, genealogy
from consilience.estimators.filters.program import ChainProgram
from consilience.estimators.filters.resampling import SCHEMES
from consilience.estimators.filters.series import Arrays, Series, series_of, times_after
from consilience.ir import Node, constant, numpy_dtype, substitute
from consilience.ops.reduce import reduce

if TYPE_CHECKING:
    import xarray

QUANTILES: Final = (0.025, 0.25, 0.5, 0.75, 0.975)
METHODS: Final = ("backward", "genealogy")

Point = Mapping[str, npt.ArrayLike]


class StateSpaceModel:
    """States that follow each other at random, of which noisy data are seen; inferred by particles.

    initial: Function () -> distribution of the state at time 0.
    transition: Function (x, t) -> that of the state at time t, given the state x at t - 1.
    observation: Function (x, t) -> that of the data at time t, given the state x then.
    proposal: Function (x, y, t) -> distribution that particles move by, in place of the transition, given the state x
        at t - 1 and the data y at t: a guided filter. The nearer to the states given both, the more equal are the
        weights.
    initial_proposal: Function (y) -> the same at time 0.
    lookahead: Function (x, y, t) -> log of a weight by which particles at t - 1 are chosen besides their own, for
        example an estimate of log p(y | x): an auxiliary filter.
    Raises ModelError, ShapeError, DtypeError: Where functions do not fit each other.
    See LinearGaussianStateSpace: Normal states, without particles.
    Notes: Distributions are made by `.dist(…)`. Functions may take fewer arguments, the first ones. The first data are
        seen at time 0; t is an int64 tensor, by which other series may be indexed. States of several variables are
        dictionaries of distributions by name: the functions get dictionaries of values then, and so it is with several
        observed variables. The only state is called `x` and the only data `y`. Random variables of a model may be used
        in functions: these are parameters, whose values `point` gives, or which `likelihood` leaves to inference.
    >>> model = pm.StateSpaceModel(
    ...     lambda: pm.Normal.dist(0.0, 1.0), lambda x: pm.Normal.dist(0.9 * x, 0.5), lambda x: pm.Normal.dist(x, 0.3)
    ... )
    >>> found = model.filter([0.5, 0.4, 0.6], particles=1000, random_seed=1)
    >>> found.filtered_mean["x"].shape
    (2, 3)
    """

    def __init__(
        self,
        initial: Given,
        transition: Given,
        observation: Given,
        *,
        proposal: Given | None = None,
        initial_proposal: Given | None = None,
        lookahead: Given | None = None,
    ) -> None:
        self._own = Definition(initial, transition, observation, proposal, initial_proposal, lookahead)
        self._programs: dict[Hashable, ChainProgram] = {}

    def filter(
        self,
        data: Any,
        *,
        particles: int = 1000,
        resampling: str = "systematic",
        threshold: float = 0.5,
        point: Point | None = None,
        chains: int | None = None,
        cores: int | None = None,
        random_seed: Any = None,
        keep_particles: bool = True,
        quantiles: Sequence[float] = QUANTILES,
        coords: Mapping[str, Any] | None = None,
        dims: Mapping[str, Sequence[str | None]] | None = None,
    ) -> xarray.DataTree:
        """The distribution of each state given the data up to its time, and the likelihood of the data.

        Parameters
        ----------
        data : object
            Values with time as first axis, by name where there are several; NaN and masked values are missing. Labels
            of times are those of pandas' and xarray's series, or `coords["time"]`.
        particles : int, default 1000
            Of each chain.
        resampling : str, default 'systematic'
            How particles are chosen: "systematic", "stratified", "residual" or "multinomial".
        threshold : float, default 0.5
            They are chosen anew when their effective number falls below this share of them; 1: always.
        point : Point, optional
            Values of parameters, by name.
        chains : int, optional
            Number of independent filters, whose likelihoods show the Monte Carlo error; by default 4, or as many as
            there are processors.
        cores : int, optional
            Threads that run them; results do not depend on it.
        random_seed : int, sequence of int or Generator, optional
            Seed; the same one gives the same result. A fresh one by default.
        keep_particles : bool, default True
            Whether all particles are kept, which `smooth` needs, and quantiles are found.
        quantiles : sequence of float, default (0.025, 0.25, 0.5, 0.75, 0.975)
            Probabilities of the quantiles of states to return, between 0 and 1.
        coords : mapping, optional
            Labels along dimensions, by the name of the dimension.
        dims : mapping of str to sequence of str, optional
            Names of the dimensions of states and data, without that of time.

        Returns
        -------
        xarray.DataTree
            A tree with the groups `filtered_mean`, `filtered_sd` (chain, time, …), `filtered_quantile`, `particles`
            (chain, time, particle, …) with `log_weight` and `ancestor`, `observed_data`, and `sample_stats` with
            `log_marginal_likelihood` for each chain, and for each time `ess`, `resampled` and `log_increment`, the log
            density of the data given those before. The log of the mean likelihood and its standard error are attributes
            of `sample_stats`. Means of likelihoods, not of their logs, are unbiased.

        Raises
        ------
        SamplingError
            Where no particle explains the data of some time.
        ModelError
        ShapeError
            And.
        DtypeError
            For data that do not fit, and for parameters without values.

        Warns
        -----
        ConsilienceWarning
            Where densities have no value (NaN), which counts as 0.
        """
        series = series_of(data, self._own, (coords or {}).get("time"))
        settings = _settings(particles, resampling, threshold)
        shares = [float(q) for q in quantiles]
        if not all(0 <= q <= 1 for q in shares):
            raise ValueError(f"`quantiles` must lie between 0 and 1, got {list(quantiles)}.")
        values = self._values(point)
        count = _positive("chains", max(2, min(4, usable_processors())) if chains is None else chains)
        times = np.arange(series.length) if series.labels is None else series.labels
        groups = self._filtered(
            series, times, settings, [[]] * count, values, shares, keep_particles, cores, random_seed
        )
        return _result(groups, settings, {**(coords or {}), "time": times, "quantile": shares}, dims or {})

    def assimilate(
        self,
        filtered: xarray.DataTree,
        new_data: Any,
        *,
        coords: Mapping[str, Any] | None = None,
        cores: int | None = None,
        random_seed: Any = None,
    ) -> xarray.DataTree:
        """Go on with data of later times, from the particles of the last.

        Parameters
        ----------
        filtered : xarray.DataTree
            What `filter` or this function gave, with its particles.
        new_data : object
            As for `filter`, from the first time behind on.
        coords : mapping, optional
            Labels of the new times and of other dimensions.
        cores : int, optional
            Threads to use; all processors by default. Results do not depend on it.
        random_seed : int, sequence of int or Generator, optional
            Seed; the same one gives the same result. A fresh one by default.

        Returns
        -------
        xarray.DataTree
            The tree of all times: with one seed for all, that of `filter` for all data at once.

        Raises
        ------
        ModelError
            Where there are no particles; as `filter`.
        """
        held, values = self._particles(filtered), self._values_of(filtered)
        about, times = filtered["sample_stats"].attrs, np.asarray(filtered["observed_data"]["time"])
        settings = Settings(int(about["particles"]), str(about["resampling"]), float(about["threshold"]))
        series = series_of(new_data, self._own, (coords or {}).get("time"))
        later = times_after(times, series.length) if series.labels is None else series.labels
        spread = filtered.get("filtered_quantile")
        shares = [] if spread is None else [float(q) for q in spread["quantile"]]
        ends = [
            [len(times), *(held[n][i, -1] for n in (*self._own.state, "log_weight"))]
            for i in range(len(held["log_weight"]))
        ]
        groups = self._filtered(series, later, settings, ends, values, shares, True, cores, random_seed)
        for name, (first, arrays) in groups.items():
            if "time" in first:
                for n, array in arrays.items():
                    arrays[n] = np.concatenate([np.asarray(filtered[name][n]), array], first.index("time"))
        labels, dims = _labels(filtered, "particles", list(self._own.state))
        more, axes = _labels(filtered, "observed_data", list(self._own.data))
        known = {**labels, **more, "time": np.concatenate([times, later]), "quantile": shares}
        return _result(groups, settings, known, {**dims, **axes})

    def _filtered(
        self,
        series: Series,
        times: npt.NDArray[Any],
        settings: Settings,
        before: Sequence[Sequence[npt.ArrayLike]],
        values: Arrays,
        shares: Sequence[float],
        keep: bool,
        cores: int | None,
        random_seed: Any,
    ) -> dict[str, tuple[tuple[str, ...], Arrays]]:
        """Groups of a result with the axes that all of each have first.

        `before`: for each chain nothing, or how many times there were, with states and log weights at the last.
        """
        key = ("filter", settings, series.length, keep, bool(before[0]))
        program = self._program(key, lambda: self._filter_program(settings, series.length, keep, bool(before[0])))
        given = [*series.data.values(), *series.seen.values(), *values.values()]
        found = program.chains(seed_from(random_seed), [[*given, *own] for own in before], cores)
        states, stats = list(self._own.state), {n: np.stack([f[n] for f in found]) for n in AT_TIMES}
        _check(stats["log_increment"], stats.pop("undefined"), times)
        groups: dict[str, tuple[tuple[str, ...], Arrays]] = {
            f"filtered_{title}": (("chain", "time"), {n: np.stack([f[title, n] for f in found]) for n in states})
            for title in ("mean", "sd")
        }
        if keep and shares:
            spread = {n: np.stack([weighted_quantiles(f[n], f["log_weight"], shares) for f in found]) for n in states}
            groups["filtered_quantile"] = (("chain", "quantile", "time"), spread)
        if keep:
            kept = {n: np.stack([f[n] for f in found]) for n in (*states, "log_weight", "ancestor")}
            groups["particles"] = (("chain", "time", "particle"), kept)
        groups["sample_stats"] = (("chain", "time"), stats)
        groups["observed_data"] = (("time",), series.with_gaps())
        if values:
            groups["parameters"] = ((), values)
        return groups

    def smooth(
        self,
        filtered: xarray.DataTree,
        *,
        draws: int = 1000,
        method: str = "backward",
        cores: int | None = None,
        random_seed: Any = None,
    ) -> xarray.DataTree:
        """Draws of the path of states given all data.

        Parameters
        ----------
        filtered : xarray.DataTree
            What `filter` gave, with its particles.
        draws : int, default 1000
            Paths from each chain.
        method : str, default 'backward'
            "backward": each state is drawn given the one that follows, which needs the density of the transition and
            draws x particles evaluations for each time; "genealogy": particles of the last time with their ancestors,
            at no cost, of which few are distinct at times long before.
        cores : int, optional
            Threads to use; all processors by default. Results do not depend on it.
        random_seed : int, sequence of int or Generator, optional
            Seed; the same one gives the same result. A fresh one by default.

        Returns
        -------
        xarray.DataTree
            A tree with the group `posterior` (chain, draw, time, …).

        Raises
        ------
        ModelError
            Where there are no particles.
        MissingRuleError
            Where transitions have no density.
        """
        if method not in METHODS:
            raise ValueError(f"`method` must be one of {', '.join(map(repr, METHODS))}, got {method!r}.")
        count = _positive("draws", draws)
        held, values, seed = self._particles(filtered), self._values_of(filtered), seed_from(random_seed)
        chains, length, particles = held["log_weight"].shape
        names = list(self._own.state)
        if method == "backward":
            key = ("smooth", particles, length, count)
            program = self._program(key, lambda: self._backward_program(particles, length, count))
            given = [[held["log_weight"][i], *(held[n][i] for n in names), *values.values()] for i in range(chains)]
            found = program.chains(seed, given, cores)
        else:
            found = []
            for i in range(chains):
                last = _chosen(held["log_weight"][i, -1], count, seed, i)
                lines = genealogy(held["ancestor"][i], last)
                found.append({n: held[n][i][np.arange(length), lines] for n in names})
        paths = {n: np.stack([f[n] for f in found]) for n in names}
        groups = {"posterior": (("chain", "draw", "time"), paths)}
        return tree(groups, *_labels(filtered, "particles", names), {"posterior": {"method": f"smoothing: {method}"}})

    def predict(
        self,
        filtered: xarray.DataTree,
        steps: int,
        *,
        draws: int = 1000,
        cores: int | None = None,
        random_seed: Any = None,
    ) -> xarray.DataTree:
        """Draws of states and data at times behind the last.

        Parameters
        ----------
        filtered : xarray.DataTree
            What `filter` gave, with its particles.
        steps : int
            Number of times to predict.
        draws : int, default 1000
            Paths from each chain.
        cores : int, optional
            Threads to use; all processors by default. Results do not depend on it.
        random_seed : int, sequence of int or Generator, optional
            Seed; the same one gives the same result. A fresh one by default.

        Returns
        -------
        xarray.DataTree
            A tree with the group `predictions` (chain, draw, time, …).
        """
        count, steps = _positive("draws", draws), _positive("steps", steps)
        held, values, seed = self._particles(filtered), self._values_of(filtered), seed_from(random_seed)
        chains, length, _ = held["log_weight"].shape
        key = ("predict", count, length, steps)
        program = self._program(key, lambda: self._forward_program(count, length, steps))
        given = []
        for i in range(chains):
            last = _chosen(held["log_weight"][i, -1], count, seed, i)
            given.append([*(held[n][i, -1, last] for n in self._own.state), *values.values()])
        found = program.chains(seed, given, cores)
        coords, dims = _labels(filtered, "particles", list(self._own.state))
        dims |= _labels(filtered, "observed_data", list(self._own.data))[1]
        coords["time"] = times_after(np.asarray(filtered["observed_data"]["time"]), steps)
        named = {n: np.stack([f[n] for f in found]) for n in (*self._own.state, *self._own.data)}
        return tree({"predictions": (("chain", "draw", "time"), named)}, coords, dims, {})

    def simulate(
        self, steps: int, *, draws: int = 1, point: Point | None = None, random_seed: Any = None
    ) -> xarray.DataTree:
        """Draws of states and data from the first time on.

        Parameters
        ----------
        steps : int
            Number of times.
        draws : int, default 1
            Number of paths.
        point : Point, optional
            Values of parameters, by name.
        random_seed : int, sequence of int or Generator, optional
            Seed; the same one gives the same result. A fresh one by default.

        Returns
        -------
        xarray.DataTree
            A tree with the group `prior` (chain, draw, time, …), of one chain.
        """
        count, steps = _positive("draws", draws), _positive("steps", steps)
        values = self._values(point)
        program = self._program(("simulate", count, steps), lambda: self._forward_program(count, 0, steps))
        found = program.chain(seed_from(random_seed), 0, list(values.values()))
        named = {n: found[n][None] for n in (*self._own.state, *self._own.data)}
        return tree({"prior": (("chain", "draw", "time"), named)}, {}, {}, {})

    def likelihood(
        self,
        name: str,
        observed: Any,
        *,
        particles: int = 200,
        resampling: str = "systematic",
        threshold: float = 0.5,
        dims: Any = None,
    ) -> Node:
        """Data of a model whose log density is the filter's estimate: for parameters, by `pm.sample_smc`.

        Parameters
        ----------
        name : str
            Name of the variable.
        observed : array_like
            Data of one variable, as for `filter`.
        particles : int, default 200
            Number of particles. The standard deviation of the estimated log likelihood should be about 1 near the
            posterior mean: with a smaller one time is wasted, with a larger one moves become rare.
        resampling : str, default 'systematic'
            As for `filter`.
        threshold : float, default 0.5
            As for `filter`.
        dims : str or sequence of str, optional
            Names of the axes of the data.

        Returns
        -------
        TensorVariable
            The observed variable, of the model around.

        Notes
        -----
        Estimates of the likelihood are unbiased, and a particle keeps its own until it moves: draws of `pm.sample_smc`
        with `pm.smc.MH` or `pm.smc.IMH` are of the exact posterior, whatever the number of particles (C. Andrieu, G.
        Roberts 2009, "The pseudo-marginal approach"; N. Chopin, P. Jacob, O. Papaspiliopoulos 2013, "SMC²").
        """
        own, settings = self._own, _settings(particles, resampling, threshold)
        if len(own.data) > 1:
            raise ModelError(f"`likelihood` is of one observed variable, and there are {', '.join(own.data)}.")
        series = series_of({next(iter(own.data)): observed}, own)
        ((datum, values),), length = series.data.items(), series.length

        def estimate(value: Node, *parameters: Node) -> Node:
            graph = FilterGraph(own, settings, length)
            known = dict(zip(own.leaves.values(), parameters, strict=True))
            known |= {graph.key: fresh_key(), graph.data[datum]: value, graph.seen[datum]: constant(series.seen[datum])}
            return substitute([reduce("sum", graph.stats["log_increment"])], known)[0]

        def simulated(*parameters: Node, rng: GraphGenerator, size: Any) -> Node:
            del size
            graph = ForwardGraph(own, 1, 0, length)
            known = {graph.key: rng.key, **dict(zip(own.leaves.values(), parameters, strict=True))}
            return substitute([graph.values[datum][0]], known)[0]

        return CustomDist(
            name,
            *own.parameters.values(),
            logp=estimate,
            random=simulated,
            ndim_supp=values.ndim,
            ndims_params=[rv.ndim for rv in own.parameters.values()],
            shape=values.shape,
            dtype=own.data[datum].dtype,
            class_name="StateSpaceModel",
            observed=values,
            dims=dims,
        )

    def _program(self, key: Hashable, make: Callable[[], ChainProgram]) -> ChainProgram:
        found = self._programs.get(key)
        if found is None:
            found = self._programs[key] = make()
        return found

    def _filter_program(self, settings: Settings, length: int, keep: bool, continued: bool) -> ChainProgram:
        graph = FilterGraph(self._own, settings, length, continued)
        outputs: dict[Hashable, Node] = {("mean", n): node for n, node in graph.means.items()}
        outputs |= {("sd", n): node for n, node in graph.deviations.items()}
        outputs.update(graph.stats)
        if keep:
            outputs.update({**graph.states, "log_weight": graph.log_weight, "ancestor": graph.ancestor})
        inputs = [*graph.data.values(), *graph.seen.values(), *self._own.leaves.values()]
        return ChainProgram(graph.key, [*inputs, *([graph.first, *graph.before] if continued else [])], outputs)

    def _backward_program(self, particles: int, length: int, count: int) -> ChainProgram:
        graph = BackwardGraph(self._own, particles, length, count)
        return ChainProgram(
            graph.key, [graph.log_weight, *graph.states.values(), *self._own.leaves.values()], graph.paths
        )

    def _forward_program(self, count: int, first: int, steps: int) -> ChainProgram:
        graph = ForwardGraph(self._own, count, first, steps)
        return ChainProgram(
            graph.key, [*graph.states.values(), *self._own.leaves.values()], {**graph.paths, **graph.values}
        )

    def _values(self, point: Mapping[str, npt.ArrayLike] | None) -> Arrays:
        """Values of all parameters, and of no others."""
        wanted, given = self._own.leaves, dict(point or {})
        if missing := [n for n in wanted if n not in given]:
            raise ModelError(
                f"`{missing[0]}` is a random variable of a model, on which the states or data depend; give its value, "
                f"by `point={{{missing[0]!r}: …}}`, or infer it by `likelihood`."
            )
        if unknown := [n for n in given if n not in wanted]:
            raise ModelError(f"`point` has {unknown[0]!r}; parameters are {', '.join(wanted) or 'none'}.")
        found = {n: np.asarray(given[n], numpy_dtype(leaf.dtype)) for n, leaf in wanted.items()}
        for n, leaf in wanted.items():
            if found[n].shape != leaf.static_shape:
                raise ShapeError(f"`point`: {n} has the shape {leaf.static_shape}, got {found[n].shape}.")
        return found

    def _values_of(self, filtered: xarray.DataTree) -> Arrays:
        kept = filtered.get("parameters")
        return self._values({} if kept is None else {str(n): np.asarray(a) for n, a in kept.data_vars.items()})

    def _particles(self, filtered: xarray.DataTree) -> Arrays:
        """Particles with weights and ancestors as arrays."""
        if not hasattr(filtered, "children"):
            raise TypeError(f"a tree from `filter` was needed, got a {type(filtered).__name__}.")
        kept = filtered.get("particles")
        names = [*self._own.state, "log_weight", "ancestor"]
        if kept is None or any(n not in kept for n in names):
            raise ModelError(
                f"the result has no particles of {', '.join(self._own.state)}; filter with `keep_particles=True`."
            )
        return {n: np.asarray(kept[n]) for n in names}


def _result(
    groups: dict[str, tuple[tuple[str, ...], Arrays]],
    settings: Settings,
    coords: dict[str, Any],
    dims: Mapping[str, Any],
) -> xarray.DataTree:
    """The tree of a filter, with the likelihood of all data."""
    logs = groups["sample_stats"][1]["log_increment"].sum(1)
    evidence, error = evidence_of(logs)
    about = {
        "method": "particle filter",
        "particles": settings.particles,
        "resampling": settings.resampling,
        "threshold": settings.threshold,
        "log_marginal_likelihood": evidence,
        "log_marginal_likelihood_error": error,
    }
    made = tree(groups, coords, dims, {"sample_stats": about})
    made["sample_stats"].dataset = made["sample_stats"].to_dataset().assign(log_marginal_likelihood=("chain", logs))
    return made


def _settings(particles: int, resampling: str, threshold: float) -> Settings:
    if resampling not in SCHEMES:
        raise ValueError(f"`resampling` must be one of {', '.join(map(repr, SCHEMES))}, got {resampling!r}.")
    if not isinstance(threshold, int | float | np.number) or not 0 <= threshold <= 1:
        raise ValueError(f"`threshold` must lie between 0 and 1, got {threshold!r}.")
    # Particles of equal weight may have an effective number that is less than all by rounding, or not.
    return Settings(_positive("particles", particles), resampling, 2.0 if threshold == 1 else float(threshold))


def _positive(name: str, value: Any) -> int:
    if not is_integer(value):
        raise TypeError(f"`{name}` must be a whole number, got {value!r}.")
    if value < 1:
        raise ValueError(f"`{name}` must be at least 1, got {value!r}.")
    return int(value)


def _check(logs: npt.NDArray[np.float64], undefined: npt.NDArray[np.int64], times: npt.NDArray[Any]) -> None:
    """Tell of weights without values, and of times at which all are 0, or one is infinite."""
    if undefined.any():
        first = times[undefined.any(0).argmax()]
        warn(
            f"{undefined.sum()} weights have no value (NaN) and count as 0, the first at time {first}: a state or a "
            "parameter of a distribution may be out of range there."
        )
    if (logs == np.inf).any() or np.isnan(logs).any():
        raise SamplingError(
            f"weights are infinite, or have no value, at time {times[(~(logs < np.inf)).any(0).argmax()]}."
        )
    lost = np.isneginf(logs)
    if lost.any():
        raise SamplingError(
            f"in {lost.any(1).sum()} of {len(logs)} chains no particle explains the data at time "
            f"{times[lost.any(0).argmax()]}: take more `particles`, a `proposal` that looks at the data, or check "
            "observation and data against each other."
        )


def _chosen(logs: npt.NDArray[np.float64], count: int, seed: int, chain: int) -> npt.NDArray[np.int64]:
    """Places of particles, drawn in proportion to weights."""
    generator = np.random.Generator(np.random.Philox(key=[seed & (2**64 - 1), chain + 1000]))
    weights = np.exp(logs)
    return generator.choice(len(logs), count, p=weights / weights.sum())


def _labels(filtered: xarray.DataTree, group: str, names: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Labels along dimensions of a group, and the dimensions of variables behind those that all have."""
    found = filtered[group]
    first = {"chain", "time", "particle"}
    dims = {n: [str(d) for d in found[n].dims if d not in first] for n in names}
    return {str(n): np.asarray(c) for n, c in found.coords.items() if n not in {"chain", "particle"}}, dims

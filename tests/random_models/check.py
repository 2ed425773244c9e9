"""One model against its meaning: value, gradient, both backends, and sometimes draws.

In: a generated program. Out: an outcome, whose class says what kind of failure it is and where.
"""

from __future__ import annotations

import os
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

import consilience as pm
import consilience.tensor as pt
from consilience.backends import contexts, reference
from consilience.elimination.addends import total
from consilience.ir import Node
from consilience.model.log_density import model_density
from consilience.model.terms import terms_of
from consilience.rewrite.rules import simplify
from consilience.transforms.gradient import gradient
from tests.backends.agreement import run_llvm
from tests.random_models import beyond, gaps, lengths, together
from tests.random_models.chains import hidden_markov, summed_out
from tests.random_models.coordinates import difference, of_samplers
from tests.random_models.derived import derived
from tests.random_models.dialect import TENSOR, evaluate
from tests.random_models.oracle import Truth, evaluated, truth
from tests.random_models.program import Program

Array = npt.NDArray[Any]

# Relative to the sum of the magnitudes of all that is added: some 10^4 operations on numbers with 16 digits, through
# matrices of condition 10^2; and the same with the 7 digits of float32 data.
TOLERANCE = 1e-9
TOLERANCE_FLOAT32 = 2e-5

# What a line of a program calls that is no distribution of the library by itself.
OWN_FAMILIES = {"hidden_markov": hidden_markov, "derived": derived}


@dataclass(frozen=True)
class Outcome:
    """What happened.

    kind     pass, crash, wrong value, wrong gradient or wrong draws
    where    exception and innermost line of the library, or the stage that changed the number
    detail   for people
    """

    kind: str
    where: str = ""
    detail: str = ""

    @property
    def label(self) -> str:
        """The class of failures that it belongs to."""
        return f"{self.kind}: {self.where}" if self.where else self.kind


class _WrongError(AssertionError):
    def __init__(self, kind: str, where: str, detail: str) -> None:
        super().__init__(detail)
        self.outcome = Outcome(kind, where, detail)


PASS = Outcome("pass")


def built(
    program: Program, arrays: dict[str, Array], makers: Mapping[str, Callable[..., Any]] = MappingProxyType({})
) -> pm.Model:
    """The program as a model; `makers` by name write some variables in ways of their own."""
    values: dict[str, Any] = {**arrays, **dict(program.sizes)}
    with pm.Model() as model:
        for datum in program.data:
            if datum.container == "data":
                values[datum.name] = pm.Data(datum.name, arrays[datum.name])
            elif datum.container == "constant":
                values[datum.name] = pt.as_tensor(arrays[datum.name])
        for line in program.lines:
            given = {name: evaluate(text, TENSOR, values) for name, text in line.arguments}
            if line.kind == "let":
                values[line.name] = given["value"]
            elif line.kind in ("deterministic", "potential"):
                values[line.name] = getattr(pm, line.kind.title())(line.name, given["value"])
            else:
                if line.shape is not None:
                    given["shape"] = program.shape(line.shape)
                if line.observed:
                    given["observed"] = evaluate(line.observed, TENSOR, values)
                make = makers.get(line.name) or OWN_FAMILIES.get(line.family) or getattr(pm, line.family)
                values[line.name] = make(line.name, **given)
    return summed_out(model)


def check(program: Program, known: Truth | None = None, draws: bool = False, engines: Sequence[str] = ()) -> Outcome:
    """Compile the model and compare.

    draws    whether posterior, prior and predictive are sampled too
    engines  backends by which the density is computed as well; these comparisons are the only ones then
    """
    arrays = program.arrays()
    wanted = truth(program, arrays) if known is None else known
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = built(program, arrays)
            compare(program, model, wanted)
            for engine in engines:
                _same_on(engine, program, model, wanted)
            if engines:
                return PASS  # what follows is the same on every engine
            if program.number % 3 == 0 and not model.marginalized:
                _each_term_moves(program, model, wanted, arrays)
            if program.number % 12 == 1:
                _same_in_other_coordinates(program, model, wanted)
            if program.number % 2 == 0:
                _same_on_the_samplers_coordinates(program, model, wanted)
            if program.number % 6 in (3, 4):
                _same_with_other_data(program, model, wanted)
            if program.number % 12 == 7:
                _same_after_other_lengths(program)
            if program.number % 4 in (0, 1):
                _same_with_features_together(program, wanted)
            if program.number % 3 == 2 and (wrong := beyond.found(program, built, wanted.point)):
                raise _WrongError("wrong value", "data beyond the support", wrong)
            if draws:
                draw(program, model, wanted)
        except _WrongError as error:
            return error.outcome
        except Exception as error:
            return _crash(error)
    return PASS


def _crash(error: BaseException) -> Outcome:
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if f"{os.sep}consilience{os.sep}" in f.filename]
    if not own:
        return Outcome(
            "crash", f"{type(error).__name__} in the text of the model", f"{type(error).__name__}: {str(error)[:600]}"
        )
    place = own[-1]
    file = place.filename.rsplit(f"{os.sep}src{os.sep}", 1)[-1].removeprefix("consilience" + os.sep)
    title = f"{type(error).__name__} at {file}:{place.lineno} in {place.name}"
    if _statement_of(frames):
        title += f" (called by {_statement_of(frames)})"
    return Outcome("crash", title, f"{type(error).__name__}: {str(error)[:600]}")


def _statement_of(frames: traceback.StackSummary) -> str:
    """The public function in which it happened, unless that is the compilation of the density."""
    names = [f.name for f in frames if f.filename == __file__]
    places = {
        "built": "the statement itself",
        "draw": "draws",
        "_by_reference": "reference",
        "_as_written": "no rewriting",
    }
    return next((places[n] for n in reversed(names) if n in places), "")


# ---- values


@contextmanager
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def tolerance_of(program: Program) -> float:
    """How far results may be off, relative to the sum of the magnitudes of what is added."""
    return TOLERANCE_FLOAT32 if any(d.dtype == "float32" for d in program.data) else TOLERANCE


def compare(program: Program, model: pm.Model, wanted: Truth) -> None:
    """Value and gradient against NumPy; where they differ, which stage made the difference."""
    names = set(model.initial_point())
    if names != set(wanted.point):
        raise _WrongError("wrong value", "names of the point", f"{sorted(names)}, expected {sorted(wanted.point)}")
    value = float(model.compile_logp()(wanted.point))
    slope = np.asarray(model.compile_dlogp()(wanted.point))
    close = _Closeness(wanted, tolerance_of(program))
    found = close.wrong(value, slope)
    if found:
        kind, detail = found
        raise _WrongError(kind, _stage(model, wanted, close), detail)
    backend, gradients = _by_reference(model, wanted, simplified=program.number % 4 == 1)
    # Formulas as written may meet 0 * inf where they saturate (log(1 - sigmoid(x))): rewriting is there for that.
    usable = bool(np.isfinite(gradients).all())
    if not usable:
        backend, gradients = _by_reference(model, wanted, simplified=True)
    found = close.wrong(backend, gradients)
    if found:
        raise _WrongError(found[0], "reference backend alone", found[1])
    if usable and program.number % 8 == 3:
        found = close.wrong(*_as_written(model, wanted))
        if found:
            raise _WrongError(found[0], "machine code of the graph as written", found[1])


def _same_on(engine: str, program: Program, model: pm.Model, wanted: Truth) -> None:
    """Value and gradient of the density on another engine."""
    density = model_density(model, backend=engine)
    value, slope = density(density.layout.position(wanted.point))
    found = _Closeness(wanted, tolerance_of(program)).wrong(float(value), np.asarray(slope))
    if found:
        raise _WrongError(found[0], f"on {engine} alone", found[1])


def _same_in_other_coordinates(program: Program, model: pm.Model, wanted: Truth) -> None:
    """Centred in part, the density differs by the log Jacobian."""
    found = difference(program, model)
    if found is not None and np.isfinite(found[1]):
        name, change, jacobian = found
        if not abs(change - jacobian) <= 100 * tolerance_of(program) * (1 + wanted.magnitude + abs(jacobian)):
            raise _WrongError(
                "wrong value", "centred in part", f"`{name}`: by {change!r}, the Jacobian is {jacobian!r}"
            )


def _same_on_the_samplers_coordinates(program: Program, model: pm.Model, wanted: Truth) -> None:
    """What chains climb is the density times the Jacobian of their map; value and gradient are the reference's."""
    found = of_samplers(model, wanted.point)
    if found is None:
        return
    (change, jacobian), (value, slope), (known, slopes) = found
    tolerance = tolerance_of(program)
    # Differences know a Jacobian to some eight digits.
    if not abs(change - jacobian) <= 100 * tolerance * (1 + wanted.magnitude) + 1e-5 * (1 + abs(jacobian)):
        raise _WrongError("wrong value", "the samplers' map", f"by {change!r}, the Jacobian is {jacobian!r}")
    if not abs(value - known) <= tolerance * (1 + wanted.magnitude):
        raise _WrongError("wrong value", "the samplers' coordinates", f"{value!r}, by the reference {known!r}")
    scale = 1 + np.max(wanted.magnitudes, initial=0.0) + np.abs(slopes)
    if np.isfinite(slopes).all() and not (np.abs(slope - slopes) <= 10 * tolerance * scale).all():
        raise _WrongError("wrong gradient", "the samplers' coordinates", f"{slope}, by the reference {slopes}")


def _same_after_other_lengths(program: Program) -> None:
    """`pm.set_data` of another length gives the density of the model that is built with these data."""
    found = lengths.other(program, built)
    if found is None:
        return
    name, value, wanted = found
    if not abs(value - wanted) <= 1e4 * tolerance_of(program) * (1 + abs(wanted)):
        raise _WrongError("wrong value", "data of another length", f"along `{name}`: {value!r}, built anew {wanted!r}")


def _same_with_features_together(program: Program, wanted: Truth) -> None:
    """One likelihood in several ways at once has the density that it had, or that a formula gives."""
    found = together.found(program, built, wanted.natural, wanted.point)
    if found is not None:
        features, value, expected = found
        if not abs(value - expected) <= 100 * tolerance_of(program) * (1 + wanted.magnitude + abs(expected)):
            raise _WrongError("wrong value", "features together", f"{features}: {value!r}, expected {expected!r}")


def _each_term_moves(program: Program, model: pm.Model, wanted: Truth, arrays: dict[str, Array]) -> None:
    """Where one variable moves, the same terms move as in NumPy, and by as much."""
    named = [line.name for line in program.lines if line.kind in ("variable", "observed", "potential")]
    order = [v.name for v in (*model.free, *model.observed)] + list(model.named_potentials)
    terms = model.compile_logp(sum=False)

    def found(point: dict[str, Array]) -> dict[str, float]:
        return {name: float(np.sum(term)) for name, term in zip(order, terms(point), strict=True)}

    def expected(moved: dict[str, Array] | None) -> dict[str, complex]:
        return {name: np.sum(t) for name, t in zip(named, evaluated(program, arrays, moved).terms, strict=True)}

    with _quiet():
        before, wanted_before = found(wanted.point), expected(None)
        for key, value in wanted.point.items():
            step = np.full(value.shape, 2.0**-6)
            name = key[:-2].rsplit("_", 1)[0] if key.endswith("__") else key
            after, wanted_after = found({**wanted.point, key: value + step}), expected({name: step})
            for term in order:
                change, due = after[term] - before[term], wanted_after[term] - wanted_before[term]
                scale = 1 + abs(before[term]) + abs(after[term]) + wanted.magnitude
                if np.isfinite(due) and not abs(change - due) <= 10 * tolerance_of(program) * scale:
                    raise _WrongError("wrong value", "a term that moves", f"`{term}` with `{key}`: {change}, not {due}")
                if np.isfinite(due) and (change == 0.0) != (due == 0.0) and abs(due - change) > 1e-13 * scale:
                    raise _WrongError("wrong value", "a term that stays", f"`{term}` with `{key}`: {change}, not {due}")


def _same_with_other_data(program: Program, model: pm.Model, wanted: Truth) -> None:
    """Gaps filled with the data, and counts as floats, leave the density without Jacobians as it is."""
    law = gaps.filled if program.number % 6 == 3 else gaps.as_floats
    found = law(program, built, wanted.point)
    if found is not None:
        value = float(model.compile_logp(jacobian=False)(wanted.point))
        if not abs(found[1] - value) <= 100 * tolerance_of(program) * (1 + wanted.magnitude):
            raise _WrongError(
                "wrong value", f"data {law.__name__}", f"`{found[0]}`: {found[1]!r} in place of {value!r}"
            )


@dataclass(frozen=True)
class _Closeness:
    wanted: Truth
    tolerance: float

    def wrong(self, value: float, gradient: Array) -> tuple[str, str] | None:
        """The kind of error and its size, if there is one."""
        w = self.wanted
        if not abs(value - w.value) <= self.tolerance * (1 + w.magnitude):
            return "wrong value", f"log density {value!r}, NumPy finds {w.value!r}"
        if gradient.shape != w.directions.shape[1:]:
            return "wrong gradient", f"a gradient of shape {gradient.shape}, expected {w.directions.shape[1:]}"
        slopes = w.directions @ gradient
        bad = ~(np.abs(slopes - w.slopes) <= self.tolerance * (1 + w.magnitudes))
        if not bad.any():
            return None
        names = [f"{k}[{i}]" for k, v in w.point.items() for i in range(v.size)]
        which = [names[int(np.argmax(d))] if np.abs(d).sum() == 1 else "a sum of all" for d in w.directions[bad][:6]]
        return (
            "wrong gradient",
            f"along {', '.join(which)}: {slopes[bad][:6].tolist()}, NumPy finds {w.slopes[bad][:6].tolist()}",
        )


def _by_reference(model: pm.Model, wanted: Truth, simplified: bool) -> tuple[float, Array]:
    """The value and gradient of the graph in NumPy, as written or after all rewriting."""
    inputs, outputs = _graph(model, simplified)
    with _quiet():
        results = reference.evaluate(outputs, _arguments(model, inputs, wanted))
    return float(results[0]), _flat(results[1:])


def _as_written(model: pm.Model, wanted: Truth) -> tuple[float, Array]:
    """The value and gradient of the graph without rewriting, by machine code."""
    inputs, outputs = _graph(model, simplified=False)
    values = _arguments(model, inputs, wanted)
    results = run_llvm(list(values), outputs, list(values.values()))
    return float(results[0]), _flat(results[1:])


def _graph(model: pm.Model, simplified: bool) -> tuple[list[Node], list[Node]]:
    terms = terms_of(model, sampled=False)
    logp = total(terms.all)
    if simplified:
        (logp,) = simplify([logp])
    outputs = [logp, *gradient(logp, terms.values)]
    return terms.values, simplify(outputs) if simplified else outputs


def _arguments(model: pm.Model, inputs: list[Node], wanted: Truth) -> dict[Node, Array]:
    slots = {slot: np.asarray(contexts.DEFAULT.get(slot)) for slot in model.data_slots()}
    return {**dict(zip(inputs, wanted.point.values(), strict=True)), **slots}


def _flat(parts: list[Array]) -> Array:
    return np.concatenate([np.ravel(p) for p in parts]) if parts else np.zeros(0)


def _stage(model: pm.Model, wanted: Truth, close: _Closeness) -> str:
    """Which step changed the number: the density or gradient as written, rewriting, or lowering."""
    try:
        if close.wrong(*_by_reference(model, wanted, simplified=False)):
            return "in the graph as written"
    except Exception as error:
        return f"the reference fails on the graph as written: {_crash(error).where}"
    try:
        if close.wrong(*_by_reference(model, wanted, simplified=True)):
            return "by rewriting"
    except Exception as error:
        return f"the reference fails on the rewritten graph: {_crash(error).where}"
    return "by lowering"


# ---- draws


def draw(program: Program, model: pm.Model, wanted: Truth) -> None:
    """20 draws, prior and predictive: shapes as in NumPy, and numbers where numbers are due."""
    with _quiet():
        _named_values(program, model, wanted)
        trace = pm.sample(
            draws=20, tune=20, chains=2, cores=1, random_seed=program.number, progressbar=False, max_treedepth=5,
            compute_convergence_checks=False, model=model,
        )  # fmt: skip
        free = [line.name for line in program.variables()]
        _shapes("posterior", trace["posterior"], free + list(model.named_deterministics), (2, 20), wanted, finite=free)
        observed = [line.name for line in program.lines if line.kind == "observed"]
        prior = pm.sample_prior_predictive(5, model=model, random_seed=1)
        _shapes("prior", prior["prior"], free, (1, 5), wanted, finite=free)
        if observed:
            _shapes("prior predictive", prior["prior_predictive"], observed, (1, 5), wanted, finite=[])
            after = pm.sample_posterior_predictive(trace, model=model, random_seed=1)
            _shapes("posterior predictive", after["posterior_predictive"], observed, (2, 20), wanted, finite=[])


def _named_values(program: Program, model: pm.Model, wanted: Truth) -> None:
    """Variables on their own scales, and deterministics, at the point."""
    density = model.log_density()
    tolerance = tolerance_of(program)
    for name, values in density.expand(density.layout.position(wanted.point)[None]).items():
        found, expected = values[0], np.asarray(wanted.natural[name])
        scale = tolerance * (1 + np.max(np.abs(expected), initial=0.0))
        if found.shape != expected.shape or not np.allclose(found, expected, rtol=tolerance, atol=scale):
            raise _WrongError("wrong draws", "a named value", f"`{name}` is {found}, NumPy finds {expected}")


def _shapes(group: str, tree: Any, names: list[str], lead: tuple[int, ...], wanted: Truth, finite: list[str]) -> None:
    for name in names:
        values = tree[name].to_numpy()
        chains = values.shape[0] if 1 <= values.shape[0] <= lead[0] else lead[0]  # one that is stuck is left out
        shape = (chains, *lead[1:], *np.shape(wanted.natural[name]))
        if values.shape != shape:
            raise _WrongError(
                "wrong draws", f"shape in {group}", f"`{name}` has shape {values.shape}, expected {shape}"
            )
        if name in finite and not np.isfinite(values).all():
            raise _WrongError("wrong draws", f"not finite in {group}", f"`{name}`: {values.ravel()[:10]}")

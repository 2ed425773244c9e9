"""What a page shows of a run: a source enters; plain values for JSON, and arrays, leave.

Everything is bounded: of long runs evenly spread draws are read, and how many is said.
"""

from __future__ import annotations

import json
import math
import os
import socket
import time
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.diagnostics.compiled.library import FEWEST_DRAWS
from consilience.diagnostics.description import describe
from consilience.output.storage.journal import OF_CHAINS, finite
from consilience.sample.report import PROMISES, RESTARTS, help_of
from consilience.watch.highest_density import modes_of
from consilience.watch.seen import seen
from consilience.watch.source import MOST_NAMES, Place, RunSource

Array = npt.NDArray[Any]

MOST_POINTS: Final = 400  # of a line
MOST_READ: Final = 32_768  # draws of a chain for a line
MOST_ROWS: Final = 2000  # of the summary
LIVE_ROWS: Final = 400  # likewise, of a run of this process, from which making it takes time
MOST_NUMBERS: Final = 1 << 22  # of draws that the summary is made of
FEWER_NUMBERS, FEWEST_EACH = 1 << 20, 1000  # where there are more: of all, and draws of each chain at least
MOST_FOUND: Final = 60
MOST_SHAPES: Final = 60  # elements whose intervals are looked for one by one; of others those with a large R-hat
MOST_LOOKED_AT: Final = 300  # elements, for what goes with divergences
PAIRS: Final = 1500  # points of a picture of pairs
RANK_BINS: Final = 20
PATIENCE: Final = 15.0  # seconds without a word, besides three times what lies between two
SOME_RHAT: Final = 1.05  # above which the elements in the worst states are looked at first
DEAD: Final = 2.0  # seconds without a word from a process that is not there any more

OF_THE_RUN: Final = (
    "created_at", "creation_library_version", "seed", "method", "sampler", "settings", "gradients", "tuning_steps",
    "elbo", "pareto_k", "sampling_time", "time_compile", "time_warmup", "time_sampling", "time_checks", "metric_rank",
    "step_size",
)  # fmt: skip
"""Attributes that are shown as they are."""


UNDER_WAY: Final = ("starting", "tuning", "sampling", "paused", "running")
"""Statuses that change with time; a run that is stale stays so until it writes."""


class Clock:
    """When a source last had something new, by this machine's own clock, whatever the clocks of others say."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[object, float | None]] = {}

    def silent(self, source: RunSource, now: float | None = None) -> float | None:
        """Seconds since something new came while this looked; None where nothing came yet."""
        now = time.monotonic() if now is None else now
        version, before = source.version(), self._seen.get(source.name)
        if before is None:
            self._seen[source.name] = version, None
        elif before[0] != version:
            self._seen[source.name] = version, now
        since = self._seen[source.name][1]
        return None if since is None else now - since


def overview(source: RunSource, clock: Clock) -> dict[str, Any]:
    """A run in the list of runs: what its journal and its attributes say."""
    attributes = source.attributes
    records = source.records
    began = _last(records, "began")
    progress, check = _last(records, "progress"), _last(records, "check")
    ended = _last(records, "ended")
    if began and records.index(began) > (records.index(ended) if ended else -1):
        ended = None  # it goes on
    last = records[-1]["time"] if records else None
    status, silent = str(attributes.get("status", "")), clock.silent(source)
    if ended is not None:
        status = str(ended["status"])
    stale, skewed = False, False
    if status in ("running", "") and last is not None and ended is None:
        patience = PATIENCE + 3 * float((progress or {}).get("interval", 1.0))
        told = abs(time.time() - float(last))
        alive = _alive(began)
        if alive is None:
            stale = told > patience and (silent is None or silent > patience)
            skewed = silent is not None and silent <= patience < told
        else:  # by the clock of this machine
            stale = told > (patience if alive else DEAD)
        paused = progress is not None and progress["paused"]
        status = "stale" if stale else "paused" if paused else _stage(progress, source.draws)
    chains = [] if progress is None else progress["chains"]
    seconds = (ended or progress or {}).get("seconds") or attributes.get("sampling_time")
    if stale and progress and last is not None:  # it told of checks after it
        seconds = float(seconds or 0.0) + max(0.0, float(last) - float(progress["time"]))
    known = json.loads(str(attributes.get("last_check") or "null")) or check
    over = status not in (*UNDER_WAY, "stale")
    found: dict[str, Any] = finite(
        {
            "name": source.name,
            "status": status or str(attributes.get("method", "unknown")),
            "reason": _why(status, attributes, ended, check, began),
            "promise": PROMISES.get(status, ""),
            "help": help_of({**attributes, "status": status}),
            "chains": source.chains or (began or {}).get("chains"),
            "draws": (source.draws * source.stride if status in PROMISES else 0)
            or max(source.draws * source.stride, min((c[2] for c in chains), default=0)),
            "seconds": seconds,
            "last": last,
            "skewed": skewed,
            "began": began or {},
            "check": known,
            "ess_per_second": known["ess"] / seconds if known and known.get("ess") and seconds else None,
            # Of evenly spread draws the run itself knows how many diverged.
            "divergences": sum(c[3] for c in chains)
            if chains and (not source.draws or source.stride > 1)
            else _divergences(source),
            "gradients": (over and attributes.get("gradients")) or sum(c[6] or 0 for c in chains) or None,
            **{name: (progress or {}).get(name) for name in ("memory", "threads", "processor")},
            "evidence": [attributes.get(f"log_marginal_likelihood{end}") for end in ("", "_error")],
            "pointwise": bool(source.groups.get("log_likelihood")),
            "created": attributes.get("created_at"),
            "seed": (began or {}).get("seed", attributes.get("seed")),
            "observed": (began or {}).get("observed")
            or {name: list(v.shape) for name, v in source.groups.get("observed_data", {}).items()},
            "parameters": sum(v.size for v in source.groups.get("posterior", {}).values()),
            "study": source.study,
        }
    )
    return found


def _alive(began: Mapping[str, Any] | None) -> bool | None:
    """Whether the process of a run is there; None where it runs, or ran, on another machine."""
    process = (began or {}).get("process")
    if began is None or began.get("host") != socket.gethostname() or type(process) is not int or process < 1:
        return None
    if os.name == "nt":  # asking there ends it
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True  # of another user
    return True


def _stage(progress: Mapping[str, Any] | None, draws: int) -> str:
    chains = [c for c in progress["chains"] if c[8] != "failed"] if progress else []
    if any(c[8] == "tuning" for c in chains) or not (draws or any(c[2] for c in chains)):
        return "tuning" if any(c[1] for c in chains) else "starting"
    return "sampling"


def _why(
    status: str,
    attributes: Mapping[str, Any],
    ended: Mapping[str, Any] | None,
    check: Mapping[str, Any] | None,
    began: Mapping[str, Any] | None,
) -> str:
    """In a sentence, why a run goes on, or why it ended."""
    if ended is not None or status not in ("sampling", "tuning", "starting", "paused", "stale"):
        return str((ended or {}).get("reason") or attributes.get("reason", ""))
    if status == "stale":
        return "no update for a while: the process was killed, the disk is full, or the machine cannot be reached"
    if status in ("tuning", "starting"):
        return "the chains tune step size and mass matrix; draws follow"
    if check is None:
        first = (began or {}).get("min_draws")
        return f"the first convergence check comes at {first} draws per chain" if first else ""
    if check["passed"]:
        return "all targets are met"
    needed = (
        f"about {check['needed']:,.0f} draws per chain should be enough"
        if check.get("needed")
        else "it is too early to say how many draws are needed"
    )
    wanted = f" (target {check['target_ess']:,.0f})" if check.get("target_ess") else ""
    ess = "unknown" if check["ess"] is None else f"{check['ess']:,.0f}"
    rhat = "unknown" if check["rhat"] is None else f"{check['rhat']:.3f}"
    return f"the ESS of {check['ess_name']} is {ess}{wanted}, the largest R-hat {rhat}; {needed}"


def run(source: RunSource, clock: Clock) -> dict[str, Any]:
    """All that is told of a run at once; parameters and draws are asked for one by one."""
    attributes, records = source.attributes, source.records
    found = overview(source, clock)
    events = [r for r in records if r["kind"] in ("began", "restarted", "moved", "lost", "ended")]
    checks = [r for r in records if r["kind"] == "check"]
    found |= {
        "progress": _progress([r for r in records if r["kind"] == "progress"], found, source),
        "checks": checks[-MOST_POINTS:],
        "events": [{k: r.get(k) for k in ("kind", "time", "reason", "chain", "status", "resumed")} for r in events][
            -200:
        ],
        "worst": (worst := _worst(source, checks, found)),
        "seen": seen(source, worst),
        "resume": _line_to_go_on(source, found["status"], found["began"]),
        "groups": {group: len(variables) for group, variables in source.groups.items()},
        "about": {n: np.asarray(attributes[n]).tolist() for n in OF_THE_RUN if n in attributes},
        "regions": json.loads(str(attributes.get("regions", "{}"))),
        "restarts": [RESTARTS.get(r, r) for r in json.loads(str(attributes.get("restarts", "[]")))],
        "notes": json.loads(str(attributes.get("notes", "[]"))),
        "windows": json.loads(str(attributes.get("warmup_windows", "[]"))),
        "energy": _energies(source),
        "metric": next((r["metric"] for r in reversed(records) if "metric" in r), None),
        "prior": source.prior_known,
        "predictive": sorted(
            set(source.groups.get("posterior_predictive", {})) & set(source.groups.get("observed_data", {}))
        ),
    }
    return dict(finite(found))


def _progress(records: Sequence[Mapping[str, Any]], overview: Mapping[str, Any], source: RunSource) -> dict[str, Any]:
    """Moments as columns, `MOST_POINTS` at most: time, and what there is of each chain.

    Of a run that is over the last moment is one before its end: chains that went on have all draws since, and all that
    diverged.
    """
    status, draws, tuned = overview["status"], overview["draws"], source.attributes.get("tuning_steps")
    some = records[-1 :: -max(1, -(-len(records) // MOST_POINTS))][::-1]
    chains = sorted({c[0] for r in some for c in r["chains"]})
    columns: dict[str, Any] = {"at": [r["seconds"] for r in some], "chains": chains}
    rows = [{c[0]: c for c in r["chains"]} for r in some]
    for place, name in enumerate(OF_CHAINS, 1):
        if name == "phase":
            columns["phase"] = [rows[-1][c][place] for c in chains if c in rows[-1]] if rows else []
        else:
            columns[name] = [[row[c][place] if c in row else None for row in rows] for c in chains]
    phases = columns["phase"]
    if status in UNDER_WAY:
        return columns
    flags = _statistic(source, "diverging") if chains and source.stride == 1 else None
    diverged = {} if flags is None else dict(zip(source.labels("chain", len(flags)), flags.sum(axis=1), strict=True))
    for number, phase in enumerate(phases):
        if chains[number] in diverged:
            columns["divergences"][number][-1] = int(diverged[chains[number]])
        if phase == "failed":
            continue
        phases[number] = "stopped" if status == "stale" else "done"
        known = columns["draws"][number][-1]
        if known is not None and draws > known:
            more = draws - known if phase == "sampling" else draws + (tuned or 0) - columns["done"][number][-1]
            columns["done"][number][-1] += max(0, more)
            columns["draws"][number][-1] = draws
    return columns


def _line_to_go_on(source: RunSource, status: str, began: Mapping[str, Any]) -> str | None:
    """What to write to go on with a run that ended early; None where nothing can be told."""
    if status in ("stale", "interrupted"):
        checkpoint = began.get("checkpoint") or (str(path) if (path := source.checkpoint) else None)
        if checkpoint:
            return f"result = pm.resume({checkpoint!r}, model)"
        if (store := source.store) is not None:
            return f'tree = xarray.open_datatree({str(store)!r}, engine="zarr")  # the draws until then'
    if status in ("interrupted", "not_converged"):
        check = json.loads(str(source.attributes.get("last_check") or "null")) or {}
        return f"result = result.extend(target_ess={check.get('target_ess') or 400:.0f})"
    return None


def _worst(source: RunSource, checks: Sequence[Mapping[str, Any]], overview: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Elements to look at first: where something is wrong those in the worst states at the last check, else numbers.

    Numbers are what models hang on at their top; elements of vectors are many, and one of them is always the worst.
    """
    names = [row[0] for row in checks[-1]["nearest"]] if checks else []
    if attribute := str(source.attributes.get("last_check") or ""):
        names = [row[0] for row in (json.loads(attribute) or {}).get("nearest", ())] or names
    # Of a coordinate with a name of its own, as `standardized x[1]`, the variable.
    places = {n: p for whole in names for n in (whole, whole.split(" ", 1)[-1]) if (p := source.locate(n)) is not None}
    found = [{"text": n, "variable": p[0], "place": p[1]} for n, p in places.items()]
    known = [element["text"] for element in found]
    first = search(source, "")["found"][:8]
    more = [element for element in first if element["text"] not in known]
    numbers = [element for element in first if not element["place"]][:4]
    if numbers and not _is_wrong(overview):
        shown = [element["text"] for element in numbers]
        others = [element for element in [*found, *more] if element["text"] not in shown]
        return [*numbers, *others[: max(2, 4 - len(numbers))]]
    return [*found[:6], *more[: max(0, 4 - len(found))]]


def _is_wrong(overview: Mapping[str, Any]) -> bool:
    """Whether a run ended badly, or its chains are plainly apart."""
    check = overview["check"] or {}
    bad = overview["status"] in ("not_converged", "chains_disagree", "converged_with_divergences", "stale")
    return bad or (check.get("rhat") or 1.0) > SOME_RHAT or bool(overview["divergences"])


def search(source: RunSource, query: str) -> dict[str, Any]:
    """Elements whose names have all words of a query, in either case; those of fewer elements first."""
    words = query.casefold().split()
    variables = sorted((v for v in source.groups.get("posterior", {}).values() if v.sampled), key=lambda v: v.size)
    found, left, cut = [], MOST_NAMES, False
    for variable in variables:
        if left <= 0:
            cut = True
            break
        for name, place in islice(source.elements(variable), left):
            left -= 1
            if all(word in name.casefold() for word in words):
                found.append({"text": name, "variable": variable.name, "place": place})
                if len(found) > MOST_FOUND:
                    return {"found": found[:MOST_FOUND], "more": True}
    return {"found": found, "more": cut}


def element(source: RunSource, group: str, name: str, place: Place) -> tuple[Array, int]:
    """Draws (chain, draw) of one element, at most `MOST_READ` of each chain, and one in how many these are."""
    variable = source.groups[group][name]
    if not variable.sampled or len(place) != len(variable.shape):
        raise KeyError(name)
    if any(not 0 <= i < n for i, n in zip(place, variable.shape, strict=True)):
        raise KeyError(name)
    step = max(1, -(-source.draws // MOST_READ))
    return source.part(group, name, place, step).astype(float), step


def trace(
    source: RunSource, group: str, name: str, place: Place, points: int = MOST_POINTS
) -> tuple[Array, dict[str, Any]]:
    """Lines of the chains, float32 (chain, point, 2), the smallest and largest of neighbouring draws; with figures.

    The figures: draws on the horizontal axis, ranks (chain, bin) of each chain among all, R-hat and effective sizes
    at growing lengths, mean and sd.
    """
    draws, step = element(source, group, name, place)
    chains, count = draws.shape
    width = max(1, -(-count // points))
    whole = draws[:, : count - count % width] if count > points else draws
    buckets = whole.reshape(chains, -1, width) if count > points else draws[:, :, None]
    figures = {
        "width": width * step * source.stride,
        "step": step * source.stride,
        "draws": count,
        "ranks": _ranks(draws),
        **_growth(draws),
        "finite": int(np.isfinite(draws).sum()),
        "size": draws.size,
    }
    lines = np.stack([buckets.min(axis=2), buckets.max(axis=2)], axis=2) if count else np.zeros((chains, 0, 2))
    with np.errstate(over="ignore"):  # shown as a gap
        return lines.astype("<f4"), dict(finite(figures))


def _ranks(draws: Array) -> list[list[int]]:
    """Histograms (chain, bin) of each chain's ranks among all draws; ties by their order."""
    some = draws[:, :: max(1, -(-draws.shape[1] // 4096))]
    order = np.argsort(np.argsort(some, axis=None, kind="stable"), kind="stable").reshape(some.shape)
    bins = order * RANK_BINS // max(1, some.size)
    return [np.bincount(own, minlength=RANK_BINS).tolist() for own in bins]


def _growth(draws: Array) -> dict[str, Any]:
    """R-hat and effective sizes of the first draws, at eight lengths."""
    count = draws.shape[1]
    lengths = sorted({max(FEWEST_DRAWS, count * i // 8) for i in range(1, 9)}) if count >= FEWEST_DRAWS else []
    rows = [_described([np.ascontiguousarray(draws[:, :n])], superchains=0) for n in lengths]
    return {
        "lengths": lengths,
        **{name: [float(row[name][0]) for row in rows] for name in ("r_hat", "ess_bulk", "ess_tail")},
        **{name: float(rows[-1][name][0]) if rows else math.nan for name in ("mean", "sd")},
    }


def _described(arrays: Sequence[Array], superchains: int) -> Mapping[str, Array]:
    return describe(list(arrays), ["statistics", "errors", "ranks"], "hdi", 0.94, superchains)


COLUMNS: Final = ("mean", "sd", "lower", "upper", "mcse_mean", "ess_bulk", "ess_tail", "r_hat")


def summary(source: RunSource, group: str = "posterior") -> dict[str, Any]:
    """The summary of up to `MOST_ROWS` elements, of one draw in `step`: all where they are not too many."""
    superchains = int(source.attributes.get("superchains", 0))
    names: list[str] = []
    keys: list[tuple[str, Place]] = []
    columns: dict[str, list[float]] = {name: [] for name in COLUMNS}
    most = source.rows or MOST_ROWS
    total = sum(v.size for v in source.groups.get(group, {}).values() if v.sampled)
    batch: list[Array] = []  # of small variables, that are described together
    numbers = min(total, most) * source.chains * source.draws
    step = 1 if numbers <= MOST_NUMBERS else min(-(-numbers // FEWER_NUMBERS), max(1, source.draws // FEWEST_EACH))

    intervals: dict[str, Any] = {}

    def describe_batch() -> None:
        found, begin = _described(batch, superchains), len(columns["mean"])
        for name in COLUMNS:
            columns[name] += found[name].tolist()
        flat = [array.reshape(*array.shape[:2], -1) for array in batch]
        each = ((array, k) for array in flat for k in range(array.shape[2]))
        for number, (array, k) in enumerate(each, begin):
            apart = columns["r_hat"][number] > SOME_RHAT
            wanted = len(intervals) < MOST_SHAPES and (total <= MOST_SHAPES or apart)
            if wanted and (modes := modes_of(array[:, :, k])) is not None:
                intervals[names[number]] = modes
        batch.clear()

    for variable in source.groups.get(group, {}).values():
        left = most - len(names)
        if left <= 0 or not variable.sampled or not variable.size or -(-source.draws // step) < FEWEST_DRAWS:
            continue
        elements = list(islice(source.elements(variable), left))
        wide = variable.size > len(elements) and variable.size * source.chains * source.draws // step > 4 * MOST_NUMBERS
        draws = (
            source.part(group, variable.name, None, step)
            if not wide
            else np.stack([source.part(group, variable.name, place, step) for _, place in elements], axis=2)
        )
        flat = draws.reshape(*draws.shape[:2], -1)[:, :, : len(elements)]
        if batch and (batch[0].shape[1] != flat.shape[1] or sum(a.size for a in batch) > FEWER_NUMBERS):
            describe_batch()
        batch.append(np.ascontiguousarray(flat, dtype=float))
        names += [name for name, _ in elements]
        keys += [(variable.name, place) for _, place in elements]
    if batch:
        describe_batch()
    return dict(
        finite(
            {
                "names": names,
                "keys": keys,
                "columns": columns,
                "intervals": intervals,
                "total": total,
                "step": step * source.stride,
            }
        )
    )


def pairs(source: RunSource, chosen: Sequence[tuple[str, Place]]) -> dict[str, Any]:
    """Evenly spread draws of some elements, and all that diverged up to a bound: columns by element."""
    step = max(1, source.draws * source.chains // PAIRS)
    columns = [source.part("posterior", name, place, step).astype(float).ravel().tolist() for name, place in chosen]
    flags = _statistic(source, "diverging")
    diverged: list[list[float]] = [[] for _ in chosen]
    if flags is not None and flags.any():
        where = np.argwhere(flags)
        where = where[:: max(1, len(where) // 400)]
        for own, (name, place) in zip(diverged, chosen, strict=True):
            own += source.picked("posterior", name, place, where).astype(float).tolist()
    return dict(finite({"columns": columns, "diverged": diverged, "step": step}))


def divergences(source: RunSource) -> dict[str, Any]:
    """Elements whose values at draws that diverged differ most from those of all, in standard errors of mean ranks."""
    flags = _statistic(source, "diverging")
    if flags is None or not flags.any():
        return {"count": 0, "rows": []}
    where = np.argwhere(flags)
    where = where[:: max(1, len(where) // 400)]
    step = max(1, source.draws // 500)
    rows: list[tuple[float, dict[str, Any]]] = []
    for variable in source.groups.get("posterior", {}).values():
        if not variable.sampled or len(rows) >= MOST_LOOKED_AT:
            continue
        elements = list(islice(source.elements(variable), 64))
        whole = variable.size * source.chains * 500 <= MOST_NUMBERS
        places: list[Place | None] = [None] if whole else [place for _, place in elements[:8]]
        columns: list[tuple[Array, Array]] = []
        for place in places:
            some = source.part("posterior", variable.name, place, step).astype(float)
            own = source.picked("posterior", variable.name, place, where).astype(float)
            columns += zip(some.reshape(some.shape[0] * some.shape[1], -1).T, own.reshape(len(own), -1).T, strict=True)
        for (name, at), (some, own) in zip(elements, columns, strict=False):
            some = np.sort(some)
            if not np.isfinite(some).all() or some[0] == some[-1]:
                continue
            ranks = np.searchsorted(some, own) / len(some)
            shift = float((ranks.mean() - 0.5) * math.sqrt(12.0 * len(own)))
            rows.append((abs(shift), {"text": name, "variable": variable.name, "place": at, "shift": shift,
                                      "ranks": ranks[:200].tolist()}))  # fmt: skip
    rows.sort(key=lambda row: -row[0])
    return dict(finite({"count": int(flags.sum()), "rows": [row for _, row in rows[:8]]}))


def _energies(source: RunSource) -> dict[str, Any] | None:
    """Histograms of energies of the last draws and of their changes, about their mean, and each chain's BFMI."""
    energy = _statistic(source, "energy", max(0, source.draws - MOST_READ))
    if energy is None or energy.shape[1] < FEWEST_DRAWS or not np.isfinite(energy).all():
        return None
    changes = np.diff(energy, axis=1)
    centred = energy - energy.mean()
    low, high = np.quantile(centred, [0.001, 0.999]).tolist()
    edges = np.linspace(low, high, 31)
    if low == high:
        return None
    variances = energy.var(axis=1)
    bfmi = (changes**2).mean(axis=1) / np.where(variances > 0, variances, np.nan)
    return {
        "edges": edges.tolist(),
        "energy": (np.histogram(centred, edges)[0] / centred.size).tolist(),
        "changes": (np.histogram(changes, edges)[0] / changes.size).tolist(),
        "bfmi": bfmi.tolist(),
    }


def _statistic(source: RunSource, name: str, first: int = 0) -> Array | None:
    """Of the sampler, every draw (chain, draw); None where it has none."""
    if name not in source.groups.get("sample_stats", {}) or source.groups["sample_stats"][name].shape:
        return None
    found = source.part("sample_stats", name, (), first=first)
    return found.astype(bool) if name == "diverging" else found.astype(float)


def _divergences(source: RunSource) -> int | None:
    """How many there are; of a run that grows, those of the draws that are new are added to those known before."""
    known, count = source.diverged if source.diverged[0] <= source.draws else (0, 0)
    if known < source.draws or not source.draws:
        flags = _statistic(source, "diverging", known)
        if flags is None:
            return None
        count += int(flags.sum())
        source.diverged = source.draws, count
    return count


def _last(records: Sequence[Mapping[str, Any]], kind: str) -> Mapping[str, Any] | None:
    return next((record for record in reversed(records) if record["kind"] == kind), None)

"""What rows come to: a line as each is done, Markdown tables, and the page that has them."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

from benchmarks.hard_posteriors.one import table
from benchmarks.report import number

PAGE = Path(__file__).resolve().parents[2] / "docs" / "understand" / "hard-posteriors.md"
TREES = ("then", "plain", "now", "PyMC", "INLA")
WRONG = 0.25  # of a standard deviation, as in the study of certificates
BLOCKS = {"integrated": "integrate variables out", "transported": "carry a block along"}
DEARER = 1.1  # times the gradients, from which a model is named


def line(row: dict[str, Any]) -> str:
    """A row as it is done."""
    head = f"{row['name']:<32} {row['tree']:<5} {row['seed']}  {number(row['seconds']):>7} s  "
    return head + cell(row) + ("" if row["status"] == "converged" else f"  {row.get('reason', '')[:120]}")


def cell(row: dict[str, Any] | None) -> str:
    """What a row says, without its name."""
    if row is None:
        return ""
    if "ess" not in row:
        return f"{row['status']} ({row['reason']})" if "reason" in row else str(row["status"])
    parts = [row["status"] or f"R-hat {row['rhat']:.2f}", f"{number(row['ess_per_second'])} ESS/s"]
    if "gradients" in row:
        parts.append(f"{number(row['gradients_per_ess'])} gradients/ESS")
    if row.get("divergences"):
        parts.append(f"{row['divergences']} divergences")
    if row.get("restarts"):
        parts.append(f"{len(row['restarts'])} restarts")
    return ", ".join(parts)


def spent(row: dict[str, Any] | None) -> str:
    """Seconds by the clock, those of all processors together, and peak memory."""
    if row is None:
        return ""
    figures = f"{number(row['seconds'])} s"
    if "cpu" in row:
        figures += f" ({number(row['cpu'])})"
    return f"{figures}, {row['peak_mb']:.0f} MB" if "peak_mb" in row else figures


def middle(rows: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """For each name and tree the run of the median seconds."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["name"], row["tree"]), []).append(row)
    return {key: sorted(group, key=lambda r: r["seconds"])[len(group) // 2] for key, group in groups.items()}


def gain(then: dict[str, Any] | None, now: dict[str, Any] | None) -> str:
    """How many times the effective draws per second; of a run without draws, at least its seconds over ours."""
    if then is None or now is None or "ess" not in now:
        return ""
    if "ess" in then:
        return f"{number(now['ess_per_second'] / then['ess_per_second'])}x"
    return f"> {number(then['seconds'] / now['seconds'])}x"


def markdown(rows: list[dict[str, Any]]) -> str:
    """The table of the hard models: then, now, PyMC."""
    found = middle(rows)
    trees = [tree for tree in TREES if any(key[1] == tree for key in found)]
    gains = [tree for tree in trees if tree != "now" and "now" in trees]
    head = ["model", "coordinates", *(f"{tree}: seconds (of processors), peak MB | {tree}" for tree in trees)]
    head += [f"now over {tree}" for tree in gains]
    text = ["| " + " | ".join(head) + " |", "|---|--:|" + "--:|---|" * len(trees) + "--:|" * len(gains)]
    for name, model in table("hard").items():
        per = {tree: found.get((name, tree)) for tree in trees}
        if not any(per.values()):
            continue
        cells = [name.replace("_", " "), f"{model.coordinates:,}"]
        for row in per.values():
            cells += [spent(row), cell(row)]
        text.append("| " + " | ".join([*cells, *(gain(per[tree], per.get("now")) for tree in gains)]) + " |")
    return "\n".join([*text, "", *provenance(rows)])


def provenance(rows: list[dict[str, Any]]) -> list[str]:
    """Of which commits and versions rows are, after how many seconds runs were ended, and the load before them."""
    said = []
    for tree in TREES:
        of = [row for row in rows if row["tree"] == tree]
        known = sorted(
            {f"commit {row['commit']}" if row.get("commit") else row.get("versions", "") for row in of} - {""}
        )
        if known:
            said.append(f"`{tree}` is {' and '.join(known)}")
    timed = [row for row in rows if "load" in row]
    if not timed:
        return []
    limit, load = (max(row[what] for row in timed) for what in ("limit", "load"))
    return [f"{', '.join(said)}. Runs were ended after {limit:g} s; the load before a run was at most {load:.1f}."]


def grown(rows: list[dict[str, Any]]) -> str:
    """Seconds to 400 effective draws of everything, and the distance from INLA's answer."""
    found = middle(rows)
    text = [
        "| model | tree | seconds | draws | least ESS | seconds to 400 | INLA, seconds | means of the field | scale |",
        "|---|---|--:|--:|--:|--:|--:|---|---|",
    ]
    for (name, tree), row in sorted(found.items(), key=lambda item: list(table("growing")).index(item[0][0])):
        if tree == "INLA":
            continue
        other = found.get((name, "INLA"))
        laplace = "" if other is None else f"{number(other['seconds'])} s" if "values" in other else cell(other)
        cells = [name, tree, f"{number(row['seconds'])} s", cell(row), "", "", laplace, "", ""]
        if "ess" in row:
            least = row["ess"]
            needed = row["seconds"] * max(1.0, 400 / least)
            cells[3:6] = [f"{row['draws']}", f"{least:.0f} ({row['status']})", f"{number(needed)} s"]
            if other is not None and "values" in other:
                cells[7], cells[8] = (distance(row["values"][key], other["values"][key]) for key in ("field", "scale"))
        text.append("| " + " | ".join(cells) + " |")
    return "\n".join(text)


def distance(own: list[list[float]], other: list[list[float]]) -> str:
    """Root mean square distance of means, in deviations, and the mean ratio of deviations."""
    (mean, sd), (there, width) = own, other
    squares = [((a - b) / s) ** 2 for a, b, s in zip(mean, there, width, strict=True)]
    ratio = statistics.geometric_mean(a / b for a, b in zip(sd, width, strict=True))
    return f"{statistics.mean(squares) ** 0.5:.2f} sd apart, sd x {ratio:.2f}"


def geometric_mean(values: Collection[float]) -> str:
    """Of ratios, with their number."""
    return f"{statistics.geometric_mean(values):.3f} ({len(values)})" if values else "none"


def compared(rows: list[dict[str, Any]]) -> str:
    """The public models: statuses and how often each is wrong, cost of now over then, and where statuses changed."""
    text = ["| tree | runs | status | | wrong | longest run |", "|---|--:|---|--:|--:|--:|"]
    for tree in dict.fromkeys(row["tree"] for row in rows):
        of = [row for row in rows if row["tree"] == tree]
        for status, count in Counter(row["status"] for row in of).most_common():
            those = [row for row in of if row["status"] == status]
            known = [row for row in those if "off" in row]
            cells = [tree, len(of), status, f"{count} ({100 * count / len(of):.1f} %)"]
            cells += [f"{sum(row['off'] > WRONG for row in known)} of {len(known)}"]
            text.append("| " + " | ".join(map(str, [*cells, f"{max(row['seconds'] for row in those):.1f} s"])) + " |")
    now = {(row["name"], row["seed"]): row for row in rows if row["tree"] == "now"}
    blocks = {key: row["blocks"] for key, row in now.items() if row.get("blocks")}
    if any(row["tree"] == "plain" for row in rows):
        kinds = Counter(kind for found in blocks.values() for kind in found)
        parts = [f"{kinds[kind]} {said}" for kind, said in BLOCKS.items()]
        text += ["", f"Of {len(now)} runs {' and '.join(parts)}; the others are the same without (ratio 1)."]
    for tree in ("then", "plain"):
        then = {(row["name"], row["seed"]): row for row in rows if row["tree"] == tree}
        pairs = {key: (then[key], now[key]) for key in now if key in then}
        same = len(now) - len(blocks) if tree == "plain" else 0
        text += beside(tree, pairs, same) if pairs else []
    return "\n".join(text)


def beside(tree: str, pairs: dict[tuple[str, int], Any], same: int) -> list[str]:
    """Cost of `now` over another tree, and where statuses are others; `same`: how many runs are alike besides."""
    text = ["", f"Now over {tree}, geometric means:"]
    for what in ("gradients", "seconds", "cpu", "gradients_per_ess"):
        ratios = {key: b[what] / a[what] for key, (a, b) in pairs.items() if a.get(what) and b.get(what)}
        named = what.replace("_ess", "_effective_draw").replace("_", " ").replace("cpu", "processor seconds")
        everywhere = f"; of all {geometric_mean([*ratios.values(), *[1.0] * same])}" if same else ""
        text.append(f"- {named}: {geometric_mean(ratios.values())}{everywhere}")
        if what in ("gradients", "cpu"):
            dearer = sorted((key for key in ratios if ratios[key] > DEARER), key=lambda key: -ratios[key])
            text += [f"  - {name} ({seed}): {ratios[name, seed]:.2f}" for name, seed in dearer[:10]]
    changed = {key: pair for key, pair in pairs.items() if pair[0]["status"] != pair[1]["status"]}
    if changed:
        text += ["", "Other statuses:"]
        text += [f"- {name} ({seed}): {a['status']}, now {b['status']}" for (name, seed), (a, b) in changed.items()]
    return text


KINDS = {"hard": markdown, "growing": grown, "public": compared}


def tables(rows: list[dict[str, Any]]) -> dict[str, str]:
    """Markdown of each kind that has rows."""
    of = {kind: [row for row in rows if row["kind"] == kind] for kind in KINDS}
    return {kind: KINDS[kind](some) for kind, some in of.items() if some}


def publish(rows: list[dict[str, Any]]) -> None:
    """Put the tables in their places on the page; kinds without rows stay as they are."""
    text = PAGE.read_text(encoding="utf-8")
    for kind, said in tables(rows).items():
        head, _, rest = text.partition(f"<!-- {kind}: written by python -m benchmarks.hard_posteriors --publish -->")
        mark = text[len(head) : len(text) - len(rest)]
        text = f"{head}{mark}\n\n{said}\n\n<!-- end -->{rest.partition('<!-- end -->')[2]}"
    PAGE.write_text(text, encoding="utf-8")

"""The tests of a library that builds on PyMC, run with PyMC, through the door, and with the stand-in.

In: a folder of the library's sources, with its tests; an interpreter that has the library, PyMC, pytest, pytest-xdist.
Out: a line of JSON for each test in `KEPT/FOLDER.WAY.jsonl`, whose tests are not run again; a table of what passes by
which way, and why the rest does not. Outside: the tests themselves, which are run where they lie.

    python tools/client_tests.py run FOLDER --by pymc --kept KEPT [-n 4] [--limit 60] [--options "-k word"] [TESTS ...]
    python tools/client_tests.py table KEPT
    python tools/client_tests.py sort KEPT [--before KEPT] [--why WORD]

The tests of PyTensor and of PyMC are run the same way, with `--fill`: names that this library has not are filled in
while the tests are imported (`filled_names.py`), and listed in `KEPT/FOLDER.WAY.names.txt`. `sort` gives each test of
PyMC that does not pass with the stand-in its reason, by the rules in `pymc_reasons.toml`, and counts them.
"""

from __future__ import annotations

import argparse
import faulthandler
import functools
import gc
import importlib.util
import json
import linecache
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import tomllib
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

LIMIT = 60.0  # seconds for a test
GRACE = 30.0  # seconds until a test that does not heed its limit ends with its process
REASONS = Path(__file__).with_name("pymc_reasons.toml")
KINDS = {
    "passed": "pass",
    "open": "open: what users see is different, and is to be mended",
    "argued": "different on purpose, with a reason for users",
    "more": "done here, where PyMC refuses",
    "said": "refused or told here, too, in other words",
    "inside": "private insides",
    "elsewhere": "not ours: packages that are not there, the runner, the time limit",
    "not run": "skipped, or PyMC expects them to fail",
}
"""What became of a test of PyMC, and how that is told."""
SAID = 400  # characters of a message that are kept
WAYS = {
    "pymc": (),
    "door": (),  # opened by `pytest_configure`
    "stand-in": ("consilience.as_pymc",),
}
"""How `import pymc` is to be understood, with plugins of pytest that come before everything else."""
SOURCES = Path(__file__).resolve().parent.parent / "src"
_sampled = 0  # calls of `pm.sample` in this process
SETTINGS = "CLIENT_TESTS"  # the variable of the environment that tells the plugin what it needs


# Running: pytest in processes of its own, with this file as a plugin.


def run(
    folder: Path, tests: list[str], way: str, kept: Path, processes: int, limit: float, options: str, fill: bool
) -> int:
    """Run what was not run before; pytest's exit status."""
    kept.mkdir(parents=True, exist_ok=True)
    out = (kept / f"{folder.absolute().name}.{way}.jsonl").resolve()
    done = read(out)
    out.write_text("".join(map(line, done)), encoding="utf-8")  # without one that was cut off
    filled = out.with_suffix(".names.txt")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as before:
        before.write("\n".join(record["id"] for record in done))
        before.flush()
        environment = {
            "OMP_NUM_THREADS": "1",
            "MPLBACKEND": "agg",
            "PYTHONHASHSEED": "0",  # processes have to find the same tests
            **os.environ,
            "PYTHONPATH": os.pathsep.join(
                [str(SOURCES), str(Path(__file__).resolve().parent), *filter(None, [os.environ.get("PYTHONPATH")])]
            ),
            "PYTEST_PLUGINS": ",".join(
                [*WAYS[way], *["filled_names"] * fill, "client_tests"]
            ),  # these come before a library's conftest.py
            "FILLED_NAMES": str(filled),
            SETTINGS: json.dumps({"way": way, "out": str(out), "before": before.name, "limit": limit}),
        }
        command = [
            *(sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", "-o", "addopts="),
            *("-n", str(processes), "--dist", "worksteal", "--max-worker-restart", "1000"),
            *("--continue-on-collection-errors", *shlex.split(options), *tests),
        ]
        if way == "door":  # models that go back to PyMC are no errors
            command[3:3] = ["-W", "default::consilience.errors.ConsilienceWarning"]
        status = subprocess.run(command, cwd=folder, env=environment, check=False).returncode
    if fill:
        filled.write_text("\n".join(sorted(set(filled.read_text(encoding="utf-8").split()))) + "\n", encoding="utf-8")
    return status


class TimeUpError(BaseException):
    """A test has had its seconds; no `except Exception` in it stops this."""


class Plugin:
    """Times tests in the processes that run them; writes down what became of them in the one that commands these."""

    def __init__(self, settings: dict[str, Any], commands: bool) -> None:
        self.limit, self.way = settings["limit"], settings["way"]
        self.before = frozenset(Path(settings["before"]).read_text(encoding="utf-8").splitlines())
        self.commands = commands
        self.out = open(settings["out"], "a", encoding="utf-8", buffering=1) if commands else None  # noqa: SIM115
        self.parts: dict[str, list[Any]] = defaultdict(list)

    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        """Leave out what was run before; names of tests with an address in them are the same in all processes."""
        met: Counter[str] = Counter()
        for item in items:
            plain = re.sub(r" at 0x[0-9a-f]+", "", item.nodeid)
            met[plain] += 1
            if plain != item.nodeid:
                plain += f"#{met[plain]}" * (met[plain] > 1)
                item._nodeid = plain  # before pytest 9.2, and since
                item._id = type(item.id).parse(plain) if hasattr(item, "_id") else None
        done = [item for item in items if item.nodeid in self.before]
        items[:] = [item for item in items if item.nodeid not in self.before]
        config.hook.pytest_deselected(items=done)

    def pytest_collection_finish(self) -> None:
        """Thousands of tests are not looked through whenever one of them collects garbage."""
        gc.collect()
        gc.freeze()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        """A test and its seconds."""
        signal.signal(signal.SIGALRM, self.up)
        signal.setitimer(signal.ITIMER_REAL, self.limit, 5.0)  # again and again: the first may be caught
        faulthandler.dump_traceback_later(self.limit + GRACE, exit=True)
        self.sampled = _sampled
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            faulthandler.cancel_dump_traceback_later()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: Any) -> None:
        """Let tests that take warnings for errors go on: a run that has not converged warns, as PyMC's log does."""
        warnings.filterwarnings("default", category=pytest.PytestWarning)
        if self.way == "stand-in":
            warnings.filterwarnings("default", category=sys.modules["consilience.errors"].ConsilienceWarning)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        """Have the report say how often the test sampled."""
        item.user_properties[:] = [("samples", _sampled - self.sampled)]

    def up(self, *_: Any) -> None:
        """Time is up."""
        raise TimeUpError(f"more than {self.limit:g} seconds")

    def pytest_collectreport(self, report: Any) -> None:
        """A file that cannot be imported."""
        if self.commands and report.failed and report.nodeid not in self.parts:
            self.parts[report.nodeid] = [report]
            self.write(report.nodeid, "not collected", 0.0, said(report))

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Setup, call or teardown of a test, or the end of the process that ran it."""
        if not self.commands:
            return
        parts = self.parts[report.nodeid]
        parts.append(report)
        if report.when in ("setup", "call"):
            return
        wrong = next((part for part in parts if part.failed), None)
        skipped = next((part for part in parts if part.skipped), None)
        outcome = "failed" if wrong else "skipped" if skipped else "passed"
        if skipped and hasattr(skipped, "wasxfail"):
            outcome = "fails as expected"
        self.write(
            report.nodeid,
            outcome,
            sum(part.duration for part in parts),
            said(wrong) if wrong else "",
            dict(report.user_properties).get("samples", 0),
            statement(wrong) if wrong else "",
        )

    def write(self, name: str, outcome: str, seconds: float, error: str, samples: int = 0, at: str = "") -> None:
        """Write what became of a test."""
        assert self.out is not None
        record = {"id": name, "outcome": outcome, "seconds": round(seconds, 3), "samples": samples, "error": error}
        self.out.write(line(record | {"at": at}))


def said(report: Any) -> str:
    """What was wrong: the beginning of the message."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        return " ".join(str(crash.message).split())[:SAID]
    lines = re.findall(r"(?m)^E\s+(\S.*)$", str(report.longrepr))  # of a file that cannot be imported
    return lines[-1] if lines else str(report.longrepr).strip().split("\n")[0]


def statement(report: Any) -> str:
    """The line of the tests that was under way."""
    entries = getattr(getattr(report.longrepr, "reprtraceback", None), "reprentries", [])
    places = [entry.reprfileloc for entry in entries if getattr(entry, "reprfileloc", None)]
    ours = [place for place in places if Path(place.path).parts[0] == "tests"]
    return linecache.getline(ours[-1].path, ours[-1].lineno).strip() if ours else ""


def pytest_configure(config: Any) -> None:
    """Enter the plugin, in each process."""
    settings = json.loads(os.environ[SETTINGS])
    if settings["way"] == "door":
        open_the_door()
    if settings["way"] != "stand-in" and importlib.util.find_spec("pymc"):
        watch_sampling(settings["way"])
    config.pluginmanager.register(Plugin(settings, commands=not hasattr(config, "workerinput")))


def open_the_door() -> None:
    """Bring our sampler into PyMC, for all calls."""
    from consilience import for_pymc

    for_pymc.install(fallback=True, default=True)


def watch_sampling(way: str) -> None:
    """Count calls of PyMC's `sample`; by the door, those that name PyMC's own sampler come here, too.

    Some libraries name it always.
    """
    import pymc

    for home in (pymc.sampling.mcmc, pymc.sampling, pymc):
        home.sample = watched(home.sample, way)


def watched(sample: Callable[..., Any], way: str) -> Callable[..., Any]:
    """A `sample` that counts its calls."""

    @functools.wraps(sample)
    def counting(*arguments: Any, **keywords: Any) -> Any:
        global _sampled
        _sampled += 1
        if way == "door" and keywords.get("nuts_sampler") == "pymc":
            keywords["nuts_sampler"] = "consilience"
        return sample(*arguments, **keywords)

    return counting


# What was found.


def read(path: Path) -> list[dict[str, Any]]:
    """The records of a file; its last line may be cut off."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def line(record: dict[str, Any]) -> str:
    """A record, as it is written."""
    return json.dumps(record, ensure_ascii=False) + "\n"


def reason(error: str) -> str:
    """An error without what changes from test to test."""
    return re.sub(r"0x[0-9a-f]+|\b\d[\d.e+-]*", "#", error)[:120]


def table(kept: Path) -> str:
    """Per library and way: tests that pass, of these those that pass with PyMC, and the reasons of others."""
    rows = []
    for folder in sorted({path.name.rsplit(".", 2)[0] for path in kept.glob("*.jsonl")}):
        found = {way: {r["id"]: r for r in read(kept / f"{folder}.{way}.jsonl")} for way in WAYS}
        passing = {way: {name for name, r in of.items() if r["outcome"] == "passed"} for way, of in found.items()}
        judged = passing["pymc"]
        rows.append(f"\n{folder}: {len(judged)} of {len(found['pymc'])} tests pass with PyMC")
        for way in ("door", "stand-in"):
            if not found[way]:
                continue
            # A file that was not collected stands for all its tests.
            closed = {name for name, r in found[way].items() if r["outcome"] == "not collected"}
            ran = {name for name in judged if name in found[way] or name.split("::")[0] in closed}
            rows.append(
                f"  {way}: of these {len(judged & passing[way])} pass, of {len(ran)} that were run; "
                f"{len(passing[way])} of all {len(found[way])}"
            )
            others = ran - passing[way] if judged else found[way].keys() - passing[way]
            records = [found[way].get(name) or found[way][name.split("::")[0]] for name in others]
            failing = Counter(reason(r["error"]) or r["outcome"] for r in records)
            rows += [f"    {count:4d}  {why}" for why, count in failing.most_common()]
    return "\n".join(rows)


class Reasons:
    """Why tests of PyMC do not pass with the stand-in: the rules of a file, of which the first that fits holds."""

    def __init__(self, path: Path = REASONS) -> None:
        self.rules = tomllib.loads(path.read_text(encoding="utf-8"))["reason"]
        for rule in self.rules:
            if rule["kind"] not in KINDS:
                raise ValueError(
                    f"{path.name}: `{rule['why']}` is of kind {rule['kind']!r}; known are {', '.join(KINDS)}."
                )

    def of(self, record: dict[str, Any]) -> tuple[str, str]:
        """The kind and the reason of a record; both are empty where no rule fits."""
        said = f"{record['error']} @ {record.get('at', '')}"
        for rule in self.rules:
            tests, errors = rule.get("tests", [""]), rule.get("errors", [""])
            if any(re.search(t, record["id"]) for t in tests) and any(re.search(e, said) for e in errors):
                return rule["kind"], rule["why"]
        return "", ""


def sort(kept: Path, before: Path | None, why: str) -> tuple[str, bool]:
    """A table of reasons with the number of tests, before and now; whether each test has a reason.

    With `why`, the tests of the reasons that contain it.
    """
    reasons = Reasons()
    runs = [list(read(folder / "pymc.stand-in.jsonl")) for folder in filter(None, [before, kept])]
    sorted_runs = [[(r, *sorted_as(r, reasons)) for r in run] for run in runs]
    if why:
        chosen = [(r, k, w) for r, k, w in sorted_runs[-1] if why in f"{k}: {w}"]
        return "\n".join(f"{r['id']}\n    {r['error'][:200]}\n    @ {r.get('at', '')}" for r, _, _ in chosen), True
    counts = [Counter((k, w) for _, k, w in run) for run in sorted_runs]
    rows = []
    for kind, title in KINDS.items():
        of_kind = sorted({key for count in counts for key in count if key[0] == kind}, key=lambda k: -counts[-1][k])
        totals = "  ".join(f"{sum(count[key] for key in of_kind):5d}" for count in counts)
        rows.append(f"{totals}  {title}")
        rows += [f"{'  '.join(f'{c[key]:5d}' for c in counts)}      {key[1]}" for key in of_kind if key[1]]
    for count in counts:
        seen = {kind: sum(n for (k, _), n in count.items() if k == kind) for kind in KINDS}
        users = seen["passed"] + seen["argued"] + seen["open"]
        rows.append(
            f"of {users} tests of what users see {seen['passed']} pass ({100 * seen['passed'] / max(users, 1):.1f} %), "
            f"{seen['argued']} differ for a reason, {seen['open']} are open"
        )
    without = [
        f"without a reason: {r['id']}\n    {r['error'][:300]}\n    @ {r.get('at', '')}"
        for r, k, _ in sorted_runs[-1]
        if not k
    ]
    return "\n".join(rows + without), not without


def sorted_as(record: dict[str, Any], reasons: Reasons) -> tuple[str, str]:
    """The kind and the reason of a test: those that pass, and those of which PyMC itself expects nothing else."""
    if record["outcome"] == "passed":
        return "passed", ""
    if record["outcome"] in ("skipped", "fails as expected"):
        return "not run", record["outcome"]
    return reasons.of(record)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("run", help="run the tests of a library one way")
    one.add_argument("folder", type=Path, help="of its sources; its name, with a version, names the library")
    one.add_argument("tests", nargs="*", help="files or names of tests, from that folder (default: what pytest finds)")
    one.add_argument("--by", choices=tuple(WAYS), required=True)
    one.add_argument("--kept", type=Path, required=True, metavar="FOLDER", help="where the lines are")
    one.add_argument("-n", type=int, default=1, metavar="PROCESSES")
    one.add_argument("--limit", type=float, default=LIMIT, help="seconds for each test (default: %(default)s)")
    one.add_argument("--options", default="", help="further ones of pytest, as one word")
    one.add_argument(
        "--fill", action="store_true", help="for PyTensor's and PyMC's own tests: placeholders for absent names"
    )
    two = commands.add_parser("table", help="print what was found")
    two.add_argument("kept", type=Path)
    three = commands.add_parser("sort", help="count the reasons why tests of PyMC do not pass")
    three.add_argument("kept", type=Path)
    three.add_argument("--before", type=Path, metavar="FOLDER", help="lines of an earlier run, to compare with")
    three.add_argument("--why", default="", metavar="WORD", help="list the tests whose kind or reason contains it")
    given = parser.parse_args()
    if given.command == "sort":
        text, complete = sort(given.kept, given.before, given.why)
        print(text)
        sys.exit(not complete)
    if given.command == "table":
        print(table(given.kept))
        return
    sys.exit(run(given.folder, given.tests, given.by, given.kept, given.n, given.limit, given.options, given.fill))


if __name__ == "__main__":
    main()

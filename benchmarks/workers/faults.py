"""A run on a Dask cluster of three hosts, network namespaces of this machine, while its parts fail: are its draws those
of threads? Linux, as root, with `ip` and `dask[distributed]`:

    python -m benchmarks.workers.faults kills freeze cut join scheduler driver
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import consilience as pm
import consilience.tensor as pt
from consilience.compile.ops import as_op
from consilience.events import WorkerNotice

NETWORK, SCHEDULER, PORT = "10.88.0", 10, 8786
ADDRESS = f"tcp://{NETWORK}.{SCHEDULER}:{PORT}"
SECONDS, TUNE, DRAWS = 0.005, 200, 1000
LONG = 5000  # draws of runs that what happens has to find under way: two minutes of three workers
KILLS = 50


def problem() -> pm.Model:
    """A model of two parameters whose density takes `SECONDS`, in which the processor rests."""

    @as_op(itypes=[pt.dvector], otypes=[pt.dscalar])
    def slow(x: Any) -> Any:
        time.sleep(SECONDS)
        return np.asarray(-0.5 * (x**2).sum())

    with pm.Model() as model:
        pm.Potential("slow", slow(pm.Normal("x", shape=2)))
    return model


def drawn(**others: Any) -> Any:
    """A run of it by a method of one evaluation per transition."""
    settings = {"draws": DRAWS, "tune": TUNE, "chains": 6, "random_seed": 5, "progressbar": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pm.sample(
            model=problem(), step=pm.DEMetropolisZ(), compute_convergence_checks=False, **{**settings, **others}
        )


def sh(*words: str, check: bool = True) -> None:
    subprocess.run(words, check=check, capture_output=True)


class Hosts:
    """A bridge, a namespace for the scheduler and one for each of three workers, which a nanny begins again."""

    def __init__(self) -> None:
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Hosts:
        self.clear()
        sh("ip", "link", "add", "cbr", "type", "bridge")
        sh("ip", "addr", "add", f"{NETWORK}.254/24", "dev", "cbr")
        sh("ip", "link", "set", "cbr", "up")
        for name, number in (("c0", SCHEDULER), ("c1", 1), ("c2", 2), ("c3", 3), ("c4", 4)):
            sh("ip", "netns", "add", name)
            sh("ip", "link", "add", f"v{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
            sh("ip", "link", "set", f"v{name}", "master", "cbr", "up")
            sh("ip", "-n", name, "addr", "add", f"{NETWORK}.{number}/24", "dev", "eth0")
            sh("ip", "-n", name, "link", "set", "eth0", "up")
            sh("ip", "-n", name, "link", "set", "lo", "up")
        self.cluster()
        return self

    def cluster(self) -> None:
        """Begin a scheduler and three workers, in place of those that there were."""
        self.end()
        self.begin("c0", "scheduler", "--host", f"{NETWORK}.{SCHEDULER}", "--port", str(PORT), "--no-dashboard")
        for number in (1, 2, 3):
            self.worker(number)

    def worker(self, number: int) -> None:
        """Begin the worker of a host."""
        self.begin(
            f"c{number}", "worker", ADDRESS, "--host", f"{NETWORK}.{number}", "--nthreads", "1", "--no-dashboard"
        )

    def begin(self, name: str, *words: str) -> None:
        dask = [sys.executable, "-m", "dask", *words]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.processes[name] = subprocess.Popen(["ip", "netns", "exec", name, *dask], start_new_session=True, **quiet)

    def working(self, number: int) -> list[int]:
        """Processes of a host that do the work: children of its nanny."""
        nanny = self.processes[f"c{number}"].pid
        listed = subprocess.run(["ps", "--ppid", str(nanny), "-o", "pid=,args="], capture_output=True, text=True).stdout
        return [int(line.split()[0]) for line in listed.splitlines() if "spawn_main" in line]

    def kill(self, number: int) -> bool:
        found = self.working(number)
        for process in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return bool(found)

    def __exit__(self, *_: object) -> None:
        self.end()
        self.clear()

    def end(self) -> None:
        for name, process in self.processes.items():
            found = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True).stdout.split()
            for pid in found:  # those that a nanny began, too
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            process.wait()
        self.processes.clear()

    def clear(self) -> None:
        for name in ("c0", "c1", "c2", "c3", "c4"):
            sh("ip", "netns", "del", name, check=False)
        sh("ip", "link", "del", "cbr", check=False)


@contextlib.contextmanager
def client(workers: int = 3) -> Iterator[Any]:
    """A Dask client, once so many workers are there."""
    from dask.distributed import Client

    made = Client(ADDRESS, timeout=60)
    try:
        made.wait_for_workers(workers, timeout=120)
        yield made
    finally:
        with contextlib.suppress(Exception):  # the scheduler may be gone, as was asked for
            made.close(timeout=3)


def beside(work: Callable[[threading.Event], str]) -> tuple[threading.Event, list[str], threading.Thread]:
    """Something that happens while a run goes on."""
    over, said = threading.Event(), list[str]()
    thread = threading.Thread(target=lambda: said.append(work(over)), daemon=True)
    return over, said, thread


def during(happens: Callable[[threading.Event], str], reference: Any, draws: int = DRAWS) -> str:
    """Sample while something happens: what is to be said of it."""
    notices: list[str] = []

    def listen(event: Any) -> None:
        if isinstance(event, WorkerNotice):
            notices.append(event.reason)

    over, said, thread = beside(happens)
    with client() as executor:
        began = time.monotonic()
        thread.start()
        result = drawn(executor=executor, callback=listen, draws=draws)
        took = time.monotonic() - began
        over.set()
        thread.join()
    same = np.array_equal(reference.posterior["x"].values, result.posterior["x"].values)
    heard = "; ".join(sorted({n[:90] for n in notices})) or "nothing said"
    return f"{'same draws' if same else 'OTHER DRAWS'}, {took:.0f} s, {said[0]}, {len(notices)} notices: {heard}"


def kills(hosts: Hosts, reference: Any) -> str:
    """Workers killed at random moments of as many runs as it takes."""
    dice, killed, rows = random.Random(1), 0, []

    def work(over: threading.Event) -> str:
        nonlocal killed
        before = killed
        while killed < KILLS and not over.wait(dice.uniform(0.5, 8.0)):
            killed += hosts.kill(dice.choice((1, 2, 3)))
        return f"{killed - before} workers killed"

    while killed < KILLS:
        rows.append(during(work, reference))
        print(f"  {rows[-1]}", flush=True)
    return (
        f"{killed} workers killed in {len(rows)} runs, {sum('same draws' in row for row in rows)} with the same draws"
    )


def freeze(hosts: Hosts) -> Callable[[threading.Event], str]:
    """A worker stopped, for as long as the run lasts."""

    def work(over: threading.Event) -> str:
        if over.wait(15):
            return "the run ended before anything happened"
        frozen = hosts.working(1)
        for process in frozen:
            os.kill(process, signal.SIGSTOP)
        over.wait()
        for process in frozen:
            os.kill(process, signal.SIGCONT)
        return "a worker frozen after 15 s"

    return work


def cut(hosts: Hosts) -> Callable[[threading.Event], str]:
    """The link of a host without a cable for 20 s."""

    def work(over: threading.Event) -> str:
        over.wait(3)
        sh("ip", "link", "set", "vc1", "down")
        early = over.wait(20)
        sh("ip", "link", "set", "vc1", "up")
        return "the run ended while a link was cut" if early else "a link cut for 20 s"

    return work


def join(hosts: Hosts) -> Callable[[threading.Event], str]:
    """A fourth host in the middle."""

    def work(over: threading.Event) -> str:
        over.wait(3)
        hosts.worker(4)
        return "a worker joined"

    return work


def scheduler(hosts: Hosts, reference: Any) -> str:
    """The scheduler killed: the run says so and keeps a checkpoint, from which it goes on with another."""
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "run"

        def work(over: threading.Event) -> str:
            over.wait(5)
            os.killpg(hosts.processes["c0"].pid, signal.SIGKILL)
            return "scheduler killed after 5 s"

        _, said, thread = beside(work)
        began = time.monotonic()
        with client() as executor:
            thread.start()
            try:
                first = drawn(executor=executor, save=pm.Save(checkpoint=where))
                words = f"{first.status}: {first.reason}"
            except pm.errors.SamplingError as error:
                words = str(error)
            took = time.monotonic() - began
        hosts.cluster()
        return f"{said[0]}, end after {took:.0f} s: {words[:200]}; {resumed(where, reference)}"


def driver(hosts: Hosts, reference: Any) -> str:
    """The driver killed, and its run resumed by another."""
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "run"
        first = subprocess.Popen([sys.executable, "-m", __spec__.name, "--drive", str(where)])
        while not where.exists():
            time.sleep(0.2)
        time.sleep(8)
        first.kill()
        first.wait()
        return f"driver killed 8 s after its first checkpoint; {resumed(where, reference)}"


def resumed(where: Path, reference: Any) -> str:
    """Go on from a checkpoint."""
    with client() as executor, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.monotonic()
        result = pm.resume(where, problem(), executor=executor, progressbar=False)
        same = np.array_equal(reference.posterior["x"].values, result.posterior["x"].values)
        return f"resumed in {time.monotonic() - began:.0f} s: {'same draws' if same else 'OTHER DRAWS'}"


def main(names: list[str]) -> None:
    if names[:1] == ["--drive"]:
        with client() as executor:
            drawn(executor=executor, save=pm.Save(checkpoint=names[1]))
        return
    long = {"freeze": freeze, "cut": cut, "join": join}
    references = {draws: drawn(cores=6, draws=draws) for draws in {LONG if name in long else DRAWS for name in names}}
    for name in names:
        with Hosts() as hosts:
            if name in long:
                told = during(long[name](hosts), references[LONG], LONG)
            else:
                told = {"kills": kills, "scheduler": scheduler, "driver": driver}[name](hosts, references[DRAWS])
        print(f"{name}: {told}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

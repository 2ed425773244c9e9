"""All benchmarks as one report, a process each: `make bench` or `python -m benchmarks [NAME ...]`."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from benchmarks.report import KEPT, MISSED

ROOT = Path(__file__).resolve().parent.parent
NAMES = [
    "startup",
    "whole_processes",
    "compile_time",
    "run_time",
    "ode",
    "printed_c",
    "overhead",
    "threads",
    "one_density",
    "memory",
    "vectormath",
    "order",
    "signal",
    "structure",
    "sufficient_statistics",
    "linear_algebra",
    "monitor",
    "decisions",
    "predictive",
    "variational",
    "smc",
    "particle_filters",
    "sparse",
    "step_methods",
    "gaussian_processes",
    "modes",
    "certificates",
    "convergence.table",
    "convergence.coverage",
    "convergence.posteriors",
    "convergence.large",
]


def processor() -> str:
    """Model name of the processor, as far as the system tells."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def main(names: list[str]) -> int:
    """Run the named benchmarks; the result is the number of those that could not be run."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "llvmlite"))
    print(f"{processor()}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}")
    print(f"Python {platform.python_version()}, {packages}", flush=True)
    verdicts: list[str] = []
    failed: list[str] = []
    for name in names or NAMES:
        command = [sys.executable, "-m", f"benchmarks.{name}"]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                print(line, end="", flush=True)
                verdicts += [word for word in line.split() if word in (KEPT, MISSED)]
        if process.returncode:
            failed.append(name)
    print(f"\n{verdicts.count(KEPT)} of {len(verdicts)} limits kept")
    if failed:
        print(f"could not be run: {', '.join(failed)}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

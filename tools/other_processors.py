"""The library on processors that this machine does not have: their instructions are emulated, by QEMU's user mode.

In: the checkout, on Debian with its package qemu-user. Out: a table of what passed and how long it took; status 1 if
something did not. Outside: operating systems; the kernel stays this machine's.

    python tools/other_processors.py nehalem    # x86-64 of 2008: SSE4.2, neither AVX nor fused multiply-add
    python tools/other_processors.py haswell    # x86-64 of 2013: AVX2 and fused multiply-add
    python tools/other_processors.py arm64      # AArch64, with Debian's Python for it

An emulated interpreter is a file that can be executed, so that processes which Python starts are emulated as well; no
rights are needed beside those to install QEMU. What was downloaded is kept in `--kept` (0.6 GB for arm64). On two cores
the examples take half a minute and the quick tests 10 to 20 minutes; `--examples-only` leaves the tests out.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

from release_check import QUICK

ROOT = Path(__file__).resolve().parent.parent
X86 = {"nehalem": "Nehalem", "haswell": "Haswell"}
"""QEMU's names of processors."""

LIBRARIES = [
    *("cffi", "cloudpickle", "filelock", "h5netcdf", "h5py", "llvmlite", "numpy", "rich", "scipy", "threadpoolctl"),
    *("arviz-base", "arviz-stats", "matplotlib", "xarray", "xarray-einstats", "zarr"),
    *("hypothesis", "mpmath", "pytest", "pytest-timeout", "pytest-xdist"),
]
"""What the library, the examples and the quick tests import."""

PLATFORMS = ("manylinux2014", "manylinux_2_17", "manylinux_2_26", "manylinux_2_27", "manylinux_2_28", "manylinux_2_34")
DOCTOR, EXAMPLES = ["-m", "consilience", "doctor"], ["examples/eight_schools.py", "examples/radon.py"]


def emulated(there: Path, python: str, emulator: list[str]) -> Path:
    """A file that starts `python` in the emulator, and that this Python takes itself for.

    OPENBLAS_CORETYPE, which names the routines for this machine's processor where it is set, is not for another.
    """
    command = shlex.join([*emulator, "-U", "OPENBLAS_CORETYPE"])
    there.parent.mkdir(parents=True, exist_ok=True)
    there.write_text(f'#!/bin/sh\nexec {command} -0 "$0" {shlex.quote(python)} "$@"\n', encoding="utf-8")
    there.chmod(0o755)
    return there


def x86(folder: Path, processor: str) -> tuple[Path, list[Path]]:
    """An emulated interpreter of a virtual environment with all libraries, and no folder beside it."""
    if not (folder / "complete").exists():
        call([sys.executable, "-m", "venv", "--clear", folder])
        call([folder / "bin" / "python", "-m", "pip", "install", "--quiet", *LIBRARIES])
        (folder / "complete").touch()
    own = str((folder / "bin" / "python").resolve())
    return emulated(folder / "bin" / "emulated-python", own, ["qemu-x86_64", "-cpu", X86[processor]]), []


def arm64(folder: Path) -> tuple[Path, list[Path]]:
    """An emulated interpreter of Debian's, whose packages are unpacked and not installed, and folders of libraries."""
    root, libraries = folder / "root", folder / "libraries"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        for part in ("state/lists/partial", "cache/archives/partial"):
            (folder / part).mkdir(parents=True)
        (folder / "state" / "status").touch()
        settings = {
            "Dir::State": folder / "state",
            "Dir::State::status": folder / "state" / "status",
            "Dir::Cache": folder / "cache",
            "APT::Architecture": "arm64",
            "APT::Architectures": "arm64",
            "APT::Sandbox::User": "",
            "Debug::NoLocking": "1",
        }
        options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
        call(["apt-get", *options, "-qq", "update"])
        wanted = ["--no-install-recommends", "--download-only", "install", "python3", "libstdc++6"]
        call(["apt-get", *options, "-qq", "--yes", *wanted])
        for package in sorted((folder / "cache" / "archives").glob("*.deb")):
            call(["dpkg-deb", "--extract", package, root])
    python = next((root / "usr" / "bin").glob("python3.*[0-9]"))
    interpreter = emulated(folder / "bin" / "python", str(python), ["qemu-aarch64", "-L", str(root)])
    if not (folder / "complete").exists():
        version = python.name.removeprefix("python").replace(".", "")
        kind = ["--only-binary", ":all:", "--implementation", "cp", "--python-version", version]
        kind += [word for name in PLATFORMS for word in ("--platform", f"{name}_aarch64")]
        call([sys.executable, "-m", "pip", "install", "--quiet", *kind, "--target", libraries, *LIBRARIES])
        (folder / "complete").touch()
    return interpreter, [libraries]


def call(command: list[str | Path]) -> None:
    """Run a command that has to succeed."""
    subprocess.run(list(map(str, command)), check=True)


def shown(command: list[str | Path], environment: dict[str, str], limit: float) -> tuple[str, str]:
    """What a command wrote, shown as it comes (a run that is cut short has told what failed), and what went wrong."""
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    late = threading.Event()
    timer = threading.Timer(limit, lambda: (late.set(), process.kill()))
    timer.start()
    lines = []
    for line in process.stdout or ():
        print(line, end="", flush=True)
        lines.append(line)
    status = process.wait()
    timer.cancel()
    return "".join(lines), f"more than {limit:.0f} s" if late.is_set() else str(status or "")


def main() -> int:
    """Set up, and run the self-check, two examples and the quick tests; status 0 if all of them pass."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("processor", choices=[*X86, "arm64"])
    parser.add_argument("--kept", type=Path, default=ROOT / "build" / "other-processors", help="a folder")
    parser.add_argument("--examples-only", action="store_true", help="leave the tests out")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds for all tests")
    parser.add_argument("-n", type=int, default=os.cpu_count() or 1, help="processes of the tests")
    parser.add_argument("tests", nargs="*", default=QUICK, help="tests in place of the quick ones")
    asked = parser.parse_intermixed_args()  # tests may stand behind options
    emulator = "qemu-aarch64" if asked.processor == "arm64" else "qemu-x86_64"
    if not shutil.which(emulator):
        print(f"{emulator} is needed and not found; Debian and Ubuntu have it in the package qemu-user.")
        return 1
    folder = asked.kept.resolve() / asked.processor
    python, beside = arm64(folder) if asked.processor == "arm64" else x86(folder, asked.processor)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CONSILIENCE", "PYTHON"))}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, [ROOT / "src", *beside]))
    environment["CONSILIENCE_CACHE"] = str(folder / "objects")
    shutil.rmtree(folder / "objects", ignore_errors=True)
    workers = ["-n", str(asked.n), "--dist", "worksteal"] if asked.n > 1 else []
    options = ["-v", "-m", "not slow", "-p", "no:cacheprovider", "-o", "timeout=1200", "--tb=short", *workers]
    tasks = [DOCTOR, *([name, "--no-plots"] for name in EXAMPLES)]
    if not asked.examples_only:
        tasks.append(["-m", "pytest", *options, *asked.tests])
    rows, failed = [], False
    for task in tasks:
        begun = time.perf_counter()
        said, status = shown([python, *task], environment, asked.limit)
        failed = failed or bool(status)
        told = re.findall(r"Everything works|status: \w+|\d+ passed.*?(?= in )|\d+ failed.*?(?= in )", said)
        outcome = " ".join([*([f"FAILED ({status})"] if status else []), *told[-1:]])
        name = "quick tests" if "pytest" in task else task[-1] if task is DOCTOR else task[0]
        rows.append(f"{asked.processor:8} {name:26} {time.perf_counter() - begun:6.0f} s  {outcome}")
    print(*rows, sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

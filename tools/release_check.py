"""What is uploaded at a release: built, looked through, and installed where nothing of the checkout can be seen.

In: the checkout, interpreters found on this machine. Out: `dist/` with a source archive and a wheel, a table of what
passed where; or what is wrong with them, and status 1. Outside: uploading, which `.github/workflows/release.yml` does.

    python tools/release_check.py                   # `make release-check` makes the environment that this needs
    python tools/release_check.py --archives-only   # builds and looks through, installs nothing
    python tools/release_check.py --python 3.13     # of the interpreters these; also a path
"""

from __future__ import annotations

import argparse
import base64
import csv
import email
import email.message
import functools
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 10_000_000  # bytes of an archive
SECONDS = 1800.0  # for one command in one environment

QUICK = [
    "tests/test_doctor.py",
    "tests/test_first_models.py",
    "tests/test_sample.py",
    "tests/test_sample_stores.py",
    "tests/test_result_and_tree.py",
    "tests/test_public_names.py",
    "tests/backends/test_function.py",
    "tests/backends/test_pickling.py",
    "tests/backends/test_conformance.py",
    "tests/diagnostics/test_summary.py",
    "tests/diagnostics/test_compiled.py",
    "tests/distributions/test_draws.py",
    "tests/inference/test_snapshot.py",
    "tests/model/test_copies.py",
    "tests/native/test_loops.py",
    "tests/native/test_own_code.py",
    "tests/native/test_target.py",
    "tests/run/test_resuming.py",
    "tests/storage",
]
"""First models, compilation, shipped machine code, draws, stores, pickles, resumed runs: a minute or two."""

COPIED = ("tests", "tools", "examples", "README.md", "pyproject.toml", "docs", "changelog.d")
"""What tests read; the library itself stays behind."""


class WrongError(Exception):
    """Something that must not be uploaded."""


# Archives: what they hold, against what git knows.


def tracked(root: Path) -> set[str]:
    """The files of the package that git knows, as paths inside `src`."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "src/consilience"], cwd=root, capture_output=True, text=True, check=True
    )
    return {name.removeprefix("src/") for name in listed.stdout.split("\0") if name}


def wrong_with_wheel(wheel: Path, expected: set[str], version: str) -> list[str]:
    """What is wrong with a wheel that should hold the `expected` files of the package and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
        information = next(iter({name.split("/")[0] for name in names if ".dist-info/" in name}), "none.dist-info")
        about = f"{information}/METADATA"
        metadata = email.message_from_bytes(archive.read(about)) if about in names else email.message.Message()
    found = {name for name in names if not name.startswith(information)}
    wrong = [
        *_too_large(wheel),
        *(f"{wheel.name} lacks {name}" for name in sorted(expected - found)),
        *(f"{wheel.name} holds {name}, which git does not know" for name in sorted(found - expected)),
        *_wrong_licences(wheel.name, metadata, names, f"{information}/licenses/"),
    ]
    if metadata["Version"] != version:
        wrong.append(f"{wheel.name} is of version {metadata['Version']}, the source of {version}")
    if not wheel.name.endswith("-py3-none-any.whl"):
        wrong.append(f"{wheel.name} is for one kind of system; a wheel for all is named *-py3-none-any.whl")
    return wrong


def wrong_with_sdist(sdist: Path, expected: set[str]) -> list[str]:
    """What is wrong with a source archive: files of the package that it lacks, and tests or data that it holds."""
    with tarfile.open(sdist) as archive:
        inside = {str(PurePosixPath(*PurePosixPath(m.name).parts[1:])) for m in archive.getmembers() if m.isfile()}
    needed = {f"src/{name}" for name in expected} | {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml"}
    own = {name for name in inside if name.split("/")[0] in ("tests", "benchmarks", "examples", "docs", "tools")}
    return [
        *_too_large(sdist),
        *(f"{sdist.name} lacks {name}" for name in sorted(needed - inside)),
        *(f"{sdist.name} holds {name}; MANIFEST.in keeps out what no installation needs" for name in sorted(own)),
    ]


def _too_large(archive: Path) -> list[str]:
    size = archive.stat().st_size
    return [f"{archive.name} has {size:,} bytes; at most {LIMIT:,} are uploaded"] if size > LIMIT else []


def _wrong_licences(name: str, metadata: email.message.Message, names: set[str], folder: str) -> list[str]:
    """Licence files that are named are there, each vendored folder has one, and the expression has SPDX's form."""
    files = metadata.get_all("License-File", [])
    wrong = [f"{name} names the licence {file}, and lacks it" for file in files if folder + file not in names]
    if "LICENSE" not in files:
        wrong.append(f"{name} comes without the LICENSE of this library; `license-files` in pyproject.toml names it")
    vendored = {str(PurePosixPath(file).parent) for file in names if "vendor" in PurePosixPath(file).parts[:-1]}
    wrong += [
        f"{name} has {place} without a licence of it; `license-files` in pyproject.toml names it"
        for place in sorted(vendored)
        if not place.startswith(folder) and not any(str(PurePosixPath(file).parent).endswith(place) for file in files)
    ]
    expression = metadata["License-Expression"] or ""
    if not re.fullmatch(r"[\w.+-]+( (AND|OR|WITH) [\w.+-]+)*", expression):
        wrong.append(f"{name} has License-Expression {expression!r}, which has not the form of SPDX")
    return wrong


def versions(root: Path) -> dict[str, str]:
    """The version by the place that tells it; all should tell the same."""
    places = {
        "src/consilience/__init__.py": r'^__version__ = "([^"]+)"',
        "CHANGELOG.md": r"^## (\d\S*)",
        "CITATION.cff": r'^version: "?([^"\n]+)"?',
        "packaging/conda/recipe.yaml": r'^  version: "?([^"\n]+)"?',
    }
    found = {}
    for place, pattern in places.items():
        text = (root / place).read_text(encoding="utf-8") if (root / place).exists() else ""
        match = re.search(pattern, text, re.MULTILINE)
        found[place] = match.group(1) if match else "none"
    return found


def built(root: Path, into: Path) -> tuple[Path, Path]:
    """The source archive, and the wheel that is made from it, by setuptools of an environment of its own."""
    into.mkdir(exist_ok=True)
    for old in [*into.glob("consilience-*.tar.gz"), *into.glob("consilience-*.whl")]:
        old.unlink()
    run([sys.executable, "-m", "build", "--outdir", into, root])
    (sdist,), (wheel,) = into.glob("consilience-*.tar.gz"), into.glob("consilience-*.whl")
    return sdist, wheel


def look_through(root: Path, sdist: Path, wheel: Path) -> None:
    """Refuse archives with whatever is wrong with them."""
    told = versions(root)
    version = told["src/consilience/__init__.py"]
    expected = tracked(root)
    wrong = [
        f"{place} tells version {other}, the source {version}" for place, other in told.items() if other != version
    ]
    wrong += wrong_with_wheel(wheel, expected, version) + wrong_with_sdist(sdist, expected)
    for checker in (["twine", "check", "--strict", sdist, wheel], ["check_wheel_contents", wheel]):
        try:
            run([sys.executable, "-m", *checker])
        except WrongError as error:
            wrong.append(str(error))
    if wrong:
        raise WrongError("\n".join(wrong))


# Environments: one for each interpreter, kind of archive and kind of dependencies.


def interpreters(asked: Iterable[str] = ()) -> dict[str, Path]:
    """Interpreters by "3.N": of each minor version from pyproject's lowest the first found, on the path or of pyenv."""
    lowest = int(re.findall(r">=3\.(\d+)", settings()["project"]["requires-python"])[0])
    found: dict[str, Path] = {}
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for minor in range(lowest, lowest + 10):
        places = [*sorted(pyenv.glob(f"3.{minor}.*/bin/python"), reverse=True), shutil.which(f"python3.{minor}")]
        for place in filter(None, [*places, *(p for p in asked if "/" in p)]):
            code = "import sys; print('%d.%d' % sys.version_info[:2])"
            answer = subprocess.run([place, "-c", code], capture_output=True, text=True, check=False)
            if answer.stdout.strip() == f"3.{minor}":
                found[f"3.{minor}"] = Path(place)
                break
    names = [name for name in asked if "/" not in name]
    if missing := [name for name in names if name not in found]:
        raise WrongError(f"no interpreter of Python {', '.join(missing)} is found; there are {', '.join(found)}")
    return {name: place for name, place in found.items() if not names or name in names}


@functools.cache
def settings() -> dict[str, dict[str, str]]:
    """pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@dataclass
class Case:
    """An interpreter with dependencies of one kind and an archive; what passed in it, and what it took."""

    python: str
    dependencies: str
    archive: str
    passed: list[str] = field(default_factory=list)
    failed: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        outcome = f"FAILED: {self.failed.splitlines()[0]}" if self.failed else ", ".join(self.passed)
        return f"{self.python:6}  {self.dependencies:6}  {self.archive:5}  {self.seconds:5.0f} s  {outcome}"


class Environment:
    """A virtual environment outside of the checkout with this library in it, and commands that run there."""

    def __init__(self, folder: Path, python: Path, processes: int) -> None:
        self.folder, self.processes = folder, processes
        run(["uv", "venv", "--quiet", "--python", python, folder / "venv"])
        places = [folder / "venv" / name / "python" for name in ("bin", "Scripts")]
        self.python = next((place for place in places if place.exists()), places[1].with_suffix(".exe"))

    def install(self, what: str, *, constraints: Path | None = None, wheels_only: bool = True) -> None:
        """An archive with its extras, in versions that the constraints allow."""
        limits = [] if constraints is None else ["--constraint", constraints]
        binary = ["--only-binary", ":all:"] if wheels_only else []
        run(["uv", "pip", "install", "--quiet", "--python", self.python, *binary, *limits, what])

    def run(self, *arguments: str | Path) -> str:
        """What Python prints, in a folder with nothing of the checkout and without the user's own settings."""
        own = {"CONSILIENCE_CACHE": str(self.folder / "cache"), "MPLBACKEND": "Agg", "HYPOTHESIS_STORAGE_DIRECTORY": ""}
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "CONSILIENCE", "VIRTUAL_ENV"))}
        return run([self.python, *arguments], cwd=self.folder, environment=kept | own)

    def doctor(self) -> str:
        """The self-check, of the library that was installed."""
        place = self.run("-c", "import consilience; print(consilience.__file__)").strip()
        if not Path(place).is_relative_to(self.folder / "venv"):
            raise WrongError(f"{place} was imported, which is not what was installed")
        self.run("-m", "consilience", "doctor")
        return "doctor"

    def readme(self) -> str:
        """The code of the README in the order of its page; a warning is an error."""
        blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
        script = self.folder / "readme.py"
        script.write_text("\n".join(blocks), encoding="utf-8")
        self.run("-W", "error", script)
        return "README"

    def tests(self) -> str:
        """The quick tests, copied to where no source is."""
        ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
        for name in COPIED:
            source, copy = ROOT / name, self.folder / name
            shutil.copytree(source, copy, ignore=ignored) if source.is_dir() else shutil.copy(source, copy)
        workers = ("-n", str(self.processes), "--dist", "worksteal") if self.processes > 1 else ()
        options = ("-q", "-m", "not slow", "-p", "no:cacheprovider", "--no-header", *workers)
        said = self.run("-m", "pytest", *options, *QUICK)
        return f"{re.findall(r'([0-9]+) passed', said)[-1]} tests"

    def versions(self) -> dict[str, str]:
        """What the library itself asks for, as it was installed."""
        needed = [re.split(r"[<>=!~;\[ ]", line)[0] for line in settings()["project"]["dependencies"]]
        code = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
        return dict(zip(needed, self.run("-c", code, *needed).split(), strict=True))


def lowest(python: Path, into: Path) -> Path:
    """Constraints: of each dependency the lowest version that pyproject.toml allows and that has a wheel."""
    options = ["--resolution", "lowest-direct", "--only-binary", ":all:", "--extra", "test", "--extra", "zarr"]
    run(["uv", "pip", "compile", "--quiet", "--python", python, *options, "--output-file", into, "pyproject.toml"])
    pinned = re.findall(r"^([\w.-]+==\S+)", into.read_text(encoding="utf-8"), re.MULTILINE)
    into.write_text("\n".join(pinned) + "\n", encoding="utf-8")
    return into


def installed_as(wheel: Path, environment: Environment) -> str:
    """That each file of the package, as installed, is that of the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (record,) = (name for name in archive.namelist() if name.endswith(".dist-info/RECORD"))
        rows = list(csv.reader(archive.read(record).decode().splitlines()))
    package = Path(environment.run("-c", "import consilience; print(consilience.__path__[0])").strip())
    for name, digest, _ in rows:
        if digest and name.startswith("consilience/"):
            there = package.parent / name
            own = hashlib.sha256(there.read_bytes()).digest() if there.exists() else b""
            if digest != "sha256=" + base64.urlsafe_b64encode(own).rstrip(b"=").decode():
                raise WrongError(f"{name} is not in {wheel.name} as the source archive installs it")
    return "files of the wheel"


def tried(case: Case, python: Path, archive: Path, wheel: Path, folder: Path, processes: int) -> Case:
    """Install, and run what can be run; the case says what happened."""
    begun = time.perf_counter()
    try:
        environment = Environment(folder, python, processes)
        limits = lowest(python, folder / "lowest.txt") if case.dependencies == "lowest" else None
        if case.archive == "sdist":
            environment.install(str(archive), constraints=limits, wheels_only=False)
            steps: list[Callable[[], str]] = [
                functools.partial(installed_as, wheel, environment),
                environment.doctor,
                environment.readme,
            ]
        else:
            environment.install(f"{archive}[test,zarr]", constraints=limits)
            steps = [environment.doctor, environment.readme, environment.tests]
        for step in steps:
            case.passed.append(step())
        print("  ", *(f"{name} {number}" for name, number in environment.versions().items()), flush=True)
    except WrongError as error:
        case.failed = str(error)
    case.seconds = time.perf_counter() - begun
    return case


def run(command: Iterable[str | Path], *, cwd: Path = ROOT, environment: Mapping[str, str] | None = None) -> str:
    """What a command prints; one that fails is refused with the end of what it said."""
    words = list(map(str, command))
    if words[0] == "uv":
        words[:1] = [sys.executable, "-m", "uv"]
    known = {**(os.environ if environment is None else environment), "UV_PYTHON_DOWNLOADS": "never"}
    try:
        done = subprocess.run(words, cwd=cwd, env=known, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise WrongError(f"{' '.join(words)} took more than {SECONDS:.0f} s") from None
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines()
        raise WrongError("\n".join([f"{' '.join(words)[:200]} ended with status {done.returncode}:", *said[-40:]]))
    return done.stdout


def main(arguments: list[str] | None = None) -> int:
    """Build, look through, install, run; status 0 if all of it passed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", action="append", default=[], help="3.N or a path; all that are found otherwise")
    parser.add_argument("--archives-only", action="store_true", help="build and look through, install nothing")
    parser.add_argument("--dependencies", choices=["newest", "lowest"], action="append", default=[])
    parser.add_argument("-n", type=int, default=os.cpu_count() or 1, help="processes of the tests")
    asked = parser.parse_args(arguments)
    if missing := [name for name in ("build", "check_wheel_contents", "twine", "uv") if not _there(name)]:
        print(f"{', '.join(missing)} is needed; `make release-check` installs it, as pip install '.[release]' does.")
        return 1
    try:
        sdist, wheel = built(ROOT, ROOT / "dist")
        look_through(ROOT, sdist, wheel)
        print(*(f"{path.name}: {path.stat().st_size:,} bytes" for path in (sdist, wheel)), sep="\n", flush=True)
        found = {} if asked.archives_only else interpreters(asked.python)
    except WrongError as error:
        print(f"Not fit for a release:\n{error}")
        return 1
    cases = []
    for version, python in found.items():
        for dependencies in asked.dependencies or ["newest", "lowest"]:
            for archive in (wheel, sdist):
                case = Case(version, dependencies, "wheel" if archive is wheel else "sdist")
                with tempfile.TemporaryDirectory(prefix="release-check-", ignore_cleanup_errors=True) as folder:
                    cases.append(tried(case, python, archive, wheel, Path(folder).resolve(), asked.n))
                print(case, flush=True)
    failed = [case for case in cases if case.failed]
    print("", "python  dependencies and archive, time, what passed", *cases, sep="\n")
    for case in failed:
        print(f"\nPython {case.python}, {case.dependencies} dependencies, {case.archive}:\n{case.failed}")
    return 1 if failed else 0


def _there(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


if __name__ == "__main__":
    sys.exit(main())

"""What the usual path loads, by package: counted, because seconds depend on the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pytest

import consilience

EIGHT_SCHOOLS = """
import json, sys
import consilience as pm
with pm.Model():
    mu = pm.Normal("mu", 0, 5)
    tau = pm.HalfNormal("tau", 5)
    z = pm.Normal("z", shape=8)
    pm.Normal("y", mu + tau * z, [15.0, 10, 16, 11, 9, 11, 10, 18], observed=[28.0, 8, -3, 7, -1, 1, 18, 12])
    result = pm.sample(random_seed=1, progressbar=False)
assert result.status == "converged", result.reason
str(result)
assert not sys.path[1].endswith(".zip") or pm.__file__.startswith(sys.path[1])
print(json.dumps(sorted(sys.modules)))
"""
MOST = {
    "consilience": 400,
    "numpy": 110,
    "llvmlite": 35,
    "scipy": 0,
    "xarray": 0,
    "pandas": 0,
    "asyncio": 0,
    "email": 0,
}
LISTED = Path(__file__).with_name("modules_of_the_usual_path.txt")
# Kernels are translated where no machine code for the processor was shipped.
TRANSLATION = "consilience.native."


def loaded(*first: str, option: str = "-B") -> list[str]:
    """Modules of a process that samples eight schools and tells of it.

    first    goes before what it imports from
    option   of the interpreter
    """
    answer = subprocess.run(
        [sys.executable, option, "-c", EIGHT_SCHOOLS],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [*first, *sys.path]))},
    )
    found: list[str] = json.loads(answer.stdout)
    return found


def test_eight_schools_loads_what_it_needs() -> None:
    """Neither SciPy nor tables' packages, no module of ours that is not listed: what came in is named.

    A module that is really needed is listed by `python -m tests.test_what_is_loaded`.
    """
    names = loaded()
    counts = Counter(name.partition(".")[0] for name in names)
    assert not {package: counts[package] for package, most in MOST.items() if counts[package] > most}
    own = {name for name in names if name.startswith("consilience") and not name.startswith(TRANSLATION)}
    came_in = own - {*LISTED.read_text(encoding="utf-8").split()}
    assert not came_in


LISTING = """
import sys
from consilience import {} as package
print(*{{home for home, _ in package.HOMES.values()}} - {{*sys.modules}})
"""


@pytest.mark.parametrize("package", ["gp", "sparse", "statespace", "variational", "smc", "ode", "gradient"])
def test_a_package_that_is_only_imported_loads_none_of_its_files(package: str) -> None:
    """Files come with the first of their names that is used."""
    where = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", LISTING.format(package)]
    left = subprocess.run(command, capture_output=True, text=True, check=True, env=where).stdout.split()
    homes = {home for home, _ in getattr(consilience, package).HOMES.values()}
    assert homes - {*left} <= {"consilience.errors"}


@pytest.mark.parametrize("option", ["-O", "-S"])
def test_the_library_samples_without_assertions_and_without_site(option: str) -> None:
    assert loaded(option=option)


def test_the_library_samples_from_a_zip_file(tmp_path: Path) -> None:
    """Without source files and shipped machine code on disk, programs are compiled in memory."""
    package = Path(consilience.__file__).parent
    with zipfile.ZipFile(tmp_path / "library.zip", "w") as library:
        for file in package.rglob("*.py"):
            library.write(file, Path("consilience") / file.relative_to(package))
    assert loaded(str(tmp_path / "library.zip"))


if __name__ == "__main__":
    LISTED.write_text("".join(f"{name}\n" for name in loaded() if name.startswith("consilience")), encoding="utf-8")

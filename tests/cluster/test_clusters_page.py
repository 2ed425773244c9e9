"""docs/do/clusters.md runs, as far as it can here: clusters of other machines are local ones of Dask."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "do" / "clusters.md").read_text(encoding="utf-8")
SHOPS, *PROGRAMS = [
    cell for cell in re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL) if "study(" in cell
]
STAND_INS = {
    "dask_jobqueue.py": """
        from distributed import LocalCluster

        class SLURMCluster(LocalCluster):
            def __init__(self, cores, processes, memory, walltime):
                super().__init__(n_workers=0, dashboard_address=":0")

            def scale(self, jobs):
                super().scale(1)
    """,
    "dask_kubernetes/__init__.py": "",
    "dask_kubernetes/operator.py": """
        from distributed import LocalCluster

        class KubeCluster(LocalCluster):
            def __init__(self, name, image):
                super().__init__(n_workers=0, dashboard_address=":0")

            def adapt(self, minimum, maximum):
                super().adapt(minimum=minimum, maximum=1)
    """,
}


def program(word: str) -> str:
    """That of the page in which a word is."""
    (found,) = [cell for cell in PROGRAMS if word in cell]
    return found


def ran(folder: Path, text: str, *before: str) -> None:
    """A program beside `shops.py`, which has to tell what the study comes to, and leaves its folder."""
    (folder / "shops.py").write_text(SHOPS, encoding="utf-8")
    (folder / "program.py").write_text(text, encoding="utf-8")
    search = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*before, "program.py"], cwd=folder, env={**os.environ, "PYTHONPATH": search}, capture_output=True, text=True,
        timeout=200, check=False,
    )  # fmt: skip
    assert "3 fits, failed: {} 16 chains" in done.stdout, f"{done.stdout}\n{done.stderr}"
    assert (folder / "shops" / "fits.jsonl").exists()


def test_the_page_has_a_program_of_ten_lines_for_each_place() -> None:
    places = ["ProcessPoolExecutor", "with Client() ", "SLURMCluster(", "KubeCluster(", "MPIPoolExecutor", "ray.init"]
    for place in places:
        assert len([line for line in program(place).splitlines() if line]) <= 10
    assert len(PROGRAMS) == len(places)


def test_the_program_of_a_laptop_runs(tmp_path: Path) -> None:
    ran(tmp_path, program("ProcessPoolExecutor"), sys.executable)


@pytest.mark.parametrize("word", ["with Client() ", "SLURMCluster(", "KubeCluster("])
def test_programs_of_dask_run(tmp_path: Path, word: str) -> None:
    pytest.importorskip("distributed")
    for name, text in STAND_INS.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(inspect.cleandoc(text), encoding="utf-8")
    text = program(word).replace("Client()", 'Client(n_workers=1, dashboard_address=":0")')
    ran(tmp_path, text, sys.executable)


def test_the_program_of_mpi_runs(tmp_path: Path) -> None:
    launcher = shutil.which("mpiexec", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if find_spec("mpi4py") is None or launcher is None:
        pytest.skip("mpi4py and a launcher are not installed")
    ran(tmp_path, program("MPIPoolExecutor"), launcher, "-n", "3", sys.executable, "-m", "mpi4py.futures")


def test_the_program_of_ray_runs(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    ran(tmp_path, program("ray.init").replace('"auto"', "num_cpus=2, include_dashboard=False"), sys.executable)


def test_clusters_take_the_arguments_of_the_page() -> None:
    """As they are where they are installed; a job of SLURM has a worker for each processor of a node."""
    queues = pytest.importorskip("dask_jobqueue")
    (call,) = re.findall(r"SLURMCluster\(.*\)", program("SLURMCluster("))
    with eval(call, {"SLURMCluster": queues.SLURMCluster}) as cluster:
        script: Any = cluster.job_script()
        assert "--nworkers 8" in script
        assert "--nthreads 1" in script
        assert "-t 04:00:00" in script
    kubernetes = pytest.importorskip("dask_kubernetes.operator")
    inspect.signature(kubernetes.KubeCluster).bind(name="shops", image="your/image:with-consilience")

"""What `tools/client_tests.py` makes of the lines it has written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.client_tests import read, reason, table


def kept(folder: Path, way: str, outcomes: dict[str, str], error: str = "") -> None:
    """The lines of a library, one for each test."""
    lines = [
        json.dumps({"id": name, "outcome": outcome, "error": error if outcome != "passed" else ""})
        for name, outcome in outcomes.items()
    ]
    (folder / f"library-1.0.{way}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_of_the_tests_that_pass_with_pymc_those_of_each_way_and_reasons(tmp_path: Path) -> None:
    files = ["a.py::one", "a.py::two[0.5]", "b.py::three", "b.py::four", "c.py::five"]
    kept(tmp_path, "pymc", dict.fromkeys(files[:4], "passed") | {files[4]: "failed"}, "no network")
    kept(tmp_path, "door", dict.fromkeys(files[:3], "passed"))
    # A file that cannot be imported stands for all its tests.
    kept(tmp_path, "stand-in", {files[0]: "passed", files[1]: "failed", "b.py": "not collected"}, "assert 0.5 == 7")
    assert table(tmp_path).split("\n")[1:] == [
        "library-1.0: 4 of 5 tests pass with PyMC",
        "  door: of these 3 pass, of 3 that were run; 3 of all 3",
        "  stand-in: of these 1 pass, of 4 that were run; 1 of all 3",
        "       3  assert # == #",
    ]


def test_a_line_that_was_cut_off_is_run_again(tmp_path: Path) -> None:
    path = tmp_path / "library-1.0.pymc.jsonl"
    assert read(path) == []
    path.write_text('{"id": "a.py::one", "outcome": "passed"}\n{"id": "a.py::tw', encoding="utf-8")
    assert [record["id"] for record in read(path)] == ["a.py::one"]


@pytest.mark.parametrize("error", ["Model at 0x7f3d is 1.5e-3", "Model at 0x8a is 2"])
def test_a_reason_leaves_out_numbers(error: str) -> None:
    assert reason(error) == "Model at # is #"

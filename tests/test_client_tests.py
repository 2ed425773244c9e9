"""What `tools/client_tests.py` makes of the lines it has written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.client_tests import KINDS, Reasons, read, reason, sort, table


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


def test_reasons_are_counted_and_tests_without_one_are_told(tmp_path: Path) -> None:
    records = [
        {"id": "tests/a.py::one", "outcome": "passed", "error": ""},
        {"id": "tests/a.py::two", "outcome": "failed", "error": "AssertionError: Regex pattern did not match."},
        {"id": "tests/a.py::three", "outcome": "failed", "error": "AssertionError: something new", "at": "assert x"},
        {"id": "tests/a.py::four", "outcome": "skipped", "error": ""},
    ]
    (tmp_path / "pymc.stand-in.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    text, complete = sort(tmp_path, tmp_path, "")
    assert not complete
    assert "without a reason: tests/a.py::three\n    AssertionError: something new\n    @ assert x" in text
    assert "    1      1      refused by the same kind of error, with another text" in text
    assert "of 1 tests of what users see 1 pass (100.0 %), 0 differ for a reason, 0 are open" in text
    assert sort(tmp_path, None, "another text") == (
        "tests/a.py::two\n    AssertionError: Regex pattern did not match.\n    @ ",
        True,
    )


def test_every_rule_is_of_a_known_kind_and_tells_something() -> None:
    for rule in Reasons().rules:
        assert rule["kind"] in KINDS
        assert rule["why"]
        assert rule.get("tests") or rule.get("errors")

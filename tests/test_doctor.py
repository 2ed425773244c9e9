"""The report on an installation, and the commands of `python -m consilience`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from consilience import __main__, doctor
from consilience.native import cache
from consilience.native.target import host, versions


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONSILIENCE_CACHE", str(tmp_path))


class TestDoctor:
    def test_finds_this_installation_healthy(self, capsys: pytest.CaptureFixture[str]) -> None:
        status = __main__.main(["doctor"])
        report = capsys.readouterr().out
        assert status == 0, report
        assert "FAILED" not in report
        assert [line.split("  ")[0] for line in report.splitlines()].count("ok") == len(doctor.CHECKS)

    def test_names_every_part(self, tmp_path: Path) -> None:
        lines: list[str] = []
        doctor.examine(lines.append)
        report = "\n".join(lines)
        for part in (
            host().cpu,
            f"vectors of {host().lanes} float64",
            sys.version.split()[0],
            f"LLVM {versions().llvm}",
            f"llvmlite {versions().llvmlite}",
            versions().consilience,
            "numpy",
            "scipy",
            "threads",
            str(tmp_path),
        ):
            assert part in report

    def test_one_failed_check_makes_the_status_1(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def fails() -> None:
            doctor._expect(1.0, 2.0, "one and one")

        monkeypatch.setitem(doctor.CHECKS, "addition", fails)
        assert __main__.main(["doctor"]) == 1
        report = capsys.readouterr().out
        assert "FAILED      addition: ConsilienceError: one and one is 2.0, but 1.0 came out" in report
        assert "ok          LAPACK" in report

    def test_a_part_that_is_missing_is_shown_and_makes_the_status_1(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def missing() -> list[str]:
            raise ModuleNotFoundError("No module named 'abacus'")

        monkeypatch.setitem(doctor.PARTS, "abacus", missing)
        assert __main__.main(["doctor"]) == 1
        report = capsys.readouterr().out
        assert "abacus      not usable: ModuleNotFoundError: No module named 'abacus'" in report
        assert "ok          LAPACK" in report

    def test_a_cache_that_cannot_be_written_is_shown(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "a file").write_text("in the way")
        monkeypatch.setenv("CONSILIENCE_CACHE", str(tmp_path / "a file" / "cache"))
        assert __main__.main(["doctor"]) == 1
        report = capsys.readouterr().out
        assert "FAILED      cache: NotADirectoryError" in report
        assert "ok          compile and run a loop" in report

    @pytest.mark.parametrize("found", [1.0 + 1e-12, float("nan"), float("inf")])
    def test_a_wrong_number_is_noticed(self, found: float) -> None:
        with pytest.raises(doctor.ConsilienceError):
            doctor._expect(found, 1.0, "one")

    @pytest.mark.parametrize("lanes", ["1", "2", "4", "8"])
    def test_examines_code_of_every_width(self, lanes: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CONSILIENCE_LANES", lanes)
        doctor._check_loop()

    def test_runs_as_a_command(self) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "consilience", "doctor"], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        assert done.stdout.endswith("Everything works.\n")


class TestCacheCommands:
    def test_show_and_clear(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        cache.put("ab" * 32, bytes(2**20))
        assert __main__.main(["cache", "show"]) == 0
        assert capsys.readouterr().out == f"{tmp_path}\n1 object, 1.00 MiB of at most 256 MiB\n"
        assert __main__.main(["cache", "clear"]) == 0
        assert capsys.readouterr().out == f"1 object deleted from {tmp_path}\n"
        assert __main__.main(["cache", "show"]) == 0
        assert capsys.readouterr().out == f"{tmp_path}\n0 objects, 0.00 MiB of at most 256 MiB\n"

    @pytest.mark.parametrize("words", [[], ["cache"], ["cache", "burn"], ["patient"]])
    def test_words_not_understood_give_status_2(self, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as stopped:
            __main__.main(words)
        assert stopped.value.code == 2
        assert "usage:" in capsys.readouterr().err

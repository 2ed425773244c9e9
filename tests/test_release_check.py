"""What `tools/release_check.py` finds in archives that must not be uploaded."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tools import release_check

ROOT = Path(__file__).resolve().parent.parent
METADATA = (
    "Version: 1.2\nLicense-Expression: BSD-3-Clause AND MIT\nLicense-File: LICENSE\nLicense-File: vendor/LICENSE-x\n"
)
WHOLE = {
    "consilience/__init__.py": "",
    "consilience/py.typed": "",
    "consilience/page/vendor/x.js": "",
    "consilience-1.2.dist-info/METADATA": METADATA.replace("vendor/", "src/consilience/page/vendor/"),
    "consilience-1.2.dist-info/licenses/LICENSE": "ours",
    "consilience-1.2.dist-info/licenses/src/consilience/page/vendor/LICENSE-x": "theirs",
}
EXPECTED = {name for name in WHOLE if name.startswith("consilience/")}


def wrong(folder: Path, changed: dict[str, str | None], *, name: str = "consilience-1.2-py3-none-any.whl") -> str:
    """What is found in the whole wheel with some files changed, or left out."""
    with zipfile.ZipFile(folder / name, "w") as archive:
        for file, text in {**WHOLE, **changed}.items():
            if text is not None:
                archive.writestr(file, text)
    return "\n".join(release_check.wrong_with_wheel(folder / name, EXPECTED, "1.2"))


def test_nothing_is_wrong_with_a_whole_wheel(tmp_path: Path) -> None:
    assert wrong(tmp_path, {}) == ""


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"consilience/py.typed": None}, "lacks consilience/py.typed"),
        ({"tests/test_x.py": ""}, "holds tests/test_x.py, which git does not know"),
        ({"consilience-1.2.dist-info/licenses/LICENSE": None}, "names the licence LICENSE, and lacks it"),
        ({"consilience-1.2.dist-info/METADATA": "Version: 1.2\nLicense-Expression: MIT\n"}, "without the LICENSE"),
        (
            {"consilience-1.2.dist-info/METADATA": METADATA.replace("License-File: vendor/LICENSE-x\n", "")},
            "consilience/page/vendor without a licence of it",
        ),
        ({"consilience-1.2.dist-info/METADATA": METADATA.replace("1.2", "1.3")}, "of version 1.3, the source of 1.2"),
        (
            {"consilience-1.2.dist-info/METADATA": METADATA.replace("BSD-3-Clause AND MIT", "BSD, see LICENSE")},
            "License-Expression 'BSD, see LICENSE'",
        ),
    ],
    ids=["a file is missing", "tests", "no licence", "unnamed licence", "vendored", "version", "expression"],
)
def test_a_wheel_that_is_not_whole_is_refused_with_the_file(
    tmp_path: Path, changed: dict[str, str | None], told: str
) -> None:
    assert told in wrong(tmp_path, changed)


def test_a_wheel_of_one_system_is_refused(tmp_path: Path) -> None:
    assert "for one kind of system" in wrong(tmp_path, {}, name="consilience-1.2-cp311-cp311-linux_x86_64.whl")


def test_a_large_archive_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release_check, "LIMIT", 100)
    assert "at most 100 are uploaded" in wrong(tmp_path, {})


def test_a_source_archive_holds_the_package_and_no_tests(tmp_path: Path) -> None:
    file = tmp_path / "consilience-1.2.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        for name in ("LICENSE", "README.md", "pyproject.toml", "src/consilience/a.py", "tests/test_a.py"):
            archive.addfile(tarfile.TarInfo(f"consilience-1.2/{name}"), io.BytesIO())
    found = release_check.wrong_with_sdist(file, {"consilience/a.py", "consilience/b.py"})
    assert [text.partition(" ")[2].partition(";")[0] for text in found] == [
        "lacks CHANGELOG.md",
        "lacks src/consilience/b.py",
        "holds tests/test_a.py",
    ]


def test_all_places_tell_one_version() -> None:
    """Package, changelog, citation and recipe."""
    told = release_check.versions(ROOT)
    assert set(told.values()) == {told["src/consilience/__init__.py"]}, told


def test_the_recipe_has_the_dependencies_of_the_package() -> None:
    """Names and bounds, and the oldest Python."""
    project = release_check.settings()["project"]
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    run = recipe.partition("  run:\n")[2].partition("\ntests:")[0]
    needed = [line.strip(" -").replace(" ", "") for line in run.splitlines() if "python" not in line and line.strip()]
    assert needed == list(project["dependencies"])
    assert f'python_min: "{project["requires-python"].removeprefix(">=")}"' in recipe


def test_what_fails_in_an_environment_is_refused_with_its_last_words() -> None:
    with pytest.raises(release_check.WrongError, match=r"(?s)ended with status 3:.*the reason"):
        release_check.run([sys.executable, "-c", "print('the reason'); raise SystemExit(3)"])


def test_each_interpreter_is_one_of_its_version() -> None:
    found = release_check.interpreters()
    assert f"{sys.version_info[0]}.{sys.version_info[1]}" in found
    for version, python in found.items():
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        assert (
            subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == version
        )


def test_the_quick_tests_are_there() -> None:
    assert all((ROOT / name).exists() for name in release_check.QUICK)

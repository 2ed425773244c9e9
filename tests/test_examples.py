"""What a newcomer runs first: the README's code, the examples and their notebooks."""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import consilience as pm
from consilience import datasets
from tools.notebooks import cells, notebook, scripts

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
by_name = pytest.mark.parametrize("script", scripts(), ids=lambda path: path.stem)
QUICK = {"eight_schools", "gaussian_process", "mixture", "radon", "regression", "robust"}
"""Examples that run with every change; the others run among the slow tests, and whenever the site is built."""
LICENCES = ("BSD 3-Clause", "CC0 1.0", "CC BY 4.0", "MIT", "public domain", '"Unlimited"')
LARGEST_DATA = 100_000
LOADED = r'pm\.load_data\("(\w+)"\)'


@pytest.fixture(autouse=True)
def without_a_screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pictures are drawn in memory and closed in the end; the clock of the scripts starts anew."""
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.delitem(sys.modules, "command_line", raising=False)
    yield
    if "matplotlib.pyplot" in sys.modules:
        import_module("matplotlib.pyplot").close("all")


@pytest.mark.parametrize("seed", range(1, 6))
def test_the_code_of_the_readme_prints_what_it_says(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    """The comment behind `print` is what is printed, whatever the seed; a warning would be an error."""
    code = "\n".join(BLOCKS)
    (promised,) = re.findall(r"^print\(result\.status\) +# (\w+)$", code, re.MULTILINE)
    assert "random_seed=1)" in code
    exec(compile(code.replace("random_seed=1)", f"random_seed={seed})"), "README.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    assert promised in printed
    assert any(line.startswith("theta[H]") for line in printed)


@pytest.mark.parametrize(
    "script", [pytest.param(p, marks=[] if p.stem in QUICK else pytest.mark.slow, id=p.stem) for p in scripts()]
)
@pytest.mark.filterwarnings("ignore:The inplace keyword")  # ArviZ uses it
def test_an_example_runs_to_its_picture(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It converges without a warning, tells where the time went, and writes one picture where it was asked to."""
    monkeypatch.setattr(sys, "argv", [str(script), "--out", str(tmp_path / "new")])
    monkeypatch.syspath_prepend(script.parent)
    runpy.run_path(str(script), run_name="__main__")
    printed = capsys.readouterr().out
    verdicts = re.findall(r"^status: (\w+)$", printed, re.MULTILINE)
    assert verdicts
    assert set(verdicts) == {"converged"}
    assert re.search(r"^time: .* of [\d.]+ m?s$", printed, re.MULTILINE)
    (picture,) = (tmp_path / "new").iterdir()
    assert picture.name == f"{script.stem}.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 10_000


def test_an_example_without_plots_loads_no_plotting_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `make demo` runs needs no extra and leaves no file."""
    for package in ("arviz_plots", "arviz_stats", "matplotlib"):
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.chdir(tmp_path)
    script = ROOT / "examples" / "eight_schools.py"
    monkeypatch.setattr(sys, "argv", [str(script), "--no-plots"])
    monkeypatch.syspath_prepend(script.parent)
    with pytest.raises(SystemExit) as left:
        runpy.run_path(str(script), run_name="__main__")
    assert left.value.code is None
    assert "status: converged" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


@by_name
def test_a_notebook_is_what_its_script_says(script: Path) -> None:
    """`python tools/notebooks.py` would change nothing."""
    text = script.read_text(encoding="utf-8")
    assert script.with_suffix(".ipynb").read_text(encoding="utf-8") == notebook(text)


@by_name
def test_an_example_names_source_and_licence_of_its_data(script: Path) -> None:
    """In its text; a file of data is small, and stands with its source in `NOTICE`."""
    text = script.read_text(encoding="utf-8")
    (told,) = re.findall(r"^# \*\*Data\.\*\* (.+(?:\n# .+)*)$", text, re.MULTILINE)
    assert any(licence in told.replace("\n# ", " ") for licence in LICENCES)
    notice = (datasets.FOLDER / "NOTICE").read_text(encoding="utf-8")
    for name in re.findall(LOADED, text):
        assert f"`{name}.csv`" in notice
        assert (datasets.FOLDER / f"{name}.csv").stat().st_size < LARGEST_DATA


def test_every_file_of_data_is_used_by_an_example() -> None:
    """None is left over, and none lacks."""
    used = {name for p in scripts() for name in re.findall(LOADED, p.read_text(encoding="utf-8"))}
    assert used == set(datasets.CONTENTS) == {path.stem for path in datasets.FOLDER.glob("*.csv")}


@by_name
def test_a_notebook_needs_nothing_of_the_command_line(script: Path) -> None:
    """Its cells compile together, begin with text, and use no argument of the script."""
    found = list(cells(script.read_text(encoding="utf-8")))
    assert found[0]["cell_type"] == "markdown"
    code = "\n".join(cell["source"] for cell in found if cell["cell_type"] == "code")
    compile(code, script.name, "exec")
    assert "arguments" not in code
    assert "__file__" not in code


@pytest.mark.parametrize("page", ["README.md", "docs/reference/at-a-glance.md"])
def test_every_name_that_a_page_shows_exists(page: str) -> None:
    """`pm.` and what follows, anywhere in the text."""
    names = set(re.findall(r"\bpm\.(\w+)", (ROOT / page).read_text(encoding="utf-8")))
    assert not [name for name in names if not hasattr(pm, name)]

"""`import consilience.as_pymc`: what `pymc` and `pytensor` mean then, when it is refused, and how it is undone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_public_names import in_a_fresh_process

OURS = "import consilience.as_pymc\n"


def test_modules_by_their_names_are_those_of_this_library() -> None:
    """Packages, modules, and modules of PyMC whose names are elsewhere here."""
    code = (
        OURS
        + """
import consilience, pymc, pytensor, pymc.distributions.transforms, pytensor.tensor as pt, pymc.math as pmath
from pymc.distributions.continuous import Normal
from pymc.model.core import Model
from pytensor.tensor.type import dmatrix
answer = [pymc.Model is consilience.Model is Model, pytensor.function is consilience.function,
    pt is consilience.tensor, pmath is consilience.math,
    pymc.distributions.transforms is consilience.distributions.transforms, Normal is consilience.Normal,
    dmatrix is pt.dmatrix, pt.__name__, pt.__spec__.name, consilience.tensor.__spec__.loader is not None]
"""
    )
    assert in_a_fresh_process(code) == [True] * 7 + ["consilience.tensor"] * 2 + [True]


def test_versions_say_what_is_imitated() -> None:
    """Programs compare `pymc.__version__`; the part after the plus tells which library it is."""
    code = OURS + "import pymc, pytensor; answer = [pymc.__version__, pytensor.__version__, pymc.__name__]"
    pymc, pytensor, name = in_a_fresh_process(code)
    assert (pymc.split("+")[1], pytensor.split("+")[1], name) == ("consilience", "consilience", "pymc")
    assert pymc.startswith("6.")


def test_it_is_never_there_by_itself() -> None:
    """Neither `import consilience` nor a model of it makes `pymc` mean this library."""
    code = """
import sys, consilience as pm
with pm.Model() as model: pm.Normal("x")
answer = [type(f).__name__ for f in sys.meta_path] + [n for n in sys.modules if n in ("pymc", "consilience.as_pymc")]
"""
    assert not {"pymc", "consilience.as_pymc", "_Finder"} & set(in_a_fresh_process(code))


def test_what_is_in_neither_is_refused_by_its_name() -> None:
    """Unknown modules and names are the errors of any import."""
    code = (
        OURS
        + """
answer = []
import pymc, importlib
for name in ("pymc.modle", "pytensor.tensor.tipe"):
    try: importlib.import_module(name)
    except ModuleNotFoundError as error: answer.append(str(error))
try: pymc.Modell
except AttributeError as error: answer.append(str(error))
"""
    )
    modle, tipe, name = in_a_fresh_process(code)
    assert "pymc.modle" in modle
    assert "pytensor.tensor.tipe" in tipe
    assert name == "module 'pymc' has no attribute 'Modell'; did you mean 'Model'?"


def test_modules_of_the_same_path_know_names_of_pymcs() -> None:
    """`distributions.distribution` and `backends` are files here and there: what is missing says what to do."""
    code = (
        OURS
        + """
answer = []
for name in ("pymc.distributions.distribution", "pymc.backends"):
    try: exec(f"from {name} import SymbolicRandomVariable as found; found()")
    except ImportError as error: answer.append(str(error))
"""
    )
    for told in in_a_fresh_process(code):
        assert "`SymbolicRandomVariable` is a part of PyTensor's or PyMC's graphs" in told


def test_it_is_refused_after_the_real_one(tmp_path: Path) -> None:
    """Libraries that hold PyMC's classes would not know ours: the right order is named."""
    (tmp_path / "pymc").mkdir()
    (tmp_path / "pymc" / "__init__.py").write_text("")
    code = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
import pymc
try: import consilience.as_pymc
except Exception as error: answer = [type(error).__name__, str(error), pymc.__file__ == sys.modules["pymc"].__file__]
"""
    kind, told, kept = in_a_fresh_process(code)
    assert kind == "ConsilienceError"
    assert "pymc was imported before `consilience.as_pymc`" in told
    assert "has to come first" in told
    assert kept


def test_undone_the_names_mean_those_packages_again(tmp_path: Path) -> None:
    """`undo()` gives `import pymc` back, `install()` asks for the stand-in again."""
    (tmp_path / "pymc.py").write_text("__version__ = 'of a file'")
    code = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
import consilience.as_pymc as stand_in
import pymc.distributions; first = pymc.__version__
stand_in.undo()
import pymc
answer = [first, pymc.__version__, "pymc.distributions" in sys.modules]
del sys.modules["pymc"]
stand_in.install()
import pymc
stand_in.install()
answer += [pymc.__version__, sum(f is stand_in._Finder for f in sys.meta_path)]
stand_in.undo(); stand_in.undo()
"""
    first, undone, below, again, finders = in_a_fresh_process(code)
    assert first == again
    assert [undone, below, finders] == ["of a file", False, 1]


def test_attributes_that_tests_replace_are_seen_by_all() -> None:
    """`mock.patch("pymc.sample")` is what a library finds that writes `pm.sample`."""
    code = (
        OURS
        + """
from unittest import mock
import pymc as pm, consilience
with mock.patch("pymc.sample", lambda: "mine"):
    answer = [pm.sample()]
answer += [pm.sample is consilience.sample]
"""
    )
    assert in_a_fresh_process(code) == ["mine", True]


def test_models_are_pickled_by_the_names_of_this_library() -> None:
    """A process without the stand-in reads them."""
    code = (
        OURS
        + """
import pickle, pymc as pm
with pm.Model() as model: pm.Normal("x")
answer = [pickle.dumps(model).hex()]
"""
    )
    (pickled,) = in_a_fresh_process(code)
    reading = f"import pickle; answer = list(pickle.loads(bytes.fromhex({pickled!r})).named_vars)"
    assert in_a_fresh_process(reading) == ["x"]


def test_a_package_that_needs_more_is_imported_in_parts(tmp_path: Path) -> None:
    """Its modules work by themselves; a name for which its own code has to run tells what that code lacks."""
    package = tmp_path / "pymc_extras"
    package.mkdir()
    (package / "__init__.py").write_text("from pytensor.graph.fg import FunctionGraph\nFunctionGraph([])\nfit = 1")
    (package / "prior.py").write_text("import pymc as pm\nclass Prior: kind = pm.Normal")
    (package / "space.py").write_text("from pytensor.graph.rewriting.basic import node_rewriter")
    (package / "filter.py").write_text("from pymc_extras.space import node_rewriter")
    (package / "walk.py").write_text("from pymc.step_methods.arraystep import NoSuchStep")
    (package / "fast.py").write_text("import a_package_that_is_not_there")
    code = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
import consilience.as_pymc
from pymc_extras.prior import Prior
import pymc_extras
answer = [Prior.kind.__name__, pymc_extras.prior.__name__]
for _ in range(2):
    try: pymc_extras.fit
    except ImportError as error: answer.append(str(error))
for name in ("space", "filter", "walk", "fast"):
    try: __import__(f"pymc_extras.{{name}}")
    except ImportError as error: answer.append(str(error))
"""
    kind, module, first, second, *lacking, other = in_a_fresh_process(code)
    assert [kind, module] == ["Normal", "pymc_extras.prior"]
    assert "`FunctionGraph` is a part of PyTensor's or PyMC's graphs" in first
    assert first == second
    for said, name in zip(lacking, ("pytensor.graph.rewriting.basic",) * 2 + ("NoSuchStep",), strict=True):
        assert name in said
    assert all("consilience.for_pymc`" in said for said in (first, *lacking))
    assert other == "No module named 'a_package_that_is_not_there'"


def test_a_module_of_ops_of_other_classes_is_imported() -> None:
    """What it defines and enters by PyMC's names waits to be used, and is refused then; helpers beside work."""
    code = (
        OURS
        + """
import pymc as pm
from pymc.distributions.distribution import Continuous, SymbolicRandomVariable, support_point
from pymc.distributions.transforms import _default_transform
class OwnRV(SymbolicRandomVariable):
    name = "own"
class Own(Continuous):
    rv_type = OwnRV
@_default_transform.register(Own)
def transform(op, rv): return None
answer = [transform(1, 2), support_point(pm.Normal.dist([1.0, 2.0])).eval().tolist()]
try: OwnRV([], [])(1.0)
except ImportError as error: answer.append(str(error))
"""
    )
    made, point, refused = in_a_fresh_process(code)
    assert (made, point) == (None, [1.0, 2.0])
    assert "`OwnRV` is a part of PyTensor's or PyMC's graphs" in refused


def test_results_are_those_of_the_arviz_that_is_there(tmp_path: Path) -> None:
    """Below version 1 ArviZ has InferenceData: it comes out, is taken, and what a function adds to it is added."""
    (tmp_path / "arviz.py").write_text(
        """
import xarray
class InferenceData:
    def __init__(self, tree): self.tree = tree
    @classmethod
    def from_datatree(cls, tree): return cls(tree)
    def to_datatree(self): return self.tree.copy()
    def groups(self): return list(self.tree.children)
    def extend(self, other):
        for name, group in other.tree.children.items(): self.tree[name] = group.copy()
"""
    )
    info = tmp_path / "arviz-0.23.4.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: arviz\nVersion: 0.23.4\n")
    code = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
import consilience.as_pymc
import consilience, pymc as pm
from pymc.testing import mock_sample
with pm.Model() as model:
    mu = pm.Normal("mu"); pm.Normal("y", mu, observed=[1.0])
    pm.sample, real = mock_sample, pm.sample
    result = pm.sample(5)
    answer = [pm.__version__, type(result).__name__, consilience.sample is mock_sample]
    pm.sample = real
    answer += [consilience.sample is mock_sample, pm.sample is real, pm.sample is consilience.sample]
    again = pm.sample_posterior_predictive(result, extend_inferencedata=True, progressbar=False)
    answer += [again is result, sorted(result.groups())]
    new = pm.sample_posterior_predictive(result, progressbar=False)
    answer += [type(new).__name__, "posterior_predictive" in new.groups()]
"""
    version, kind, *rest = in_a_fresh_process(code)
    assert version.startswith("5.28")
    assert kind == "InferenceData"
    assert rest[:5] == [True, False, True, False, True]
    assert {"posterior", "observed_data", "posterior_predictive"} <= set(rest[5])
    assert rest[6:] == ["InferenceData", True]


SPAWNING = """
import consilience.as_pymc
import multiprocessing
import pymc as pm

def names(model):
    return [*model.named_vars, pm.__name__, str(isinstance(model, pm.Model))]

if __name__ == "__main__":
    with pm.Model() as model:
        pm.Normal("x")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(*pool.apply(names, (model,)))
"""


def test_processes_that_a_script_starts_have_the_stand_in_too(tmp_path: Path) -> None:
    """They import the script anew, whose first line asks for it; models are sent to them."""
    (tmp_path / "script.py").write_text(SPAWNING)
    done = _command(str(tmp_path / "script.py"))
    assert done.stdout == "x pymc True\n", done.stderr


SCRIPT = """
import sys
import pymc as pm
from sibling import NAME
print(__name__, sys.argv[1:], pm.__name__, pm.Model.__module__, NAME)
sys.exit(3)
"""


def _command(*words: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": paths}
    )


def test_a_program_runs_with_the_stand_in(tmp_path: Path) -> None:
    """`python -m consilience run --as-pymc script.py args` is `python script.py args` but for what `pymc` means."""
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "sibling.py").write_text("NAME = 'beside'")
    done = _command("-m", "consilience", "run", "--as-pymc", str(tmp_path / "script.py"), "-x", "--as-pymc")
    assert done.stdout.split("\n")[0] == "__main__ ['-x', '--as-pymc'] pymc consilience.model.model beside", done.stderr
    assert done.returncode == 3


@pytest.mark.parametrize("words", [["run", "script.py"], ["run", "--as-pymc", "nowhere.py"]])
def test_words_that_say_no_program_are_refused(words: list[str]) -> None:
    """Without `--as-pymc` there is nothing that Python itself does not do."""
    done = _command("-m", "consilience", *words)
    assert done.returncode == 2
    assert words[-1] in done.stderr or "--as-pymc" in done.stderr


def test_modules_named_as_functions_are_imported_and_leave_the_functions() -> None:
    """`pytensor.tensor.shape` is a module in an import, and a function behind a dot, as in PyTensor."""
    code = (
        OURS
        + """
import pytensor.tensor as pt
from pytensor.tensor.shape import reshape, specify_shape
from pytensor.tensor.sort import argsort
import pytensor.tensor.sort
answer = [callable(pt.sort), pt.sort is pytensor.tensor.sort, reshape is pt.reshape, argsort is pt.argsort,
    specify_shape is pt.specify_shape]
"""
    )
    assert in_a_fresh_process(code) == [True] * 5

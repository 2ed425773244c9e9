"""Names by the paths of PyTensor's and PyMC's modules: `from pytensor.tensor.type import dmatrix` and its kin."""

from __future__ import annotations

import importlib

import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.distributions import densities
from consilience.names.module_paths import HOMES
from tests.test_public_names import in_a_fresh_process


@pytest.mark.parametrize("path", HOMES)
def test_every_module_is_imported_and_has_names(path: str) -> None:
    """A path leads to a module with at least one name, which is that of the place it comes from."""
    module = importlib.import_module(f"consilience.{path}")
    name = next(n for n in dir(module) if not n.startswith("_"))
    assert getattr(module, name) is not None


@pytest.mark.parametrize(
    ("path", "names", "home"),
    [
        ("tensor.type", "TensorType dmatrix scalars vector", pt),
        ("tensor.variable", "TensorVariable", pt),
        ("tensor.math", "exp dot sigmoid", pt),
        ("tensor.subtensor", "set_subtensor inc_subtensor", pt),
        ("tensor.linalg.decomposition.svd", "svd", pt.linalg),
        ("compile.builders", "OpFromGraph", pm),
        ("compile.mode", "Mode", pm),
        ("compile.io", "In Out", pm),
        ("graph.traversal", "ancestors explicit_graph_inputs", pm.graph),
        ("configdefaults", "config", pm),
        ("scan.utils", "until", pm.scan),
        ("pytensorf", "floatX inputvars intX", pm),
        ("model.core", "Model Point modelcontext", pm),
        ("sampling.mcmc", "sample", pm),
        ("sampling.forward", "draw sample_posterior_predictive", pm),
        ("distributions.continuous", "Normal Uniform", pm),
        ("logprob.basic", "logp conditional_logp", pm),
        ("exceptions", "ImputationWarning SamplingError", pm.errors),
        ("data", "Data Minibatch", pm),
        ("distributions.moments", "mean", densities),
        ("gp.util", "stabilize", pm.gp.util),
        ("step_methods.hmc.nuts", "NUTS", pm),
    ],
)
def test_names_are_those_of_their_places(path: str, names: str, home: object) -> None:
    """What a path gives is what the short name gives."""
    module = importlib.import_module(f"consilience.{path}")
    for name in names.split():
        assert getattr(module, name) is getattr(home, name)


def test_modules_are_reached_as_attributes() -> None:
    """As in programs that import PyTensor and write the whole path."""
    assert pt.type.dscalar().dtype == "float64"
    assert pm.compile.builders.OpFromGraph is pm.OpFromGraph
    assert pm.distributions.discrete.Poisson is pm.Poisson
    assert pm.graph.basic.ancestors is pm.graph.ancestors


def test_what_is_nowhere_is_refused_by_its_path() -> None:
    """Unknown names and unknown modules are errors, as those of any module."""
    with pytest.raises(AttributeError, match=r"'consilience.tensor.type' has no attribute 'dmatricks'.*'dmatrices'"):
        _ = pt.type.dmatricks
    with pytest.raises(ImportError, match="dmatricks"):
        exec("from consilience.tensor.type import dmatricks")
    with pytest.raises(ModuleNotFoundError, match=r"consilience\.tensor\.tipe"):
        importlib.import_module("consilience.tensor.tipe")
    assert not hasattr(pm, "tipe")


def test_compile_is_a_module_and_a_function() -> None:
    """PyMC's `compile(inputs, outputs)` and PyTensor's `compile.get_mode`."""
    x = pt.dscalar("x")
    assert pm.compile([x], 2.0 * x)(3.0) == 6.0
    assert pm.compile.get_mode("FAST_RUN") == pm.compile.get_default_mode() == pm.get_mode().excluding("inplace")
    assert pm.function([x], x + 1.0, mode=pm.compile.get_mode("reference"))(1.0) == 2.0
    with pytest.raises(ValueError, match="unknown `mode`"):
        pm.compile.get_mode("FAST")


def test_no_module_takes_the_place_of_a_name_that_is_there() -> None:
    """Importing by path adds names to packages and changes none."""
    code = """
from importlib import import_module
import consilience.names.module_paths as paths
answer = []
for path in paths.HOMES:
    parent, _, name = f"consilience.{path}".rpartition(".")
    answer += [path] if name in vars(import_module(parent)) else []
"""
    assert not in_a_fresh_process(code)


def test_where_other_paths_are_looked_up_is_itself_looked_up_nowhere_else() -> None:
    """An application that was frozen without that module says so, and does not look for it without end."""
    assert pm._OtherPaths.find_spec("consilience.names.module_paths") is None

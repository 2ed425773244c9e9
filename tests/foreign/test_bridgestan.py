"""A library with BridgeStan's C interface becomes a model with Stan's names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.errors import ModelError
from consilience.foreign import from_bridgestan
from consilience.foreign.bridgestan import shapes_of
from tests.foreign.compiling import library, needs_compiler

pytestmark = needs_compiler
PROGRAM = (Path(__file__).parent / "stan_program.c").read_text(encoding="utf-8")
Y = np.array([1.0, 2.0, 4.0, 3.5, 2.5, 0.5])


@pytest.fixture(scope="module", params=["true", "false"])
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return library(tmp_path_factory.mktemp("stan"), PROGRAM, f'-DTHREADS="{request.param}"')


def ours() -> pm.Model:
    """The same model in our words."""
    with pm.Model() as model:
        mu = pm.Flat("mu")
        sigma = pm.HalfFlat("sigma")
        pm.Normal("y", mu, sigma, observed=Y)
    return model


def test_density_and_draws_are_those_of_the_model(program: Path) -> None:
    model = from_bridgestan(program, {"y": Y})
    theirs, own = model.log_density(), ours().log_density()
    for point in np.random.default_rng(1).normal(size=(5, 2)):
        constant = -0.5 * len(Y) * np.log(2 * np.pi)
        assert theirs(point)[0] + constant == pytest.approx(own(point)[0], rel=1e-12)
        assert np.allclose(theirs(point)[1], own(point)[1], rtol=1e-12)
    result = pm.sample(model=model, progressbar=False, random_seed=1)
    same = pm.sample(model=ours(), progressbar=False, random_seed=1)
    assert result.status == "converged"
    assert np.allclose(result.posterior["mu"][:, 0], same.posterior["mu"][:, 0], rtol=1e-5)
    assert np.allclose(result.posterior["sigma"].mean(), same.posterior["sigma"].mean(), rtol=0.1)
    assert result.posterior["unconstrained"]["coordinate"].values.tolist() == ["mu", "sigma"]


def test_parameters_have_stans_shapes_in_stans_order(program: Path) -> None:
    model = from_bridgestan(program, {"y": Y})
    (graph,) = model.replace_rvs_by_values([model["m"]])
    value = model.compile_fn(graph)(model.initial_point())
    assert value.tolist() == [[0.0, 1.0, 2.0], [10.0, 11.0, 12.0]]
    assert "m" not in from_bridgestan(program, {"y": Y}, transformed=False).named


def test_data_are_a_mapping_or_json_or_a_file(program: Path, tmp_path: Path) -> None:
    file = tmp_path / "data.json"
    file.write_text('{"y": [1, 2]}', encoding="utf-8")
    found = [
        from_bridgestan(program, data).log_density()(np.ones(2))[0] for data in ('{"y":[1, 2]}', file, {"y": [1, 2]})
    ]
    assert found[0] == found[1] == found[2]


def test_a_failure_has_density_0(program: Path) -> None:
    assert from_bridgestan(program, {"y": Y}).log_density()(np.array([0.0, 30.0]))[0] == -np.inf


def test_the_librarys_own_message_is_told(program: Path) -> None:
    with pytest.raises(ModelError, match="variable y not found"):
        from_bridgestan(program, {"z": 1})


@pytest.mark.parametrize(
    ("source", "options", "told"),
    [
        (PROGRAM, ["-DMAJOR=3"], r"BridgeStan 3\.6\.1"),
        ("void *bs_construct(void) { return 0; }", [], "before 2.0"),
        ("int one(void) { return 1; }", [], "none of BridgeStan"),
        ("int bs_major_version = 2, bs_minor_version, bs_patch_version;", [], "no function `bs_model_construct`"),
    ],
)
def test_another_interface_is_refused_by_name(source: str, options: list[str], told: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=told):
        from_bridgestan(library(tmp_path, source, *options), {"y": Y})


def test_what_is_no_library_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no library"):
        from_bridgestan(tmp_path / "none.so")
    (tmp_path / "text.so").write_text("text", encoding="utf-8")
    with pytest.raises(ModelError, match="cannot be opened"):
        from_bridgestan(tmp_path / "text.so")


def test_elements_of_tuples_keep_their_names() -> None:
    names: Any = ["a", "b.1.1", "b.2.1", "t:1", "z.1.real", "z.1.imag"]
    assert shapes_of(names) == {"a": (), "b": (2, 1), "t:1": (), "z.1.real": (), "z.1.imag": ()}

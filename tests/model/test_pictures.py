"""Models in words and as graphs."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import consilience as pm
import consilience.distributions as pd
from consilience.model.model_graph import dot, model_graph


def schools() -> pm.Model:
    with pm.Model(coords={"school": list("AB")}) as model:
        x = pm.Data("x", [1.0, 2.0], dims="school")
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", mu, tau, dims="school")
        pm.Deterministic("shifted", theta * x + 1, dims="school")
        pm.Potential("fence", -(mu**2))
        pm.Normal("y", theta, [1.0, 2.0], observed=[0.5, 1.5], dims="school")
    return model


def test_a_model_prints_its_variables_with_parameters() -> None:
    assert repr(schools()).splitlines() == [
        "     mu ~ Normal(0, 5)",
        "    tau ~ HalfCauchy(5)",
        "  theta ~ Normal(mu, tau)",
        "shifted ~ Deterministic(f(theta, x))",
        "  fence ~ Potential(f(mu))",
        "      y ~ Normal(theta, <constant>) (observed)",
    ]
    assert schools().str_repr(include_params=False).splitlines()[0] == "     mu ~ Normal"
    assert repr(pm.Model()) == "an empty model"
    assert r"\text{theta} &\sim & \operatorname{Normal}(\text{mu},~\text{tau})" in schools()._repr_latex_()
    assert schools().str_repr("latex") == schools()._repr_latex_()
    page = schools()._repr_html_()
    assert page.count("<tr>") == 6
    assert "&lt;constant&gt;" in page
    with pytest.raises(ValueError, match="'plain' or 'latex'"):
        schools().str_repr("html")


def test_variables_are_attributes() -> None:
    model = schools()
    assert model.mu is model["mu"]
    with pytest.raises(AttributeError, match="neither a method nor a variable `foo`; its variables are x, mu"):
        _ = model.foo
    with pytest.raises(AttributeError, match=r"PyMC's `Model\.table` does not exist here; `print\(model\)`"):
        _ = model.table
    assert not hasattr(model, "nothing")


def test_graph_has_arrows_from_parents_and_plates_of_equal_axes() -> None:
    graph = model_graph(schools())
    assert set(graph.edges) == {
        ("mu", "theta"), ("tau", "theta"), ("theta", "shifted"), ("x", "shifted"), ("mu", "fence"), ("theta", "y"),
    }  # fmt: skip
    assert {plate: [v.name for v in members] for plate, members in graph.plates.items()} == {
        "school (2)": ["x", "theta", "shifted", "y"],
        "": ["mu", "tau", "fence"],
    }
    part = model_graph(schools(), ["theta"], "plain_with_params", include_dim_lengths=False)
    assert [(v.name, v.text, v.plate) for v in part.vertices] == [
        ("mu", "Normal(0, 5)", ""),
        ("tau", "HalfCauchy(5)", ""),
        ("theta", "Normal(mu, tau)", "school"),
    ]
    with pytest.raises(pm.ModelError, match=r"`var_names` names \['w'\]"):
        model_graph(schools(), ["w"])


def test_observed_data_containers_come_behind_their_variable() -> None:
    with pm.Model() as model:
        data = pm.Data("data", [1.0, 2.0])
        pm.Normal("y", pm.Normal("x"), 1, observed=data)
    assert set(model_graph(model).edges) == {("x", "y"), ("y", "data")}


def test_mermaid_and_dot_say_the_same() -> None:
    with schools():
        text = pm.model_to_mermaid()
    assert text.splitlines()[:3] == ["graph TD", 'subgraph "school (2)"', '  x[("x Data")]']
    assert "theta --> y" in text
    written = dot(model_graph(schools()), figsize=(4, 3))
    assert '"theta" -> "y"' in written
    assert written.count("{") == written.count("}") == 2
    with pm.Model("sub") as named:
        pm.Normal("x")
    assert 'sub__x_0(["sub::x ~ Normal"])' in pm.model_to_mermaid(named)
    assert '"sub::x"' in dot(model_graph(named))


def test_optional_libraries_are_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for library, function in (("graphviz", pm.model_to_graphviz), ("networkx", pm.model_to_networkx)):
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(ImportError, match=f"pip install {library}"):
            function(schools())


def test_a_picture_in_a_file_asks_for_the_program_that_draws_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("graphviz")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(FileNotFoundError, match=r"needs the program `dot` of Graphviz.* install graphviz.*mermaid"):
        pm.model_to_graphviz(schools(), save=str(tmp_path / "schools.png"))
    assert not list(tmp_path.iterdir())


def test_networkx_graph_has_the_same_arrows() -> None:
    pytest.importorskip("networkx")
    graph = pm.model_to_networkx(schools())
    assert set(graph.edges) == set(model_graph(schools()).edges)
    assert graph.nodes["theta"]["plate"] == "school (2)"


def test_lengths_and_data_are_asked_for_by_name() -> None:
    with pm.Model(coords={"a": [1, 2]}) as model:
        pm.Data("x", np.zeros(3), dims="row")
    assert {name: int(length.eval()) for name, length in model.dim_lengths.items()} == {"a": 2, "row": 3}
    assert model.shape_from_dims(["row", "a"]) == (3, 2)
    assert model.get_data("x").tolist() == [0.0, 0.0, 0.0]
    model.set_dim("row", 2, ["u", "v"])
    model.set_data("x", [1.0, 2.0])
    assert model.coords["row"] == ("u", "v")
    with pytest.raises(pm.ModelError, match="`a` has a fixed length"):
        model.set_dim("a", 3)
    with pytest.raises(pm.ShapeError, match="gets the length 3, but 2 labels"):
        model.set_dim("row", 3, ["u", "v"])
    with pytest.raises(KeyError, match="no data `w`; it has x"):
        model.get_data("w")
    assert (model.isroot, model.root, model.data_vars) == (True, model, [model["x"]])


def test_a_starting_value_can_be_given_later() -> None:
    with pm.Model() as model:
        x = pm.Normal("x")
    model.set_initval(x, 2.5)
    assert model.initial_point() == {"x": 2.5}
    assert model.rvs_to_initial_values == {x: 2.5}


def test_components_are_written_as_distributions() -> None:
    """In the place of their parameter, with their own parameters."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 1)
        pd.Truncated("t", pm.Normal.dist(mu, 2), lower=0)
        pd.Mixture("m", [0.5, 0.5], [pm.Normal.dist(mu, 1), pm.Gamma.dist(3, 1)], observed=[1.0])
    text = str(model)
    assert "t ~ TruncatedNormal(mu, 2, 0, inf)" in text
    assert "m ~ Mixture(<constant>, Normal(mu, 1), Gamma(3, 1)) (observed)" in text

"""Compiled functions and log densities on PyTorch's tensors, in its autograd."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import GraphError

torch = pytest.importorskip("torch")

EXPRESSIONS = {
    "sums of powers": lambda x, a: (x**3).sum() + pt.exp(a).mean(),
    "matrices": lambda x, a: a @ x,
    "a Cholesky factor": lambda x, a: pt.linalg.cholesky(a @ a.T + 3.0 * pt.eye(3)),
    "a loop": lambda x, a: pm.scan.scan(lambda v, s: pt.sin(s) + v, sequences=[x], outputs_info=[pt.zeros(())])[0],
    "a branch": lambda x, a: pt.ifelse(x[0] > 0, x**2, -x),
    "special functions": lambda x, a: pt.gammaln(pt.exp(x)) + pt.gammainc(2.0, pt.exp(x)),
    "reversed and sorted": lambda x, a: pt.concatenate([x[::-1], pt.sort(x)]),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_values_and_derivatives(name: str) -> None:
    """Of first and second order, by PyTorch's own check against differences."""
    x, a = pt.vector("x"), pt.matrix("a")
    f: Any = pm.function([x, a], EXPRESSIONS[name](x, a), on_unused_input="ignore")
    rng = np.random.default_rng(1)
    values = rng.normal(size=3), rng.normal(size=(3, 3))
    tensors = [torch.tensor(v, requires_grad=True) for v in values]
    np.testing.assert_allclose(f.torch(*tensors).detach(), f(*values))
    assert torch.autograd.gradcheck(f.torch, tensors)
    assert torch.autograd.gradgradcheck(f.torch, tensors)


def test_it_is_called_as_the_function_is() -> None:
    """By name, with several outputs and whole numbers among them."""
    x, i = pt.vector("x"), pt.lscalar("i")
    f: Any = pm.function([x, i], {"picked": x[i], "place": pt.argmax(x), "double": 2 * x})
    x_given = torch.tensor([1.0, 5.0, 2.0], dtype=torch.float64, requires_grad=True)
    found = f.torch(i=2, x=x_given)
    assert found["place"].item() == 1
    (found["picked"] + found["double"].sum()).backward()
    np.testing.assert_allclose(x_given.grad, [2.0, 2.0, 3.0])


def test_a_density_is_a_term_of_a_loss() -> None:
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("mu", 0.0, 2.0, shape=2), 1.0, observed=np.array([[1.0, 2.0], [3.0, 4.0]]))
    density = model.log_density()
    position = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([position], max_iter=50)

    def loss() -> Any:
        optimizer.zero_grad()
        value = -density.torch(position)
        value.backward()
        return value

    optimizer.step(loss)
    np.testing.assert_allclose(position.detach(), np.array([4.0, 6.0]) / 2.25, rtol=1e-6)


def test_second_derivatives_of_a_log_density() -> None:
    """With data of the model, and where Cholesky factors are differentiated."""
    with pm.Model() as model:
        x = pm.Data("x", np.arange(1.0, 4.0))
        a = pm.Normal("a", 0.0, 1.0, shape=3)
        pm.MvNormal("y", x * a, pt.eye(3) + pt.outer(a, a), observed=np.ones(3))
    density = model.log_density()
    position = torch.tensor([0.3, -0.2, 0.5], dtype=torch.float64)
    found = torch.autograd.functional.hessian(density.torch, position)
    step = 1e-5
    wanted = [
        (density(position.numpy() + e)[1] - density(position.numpy() - e)[1]) / (2 * step) for e in step * np.eye(3)
    ]
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)


def test_functions_that_pytorch_computes() -> None:
    """With `backend="torch"` values and derivatives, of any order, are PyTorch's operations."""
    w = pm.shared(np.array([[2.0, 0.5], [0.5, 1.0]]), "w")
    x = pt.vector("x")
    total, _ = pm.scan.scan(lambda v, s: s * v + pt.ifelse(v > 0, v**2, -v), sequences=[x], outputs_info=[pt.ones(())])
    f = pm.function([x], total[-1] + x @ pt.linalg.solve(w, pt.gammaln(x**2)), backend="torch")
    own = pm.function([x], f.outputs[0])
    given = torch.tensor([1.3, -0.4], dtype=torch.float64, requires_grad=True)
    assert f.torch(given).item() == pytest.approx(own(given.detach().numpy()).item(), rel=1e-13)
    assert torch.autograd.gradcheck(f.torch, [given])
    assert torch.autograd.gradgradcheck(f.torch, [given])
    computed = pm.function([x], x[x > 0].sum(), backend="torch")
    assert computed(np.array([1.0, -1.0])) == 1.0
    with pytest.raises(GraphError, match=r"lengths in .* must follow from the shapes of its arguments"):
        computed.torch(given)


@pytest.mark.parametrize("backend", ["llvm", "torch"])
def test_batches_of_torch_func(backend: str) -> None:
    """Values and gradients, also where only some arguments have a batch."""
    x, s = pt.vector("x"), pt.scalar("s")
    f = pm.function([x, s], [(pt.exp(x * s)).sum(), pt.cumsum(x)], backend=backend).torch
    rows, scale = torch.arange(6, dtype=torch.float64).reshape(3, 2).T, torch.tensor(0.5, dtype=torch.float64)
    values, sums = torch.func.vmap(f, in_dims=(1, None))(rows, scale)
    np.testing.assert_allclose(values, np.exp(rows.numpy() / 2).sum(0))
    np.testing.assert_allclose(sums, np.cumsum(rows.numpy(), 0).T)
    slopes = torch.func.vmap(torch.func.grad(lambda v: f(v, scale)[0]), in_dims=1)(rows)
    np.testing.assert_allclose(slopes, np.exp(rows.T.numpy() / 2) / 2)


def test_arrays_cross_without_a_copy() -> None:
    """What is computed from a tensor sees its memory; single precision is converted by PyTorch."""
    x = pt.vector("x")
    f = pm.function([x], x + 1.0)
    assert f.torch(torch.ones(3)).dtype == torch.float64
    single = pt.vector("s", dtype="float32")
    g = pm.function([single], single * 2)
    given = torch.ones(2, dtype=torch.float32, requires_grad=True)
    g.torch(given).sum().backward()
    assert given.grad.dtype == torch.float32
    np.testing.assert_array_equal(given.grad, [2.0, 2.0])


def test_shared_variables_keep_their_values_and_updates_are_refused() -> None:
    w = pm.shared(np.array([1.0, 2.0]), "w")
    x = pt.vector("x")
    pure = pm.function([x], (x * w).sum()).torch
    w.set_value(np.zeros(2))
    given = torch.ones(2, dtype=torch.float64, requires_grad=True)
    value = pure(given)
    value.backward()
    assert value.item() == 3.0
    np.testing.assert_array_equal(given.grad, [1.0, 2.0])
    with pytest.raises(GraphError, match=r"updates `w` .*, which a pure function cannot"):
        _ = pm.function([x], x, updates={w: w + 1.0}).torch


@pytest.mark.parametrize("backend", ["llvm", "torch"])
def test_shared_variables_are_parameters_of_a_module(backend: str) -> None:
    """PyTorch's optimizers move them; names are those of the variables, and theirs keep their values."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(50, 2))
    wanted = rows @ [1.5, -0.5] + 0.25
    w, b = pm.shared(np.zeros(2), "w"), pm.shared(0.0, "layer.bias")
    unnamed, count = pm.shared(np.zeros(1)), pm.shared(np.array(3), "count")
    x, y = pt.matrix("x"), pt.vector("y")
    loss = ((x @ w + b + unnamed[0] - y) ** 2).mean() + 0.0 * count
    module = pm.function([x, pm.In(y, value=wanted)], loss, backend=backend).torch_module()
    assert {k: tuple(v.shape) for k, v in module.named_parameters()} == {"w": (2,), "layer_bias": (), "shared_2": (1,)}
    optimizer = torch.optim.LBFGS(module.parameters(), max_iter=30)

    def closure() -> Any:
        optimizer.zero_grad()
        value = module(x=torch.tensor(rows))
        value.backward()
        return value

    optimizer.step(closure)
    np.testing.assert_allclose(module.w.detach(), [1.5, -0.5], atol=1e-5)
    assert (module.layer_bias + module.shared_2).item() == pytest.approx(0.25, abs=1e-5)
    np.testing.assert_array_equal(w.get_value(), [0.0, 0.0])
    other = pm.function([x, y], loss).torch_module()
    other.load_state_dict(module.state_dict())
    assert other(torch.tensor(rows), torch.tensor(wanted)).item() == pytest.approx(0.0, abs=1e-8)


def test_a_module_needs_parameters() -> None:
    x = pt.vector("x")
    with pytest.raises(GraphError, match=r"reads no `pm.shared` variable of floats"):
        pm.function([x], x.sum()).torch_module()


def test_failures_are_those_of_a_call() -> None:
    x, i = pt.vector("x"), pt.lscalar("i")
    with pytest.raises(IndexError, match="out of bounds"):
        pm.function([x, i], x[i]).torch(torch.ones(3), 7)
    given = torch.tensor([1.0, -1.0], dtype=torch.float64, requires_grad=True)
    value = pm.function([x], x[x > 0].sum()).torch(given)
    with pytest.raises(GraphError, match=r"lengths in .* must follow from the shapes of its arguments"):
        value.backward()


def test_a_mode_names_it() -> None:
    x = pt.vector("x")
    np.testing.assert_allclose(pm.function([x], pt.exp(x), mode="PYTORCH")([0.0, 1.0]), [1.0, np.e])


def test_importing_consilience_does_not_import_pytorch() -> None:
    code = "import sys, consilience; import consilience.tensor; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)

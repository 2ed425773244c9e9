"""Modules and functions of PyTorch as functions of tensors: the same values and the same slopes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience import from_torch
from consilience.errors import DtypeError, GraphError, MissingRuleError, ShapeError

torch: Any = pytest.importorskip("torch")
nn, F = torch.nn, torch.nn.functional

V, M = np.array([0.3, -0.7, 1.2, 0.1]), np.arange(12.0).reshape(4, 3) / 7 - 0.6
P = M @ M.T + np.diag([0.5, 1.0, 1.5, 2.0])

EXPRESSIONS = """
v + 2 * m[:, 0]
torch.relu(v) + F.gelu(v) + F.silu(v) + F.softplus(v) + torch.tanh(v)
F.gelu(v, approximate="tanh") + F.elu(v) + F.leaky_relu(v) + F.mish(v) + F.selu(v) + F.logsigmoid(v)
torch.softmax(m, 0) + F.log_softmax(m, 1)
F.layer_norm(m, (3,))
torch.einsum("ij,kj->ik", m, m) @ p
torch.linalg.cholesky(p)
torch.linalg.solve_triangular(torch.linalg.cholesky(p), m, upper=False)
torch.cholesky_solve(m, torch.linalg.cholesky(p))
torch.cat([m, m + 1], 1).reshape(3, 8).T.flatten()
torch.stack([v, v * v], -1).permute(1, 0).expand(3, 2, 4)
m.mean(0) + m.sum(0) + m.amax(0) + m.var(0) + m.std(0) + m.prod(0) + torch.logsumexp(m, 0)
torch.where(m > 0, m, m.exp()).clamp(-0.2, 1.1)
torch.cumsum(m, 0) + torch.cumprod(m, 1)
m[torch.tensor([2, 0, 1])] + m[1:4] + m[0, None, 1]
torch.gather(m, 1, torch.tensor([[0, 2], [1, 1]]))
torch.lgamma(v.abs() + 1) + torch.digamma(v.abs() + 1) + torch.erf(v) + torch.erfinv(v / 2) + torch.xlogy(v, v.abs())
torch.special.ndtr(v) + torch.special.expit(v) + torch.logit(torch.sigmoid(v)) + torch.log1p(v * v) + torch.expm1(v)
torch.sin(v) * torch.cos(v) + torch.atan(v) + torch.asinh(v) + torch.rsqrt(v * v + 1) + torch.hypot(v, v + 3)
torch.fmod(v, 0.25) + torch.remainder(v, 0.25) + (v - v.detach()) + torch.special.xlog1py(v, v)
torch.tril(p) + torch.triu(p, 1) + torch.diag(v) + torch.eye(4, dtype=v.dtype)
torch.linalg.norm(m) + torch.trace(p) + torch.dot(v, v) + F.mse_loss(v, v * 2) + F.smooth_l1_loss(v, v * 3)
F.cross_entropy(m, torch.tensor([0, 2, 1, 1])) + F.nll_loss(m, torch.tensor([0, 2, 1, 1]), reduction="sum")
F.binary_cross_entropy_with_logits(v, torch.tensor([0.0, 1, 1, 0], dtype=v.dtype))
torch.distributions.Normal(v, v.exp()).log_prob(v + 1).sum()
torch.distributions.Gamma(v.exp(), v.exp() + 1).log_prob(v.abs())
torch.distributions.StudentT(v.exp() + 2, v, 1.5).log_prob(2 * v)
torch.distributions.Beta(v.exp(), v.exp() + 1).log_prob(torch.sigmoid(v))
torch.distributions.MultivariateNormal(v, scale_tril=torch.linalg.cholesky(p)).log_prob(v * 2)
torch.distributions.Categorical(logits=m).log_prob(torch.tensor([0, 2, 1, 1]))
torch.distributions.Bernoulli(logits=v).log_prob(torch.tensor([0.0, 1, 1, 0], dtype=v.dtype))
torch.distributions.Poisson(v.exp()).log_prob(torch.tensor([0.0, 1, 3, 2], dtype=v.dtype))
F.conv1d(m.T[None], m[None, :3, :2].transpose(1, 2).reshape(2, 3, 1), padding=1, stride=2)
F.conv2d(p[None, None], p[None, None, :2, :3], bias=v[:1], padding=1)
torch.sort(v, descending=True)[0] + v.max() - v.min(0)[0] + F.pad(v, (1, -1), value=3.0)
F.scaled_dot_product_attention(m[None], m[None] + 1, 2 * m[None], is_causal=True)
torch.cond(v.sum() > 0, lambda x: x * 2, lambda x: x.exp(), (v,))
""".strip().splitlines()


def both(function: Callable[..., Any], values: dict[str, Any], dtype: str) -> None:
    """Compare values and slopes of a function with PyTorch's own."""
    arrays = {n: np.asarray(x, dtype) for n, x in values.items()}
    theirs = [torch.tensor(x, requires_grad=True) for x in arrays.values()]
    wanted = function(*theirs)
    way = np.cos(np.arange(wanted.numel())).reshape(tuple(wanted.shape)).astype(dtype)
    slopes = torch.autograd.grad((wanted * torch.from_numpy(way)).sum(), theirs, allow_unused=True)
    leaves = [pt.tensor(n, shape=x.shape, dtype=dtype) for n, x in arrays.items()]
    out = from_torch(function, *arrays.values())(*leaves)
    ours = pt.grad(pt.sum(out * way), leaves, disconnected_inputs="ignore")
    assert out.dtype == dtype
    found = pt.function(leaves, [out, *ours], on_unused_input="ignore")(*arrays.values())
    nothing = [np.zeros_like(x) for x in arrays.values()]
    expected = [s.numpy() if s is not None else z for s, z in zip(slopes, nothing, strict=True)]
    rtol, atol = (1e-9, 1e-11) if dtype == "float64" else (1e-5, 1e-5)
    for own, right in zip(found, [wanted.detach().numpy(), *expected], strict=True):
        np.testing.assert_allclose(own, right, rtol=rtol, atol=atol)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_values_and_slopes_are_those_of_torch(text: str) -> None:
    both(eval(f"lambda v, m, p: {text}", {"torch": torch, "F": F}), {"v": V, "m": M, "p": P}, "float64")


class Attention(nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(7, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm, self.last = nn.LayerNorm(8), nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        hidden = self.words(torch.tensor([[1, 2, 3, 3]])) + x[..., None]
        hidden = self.norm(hidden + self.attention(hidden, hidden, hidden, need_weights=False)[0])
        return F.log_softmax(self.last(F.gelu(hidden)), -1)


MODELS: dict[str, Callable[[], Any]] = {
    "perceptron": lambda: nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1)),
    "normalised": lambda: nn.Sequential(
        nn.Linear(4, 6), nn.BatchNorm1d(6), nn.SiLU(), nn.LayerNorm(6), nn.Dropout(0.5)
    ),
    "attention": Attention,
    "encoder": lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True),
    "convolution": lambda: nn.Sequential(
        nn.Unflatten(1, (1, 4)), nn.Conv1d(1, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(9, 2)
    ),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", MODELS)
def test_networks_agree_with_torch(name: str, dtype: str) -> None:
    torch.manual_seed(1)
    net = MODELS[name]().to(getattr(torch, dtype)).eval()
    both(net, {"x": np.sin(np.arange(4.0)).reshape((1, 1, 4) if name == "encoder" else (1, 4))}, dtype)


def test_parameters_may_be_random_variables() -> None:
    """The network's density in its weights is that of PyTorch."""
    torch.manual_seed(2)
    net = nn.Sequential(nn.Linear(1, 5), nn.Tanh(), nn.Linear(5, 1)).double()
    x = np.linspace(-2, 2, 20)[:, None]
    mean = from_torch(net, x)
    with pm.Model() as model:
        weights = {n: pm.Normal(n.replace(".", "_"), shape=w.shape) for n, w in mean.parameters.items()}  # type: ignore[attr-defined]
        pm.Normal("y", mean(x, parameters=weights), 0.1, observed=np.sin(x))
    point = {n.replace(".", "_"): w for n, w in mean.parameters.items()}  # type: ignore[attr-defined]
    normal = torch.distributions.Normal
    right = normal(net(torch.tensor(x)), 0.1).log_prob(torch.tensor(np.sin(x))).sum()
    right = right + sum(normal(0.0, 1.0).log_prob(w).sum() for w in net.parameters())
    np.testing.assert_allclose(model.compile_logp()(point), right.item(), rtol=1e-9)
    slopes = torch.autograd.grad(right, list(net.parameters()))
    wanted = np.concatenate([s.numpy().ravel() for s in slopes])
    np.testing.assert_allclose(model.compile_dlogp()(point), wanted, rtol=1e-9, atol=1e-10)


def test_parameters_not_given_are_constants_that_stay() -> None:
    net = nn.Linear(2, 1).double()
    before = net(torch.ones(2, dtype=torch.float64)).item()
    translated = from_torch(net, np.ones(2))
    with torch.no_grad():
        net.weight.fill_(9.0)
    np.testing.assert_allclose(translated(np.ones(2)).eval(), [before])


def refused(function: Any, *examples: Any) -> str:
    with pytest.raises((MissingRuleError, GraphError)) as caught:
        from_torch(function, *examples)
    return str(caught.value)


def test_what_has_no_translation_is_refused_by_name_and_line() -> None:
    here = "test_torch_functions.py"
    found = refused(lambda v: torch.linalg.eigvals(v.outer(v)).real, V)
    assert "eig" in found
    assert here in found
    found = refused(lambda v: v + torch.rand(4), V)
    assert "rand" in found
    assert here in found
    assert "Draw beforehand" in found
    assert "torch.where" in refused(lambda v: v if v.sum() > 0 else -v, V)
    assert "torch.where" in refused(lambda v: v[v > 0], V)
    assert ".eval()" in refused(nn.BatchNorm1d(3).double(), M)
    assert "`.eval()`" in refused(nn.Dropout(0.5).double(), V)


def test_other_arguments_are_refused() -> None:
    translated = from_torch(nn.Linear(4, 2).double(), V)
    with pytest.raises(ShapeError, match="argument 0 of `Linear`"):
        translated(np.ones(3))
    with pytest.raises(DtypeError, match="float64"):
        translated(pt.tensor(shape=(4,), dtype="complex128"))
    with pytest.raises(GraphError, match="bias"):
        translated(V, parameters={"weights": np.ones((2, 4))})
    with pytest.raises(ShapeError, match="parameter 'weight'"):
        translated(V, parameters={"weight": np.ones((4, 2))})
    with pytest.raises(GraphError, match="1 arguments"):
        translated(V, V)


def test_code_in_place_and_nested_arguments_are_translated() -> None:
    def function(inputs: dict[str, Any], power: int) -> dict[str, Any]:
        out = torch.zeros(4, dtype=torch.float64)
        out[1:3] = inputs["v"][:2] ** power
        out += 1
        return {"out": out, "double": [inputs["v"] * 2]}

    found = from_torch(function, {"v": V}, 3)({"v": V}, 3)
    np.testing.assert_allclose(found["out"].eval(), [1, 1 + V[0] ** 3, 1 + V[1] ** 3, 1])
    np.testing.assert_allclose(found["double"][0].eval(), 2 * V)


def test_derivatives_that_the_translation_would_lose_are_refused() -> None:
    """Those of an author's own, and those that `no_grad` keeps from passing."""

    class Altered(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x**2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 100 * g

    def constant(x: Any) -> Any:
        with torch.no_grad():
            factor = 2 * x
        return (factor * x).sum()

    with pytest.raises(MissingRuleError, match=r"`Altered` is a `torch\.autograd\.Function`"):
        pm.from_torch(lambda x: Altered.apply(x).sum(), np.ones(3))
    assert Altered.apply(torch.ones(3)).sum() == 3
    x = pt.vector("x", shape=(3,))
    called = pm.from_torch(lambda x: Altered.apply(x).sum(), np.ones(3), opaque=True)(x)
    value, slope = pm.function([x], [called, pt.grad(called, x)])(np.arange(3.0))
    assert value == 5.0
    np.testing.assert_array_equal(slope, 100.0)
    with pytest.raises(MissingRuleError, match=r"computes under `torch\.no_grad\(\)`.*write `\.detach\(\)`"):
        pm.from_torch(constant, np.ones(3))


def test_a_module_that_is_called_as_it_is() -> None:
    """Values, first derivatives and parameters are PyTorch's; nested results and whole numbers pass."""

    class Odd(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Linear(3, 2).double()

        def forward(self, x: Any, scale: float, k: Any) -> Any:
            found = torch.linalg.svdvals(self.inner(x) + k[:, None])
            if float(found[0].detach()) > 1e6:  # a branch that `torch.export` refuses
                found = found * 0
            return {"values": found * scale, "count": k.sum()}

    module, rng = Odd(), np.random.default_rng(0)
    x, k = rng.normal(size=(4, 3)), np.arange(4)
    with pytest.raises(GraphError, match="opaque=True"):
        pm.from_torch(module, x, 2.0, k)
    translated = pm.from_torch(module, x, 2.0, k, opaque=True)
    a, w = pt.matrix("a", shape=(4, 3)), pt.matrix("w", shape=(2, 3))
    found = translated(a, 2.0, k, parameters={"inner.weight": w})
    total = (found["values"] ** 2).sum()
    f = pm.function([a, w], [found["values"], found["count"], *pt.grad(total, [a, w])])
    given = [torch.tensor(v, requires_grad=True) for v in (x, 0.5 + rng.normal(size=(2, 3)))]
    wanted = torch.func.functional_call(
        module, {"inner.weight": given[1], "inner.bias": module.inner.bias}, (given[0], 2.0, torch.tensor(k))
    )
    slopes = torch.autograd.grad((wanted["values"] ** 2).sum(), given)
    results = f(*(g.detach().numpy() for g in given))
    for own, other in zip(results, [wanted["values"], wanted["count"], *slopes], strict=True):
        np.testing.assert_allclose(own, other.detach().numpy(), rtol=1e-12)
    with pytest.raises(GraphError, match=r"has no parameters \['outer'\]"):
        translated(a, 2.0, k, parameters={"outer": w})

"""Functions of PyTorch as people write them: values and derivatives are PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import consilience as pm
import consilience.tensor as pt
from consilience.errors import GraphError, MissingRuleError

torch = pytest.importorskip("torch")
pytest.importorskip("torch.export")

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(4, 4)), RNG.normal(size=(4, 4))
S = A @ A.T + 4 * np.eye(4)
V = np.array([1.5, 0.3, 2.2, 1.1])
X = RNG.normal(size=(2, 3, 8))  # a batch, channels, a line
I = RNG.normal(size=(1, 2, 6, 6))  # noqa: E741  (a batch, channels, a picture)
K2, K1 = torch.tensor(RNG.normal(size=(4, 2, 3, 3))), torch.tensor(RNG.normal(size=(3, 2, 3)))
P = torch.tensor([[0], [2], [2], [1]])
torch.manual_seed(0)
GRU, LSTM = (kind(3, 4, batch_first=True).double() for kind in (torch.nn.GRU, torch.nn.LSTM))
BILINEAR = torch.nn.Bilinear(4, 4, 2).double()
NORMS = torch.nn.GroupNorm(1, 3).double()

# What is evaluated, and the names of its arguments.
TABLE = {
    "torch.linalg.solve(S, V)": "SV", "torch.linalg.solve(S, A)": "SA", "torch.linalg.solve(S, A, left=False)": "SA",
    "torch.linalg.inv(S)": "S", "torch.linalg.det(A)": "A", "torch.linalg.slogdet(A)[1]": "A", "torch.logdet(S)": "S",
    "torch.linalg.eigh(S)[0]": "S", "torch.linalg.eigh(S)[1] ** 2": "S", "torch.linalg.eigvalsh(S)": "S",
    "torch.linalg.svdvals(A)": "A", "torch.linalg.svd(A, full_matrices=False)[0] ** 2": "A",
    "torch.linalg.qr(A)[1] ** 2": "A", "torch.linalg.pinv(A)": "A", "torch.linalg.matrix_exp(A)": "A",
    "torch.linalg.matrix_power(A, 3)": "A", "torch.cholesky_inverse(torch.linalg.cholesky(S))": "S",
    "torch.linalg.lu_solve(*torch.linalg.lu_factor(A), B)": "AB", "torch.linalg.norm(A)": "A", "torch.trace(A)": "A",
    "torch.linalg.matrix_norm(A, 'nuc')": "A", "torch.kron(A, B)": "AB", "torch.outer(V, V)": "V",
    "torch.linalg.cross(A[:, :3], B[:, :3])": "AB", "torch.einsum('ij,kj->ik', A, B)": "AB",
    "torch.tensordot(A, B, 1)": "AB", "torch.cdist(A, B)": "AB", "BILINEAR(A, B)": "AB",
    "F.max_pool1d(X, 2)": "X", "F.max_pool2d(I, 3, stride=2, padding=1)": "I", "F.avg_pool1d(X, 2)": "X",
    "F.avg_pool2d(I, 2, padding=1)": "I", "F.avg_pool2d(I, 3, padding=1, count_include_pad=False)": "I",
    "F.adaptive_avg_pool2d(I, 4)": "I", "F.adaptive_avg_pool1d(X, 3)": "X", "F.conv2d(I, K2, padding=1, stride=2)": "I",
    "F.conv2d(I, K2[:, :1], groups=2)": "I", "F.conv2d(I, K2, dilation=2)": "I",
    "F.conv_transpose1d(X, K1, stride=2, padding=1, output_padding=1)": "X",
    "F.interpolate(I, scale_factor=2)": "I", "F.interpolate(X, size=5)": "X",
    "F.interpolate(X, scale_factor=2, mode='linear')": "X", "V.unfold(0, 2, 1)": "V",
    "GRU(X.transpose(1, 2))[0]": "X", "LSTM(X.transpose(1, 2))[0]": "X", "NORMS(X)": "X", "F.instance_norm(X)": "X",
    "F.rms_norm(X, (8,))": "X", "F.layer_norm(X, (8,))": "X", "F.prelu(X, torch.tensor([0.2]).double())": "X",
    "torch.zeros(4, 4).double().scatter(1, P, A[:, :1])": "A",
    "torch.zeros(4, 4).double().scatter_add(1, P, A[:, :1])": "A",
    "torch.zeros(4).double().index_add(0, P[:, 0], V)": "V", "torch.take_along_dim(A, P, 1)": "A",
    "torch.logcumsumexp(V, 0)": "V", "torch.topk(V, 2)[0]": "V", "torch.median(V)": "V", "torch.median(A, 0)[0]": "A",
    "torch.quantile(V, 0.3)": "V", "torch.diff(V)": "V", "torch.diag_embed(V)": "V", "torch.roll(V, 1)": "V",
    "torch.meshgrid(V, V, indexing='ij')[0]": "V", "torch.searchsorted(torch.tensor([0.5, 1.2]).double(), V)": "V",
    "torch.bucketize(V, torch.tensor([0.5, 1.2]).double(), right=True)": "V", "torch.nan_to_num(V)": "V",
    "torch.polygamma(1, V)": "V", "torch.mvlgamma(V + 3, 2)": "V", "torch.logit(V / 10)": "V", "torch.sinc(V)": "V",
    "torch.special.erfcx(V)": "V", "torch.special.ndtri(V / 10)": "V", "torch.special.log_ndtr(V)": "V",
    "F.selu(V)": "V", "F.mish(V)": "V", "F.hardswish(V)": "V", "F.huber_loss(V, V ** 2)": "V",
    "F.smooth_l1_loss(V, V ** 2)": "V", "F.binary_cross_entropy_with_logits(V, V / 10)": "V",
    "F.cross_entropy(A, P[:, 0])": "A", "F.kl_div(V, V.exp())": "V", "F.cosine_similarity(A, B)": "AB",
    "F.pixel_shuffle(torch.cat([I, I], 1), 2)": "I", "torch.prod(A, 0)": "A", "torch.std(A, 0)": "A",
    "torch.amax(A, (0,))": "A", "torch.max(A, 0)[0]": "A", "A.min()": "A", "torch.logsumexp(A, 0)": "A",
    "A[torch.tril_indices(4, 4)[0], torch.tril_indices(4, 4)[1]]": "A",
    "torch.distributions.Beta(V, 2.0).log_prob(torch.tensor(0.3).double())": "V",
    "torch.distributions.StudentT(5.0, V, 2.0).log_prob(V ** 2)": "V",
    "torch.distributions.MultivariateNormal(V, S, validate_args=False).log_prob(A[0])": "VSA",
    "torch.distributions.Dirichlet(V).log_prob(torch.softmax(V, 0))": "V",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")  # PyTorch's own
@pytest.mark.parametrize("text", TABLE)
def test_values_and_slopes_are_those_of_pytorch(text: str) -> None:
    names = TABLE[text]
    scope = {**globals(), "F": torch.nn.functional}
    function = eval(f"lambda {', '.join(names)}: {text}", scope)
    arrays = [globals()[name] for name in names]
    leaves = [pt.tensor(name, shape=array.shape) for name, array in zip(names, arrays, strict=True)]
    found: Any = pm.from_torch(function, *arrays)(*leaves)
    given = [torch.tensor(array, requires_grad=True) for array in arrays]
    wanted = function(*given)
    np.testing.assert_allclose(pm.function(leaves, found)(*arrays), wanted.detach(), rtol=1e-9, atol=1e-11)
    if not wanted.requires_grad:
        return
    slopes = torch.autograd.grad(torch.tanh(wanted).sum(), given)
    own: Any = pm.function(leaves, pt.grad(pt.tanh(found).sum(), leaves))
    for slope, other in zip(own(*arrays), slopes, strict=True):
        np.testing.assert_allclose(slope, other, rtol=1e-7, atol=1e-9)


@pytest.mark.filterwarnings("ignore")  # PyTorch's own
@pytest.mark.parametrize(
    ("text", "name"), [("torch.cummax(V, 0)[0]", "cummax"), ("torch.max_pool1d(X, 3, ceil_mode=True)", "ceil_mode")]
)
def test_what_is_not_there_is_named_with_its_line(text: str, name: str) -> None:
    own = text[text.index("(") + 1]
    function = eval(f"lambda {own}: {text}", dict(globals()))
    with pytest.raises((MissingRuleError, GraphError), match=rf"`?{name}.*opaque=True"):
        pm.from_torch(function, globals()[own])

"""What cannot be read of PyTorch is told as what it is: by the op and its line, or by the module's own error."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

import consilience as pm
from consilience.errors import DtypeError, GraphError, MissingRuleError

torch: Any = pytest.importorskip("torch")
pytest.importorskip("torch.export")
nn, F = torch.nn, torch.nn.functional
pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's own
V, M = np.array([0.3, -0.7, 1.2, 0.1]), np.arange(12.0).reshape(4, 3) / 7 - 0.6
HERE = r".*test_torch_mistakes\.py"


def until_ten(v: Any) -> Any:
    while v.sum() < 10:
        v = v + 1
    return v


def missing_name(v: Any) -> Any:
    return v + not_there  # type: ignore[name-defined]  # noqa: F821


class Counting(nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(4, dtype=torch.float64))

    def forward(self, v: Any) -> Any:
        self.count += v
        return self.count * v


# What depends on values, writes elsewhere, draws, or has another dtype: the error, and what it says.
REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "branch": (lambda v: v if v.sum() > 0 else -v, GraphError, "torch.where.*opaque=True"),
    "loop": (until_ten, GraphError, "`until_ten`.*torch.while_loop"),
    "number of Python": (lambda v: v * float(v.sum()), GraphError, "torch.where"),
    "item": (lambda v: v * v.sum().item(), MissingRuleError, f"_local_scalar_dense.*{HERE}"),
    "length": (torch.nonzero, MissingRuleError, "nonzero"),
    "argument in place": (lambda v: v.add_(1), MissingRuleError, "give changed values as results"),
    "buffer in place": (Counting(), MissingRuleError, r"writes to 'count'.*`\.eval\(\)`"),
    "batch norm": (nn.BatchNorm1d(4).double(), MissingRuleError, r"running_mean.*`\.eval\(\)`"),
    "dropout": (nn.Dropout(0.5), MissingRuleError, r"`Dropout` draws at random.*native_dropout.*`\.eval\(\)`"),
    "uniform": (lambda v: v + torch.rand(4), MissingRuleError, f"rand.*{HERE}.*Draw beforehand"),
    "normal": (lambda v: torch.distributions.Normal(v, 1.0).rsample(), MissingRuleError, "normal.*Draw beforehand"),
    "bfloat16": (lambda v: v.bfloat16().double(), DtypeError, f"_to_copy.*{HERE}.* has the dtype bfloat16"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_translation_says_why(name: str) -> None:
    function, kind, told = REFUSED[name]
    given = np.outer(V, V) if name == "batch norm" else V
    with pytest.raises(kind, match=told):
        pm.from_torch(function, given)


# What goes wrong in the module, or with its arguments: PyTorch's and Python's own errors.
MISTAKES: dict[str, tuple[Any, tuple[Any, ...], type[Exception], str]] = {
    "name": (missing_name, (V,), NameError, "not_there"),
    "attribute": (lambda v: v.not_there, (V,), AttributeError, "not_there"),
    "file": (lambda v: pathlib.Path("/not/there").read_text(), (V,), FileNotFoundError, "not/there"),
    "shapes": (lambda v: v @ torch.ones(7, dtype=v.dtype), (V,), RuntimeError, "4 and 7"),
    "dtypes": (lambda v: v @ torch.ones(4), (V,), RuntimeError, "same dtype"),
    "arrays": (lambda v: torch.from_numpy(np.sin(v.numpy())), (V,), RuntimeError, "numpy"),
    "too few": (lambda v, w: v, (V,), TypeError, "missing 1 required"),
    "object": (lambda v, w: v, (V, object()), ValueError, "object"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_errors_of_the_module_itself_stay_what_they_are(name: str) -> None:
    function, given, kind, told = MISTAKES[name]
    with pytest.raises(kind, match=told) as caught:
        pm.from_torch(function, *given)
    assert not isinstance(caught.value, GraphError | MissingRuleError)
    assert "on tensors without values" in caught.value.__notes__[0]


def test_arguments_of_dtypes_that_tensors_do_not_hold_are_refused() -> None:
    with pytest.raises(DtypeError, match="bfloat16, which tensors do not hold"):
        pm.from_torch(lambda v: 2 * v, torch.ones(3, dtype=torch.bfloat16))
    with pytest.raises(TypeError, match="`module` must be a function"):
        pm.from_torch(3, V)
    with pytest.raises(TypeError, match="supported types"):
        pm.from_torch(lambda v: 2 * v, np.array(["a"]))


def test_modules_in_training_without_effects_are_translated() -> None:
    """Code in place on the module's own intermediate values, and layers for which training changes nothing."""

    def altered(v: Any) -> Any:
        w = v.clone()
        w[1:3] *= 2
        return w.mul_(3)

    np.testing.assert_allclose(pm.from_torch(altered, V)(V).eval(), 3 * V * [1, 2, 2, 1])  # type: ignore[operator]
    net = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3), nn.Dropout(0.0)).double().train()
    np.testing.assert_allclose(pm.from_torch(net, M)(M).eval(), net(torch.tensor(M)).detach(), rtol=1e-12, atol=1e-12)

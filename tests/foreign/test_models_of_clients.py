"""Models that libraries build have the same density and gradient here, or are refused by the name of what is missing.

`python -m pytest -m slow tests/foreign/test_models_of_clients.py`, in an environment with the libraries, counts them.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

from consilience.errors import MissingRuleError
from consilience.foreign import from_pymc
from tests.foreign.models_of_clients import MODELS
from tests.foreign.test_pymc import compared, double_precision

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # the libraries' own warnings

UP_TO_A_CONSTANT: Final = {"causalpy_instrument"}  # PyMC before 6.4 leaves one out of densities of Lewandowski et al.
REFUSED: Final = {"extras_marginalised_mixture": "marginalised variables have no translation"}


def built(name: str) -> Any:
    """The model, where its library is there."""
    pytest.importorskip("pymc")
    try:
        with double_precision():
            return MODELS[name]()
    except (ImportError, AttributeError) as error:
        pytest.skip(f"its library cannot be imported: {error}")


@pytest.mark.parametrize("name", [name for name in MODELS if name not in REFUSED])
def test_densities_and_gradients_of_models_of_clients_are_pymcs(name: str) -> None:
    theirs = built(name)
    compared(theirs, from_pymc(theirs), count=3, normalised=name in UP_TO_A_CONSTANT, tolerance=1e-8)


@pytest.mark.parametrize("name", REFUSED)
def test_models_of_clients_without_translation_are_refused_by_name(name: str) -> None:
    with pytest.raises(MissingRuleError, match=REFUSED[name]):
        from_pymc(built(name))

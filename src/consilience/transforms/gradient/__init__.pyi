"""Written by `python tools/names.py` from the tables of gradient.py; not to be edited."""

from consilience.transforms.gradient.scalar import NO_DERIVATIVE as NO_DERIVATIVE
from consilience.transforms.gradient.table import PULLBACKS as PULLBACKS
from consilience.transforms.gradient.scalar import SCALAR_PULLBACKS as SCALAR_PULLBACKS
from consilience.transforms.gradient.derived import connected as connected
from consilience.transforms.gradient.derived import gradient as gradient
from consilience.transforms.gradient.derived import hessian as hessian
from consilience.transforms.gradient.derived import hessian_vector_product as hessian_vector_product
from consilience.transforms.gradient.derived import jacobian as jacobian
from consilience.transforms.gradient.table import missing as missing
from consilience.transforms.gradient.derived import pullback as pullback
from consilience.transforms.gradient.derived import pushforward as pushforward
from consilience.transforms.gradient.derived import value_and_gradient as value_and_gradient

__all__: list[str]

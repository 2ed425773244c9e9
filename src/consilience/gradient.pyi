"""Written by `python tools/names.py` from the tables of gradient.py; not to be edited."""

from consilience.errors import DisconnectedInputError as DisconnectedInputError
from consilience.tensor.python_ops import DisconnectedType as DisconnectedType
from consilience.errors import GradientError as GradientError
from consilience.tensor.differentiation import Lop as Lop
from consilience.errors import NullTypeGradError as NullTypeGradError
from consilience.tensor.differentiation import Rop as Rop
from consilience.tensor.differentiation import consider_constant as consider_constant
from consilience.tensor.formulas import stop_gradient as _disconnected_grad
from consilience.tensor.python_ops import disconnected_type as disconnected_type
from consilience.tensor.differentiation import grad as grad
from consilience.tensor.differentiation import grad_clip as grad_clip
from consilience.tensor.python_ops import grad_not_implemented as grad_not_implemented
from consilience.tensor.differentiation import grad_scale as grad_scale
from consilience.tensor.python_ops import grad_undefined as grad_undefined
from consilience.tensor.differentiation import hessian as hessian
from consilience.tensor.differentiation import hessian_vector_product as hessian_vector_product
from consilience.tensor.differentiation import jacobian as jacobian
from consilience.tensor.differentiation import pullback as pullback
from consilience.tensor.differentiation import pushforward as pushforward
from consilience.tensor.differentiation import undefined_grad as undefined_grad
from consilience.tensor.verification import verify_grad as verify_grad
from consilience.tensor.differentiation import zero_grad as zero_grad

disconnected_grad = _disconnected_grad

__all__: list[str]

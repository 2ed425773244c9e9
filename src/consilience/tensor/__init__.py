"""The public names of tensors: PyTensor's and NumPy's vocabulary over the expression graph.

`import consilience.tensor as pt`. Everything here builds frozen, interned expressions; `function` and
`.eval()` compute them. Each name is written where its function is; this file only gathers.
"""

import typing
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType

from consilience.backends.contexts import Context as Context
from consilience.backends.contexts import shared as shared
from consilience.backends.evaluation import eval as eval
from consilience.backends.function import Function as Function
from consilience.backends.function import function as function
from consilience.backends.printing import dprint as dprint
from consilience.ir import Node as _Node
from consilience.ir import TensorType as TensorType
from consilience.ir.settings import config as config
from consilience.names import module_paths as _module_paths
from consilience.names.absent import refuse_elsewhere as _refuse_elsewhere
from consilience.ops.arrangement import diagonal as diagonal
from consilience.ops.arrangement import dimshuffle as dimshuffle
from consilience.ops.arrangement import flatten as flatten
from consilience.ops.arrangement import full_like as full_like
from consilience.ops.arrangement import repeat as repeat
from consilience.ops.arrangement import take as take
from consilience.ops.arrangement import take_along_axis as take_along_axis
from consilience.ops.arrangement import trace as trace
from consilience.ops.complex_numbers import angle as angle
from consilience.ops.complex_numbers import complex as complex
from consilience.ops.complex_numbers import complex_from_polar as complex_from_polar
from consilience.ops.complex_numbers import conj as conj
from consilience.ops.complex_numbers import imag as imag
from consilience.ops.complex_numbers import real as real
from consilience.ops.control import cond as cond
from consilience.ops.control import ifelse as ifelse
from consilience.ops.elementwise import TensorLike as TensorLike
from consilience.ops.elementwise import cast as cast
from consilience.ops.index import argwhere as argwhere
from consilience.ops.index import flatnonzero as flatnonzero
from consilience.ops.linalg import dot as dot
from consilience.ops.linalg import matmul as matmul
from consilience.ops.linalg import matrix_transpose as matrix_transpose
from consilience.ops.linalg import outer as outer
from consilience.ops.linalg import tensordot as tensordot
from consilience.ops.notation import clip as clip
from consilience.ops.notation import float_power as float_power
from consilience.ops.notation import power as power
from consilience.ops.notation import shape_of as _shape_of
from consilience.ops.order import argsort as argsort
from consilience.ops.order import searchsorted as searchsorted
from consilience.ops.order import sort as sort
from consilience.ops.reductions import all as all
from consilience.ops.reductions import any as any
from consilience.ops.reductions import argmax as argmax
from consilience.ops.reductions import argmin as argmin
from consilience.ops.reductions import cumprod as cumprod
from consilience.ops.reductions import cumsum as cumsum
from consilience.ops.reductions import logsumexp as logsumexp
from consilience.ops.reductions import max as max
from consilience.ops.reductions import mean as mean
from consilience.ops.reductions import min as min
from consilience.ops.reductions import prod as prod
from consilience.ops.reductions import ptp as ptp
from consilience.ops.reductions import std as std
from consilience.ops.reductions import sum as sum
from consilience.ops.reductions import var as var
from consilience.ops.shape import arange as arange
from consilience.ops.shape import broadcast_arrays as broadcast_arrays
from consilience.ops.shape import broadcast_to as broadcast_to
from consilience.ops.shape import concatenate as concatenate
from consilience.ops.shape import expand_dims as expand_dims
from consilience.ops.shape import eye as eye
from consilience.ops.shape import full as full
from consilience.ops.shape import moveaxis as moveaxis
from consilience.ops.shape import reshape as reshape
from consilience.ops.shape import squeeze as squeeze
from consilience.ops.shape import stack as stack
from consilience.ops.shape import swapaxes as swapaxes
from consilience.tensor import array_functions as array_functions
from consilience.tensor import elementwise as _elementwise
from consilience.tensor import extra_ops as extra_ops
from consilience.tensor import inputs as _inputs
from consilience.tensor import keywords
from consilience.tensor import linalg as linalg
from consilience.tensor import nlinalg as nlinalg
from consilience.tensor import slinalg as slinalg
from consilience.tensor import special as special
from consilience.tensor.arrangement import *
from consilience.tensor.branches import *
from consilience.tensor.construction import *
from consilience.tensor.counting import *
from consilience.tensor.differentiation import grad as grad
from consilience.tensor.differentiation import gradient as gradient
from consilience.tensor.differentiation import hessian as hessian
from consilience.tensor.differentiation import jacobian as jacobian
from consilience.tensor.differentiation import value_and_grad as value_and_grad
from consilience.tensor.einstein import *
from consilience.tensor.formulas import *
from consilience.tensor.functions import *
from consilience.tensor.gamma_functions import *
from consilience.tensor.gathering import *
from consilience.tensor.inputs import tensor as tensor
from consilience.tensor.joining import *
from consilience.tensor.linalg import cholesky as cholesky
from consilience.tensor.linalg import det as det
from consilience.tensor.linalg import inv as inv
from consilience.tensor.linalg import slogdet as slogdet
from consilience.tensor.linalg import solve as solve
from consilience.tensor.linalg import solve_triangular as solve_triangular
from consilience.tensor.loops import *
from consilience.tensor.ordering import *
from consilience.tensor.packing import *
from consilience.tensor.padding import *
from consilience.tensor.piecewise_linear import *
from consilience.tensor.products import *
from consilience.tensor.quantiles import *
from consilience.tensor.reduction import *
from consilience.transforms.vectorize import axis_index as axis_index
from consilience.transforms.vectorize import pmax as pmax
from consilience.transforms.vectorize import pmean as pmean
from consilience.transforms.vectorize import pmin as pmin
from consilience.transforms.vectorize import psum as psum
from consilience.transforms.vectorize import vectorize_function as _vectorize_function
from consilience.transforms.vectorize import vmap as vmap

# Functions of tables are made, with their docstrings, when they are first used.
_MADE_ON_USE = dict.fromkeys(_elementwise.ROWS, _elementwise) | dict.fromkeys(vars(_inputs)["__all__"][1:], _inputs)

_refuse_elsewhere(_Node)
as_tensor = as_tensor_variable
concat = concatenate
conjugate = conj
pow = power
shape = _shape_of
TensorVariable = _Node
Variable = _Node
vectorize = _vectorize_function

# Loaded when asked for: most expressions do without, and `random` loads distributions.
_ON_USE = ("fft", "interpolate", "optimize", "random", "signal")

if typing.TYPE_CHECKING:
    from consilience.tensor import fft as fft
    from consilience.tensor import interpolate as interpolate
    from consilience.tensor import optimize as optimize
    from consilience.tensor import random as random
    from consilience.tensor import signal as signal
    from consilience.tensor.elementwise import *
    from consilience.tensor.inputs import *
    from consilience.tensor.python_ops import Op as Op
    from consilience.tensor.python_ops import as_op as as_op
    from consilience.tensor.python_ops import wrap_py as wrap_py
else:  # type checkers know by themselves what is not there

    def __getattr__(name: str) -> object:
        if name in _ON_USE:
            return _import_module(f"{__name__}.{name}")
        if name in ("Op", "as_op", "wrap_py"):
            return keywords.guarded(getattr(_import_module(f"{__name__}.python_ops"), name))
        home = _MADE_ON_USE.get(name)
        if home is not None:
            found = globals()[name] = keywords.published(getattr(home, name), __name__, name)
            return found
        return _module_paths.attribute(__name__, name, __all__)


keywords.export(
    globals(),
    " ".join(
        name
        for name, thing in globals().items()
        if not name.startswith("_")
        and (not isinstance(thing, _ModuleType) or name.endswith(("extra_ops", "linalg", "special")))
    ),
    wrap=True,
)
globals()["__all__"] = sorted({*globals()["__all__"], *_MADE_ON_USE, *_ON_USE, "Op", "as_op", "wrap_py"})


def __dir__() -> list[str]:
    return sorted({*globals(), *globals()["__all__"]})

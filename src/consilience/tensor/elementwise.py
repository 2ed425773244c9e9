"""Scalar functions under PyTensor's and NumPy's names; each is one row of the scalar table."""

from __future__ import annotations

from collections.abc import Callable

from consilience.ir import Node
from consilience.ops.elementwise import StopGradient, TensorLike, apply, as_tensor
from consilience.ops.scalar import TABLE


def _function(row: str, name: str | None = None) -> Callable[..., Node]:
    arity = TABLE[row].arity

    def call(*arguments: TensorLike) -> Node:
        return apply(row, *arguments)

    call.__name__ = call.__qualname__ = name or row
    takes = f"{arity} argument{'s' if arity != 1 else ''}" if arity else "two or more arguments"
    call.__doc__ = f"Elementwise `{row}` of {takes}, with NumPy's broadcasting and dtype promotion."
    return call


add = _function("add")
mul = _function("mul")
sub = _function("sub")
true_div = _function("true_div")
floor_div = _function("floor_div")
mod = _function("mod")
fmod = _function("fmod")
neg = _function("neg")
abs = _function("abs")
sign = _function("sign")
square = _function("square")
sqrt = _function("sqrt")
cbrt = _function("cbrt")
reciprocal = _function("reciprocal")
minimum = _function("minimum")
maximum = _function("maximum")
fmin = _function("fmin")
fmax = _function("fmax")
floor = _function("floor")
ceil = _function("ceil")
trunc = _function("trunc")
round = _function("round")
copysign = _function("copysign")
heaviside = _function("heaviside")
hypot = _function("hypot")
exp = _function("exp")
exp2 = _function("exp2")
expm1 = _function("expm1")
log = _function("log")
log2 = _function("log2")
log10 = _function("log10")
log1p = _function("log1p")
logaddexp = _function("logaddexp")
logaddexp2 = _function("logaddexp2")
log1mexp = _function("log1mexp")
softplus = _function("softplus")
sigmoid = _function("sigmoid")
logit = _function("logit")
xlogy = _function("xlogy")
xlog1py = _function("xlog1py")
sin = _function("sin")
cos = _function("cos")
tan = _function("tan")
arcsin = _function("arcsin")
arccos = _function("arccos")
arctan = _function("arctan")
arctan2 = _function("arctan2")
sinh = _function("sinh")
cosh = _function("cosh")
tanh = _function("tanh")
arcsinh = _function("arcsinh")
arccosh = _function("arccosh")
arctanh = _function("arctanh")
deg2rad = _function("deg2rad")
rad2deg = _function("rad2deg")
erf = _function("erf")
erfc = _function("erfc")
erfcx = _function("erfcx")
erfinv = _function("erfinv")
ndtri = _function("ndtri")
log_ndtr = _function("log_ndtr")
gammaln = _function("gammaln")
digamma = _function("digamma")
trigamma = _function("trigamma")
gammainc = _function("gammainc")
gammaincc = _function("gammaincc")
betainc = _function("betainc")
gammaincinv = _function("gammaincinv")
gammainccinv = _function("gammainccinv")
betaincinv = _function("betaincinv")
betainccinv = _function("betainccinv")
eq = _function("eq")
neq = _function("neq")
lt = _function("lt")
le = _function("le")
gt = _function("gt")
ge = _function("ge")
isnan = _function("isnan")
isinf = _function("isinf")
isfinite = _function("isfinite")
signbit = _function("signbit")
logical_and = _function("logical_and")
logical_or = _function("logical_or")
logical_xor = _function("logical_xor")
logical_not = _function("logical_not")
bitwise_and = _function("bitwise_and")
bitwise_or = _function("bitwise_or")
bitwise_xor = _function("bitwise_xor")
invert = _function("invert")
left_shift = _function("left_shift")
right_shift = _function("right_shift")
where = _function("where")

# Other spellings, PyTensor's and NumPy's.
absolute = abs
and_ = bitwise_and
divide = true_div
equal = eq
expit = sigmoid
greater = gt
greater_equal = ge
invlogit = sigmoid
less = lt
less_equal = le
multiply = mul
negative = neg
not_equal = neq
or_ = bitwise_or
psi = digamma
sgn = sign
sqr = square
subtract = sub
switch = where
xor = bitwise_xor


def stop_gradient(value: TensorLike) -> Node:
    """The value itself, treated as a constant by derivatives."""
    return Node(StopGradient(), as_tensor(value))

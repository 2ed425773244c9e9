"""The scalar functions as functions of patterns, so that rules read like mathematics."""

from __future__ import annotations

from consilience.rewrite.pattern import function, numbers, wildcards

abs_ = function("abs")
cosh = function("cosh")
digamma = function("digamma")
erf = function("erf")
erfc = function("erfc")
erfcx = function("erfcx")
exp = function("exp")
expm1 = function("expm1")
gammaln = function("gammaln")
less = function("lt")
log = function("log")
log1mexp = function("log1mexp")
log1p = function("log1p")
log2 = function("log2")
log10 = function("log10")
logaddexp = function("logaddexp")
logical_and = function("logical_and")
logical_not = function("logical_not")
logical_or = function("logical_or")
logit = function("logit")
log_ndtr = function("log_ndtr")
maximum = function("maximum")
minimum = function("minimum")
pow_ = function("pow")
reciprocal = function("reciprocal")
sigmoid = function("sigmoid")
sign = function("sign")
sinh = function("sinh")
softplus = function("softplus")
sqrt = function("sqrt")
square = function("square")
tanh = function("tanh")
true_div = function("true_div")
where = function("where")
xlogy = function("xlogy")
xlog1py = function("xlog1py")

x, y, z = wildcards("x y z")
c, d = numbers("c d")

# Where a left side has a value at infinity only as a limit.
FINITE = (-1e300, 1e300)

"""`pt.special`: functions that SciPy keeps in `scipy.special`, under its names."""

from __future__ import annotations

from types import FunctionType as _FunctionType
from typing import TYPE_CHECKING

from consilience.ops.reductions import logsumexp as logsumexp
from consilience.tensor import keywords as _keywords
from consilience.tensor.elementwise import betainc as betainc
from consilience.tensor.elementwise import betainccinv as betainccinv
from consilience.tensor.elementwise import betaincinv as betaincinv
from consilience.tensor.elementwise import betaln as betaln
from consilience.tensor.elementwise import dawsn as dawsn
from consilience.tensor.elementwise import digamma as digamma
from consilience.tensor.elementwise import ellipe as ellipe
from consilience.tensor.elementwise import ellipk as ellipk
from consilience.tensor.elementwise import erf as erf
from consilience.tensor.elementwise import erfc as erfc
from consilience.tensor.elementwise import erfcx as erfcx
from consilience.tensor.elementwise import erfinv as erfinv
from consilience.tensor.elementwise import exp1 as exp1
from consilience.tensor.elementwise import expi as expi
from consilience.tensor.elementwise import expit as expit
from consilience.tensor.elementwise import expn as expn
from consilience.tensor.elementwise import gamma as gamma
from consilience.tensor.elementwise import gammainc as gammainc
from consilience.tensor.elementwise import gammaincc as gammaincc
from consilience.tensor.elementwise import gammainccinv as gammainccinv
from consilience.tensor.elementwise import gammaincinv as gammaincinv
from consilience.tensor.elementwise import gammaln as gammaln
from consilience.tensor.elementwise import hyp1f1 as hyp1f1
from consilience.tensor.elementwise import hyp2f1 as hyp2f1
from consilience.tensor.elementwise import i0 as i0
from consilience.tensor.elementwise import i0e as i0e
from consilience.tensor.elementwise import i1 as i1
from consilience.tensor.elementwise import i1e as i1e
from consilience.tensor.elementwise import iv as iv
from consilience.tensor.elementwise import ive as ive
from consilience.tensor.elementwise import j0 as j0
from consilience.tensor.elementwise import j1 as j1
from consilience.tensor.elementwise import jv as jv
from consilience.tensor.elementwise import k0 as k0
from consilience.tensor.elementwise import k0e as k0e
from consilience.tensor.elementwise import k1 as k1
from consilience.tensor.elementwise import k1e as k1e
from consilience.tensor.elementwise import kn as kn
from consilience.tensor.elementwise import kv as kv
from consilience.tensor.elementwise import kve as kve
from consilience.tensor.elementwise import log_expit as log_expit
from consilience.tensor.elementwise import log_ndtr as log_ndtr
from consilience.tensor.elementwise import logaddexp2 as logaddexp2
from consilience.tensor.elementwise import logit as logit
from consilience.tensor.elementwise import ndtri as ndtri
from consilience.tensor.elementwise import ndtri_exp as ndtri_exp
from consilience.tensor.elementwise import owens_t as owens_t
from consilience.tensor.elementwise import psi as psi
from consilience.tensor.elementwise import spence as spence
from consilience.tensor.elementwise import trigamma as trigamma
from consilience.tensor.elementwise import xlog1py as xlog1py
from consilience.tensor.elementwise import xlogy as xlogy
from consilience.tensor.elementwise import y0 as y0
from consilience.tensor.elementwise import y1 as y1
from consilience.tensor.elementwise import yv as yv
from consilience.tensor.formulas import erfcinv as erfcinv
from consilience.tensor.formulas import logaddexp as logaddexp
from consilience.tensor.formulas import logdiffexp as logdiffexp
from consilience.tensor.formulas import sici as sici
from consilience.tensor.formulas import sinc as sinc
from consilience.tensor.formulas import xlogx as xlogx
from consilience.tensor.formulas import xlogy0 as xlogy0
from consilience.tensor.gamma_functions import beta as beta
from consilience.tensor.gamma_functions import binom as binom
from consilience.tensor.gamma_functions import chi2sf as chi2sf
from consilience.tensor.gamma_functions import comb as comb
from consilience.tensor.gamma_functions import factorial as factorial
from consilience.tensor.gamma_functions import gammal as gammal
from consilience.tensor.gamma_functions import gammau as gammau
from consilience.tensor.gamma_functions import multigammaln as multigammaln
from consilience.tensor.gamma_functions import poch as poch
from consilience.tensor.gamma_functions import polygamma as polygamma
from consilience.tensor.gamma_functions import zeta as zeta
from consilience.tensor.reduction import log_softmax as log_softmax
from consilience.tensor.reduction import softmax as softmax

if not TYPE_CHECKING:  # type checkers know by themselves what is not there

    def __getattr__(name: str) -> object:
        raise _keywords.missing(__name__, name)


_keywords.export(
    globals(),
    " ".join(n for n, thing in globals().items() if isinstance(thing, _FunctionType) and not n.startswith("_")),
    wrap=True,
)

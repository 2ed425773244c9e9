"""`pt.special`: functions that SciPy keeps in `scipy.special`, under its names."""

from consilience.first_use import load_on_use
from consilience.tensor.keywords import published

load_on_use(
    __name__,
    {
        "consilience.ops.reductions": "logsumexp",
        "elementwise": """
            betainc betainccinv betaincinv betaln dawsn digamma ellipe ellipk erf erfc erfcx erfinv exp1 expi expit
            expn gamma gammainc gammaincc gammainccinv gammaincinv gammaln hyp1f1 hyp2f1 i0 i0e i1 i1e iv ive j0 j1 jv
            k0 k0e k1 k1e kn kv kve log_expit log_ndtr logaddexp2 logit ndtri ndtri_exp owens_t psi spence trigamma
            xlog1py xlogy y0 y1 yv
        """,
        "formulas": "erfcinv logaddexp logdiffexp sici sinc xlogx xlogy0",
        "gamma_functions": "beta binom chi2sf comb factorial gammal gammau multigammaln poch polygamma zeta",
        "reduction": "log_softmax softmax",
    },
    publish=published,
)

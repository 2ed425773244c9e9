"""Sequential Monte Carlo: particles that go from the prior to the posterior in steps, and evidences.

A model in; labelled draws and the log marginal likelihood with its error out.
"""

from consilience.first_use import load_on_use

load_on_use(
    __name__,
    {
        "bridge": "log_marginal_likelihood",
        "hamiltonian": "HMC",
        "moves": "IMH MH",
        "nested": "sample_nested",
        "sampling": "resume sample_smc",
        "streaming": "assimilate",
    },
    public=True,
)

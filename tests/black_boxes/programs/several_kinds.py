"""A decomposition behind `as_op`: two results of different kinds, one of a length that depends on the input."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.compile.ops import as_op


@as_op(itypes=[pt.dmatrix], otypes=[pt.dvector, pt.lscalar])
def spectrum(matrix):
    values = np.linalg.eigvalsh(matrix)
    return values, np.array((values > 1.0).sum(), dtype="int64")


with pm.Model() as model:
    diagonal = pm.HalfNormal("diagonal", 1.0, shape=4)
    coupling = pm.Normal("coupling", 0.0, 0.3)
    values, above = spectrum(pt.diag(diagonal) + coupling)
    pm.Deterministic("above", above)
    pm.Normal("levels", mu=values, sigma=0.3, observed=np.array([0.2, 0.7, 1.4, 2.2]))
    pm.Potential("few", -0.1 * above)

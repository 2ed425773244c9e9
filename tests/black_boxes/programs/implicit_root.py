"""The root of an equation by SciPy; the implicit derivative uses the result of the op."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from scipy.optimize import brentq


def excess(anomaly, e, mean):
    return anomaly - e * np.sin(anomaly) - mean


class KeplerOp(Op):
    """The eccentric anomaly E - e sin(E) = M of one planet at many mean anomalies."""

    __props__ = ()

    def make_node(self, mean, eccentricity):
        mean = pt.as_tensor_variable(mean)
        eccentricity = pt.as_tensor_variable(eccentricity)
        return Apply(self, [mean, eccentricity], [mean.type()])

    def perform(self, node, inputs, outputs):
        means, e = inputs
        outputs[0][0] = np.array([brentq(excess, m - 1.1, m + 1.1, args=(e, m), xtol=1e-14) for m in means])

    def infer_shape(self, node, shapes):
        return [shapes[0]]

    def L_op(self, inputs, outputs, output_grads):
        (_, e), (E,), (g,) = inputs, outputs, output_grads
        slope = 1 / (1 - e * pt.cos(E))
        return [g * slope, pt.sum(g * slope * pt.sin(E))]


kepler = KeplerOp()
TIMES = np.linspace(0.0, 3.0, 12)
VELOCITY = np.array([31.0, 20.1, 6.2, -8.0, -17.9, -19.5, -14.9, -4.2, 10.8, 26.1, 31.9, 24.0])

with pm.Model() as model:
    period = pm.LogNormal("period", np.log(2.9), 0.05)
    eccentricity = pm.Beta("eccentricity", 2.0, 5.0)
    amplitude = pm.HalfNormal("amplitude", 30.0)
    offset = pm.Normal("offset", 0.0, 10.0)
    anomaly = kepler(2 * np.pi * TIMES / period, eccentricity)
    true = 2 * pt.arctan2(
        pt.sqrt(1 + eccentricity) * pt.sin(anomaly / 2), pt.sqrt(1 - eccentricity) * pt.cos(anomaly / 2)
    )
    pm.Normal("velocity", mu=offset + amplitude * (pt.cos(true) + eccentricity), sigma=2.0, observed=VELOCITY)

"""The reference posteriors a second time: plain sums of log densities, written from the Stan programs.

Data and values of the parameters on their own scales in, arrays of terms out. All formulas are analytic, so
they take complex values, and the derivative by a complex step is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

Array = npt.NDArray[Any]
Values = Mapping[str, Any]

LOG_2PI = np.log(2 * np.pi)


def normal(x: Any, mu: Any, sigma: Any) -> Array:
    """Normal; `sigma` is a standard deviation."""
    return np.asarray(-0.5 * ((x - mu) / sigma) ** 2 - np.log(sigma) - 0.5 * LOG_2PI)


def half_normal(x: Any, sigma: Any) -> Array:
    """Normal around zero, cut to the positive line."""
    return np.asarray(normal(x, 0, sigma) + np.log(2))


def half_cauchy(x: Any, scale: Any) -> Array:
    """Cauchy around zero, cut to the positive line."""
    return np.asarray(np.log(2 / (np.pi * scale)) - np.log(1 + (x / scale) ** 2))


def gamma(x: Any, shape: float, rate: float) -> Array:
    """Gamma with a rate."""
    return np.asarray(shape * np.log(rate) - gammaln(shape) + (shape - 1) * np.log(x) - rate * x)


def multivariate_normal(x: Array, covariance: Array) -> Array:
    """Normal around zero: its three terms."""
    sign, size = np.linalg.slogdet(covariance)
    square = x @ np.linalg.solve(covariance, x)
    return np.array([-0.5 * square, -0.5 * (np.log(sign) + size), -0.5 * len(x) * LOG_2PI])


def column(data: Values, name: str) -> Array:
    """A column of the data as float64."""
    return np.asarray(data[name], float)


def regression(y: Array, columns: list[Any], values: Values) -> list[Array]:
    """Normal outcomes, linear in `columns`, without priors."""
    mean = sum(b * np.broadcast_to(np.asarray(x, float), y.shape) for b, x in zip(values["beta"], columns, strict=True))
    return [normal(y, mean, values["sigma"])]


def earn_height(d: Values, v: Values) -> list[Array]:
    return regression(column(d, "earn"), [1, d["height"]], v)


def logearn_height(d: Values, v: Values) -> list[Array]:
    return regression(np.log(column(d, "earn")), [1, d["height"]], v)


def logearn_interaction_z(d: Values, v: Values) -> list[Array]:
    height, male = column(d, "height"), column(d, "male")
    z = (height - height.mean()) / height.std(ddof=1)
    return regression(np.log(column(d, "earn")), [1, z, male, z * male], v)


def kidscore_momhs(d: Values, v: Values) -> list[Array]:
    return [half_cauchy(v["sigma"], 2.5), *regression(column(d, "kid_score"), [1, d["mom_hs"]], v)]


def kidscore_interaction(d: Values, v: Values) -> list[Array]:
    school, iq = column(d, "mom_hs"), column(d, "mom_iq")
    columns = [1, school, iq, school * iq]
    return [half_cauchy(v["sigma"], 2.5), *regression(column(d, "kid_score"), columns, v)]


def kidscore_interaction_c2(d: Values, v: Values) -> list[Array]:
    school, iq = column(d, "mom_hs") - 0.5, column(d, "mom_iq") - 100
    return regression(column(d, "kid_score"), [1, school, iq, school * iq], v)


def kilpisjarvi(d: Values, v: Values) -> list[Array]:
    alpha, beta = v["alpha"], v["beta"]
    return [
        normal(alpha, d["pmualpha"], d["psalpha"]),
        normal(beta, d["pmubeta"], d["psbeta"]),
        normal(column(d, "y"), alpha + beta * column(d, "x"), v["sigma"]),
    ]


def mesquite(d: Values, v: Values) -> list[Array]:
    names = ("diam1", "diam2", "canopy_height", "total_height", "density", "group")
    return regression(column(d, "weight"), [1, *(d[name] for name in names)], v)


def logmesquite_logvolume(d: Values, v: Values) -> list[Array]:
    volume = column(d, "diam1") * column(d, "diam2") * column(d, "canopy_height")
    return regression(np.log(column(d, "weight")), [1, np.log(volume)], v)


def logmesquite_logvas(d: Values, v: Values) -> list[Array]:
    wide, narrow, height = column(d, "diam1"), column(d, "diam2"), column(d, "canopy_height")
    logarithms = [
        wide * narrow * height,
        wide * narrow,
        wide / narrow,
        column(d, "total_height"),
        column(d, "density"),
    ]
    return regression(np.log(column(d, "weight")), [1, *np.log(logarithms), d["group"]], v)


def nes(d: Values, v: Values) -> list[Array]:
    age = column(d, "age_discrete")
    columns = [
        1,
        d["real_ideo"],
        d["race_adj"],
        age == 2,
        age == 3,
        age == 4,
        d["educ1"],
        d["gender"],
        d["income"],
    ]
    return regression(column(d, "partyid7"), columns, v)


def blr(d: Values, v: Values) -> list[Array]:
    return [
        normal(v["beta"], 0, 10),
        half_normal(v["sigma"], 10),
        normal(column(d, "y"), column(d, "X") @ v["beta"], v["sigma"]),
    ]


def eight_schools_centered(d: Values, v: Values) -> list[Array]:
    return [
        normal(v["mu"], 0, 5),
        half_cauchy(v["tau"], 5),
        normal(v["theta"], v["mu"], v["tau"]),
        normal(column(d, "y"), v["theta"], column(d, "sigma")),
    ]


def eight_schools_noncentered(d: Values, v: Values) -> list[Array]:
    return [
        normal(v["mu"], 0, 5),
        half_cauchy(v["tau"], 5),
        normal(v["theta_trans"], 0, 1),
        normal(column(d, "y"), v["mu"] + v["tau"] * v["theta_trans"], column(d, "sigma")),
    ]


def ark(d: Values, v: Values) -> list[Array]:
    y, order = column(d, "y"), d["K"]
    priors = [normal(v["alpha"], 0, 10), normal(v["beta"], 0, 10), half_cauchy(v["sigma"], 2.5)]
    later = range(order, len(y))
    return priors + [normal(y[t], v["alpha"] + v["beta"] @ y[t - order : t][::-1], v["sigma"]) for t in later]


def arma11(d: Values, v: Values) -> list[Array]:
    y, mu, phi, theta = column(d, "y"), v["mu"], v["phi"], v["theta"]
    errors = [y[0] - (mu + phi * mu)]
    for now, before in zip(y[1:], y[:-1], strict=True):
        errors.append(now - (mu + phi * before + theta * errors[-1]))
    priors = [normal(mu, 0, 10), normal(phi, 0, 2), normal(theta, 0, 2), half_cauchy(v["sigma"], 2.5)]
    return [*priors, normal(np.array(errors), 0, v["sigma"])]


def gp_regr(d: Values, v: Values) -> list[Array]:
    x = column(d, "x")
    distance = x[:, None] - x
    kernel = v["alpha"] ** 2 * np.exp(-(distance**2) / (2 * v["rho"] ** 2))
    return [
        gamma(v["rho"], 25, 4),
        half_normal(v["alpha"], 2),
        half_normal(v["sigma"], 1),
        multivariate_normal(column(d, "y"), kernel + v["sigma"] * np.eye(len(x))),
    ]


Density = Callable[[Values, Values], list[Array]]

DENSITIES: dict[str, Density] = {
    "arK-arK": ark,
    "arma-arma11": arma11,
    "earnings-earn_height": earn_height,
    "earnings-logearn_height": logearn_height,
    "earnings-logearn_interaction_z": logearn_interaction_z,
    "eight_schools-eight_schools_centered": eight_schools_centered,
    "eight_schools-eight_schools_noncentered": eight_schools_noncentered,
    "gp_pois_regr-gp_regr": gp_regr,
    "kidiq-kidscore_interaction": kidscore_interaction,
    "kidiq-kidscore_momhs": kidscore_momhs,
    "kidiq_with_mom_work-kidscore_interaction_c2": kidscore_interaction_c2,
    "kilpisjarvi_mod-kilpisjarvi": kilpisjarvi,
    "mesquite-logmesquite_logvas": logmesquite_logvas,
    "mesquite-logmesquite_logvolume": logmesquite_logvolume,
    "mesquite-mesquite": mesquite,
    "nes1972-nes": nes,
    "nes1984-nes": nes,
    "nes2000-nes": nes,
    "sblri-blr": blr,
}

# Parameters whose logarithm is sampled; the others are sampled as they are.
POSITIVE = {"sigma", "tau", "rho"}


def positive(name: str, parameter: str) -> bool:
    """Whether a parameter of a posterior is sampled as its logarithm."""
    return parameter in POSITIVE or (name == "gp_pois_regr-gp_regr" and parameter == "alpha")

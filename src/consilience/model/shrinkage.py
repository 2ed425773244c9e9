"""Priors of many coefficients of which few matter, composed of variables of the model.

A name and a guess of the size of effects in, the coefficients out: a deterministic of its parts, which become
variables of the model under names that begin with it. All parts are non-centred.
"""

from __future__ import annotations

from typing import Any

from consilience.distributions.distribution import Dims
from consilience.distributions.mathematics import sqrt, square
from consilience.distributions.positive import HalfCauchy, InverseGamma
from consilience.distributions.real_line import Normal
from consilience.distributions.simplex import Dirichlet
from consilience.distributions.unit_interval import Beta
from consilience.ir import Node
from consilience.model.model import Deterministic
from consilience.ops.elementwise import TensorLike, as_tensor
from consilience.ops.shape import full


def R2D2(
    name: str,
    *,
    r2: TensorLike = 0.5,
    precision: TensorLike = 2.0,
    concentration: TensorLike = 0.5,
    sigma: TensorLike = 1.0,
    scale: TensorLike = 1.0,
    dims: Dims | None = None,
    shape: Any = None,
) -> Node:
    """Coefficients of a linear model by the share R^2 of the variance that it explains.

    R^2 ~ Beta with mean r2; omega = R^2 / (1 - R^2) is the explained variance in units of sigma^2, and is split
    over the coefficients by phi ~ Dirichlet(concentration): beta_j ~ Normal(0, sigma sqrt(phi_j omega) / scale_j).

    name : ...
    r2: Expected R^2, between 0 and 1.
    precision: Of the beta distribution > 0, the sum of its two shapes; 2 with r2 = 0.5 is uniform.
    concentration: Of the split > 0; small numbers give most of the variance to few coefficients.
    sigma: Standard deviation of the residuals.
    scale: Standard deviation of each predictor, a number or a vector.
    dims (str or sequence of str): Of the coefficients, one axis.
    shape (int or sequence of int): Of the coefficients, one axis.
    Returns: The coefficients; `<name>_r2`, `<name>_phi` and `<name>_z` are the variables they are made of.
    See RegularizedHorseshoe: Most coefficients next to 0.

    References
    ----------
    Zhang, Naughton, Bondell, Reich (2022), JASA 117, 862, with normal coefficients as in Aguilar, Bürkner (2023),
    Electronic Journal of Statistics 17, 1711.

    >>> with pm.Model() as model:
    ...     beta = pm.R2D2("beta", r2=0.4, shape=3)
    >>> beta.type.shape, "beta_r2" in model
    ((3,), True)
    """
    share = Beta(f"{name}_r2", mu=r2, nu=precision)
    z = Normal(f"{name}_z", 0.0, 1.0, dims=dims, shape=shape)
    split = Dirichlet(f"{name}_phi", full(z.static_shape, as_tensor(concentration), "float64"), dims=dims)
    return Deterministic(name, z * sigma / scale * sqrt(split * (share / (1.0 - share))), dims=dims)


def RegularizedHorseshoe(
    name: str,
    global_scale: TensorLike,
    *,
    slab_scale: TensorLike = 2.0,
    slab_nu: TensorLike = 4.0,
    dims: Dims | None = None,
    shape: Any = None,
) -> Node:
    """Coefficients most of which are next to 0, and the others not larger than a slab.

    beta_j ~ Normal(0, tau l_j), l_j^2 = c^2 lambda_j^2 / (c^2 + tau^2 lambda_j^2), with tau ~ HalfCauchy(global_scale),
    lambda_j ~ HalfCauchy(1) and c^2 ~ InverseGamma(slab_nu / 2, slab_nu slab_scale^2 / 2).

    name : ...
    global_scale: Scale of tau > 0: p0 / (p - p0) sigma / sqrt(n) where p0 of p coefficients are expected to matter in n
        observations with residuals of standard deviation sigma.
    slab_scale: Standard deviation of large coefficients > 0; slab_nu > 0 degrees of freedom of their tails.
    slab_nu: Degrees of freedom of the slab.
    dims (str or sequence of str): Of the coefficients.
    shape (int or sequence of int): Of the coefficients.
    Returns: The coefficients; `<name>_tau`, `<name>_lambda`, `<name>_c2` and `<name>_z` are the variables they are made
        of.
    See R2D2: A prior of the explained share of the variance.

    References
    ----------
    Piironen, Vehtari (2017), Electronic Journal of Statistics 11, 5018.

    >>> with pm.Model():
    ...     beta = pm.RegularizedHorseshoe("beta", 0.1, shape=5)
    >>> beta.type.shape
    (5,)
    """
    tau = HalfCauchy(f"{name}_tau", global_scale)
    local = HalfCauchy(f"{name}_lambda", 1.0, dims=dims, shape=shape)
    slab = InverseGamma(f"{name}_c2", 0.5 * as_tensor(slab_nu), 0.5 * as_tensor(slab_nu) * square(slab_scale))
    z = Normal(f"{name}_z", 0.0, 1.0, dims=dims, shape=shape)
    width = sqrt(slab)
    return Deterministic(name, z * (width / sqrt(1.0 + square(width / (tau * local)))), dims=dims)

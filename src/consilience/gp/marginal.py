"""A Gaussian process seen with Gaussian noise: its values are integrated out.

Inputs, observations and noise in; a variable of the model out, and conditional distributions at new inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

import consilience.tensor as pt
from consilience.distributions import MvNormal
from consilience.errors import ParameterError
from consilience.gp.covariance import BaseCovariance, points, positive
from consilience.gp.nonstationary import WhiteNoise
from consilience.gp.numerics import JITTER_DEFAULT, stabilize
from consilience.gp.process import GaussianProcess, conditioned, evaluated, vector
from consilience.gp.state_space import cheaper, markov_marginals, markov_normal, state_space_of
from consilience.ir import Node, constant_value
from consilience.tensor import TensorLike


class ObservedWithNoise(GaussianProcess):
    """Base of processes whose values at the observations are integrated out: what follows for new inputs."""

    def _at(self, Xnew: Node, pred_noise: bool, given: Mapping[str, Any] | None, diag: bool, jitter: float) -> Any:
        """Mean and covariance at new inputs; variances with `diag`."""
        raise NotImplementedError

    def conditional(
        self,
        name: str,
        Xnew: TensorLike,
        pred_noise: bool = False,
        given: Mapping[str, Any] | None = None,
        jitter: float = JITTER_DEFAULT,
        **kwargs: Any,
    ) -> Node:
        """The variable f(Xnew), or y at Xnew with `pred_noise`, given the observations.

        Parameters
        ----------
        name : str
            Name of the variable.
        Xnew : TensorLike
            New inputs, shape (m, columns).
        pred_noise : bool, default False
            Whether the noise of observations is added: y at the new inputs, in place of f.
        given : mapping, optional
            X, Xu (of inducing points), y, sigma and `gp`, the process that was observed (a sum that this one is part
            of), where they are not those of `marginal_likelihood`.
        jitter : float, default 1e-06
            Added to the diagonal of the covariance.
        **kwargs : object
            Keywords of the distribution, such as `dims`.
        """
        mean, covariance = self._at(points(Xnew, "Xnew"), pred_noise, given, False, jitter)
        return MvNormal(name, mu=mean, cov=stabilize(covariance, jitter), **kwargs)

    def predict(
        self,
        Xnew: TensorLike,
        point: Mapping[str, Any] | None = None,
        diag: bool = False,
        pred_noise: bool = False,
        given: Mapping[str, Any] | None = None,
        jitter: float = JITTER_DEFAULT,
        model: Any = None,
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Mean and covariance at Xnew as arrays, shape (m,) and (m, m); variances, shape (m,), with `diag`.

        Parameters
        ----------
        Xnew : TensorLike
            New inputs, shape (m, columns).
        point : mapping, optional
            Values of the model's variables by name, such as `pm.find_MAP` gives; the initial point for None.
        diag : bool, default False
            Return variances only, in place of the whole covariance.
        pred_noise : bool, default False
            Whether the noise of observations is added: y at the new inputs, in place of f.
        given : mapping, optional
            As for `conditional`.
        jitter : float, default 1e-06
            Added to the diagonal of the covariance.
        model : Model, optional
            The model; by default that of the enclosing `with` block.
        """
        new = points(Xnew, "Xnew")

        def graphs(jitter: float) -> list[Node]:
            return list(self._at(new, pred_noise, given, diag, jitter))

        mean, spread = evaluated(graphs, jitter, pt.mean(self.cov_func.diag(new)), point, model)
        return mean, spread


class Marginal(ObservedWithNoise):
    """A process f of mean and covariance functions, observed as y = f(X) + noise.

    mean_func: Of `pm.gp.mean`, Zero by default.
    cov_func: Of `pm.gp.cov`.
    See MarginalApprox: The same, approximated through inducing points.
    See Latent: A process f of mean and covariance functions.
    >>> with pm.Model() as model:
    ...     gp = pm.gp.Marginal(cov_func=pm.gp.cov.ExpQuad(1, ls=1.0))
    ...     y = gp.marginal_likelihood("y", [[0.0], [1.0]], [0.1, 0.4], sigma=0.5)
    >>> [variable.name for variable in model.observed_RVs]
    ['y']
    """

    def marginal_likelihood(
        self,
        name: str,
        X: TensorLike,
        y: TensorLike,
        sigma: TensorLike | BaseCovariance | None = None,
        jitter: float = JITTER_DEFAULT,
        is_observed: bool = True,
        *,
        noise: TensorLike | BaseCovariance | None = None,
        **kwargs: Any,
    ) -> Node:
        """The variable y of the model.

        Parameters
        ----------
        name : str
            Name of the variable.
        X : TensorLike
            Inputs, shape (n, columns).
        y : TensorLike
            Observations, n numbers; not read with is_observed=False.
        sigma : TensorLike or BaseCovariance, optional
            Standard deviation of the noise, one or n numbers, or a covariance function.
        jitter : float, default 1e-06
            Added to the diagonal of the covariance.
        is_observed : bool, default True
            False makes y a free variable of the model.
        noise : TensorLike or BaseCovariance, optional
            PyMC's older name of `sigma`.
        **kwargs : object
            Keywords of the distribution, such as `dims`.

        Notes
        -----
        Matern12, Matern32, Matern52 and Exponential of one column, their sums and multiples, with constant X and
        noise of independent points, are computed as a state space in O(n). Stationary functions of constant X on a
        regular grid take O(n^2), by Toeplitz matrices, where the compiler predicts that this is cheaper: `explain()`
        of a function tells. All others take a Cholesky factor in O(n^3).
        """
        if (sigma is None) == (noise is None):
            raise ParameterError("`marginal_likelihood` needs `sigma`, the standard deviation of the noise.")
        inputs = points(X)
        own = noise_function(sigma if noise is None else noise)
        self._given = {"X": inputs, "y": y, "sigma": own}
        mean = self.mean_func(inputs)
        observed: dict[str, Any] = {"observed": y} if is_observed else {}
        chain = state_space_of(self.cov_func, inputs) if isinstance(own, WhiteNoise) else None
        if chain is not None and cheaper(chain):
            made = markov_normal(name, chain, mean, own.diag(inputs), jitter, **observed, **kwargs)
        else:
            covariance = stabilize(self.cov_func.full(inputs) + own.full(inputs), jitter)
            made = MvNormal(name, mu=mean, cov=covariance, **observed, **kwargs)
        if not is_observed:
            self._given["y"] = made
        return made

    def _at(self, Xnew: Node, pred_noise: bool, given: Mapping[str, Any] | None, diag: bool, jitter: float) -> Any:
        known = self.given_of(given, ("X", "y", "sigma"))
        inputs = points(known["X"])
        noise = noise_function(known["sigma"])
        values = vector(known["y"], inputs, "y")
        total = known["gp"]
        marginals = self._by_state_space(total, inputs, values, noise, Xnew, jitter) if diag else None
        if marginals is not None:
            mean, spread = marginals
            return mean, spread + noise.diag(Xnew) if pred_noise else spread
        mean, spread = conditioned(total, self, inputs, values, noise.full(inputs), Xnew, jitter, diag)
        if pred_noise:
            spread = spread + (noise.diag(Xnew) if diag else noise.full(Xnew))
        return mean, spread

    def _by_state_space(
        self, total: GaussianProcess, X: Node, values: Node, noise: BaseCovariance, Xnew: Node, jitter: float
    ) -> tuple[Node, Node] | None:
        """Means and variances at new inputs where they can be had in O(n)."""
        chain, places = state_space_of(self.cov_func, X), state_space_of(self.cov_func, Xnew)
        variances = noise.diag(X) + jitter
        known = constant_value(variances)
        silent = known is not None and not np.all(np.asarray(known) > 0.0)
        if total is not self or chain is None or places is None or silent or not isinstance(noise, WhiteNoise):
            return None
        mean, spread = markov_marginals(chain, values - self.mean_func(X), variances, places.places)
        return mean + self.mean_func(Xnew), spread


def noise_function(sigma: Any) -> BaseCovariance:
    """Noise as a covariance function; numbers are standard deviations of independent noise."""
    return sigma if isinstance(sigma, BaseCovariance) else WhiteNoise(positive(sigma, "sigma", "the noise", zero=True))

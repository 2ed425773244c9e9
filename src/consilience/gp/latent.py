"""A Gaussian process whose values are variables of the model.

Inputs in, a vector of values out, with any likelihood behind it; conditional distributions at new inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import consilience.tensor as pt
from consilience.distributions import ChiSquared, MvNormal, MvStudentT, Normal
from consilience.errors import ParameterError
from consilience.gp.covariance import points, positive
from consilience.gp.mean import MeanFunction
from consilience.gp.numerics import JITTER_DEFAULT, stabilize
from consilience.gp.process import GaussianProcess, conditioned, vector
from consilience.gp.state_space import cheaper, markov_values, state_space_of
from consilience.ir import Node
from consilience.model import Deterministic
from consilience.tensor import TensorLike


class Latent(GaussianProcess):
    """A process f of mean and covariance functions.

    mean_func: Of `pm.gp.mean`, Zero by default.
    cov_func: Of `pm.gp.cov`.
    See approx_hsgp_hyperparams: Least m and c for HSGP of one column.
    See HSGP: A process as a sum of products of sines or cosines on a box.
    >>> with pm.Model() as model:
    ...     gp = pm.gp.Latent(cov_func=pm.gp.cov.ExpQuad(1, ls=1.0))
    ...     f = gp.prior("f", [[0.0], [1.0], [2.0]])
    >>> f.eval().shape
    (3,)
    """

    def prior(
        self,
        name: str,
        X: TensorLike,
        n_outputs: int = 1,
        reparameterize: bool = True,
        jitter: float = JITTER_DEFAULT,
        **kwargs: Any,
    ) -> Node:
        """`f(X)`, shape (n,), or (n_outputs, n) for several independent ones.

        Parameters
        ----------
        name : str
            Name of the variable.
        X : TensorLike
            Inputs, shape (n, columns).
        n_outputs : int, default 1
            Number of independent functions.
        reparameterize : bool, default True
            `f` is computed from independent standard normals `{name}_rotated_` by the Cholesky factor of the
            covariance, which samplers prefer; otherwise f is itself a free variable.
        jitter : float, default 1e-06
            Added to the diagonal of the covariance.
        **kwargs : object
            Keywords of the distribution, such as `dims`.

        Notes
        -----
        Functions of Matern's family of one column, their sums and multiples, at constant points in ascending or
        descending order take O(n): the Cholesky factor is then that of a state space. All others take O(n^3).
        """
        inputs = points(X)
        mean, covariance = self.mean_func(inputs), stabilize(self.cov_func.full(inputs), jitter)
        batch = () if n_outputs == 1 else (n_outputs,)
        if reparameterize:
            free = Normal(f"{name}_rotated_", 0.0, 1.0, shape=(*batch, inputs.static_shape[0]))
            chain = state_space_of(self.cov_func, inputs) if jitter > 0.0 else None
            taken = chain is not None and cheaper(chain, latent=True)
            spread = markov_values(chain, free, jitter) if chain is not None and taken else None
            if spread is None:
                spread = pt.dot(free, pt.matrix_transpose(pt.linalg.cholesky(covariance)))
            f = Deterministic(name, mean + spread, **kwargs)
        else:
            f = MvNormal(name, mu=mean, cov=covariance, shape=(*batch, inputs.static_shape[0]), **kwargs)
        self._given = {"X": inputs, "f": f}
        return f

    def conditional(
        self,
        name: str,
        Xnew: TensorLike,
        given: Mapping[str, Any] | None = None,
        jitter: float = JITTER_DEFAULT,
        **kwargs: Any,
    ) -> Node:
        """The variable f(Xnew), given f(X).

        Parameters
        ----------
        name : str
            Name of the variable.
        Xnew : TensorLike
            New inputs, shape (m, columns).
        given : mapping, optional
            X, f and `gp`, the process that f is of (a sum that this one is part of), where they are not those of
            `prior`.
        jitter : float, default 1e-06
            Added to the diagonal of the covariance.
        **kwargs : object
            Keywords of the distribution, such as `dims`.
        """
        known = self.given_of(given, ("X", "f"))
        inputs, new = points(known["X"]), points(Xnew, "Xnew")
        values = pt.as_tensor(known["f"])
        if values.ndim == 2:
            raise ParameterError(
                f"f has several outputs; ask for each: `given={{'f': f[i], …}}`, {values.static_shape[0]} times."
            )
        values = vector(values, inputs, "f")
        mean, covariance = conditioned(known["gp"], self, inputs, values, None, new, jitter)
        return MvNormal(name, mu=mean, cov=stabilize(covariance, jitter), **kwargs)


class TP(GaussianProcess):
    """A process of Student's t with `nu` degrees of freedom: at any points, values are multivariate t.

    mean_func: Mean function.
    scale_func: The scale of the values as a covariance function; PyMC's older name is `cov_func`.
    cov_func: Covariance function.
    nu: Degrees of freedom > 0.
    See Latent: A Gaussian process.

    Notes
    -----
    Given f at n points, f at others is again t, with nu + n degrees of freedom (Shah, Wilson and Ghahramani 2014;
    here `scale_func` is the scale matrix, as in `pm.MvStudentT`).


    References
    ----------
    Shah, Wilson, Ghahramani: Student-t Processes as Alternatives to Gaussian Processes (2014).

    >>> with pm.Model():
    ...     tp = pm.gp.TP(scale_func=pm.gp.cov.ExpQuad(1, 0.5), nu=5.0)
    ...     f = tp.prior("f", X=np.linspace(0, 1, 10)[:, None])
    >>> f.type.shape
    (10,)
    """

    def __init__(
        self,
        *,
        mean_func: MeanFunction | None = None,
        scale_func: Any = None,
        cov_func: Any = None,
        nu: TensorLike | None = None,
    ) -> None:
        if (scale_func is None) == (cov_func is None) or nu is None:
            raise ParameterError("TP needs `scale_func`, a covariance function, and `nu`, the degrees of freedom.")
        super().__init__(mean_func=mean_func, cov_func=cov_func if scale_func is None else scale_func)
        self.nu = positive(nu, "nu", "TP")

    def __add__(self, other: Any) -> Any:
        raise ParameterError("sums of t processes are no t processes; add covariance functions instead.")

    def prior(
        self, name: str, X: TensorLike, reparameterize: bool = True, jitter: float = JITTER_DEFAULT, **kwargs: Any
    ) -> Node:
        """`f(X)`, shape (n,); with `reparameterize` computed from `{name}_rotated_` and `{name}_chi2_`."""
        inputs = points(X)
        mean, scale = self.mean_func(inputs), stabilize(self.cov_func.full(inputs), jitter)
        if reparameterize:
            chi2 = ChiSquared(f"{name}_chi2_", self.nu)
            free = Normal(f"{name}_rotated_", 0.0, 1.0, shape=inputs.static_shape[0])
            spread = pt.dot(pt.linalg.cholesky(scale), free)
            f = Deterministic(name, mean + pt.sqrt(self.nu / chi2) * spread, **kwargs)
        else:
            f = MvStudentT(name, nu=self.nu, mu=mean, scale=scale, **kwargs)
        self._given = {"X": inputs, "f": f}
        return f

    def conditional(self, name: str, Xnew: TensorLike, jitter: float = JITTER_DEFAULT, **kwargs: Any) -> Node:
        """The variable f(Xnew), given f(X)."""
        known = self.given_of(None, ("X", "f"))
        inputs, values = known["X"], known["f"]
        mean, scale = conditioned(self, self, inputs, values, None, points(Xnew, "Xnew"), jitter)
        factor = pt.linalg.cholesky(stabilize(self.cov_func.full(inputs), jitter))
        residual = pt.linalg.solve_triangular(factor, values - self.mean_func(inputs), lower=True)
        nu = self.nu + pt.as_tensor(inputs.shape[0])
        widening = (self.nu + pt.sum(pt.square(residual))) / nu
        return MvStudentT(name, nu=nu, mu=mean, scale=stabilize(widening * scale, jitter), **kwargs)

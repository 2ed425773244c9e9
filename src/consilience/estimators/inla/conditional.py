"""The latent block given hyperparameters: its mode by Newton's method, and what the density around it is like.

A latent field, hyperparameters and a point to begin with in; the mode with the Cholesky factor of its precision, the
Laplace approximation of the hyperparameters' log density with its slope, and corrections of means and skewness out.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from consilience.errors import SamplingError
from consilience.estimators.inla.latent_field import Floats, LatentField
from consilience.estimators.inla.precision import Factor
from consilience.record import Record

CONVERGED: Final = 1e-12  # g' W^-1 g with the gradient g and the negative Hessian W: twice the gain that is left
STEPS: Final = 200
HALVINGS: Final = 40
SUFFICIENT: Final = 1e-4  # share of the gain that a linear model foretells
PATTERN: Final = 1e-8  # relative error of a product, from where entries must be missing


class LatentMoments(Record, eq=False):
    """Of the coordinates of the block given the hyperparameters.

    `sd`: standard deviations of the normal approximation, float64[n]. `shift`: of the mean against the mode, to first
    order, float64[n]. `skewness`: to first order, float64[n].
    """

    sd: Floats
    shift: Floats
    skewness: Floats


class Conditional(Record, eq=False):
    """The normal approximation of the block given hyperparameters.

    `theta`: float64[d].
    `mode`: float64[n].
    `factor`: of the precision at the mode.
    `logp`: Laplace approximation of the log density of theta and the data.
    `along`: slope of the joint log density along theta at the mode.
    """

    field: LatentField
    theta: Floats
    mode: Floats
    factor: Factor
    logp: float
    along: Floats

    def gradient(self) -> Floats:
        """Slope of `logp` along theta, float64[d].

        Along with theta the mode moves, by W^-1 d(slope)/d(theta), and with both the log determinant.
        """
        _, _, along_theta, half = self._change_of_volume()
        _, mixed = self.field.products(self.mode, self.theta, half[None])
        return np.asarray(self.along + 0.5 * along_theta + mixed[0])

    def sd(self) -> Floats:
        """Standard deviations of the normal approximation, float64[n]."""
        return np.sqrt(self.factor.selected()[1])

    def moments(self) -> LatentMoments:
        """Standard deviations, and first-order corrections: Rue, Martino and Chopin (2009), section 3.2.3."""
        variances, _, _, shift = self._change_of_volume()
        third = np.empty(self.field.size)
        for first, columns in self.factor.inverse_columns():
            rows = np.ascontiguousarray(columns.T)
            along_x, _ = self.field.slopes(self.mode, self.theta, rows, rows)
            third[first : first + len(rows)] = (along_x * rows).sum(1)
        return LatentMoments(np.sqrt(variances), shift, third / variances**1.5)

    def _change_of_volume(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Variances; slopes of tr(S H) with S held along x and theta; half of S times the first."""
        structure = self.factor.structure
        selected, variances = self.factor.selected()
        weights = structure.weights(selected)
        along_x, along_theta = self.field.slopes(self.mode, self.theta, structure.seeds, weights)
        slope = along_x.sum(0)
        return variances, slope, along_theta.sum(0), self.factor.solve(0.5 * slope)


def conditional(field: LatentField, theta: Floats, start: Floats) -> Conditional:
    """The mode of the block given hyperparameters.

    `start`: where Newton's method begins, float64[n]. Raises SamplingError where the density has no mode with negative
    definite curvature.
    """
    x = start
    logp, slope, along = field.values(x, theta)
    if not np.isfinite(logp):
        x = field.start()[0]
        logp, slope, along = field.values(x, theta)
    if not np.isfinite(logp):
        raise SamplingError(
            f"the log density is not finite where the search for the latent variables' mode begins, at "
            f"{field.described(theta)}. Give a starting point by `initvals=`."
        )
    looked = False
    for _ in range(STEPS):
        products, _ = field.products(x, theta, field.structure.probes)
        factor, shift = _factor(field, x, theta, products)
        step = factor.solve(slope)
        decrement = float(slope @ step)
        if decrement < CONVERGED:
            if shift:
                raise _not_concave(field, x, theta)
            if not _is_complete(field, products):
                if looked:
                    raise SamplingError(
                        f"the second derivatives along the latent variables change their form at "
                        f"{field.described(theta)}."
                    )
                looked = True
                field.look_again(x, theta)
                continue
            constant = 0.5 * field.size * np.log(2.0 * np.pi) - 0.5 * factor.log_determinant
            return Conditional(field, theta, x, factor, logp + constant, along)
        length = 1.0
        rounding = 1e-13 * max(1.0, abs(logp))
        for _ in range(HALVINGS):
            ahead = field.values(x + length * step, theta)
            if ahead[0] >= logp + SUFFICIENT * length * decrement - rounding:
                break
            length *= 0.5
        else:
            break
        x = x + length * step
        logp, slope, along = ahead
    raise SamplingError(
        f"Newton's method finds no mode of the latent variables at {field.described(theta)}: after {STEPS} steps the "
        f"log density may still grow by {0.5 * decrement:.2g}, most along "
        f"`{field.coordinate(int(np.argmax(np.abs(slope * step))))}`. Is the likelihood log-concave, and the prior "
        "proper? Otherwise use `pm.sample`."
    )


def _factor(field: LatentField, x: Floats, theta: Floats, products: Floats) -> tuple[Factor, float]:
    """Of the negative second derivatives; where they are not positive definite, with a shift of their diagonal."""
    structure = field.structure
    entries = structure.entries(products)
    try:
        return Factor(structure, entries), 0.0
    except np.linalg.LinAlgError:
        largest = max(float(np.abs(entries[structure.rows == structure.columns]).max()), 1e-8)
    shift = 1e-4 * largest
    while shift < 1e8 * largest < np.inf:
        try:
            return Factor(structure, entries, shift), shift
        except np.linalg.LinAlgError:
            shift *= 10.0
    raise _not_concave(field, x, theta)


def _is_complete(field: LatentField, products: Floats) -> bool:
    """Whether the entries give the product with the probe, which no pattern that lacks entries does."""
    structure = field.structure
    found = structure.times(structure.entries(products), -structure.probes[-1])
    return bool(np.abs(found - products[-1]).max() <= PATTERN * np.abs(products[-1]).max())


def _not_concave(field: LatentField, x: Floats, theta: Floats) -> SamplingError:
    products, _ = field.products(x, theta, np.eye(field.size)) if field.size <= 2000 else (np.zeros((0, 0)), None)
    where = ""
    if products.size and np.isfinite(products).all():
        _, vectors = np.linalg.eigh(-0.5 * (products + products.T))
        where = f", most along `{field.coordinate(int(np.argmax(np.abs(vectors[:, 0]))))}`"
    return SamplingError(
        f"the density of the latent variables is not log-concave at {field.described(theta)}{where}: its curvature is "
        "not that of a mode. The likelihood must be log-concave in the latent variables, and their prior proper; "
        "otherwise use `pm.sample`."
    )

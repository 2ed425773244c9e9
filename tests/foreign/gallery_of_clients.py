"""Models as libraries on top of PyMC build them, added to the gallery: in plain PyMC, so no such library is needed.

Their parts: named axes, random variables of their own, ops on constants, loops over data with gaps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.foreign.gallery import COUNTS, RNG, TIME, Y, gallery

SPENDING = RNG.random((12, 3))
BOUNDED = np.clip(Y, -1.0, 1.0)


@gallery
def media_mix_with_named_axes(pm: Any) -> None:
    """Geometric adstock by a convolution, logistic saturation, effects of channels."""
    import pymc.dims as pmd
    import pytensor.xtensor as px
    from pytensor.xtensor.signal import convolve1d

    pm.modelcontext(None).add_coords({"date": range(12)})
    spending = pmd.Data("spending", SPENDING, dims=("date", "feature"))
    decay = pmd.Beta("decay", alpha=1.0, beta=3.0, dims="feature")
    slope = pmd.Gamma("slope", alpha=3.0, beta=1.0, dims="feature")
    effect = pmd.HalfNormal("effect", sigma=2.0, dims="feature")
    lags = px.as_xtensor(np.arange(4.0), dims="lag")
    weights = decay**lags
    carried = convolve1d(spending, weights / weights.sum("lag"), dims=("date", "lag")).isel(date=slice(0, 12))
    saturated = (1 - pmd.math.exp(-slope * carried)) / (1 + pmd.math.exp(-slope * carried))
    mean = pmd.Deterministic("mean", (effect * saturated).sum("feature"), dims="date")
    pmd.Normal("y", mean, pmd.HalfCauchy("sigma", beta=1.0), observed=px.as_xtensor(Y, dims="date"))


@gallery
def distributions_with_named_axes(pm: Any) -> None:
    import pymc.dims as pmd
    import pytensor.xtensor as px

    x = pmd.Data("x", SPENDING[:4], dims=("group", "feature"))
    beta = pmd.Normal("beta", sigma=2.0, dims=("feature", "group"))
    w = pmd.Dirichlet("w", a=px.as_xtensor(np.ones(3), dims="feature"), core_dims="feature")
    z = pmd.ZeroSumNormal("z", core_dims="group")
    part = x.dot(beta, dim="feature").isel(group=slice(1, None)).mean("group")
    rows = px.concat([z, 2.0 * z], dim="group").isel(group=[0, 5]).rename({"group": "row"})
    pmd.Potential(
        "p", -(part**2).sum() + (w * beta).sum("feature").max("group") - rows.std("row") - z.transpose("group")[0]
    )
    stacked = x.stack({"cell": ("group", "feature")}) * px.as_xtensor(np.arange(12.0), dims="cell")
    chosen = x.isel(
        group=px.as_xtensor(np.array([0, 2]), dims="pick"), feature=px.as_xtensor(np.array([1, 2]), dims="pick")
    )
    pmd.Normal(
        "y", stacked.cumsum("cell").mean() + chosen.sum("pick") + z, 1.0, observed=px.as_xtensor(Y[:4], dims="group")
    )
    pmd.Censored("c", pmd.Normal.dist(z, 1.0), lower=-1.0, observed=px.as_xtensor(BOUNDED[:4], dims="group"))


@gallery
def counts_of_customers_by_a_random_variable_of_ones_own(pm: Any) -> None:
    """It has a density, and nothing to start from."""
    import pytensor.tensor as pt
    from pytensor.tensor.random.op import RandomVariable

    class PurchasesRV(RandomVariable):  # type: ignore[misc]  # a class of PyTensor
        name = "purchases"
        signature = "(),()->()"
        dtype = "int64"

    class Purchases(pm.Discrete):  # type: ignore[misc]  # a class of PyMC
        rv_op = PurchasesRV()

        @classmethod
        def dist(cls, rate: Any, span: Any, **more: Any) -> Any:
            return super().dist([pt.as_tensor(rate), pt.as_tensor(span)], **more)

        def logp(value: Any, rate: Any, span: Any) -> Any:
            return value * pt.log(rate * span) - rate * span - pt.gammaln(value + 1)

    Purchases("y", pm.Gamma("rate", 2.0, 1.0), TIME, observed=COUNTS)


def _own(pm: Any, mu: Any) -> Any:
    """A distribution with functions of its own for density and probability."""
    return pm.CustomDist.dist(
        mu,
        logp=lambda value, mu, **_: pm.logp(pm.Logistic.dist(mu, 1.0), value),
        logcdf=lambda value, mu, **_: pm.logcdf(pm.Logistic.dist(mu, 1.0), value),
        class_name="Own",
    )


@gallery
def bounds_of_a_distribution_of_ones_own(pm: Any) -> None:
    mu = pm.Normal("mu")
    pm.Censored("censored", _own(pm, mu), lower=-1.0, upper=1.0, observed=BOUNDED)
    pm.Truncated("truncated", _own(pm, mu), lower=-2.0, upper=2.0, observed=BOUNDED)


@gallery
def matrices_of_linear_systems(pm: Any) -> None:
    import pytensor.tensor as pt
    from scipy import sparse

    a, b = pm.Normal("a", shape=(2, 2)), pm.Normal("b", shape=(3, 3))
    blocks = pt.linalg.block_diag(a, b)
    x = pt.linalg.solve_sylvester(a + 4 * np.eye(2), b + 5 * np.eye(3), np.ones((2, 3)))
    spectrum = pt.linalg.eigh(a @ a.T)[0]
    pm.Potential("p", -(blocks @ blocks.T).sum() - (x**2).sum() - spectrum[1] - pt.linalg.svd(b, compute_uv=False)[0])
    design = sparse.csr_matrix(np.where(SPENDING > 0.5, SPENDING, 0.0))
    import pytensor.sparse as ps

    pm.Normal("y", ps.structured_dot(ps.as_sparse(design), b[:, :1]).ravel(), 1.0, observed=Y)


@gallery
def values_that_an_op_computes_of_constants(pm: Any) -> None:
    """As the basis of a spline."""
    import pytensor.tensor as pt
    from pytensor.graph import Apply, Op

    class Basis(Op):  # type: ignore[misc]  # a class of PyTensor
        def make_node(self, x: Any) -> Any:
            return Apply(self, [pt.as_tensor(x)], [pt.matrix()])

        def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
            outputs[0][0] = np.vander(inputs[0], 3)

    weights = pm.Normal("weights", shape=3)
    pm.Normal("y", Basis()(TIME / 4.0) @ weights, 1.0, observed=Y)


@gallery
def loop_over_data_with_gaps(pm: Any) -> None:
    """What is missing in a step is set to 0, and so are its rows of matrices."""
    import pytensor.tensor as pt

    from tests.foreign.gallery_of_loops import scanned

    mu, share = pm.Normal("mu", shape=2), pm.Beta("share", 2.0, 2.0)
    pairs = np.where(np.arange(12) % 5 == 2, np.nan, Y).reshape(6, 2)

    def step(pair: Any, level: Any, mu: Any, share: Any) -> Any:
        missing = pt.isnan(pair)
        known = pt.set_subtensor(pair[missing], 0.0)
        keep = pt.set_subtensor(pt.eye(2)[missing, missing], 0.0)
        added = pt.inc_subtensor(mu[missing], 0.5)
        return share * level + (keep @ (known - mu)).sum() - added.prod()

    levels = scanned(step, sequences=[pairs], outputs_info=[np.float64(0.0)], non_sequences=[mu, share])
    pm.Normal("y", levels, 1.0, observed=np.zeros(6))


@gallery
def dims_of_other_lengths(pm: Any) -> None:
    x = pm.Normal("x", shape=4)
    pm.Potential("p", -(x[1:] ** 2), dims="group")
    pm.Normal("y", x.sum(), 1.0, observed=Y)


@gallery
def models_in_models(pm: Any) -> None:
    with pm.Model(name="inner"):
        a, s = pm.Normal("a"), pm.HalfNormal("s")
        pm.Deterministic("product", a * pm.Data("d", [1.0, 2.0]))
    pm.Normal("y", a, s, observed=Y)


@gallery
def data_of_every_dtype(pm: Any) -> None:
    import pytensor
    import pytensor.tensor as pt

    a = pm.Normal("a", shape=3)
    single, place = pytensor.shared(np.arange(12, dtype="float32")), pytensor.shared(np.arange(12) % 3)
    small, bits = pm.Data("small", np.arange(12, dtype="int8")), pm.Data("bits", np.arange(12) % 2 == 0)
    whole = pm.Data("whole", np.arange(12, dtype="uint8"))
    mean = a[place] + single * a[0] + small * a[1] + bits * a[2] + whole / 7 + pt.switch(bits, a[0], small // 2)
    pm.Normal("y", mean, 1.0, observed=Y.astype("float32"))
    pm.Poisson("c", pm.math.exp(a[0]), observed=COUNTS.astype("uint16"))
    pm.Bernoulli("b", logit_p=a[1], observed=Y > 0)

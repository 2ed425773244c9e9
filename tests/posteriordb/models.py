"""Models of the public posteriordb development set in PyMC's vocabulary.

MODELS maps a posterior's name to (builder, extra keywords of `pm.sample`).  A builder takes (pm, pt, data):
a PyMC-like module, its tensor module and `data_values` of the posterior's file; it returns the model.
Variables carry the names of the reference parameters (`beta[2]` is element 1 of `beta`).
"""

import numpy as np


def _linear(pm, pt, y, X, cauchy=None):
    X = np.column_stack([np.broadcast_to(np.asarray(c, float), np.shape(y)) for c in X])
    with pm.Model() as m:
        beta = pm.Flat("beta", shape=X.shape[1])
        sigma = pm.HalfCauchy("sigma", cauchy) if cauchy else pm.HalfFlat("sigma")
        pm.Normal("y", pt.dot(X, beta), sigma, observed=np.asarray(y, float))
    return m


def eight_schools_noncentered(pm, pt, d):
    with pm.Model() as m:
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        z = pm.Normal("theta_trans", 0, 1, shape=d["J"])
        theta = pm.Deterministic("theta", mu + tau * z)
        pm.Normal("y", theta, np.array(d["sigma"], float), observed=np.array(d["y"], float))
    return m


def eight_schools_centered(pm, pt, d):
    with pm.Model() as m:
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", mu, tau, shape=d["J"])
        pm.Normal("y", theta, np.array(d["sigma"], float), observed=np.array(d["y"], float))
    return m


def ark(pm, pt, d):
    y, K = np.array(d["y"], float), d["K"]
    lags = np.column_stack([y[K - k : len(y) - k] for k in range(1, K + 1)])
    with pm.Model() as m:
        alpha = pm.Normal("alpha", 0, 10)
        beta = pm.Normal("beta", 0, 10, shape=K)
        sigma = pm.HalfCauchy("sigma", 2.5)
        pm.Normal("y", alpha + pt.dot(lags, beta), sigma, observed=y[K:])
    return m


def arma11(pm, pt, d):
    y = np.array(d["y"], float)
    with pm.Model() as m:
        mu = pm.Normal("mu", 0, 10)
        phi = pm.Normal("phi", 0, 2)
        theta = pm.Normal("theta", 0, 2)
        sigma = pm.HalfCauchy("sigma", 2.5)
        first = y[0] - (mu + phi * mu)

        def step(now, before, err, mu, phi, theta):
            return now - (mu + phi * before + theta * err)

        rest = pm.scan(
            step,
            sequences=[pt.as_tensor_variable(y[1:]), pt.as_tensor_variable(y[:-1])],
            outputs_info=[first],
            non_sequences=[mu, phi, theta],
            strict=True,
            return_updates=False,
        )
        err = pt.concatenate([first[None], rest])
        pm.Potential("likelihood", pm.logp(pm.Normal.dist(0, sigma), err).sum())
    return m


def _forward(pm, pt, emit, logT):
    def step(e, g, logT):
        return pt.logsumexp(g[:, None] + logT, axis=0) + e

    g = pm.scan(
        step,
        sequences=[emit[1:]],
        outputs_info=[emit[0]],
        non_sequences=[logT],
        strict=True,
        return_updates=False,
    )
    return pt.logsumexp(g[-1])


def hmm_example(pm, pt, d):
    y = np.array(d["y"], float)
    with pm.Model() as m:
        th1 = pm.Dirichlet("theta1", a=np.ones(2))
        th2 = pm.Dirichlet("theta2", a=np.ones(2))
        step = pm.HalfFlat("mu_steps", shape=2, initval=np.array([3.0, 5.0]))
        mu = pm.Deterministic("mu", pt.cumsum(step))  # positive and increasing
        pm.Potential("mu_prior", pm.logp(pm.Normal.dist(np.array([3.0, 10.0]), 1.0), mu).sum())
        emit = pm.logp(pm.Normal.dist(mu, 1.0), y[:, None])
        pm.Potential("forward", _forward(pm, pt, emit, pt.log(pt.stack([th1, th2]))))
    return m


def hmm_drive_1(pm, pt, d):
    u, v = np.array(d["u"], float), np.array(d["v"], float)
    alpha = np.array(d["alpha"], float)
    with pm.Model() as m:
        th1 = pm.Dirichlet("theta1", a=alpha[0])
        th2 = pm.Dirichlet("theta2", a=alpha[1])
        c = np.array([0.0, 3.0])
        order = pm.distributions.transforms.ordered
        phi = pm.Normal("phi", c, 1.0, shape=2, transform=order, initval=np.array([0.1, 0.3]))
        lam = pm.Normal("lambda", c, 1.0, shape=2, transform=order, initval=np.array([1.0, 2.0]))
        emit = pm.logp(pm.Normal.dist(phi, d["tau"]), u[:, None]) + pm.logp(pm.Normal.dist(lam, d["rho"]), v[:, None])
        pm.Potential("forward", _forward(pm, pt, emit, pt.log(pt.stack([th1, th2]))))
    return m


def lotka_volterra(pm, pt, d):
    y, y0, ts = np.array(d["y"], float), np.array(d["y_init"], float), np.array(d["ts"], float)
    sub = 10  # fixed-step RK4, steps per year
    h = ts[0] / sub
    with pm.Model() as m:
        theta = pm.TruncatedNormal(
            "theta", mu=np.array([1, 0.05, 1, 0.05]), sigma=np.array([0.5, 0.05, 0.5, 0.05]), lower=0, shape=4
        )
        sigma = pm.LogNormal("sigma", -1, 1, shape=2)
        z_init = pm.LogNormal("z_init", np.log(10), 1, shape=2)

        def f(z, th):
            return pt.stack([(th[0] - th[1] * z[1]) * z[0], (-th[2] + th[3] * z[0]) * z[1]])

        def step(z, th):
            k1 = f(z, th)
            k2 = f(z + h / 2 * k1, th)
            k3 = f(z + h / 2 * k2, th)
            k4 = f(z + h * k3, th)
            return z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

        z = pm.scan(
            step,
            outputs_info=[z_init],
            non_sequences=[theta],
            n_steps=sub * len(ts),
            strict=True,
            return_updates=False,
        )[sub - 1 :: sub]
        pm.LogNormal("y_init", pt.log(z_init), sigma, observed=y0)
        pm.LogNormal("y", pt.log(z), sigma, observed=y)
    return m


def gp_regr(pm, pt, d):
    x, y = np.array(d["x"], float), np.array(d["y"], float)
    sq = (x[:, None] - x[None, :]) ** 2
    with pm.Model() as m:
        rho = pm.Gamma("rho", alpha=25, beta=4)
        alpha = pm.HalfNormal("alpha", 2)
        sigma = pm.HalfNormal("sigma", 1)
        K = alpha**2 * pt.exp(-0.5 * sq / rho**2) + sigma * pt.eye(len(x))  # sigma is a variance here
        pm.MvNormal("y", mu=np.zeros(len(x)), cov=K, observed=y)
    return m


def kilpisjarvi(pm, pt, d):
    with pm.Model() as m:
        alpha = pm.Normal("alpha", d["pmualpha"], d["psalpha"])
        beta = pm.Normal("beta", d["pmubeta"], d["psbeta"])
        sigma = pm.HalfFlat("sigma")
        pm.Normal("y", alpha + beta * np.array(d["x"], float), sigma, observed=np.array(d["y"], float))
    return m


def blr(pm, pt, d):
    with pm.Model() as m:
        beta = pm.Normal("beta", 0, 10, shape=d["D"])
        sigma = pm.HalfNormal("sigma", 10)
        pm.Normal("y", pt.dot(np.array(d["X"], float), beta), sigma, observed=np.array(d["y"], float))
    return m


def earn_height(pm, pt, d):
    return _linear(pm, pt, d["earn"], [1, d["height"]])


def logearn_height(pm, pt, d):
    return _linear(pm, pt, np.log(d["earn"]), [1, d["height"]])


def logearn_interaction_z(pm, pt, d):
    h, s = np.array(d["height"], float), np.array(d["male"], float)
    h = (h - h.mean()) / h.std(ddof=1)
    return _linear(pm, pt, np.log(d["earn"]), [1, h, s, h * s])


def kidscore_momhs(pm, pt, d):
    return _linear(pm, pt, d["kid_score"], [1, d["mom_hs"]], cauchy=2.5)


def kidscore_interaction(pm, pt, d):
    hs, iq = np.array(d["mom_hs"], float), np.array(d["mom_iq"], float)
    return _linear(pm, pt, d["kid_score"], [1, hs, iq, hs * iq], cauchy=2.5)


def kidscore_interaction_c2(pm, pt, d):
    hs, iq = np.array(d["mom_hs"], float) - 0.5, np.array(d["mom_iq"], float) - 100
    return _linear(pm, pt, d["kid_score"], [1, hs, iq, hs * iq])


def mesquite(pm, pt, d):
    return _linear(
        pm,
        pt,
        d["weight"],
        [1, d["diam1"], d["diam2"], d["canopy_height"], d["total_height"], d["density"], d["group"]],
    )


def _logs(d):
    return {k: np.log(np.array(v, float)) for k, v in d.items() if k not in ("N", "group")}


def logmesquite_logvolume(pm, pt, d):
    q = _logs(d)
    return _linear(pm, pt, q["weight"], [1, q["diam1"] + q["diam2"] + q["canopy_height"]])


def logmesquite_logvas(pm, pt, d):
    q = _logs(d)
    area = q["diam1"] + q["diam2"]
    return _linear(
        pm,
        pt,
        q["weight"],
        [
            1,
            area + q["canopy_height"],
            area,
            q["diam1"] - q["diam2"],
            q["total_height"],
            q["density"],
            d["group"],
        ],
    )


def nes(pm, pt, d):
    age = np.array(d["age_discrete"])
    return _linear(
        pm,
        pt,
        d["partyid7"],
        [
            1,
            d["real_ideo"],
            d["race_adj"],
            age == 2,
            age == 3,
            age == 4,
            d["educ1"],
            d["gender"],
            d["income"],
        ],
    )


MODELS = {
    "sblri-blr": (blr, {}),
    "earnings-earn_height": (earn_height, {}),
    "earnings-logearn_height": (logearn_height, {}),
    "earnings-logearn_interaction_z": (logearn_interaction_z, {}),
    "kidiq-kidscore_momhs": (kidscore_momhs, {}),
    "kidiq-kidscore_interaction": (kidscore_interaction, {}),
    "kidiq_with_mom_work-kidscore_interaction_c2": (kidscore_interaction_c2, {}),
    "kilpisjarvi_mod-kilpisjarvi": (kilpisjarvi, {}),
    "mesquite-mesquite": (mesquite, {}),
    "mesquite-logmesquite_logvolume": (logmesquite_logvolume, {}),
    "mesquite-logmesquite_logvas": (logmesquite_logvas, {}),
    "nes1972-nes": (nes, {}),
    "nes1984-nes": (nes, {}),
    "nes2000-nes": (nes, {}),
    "eight_schools-eight_schools_noncentered": (eight_schools_noncentered, {"target_accept": 0.95}),
    "eight_schools-eight_schools_centered": (
        eight_schools_centered,
        {"target_accept": 0.99, "draws": 5000, "tune": 3000},
    ),
    "arK-arK": (ark, {}),
    "arma-arma11": (arma11, {}),
    "hmm_example-hmm_example": (hmm_example, {}),
    "bball_drive_event_1-hmm_drive_1": (hmm_drive_1, {}),
    "hudson_lynx_hare-lotka_volterra": (lotka_volterra, {}),
    "gp_pois_regr-gp_regr": (gp_regr, {}),
}

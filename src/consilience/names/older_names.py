"""Names that PyMC 3 to 5 had and PyMC 6 has no more, with today's spelling.

In: where somebody looks for a name, and the name. Out: the sentence that says how it is written now. Outside: names of
today's PyMC that are missing here (`absent`).
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Final

_DRAWS: Final = "`pm.draw(x, draws=…)` draws from a random variable"
_PLOTS: Final = "the plots are ArviZ's: it is "
_TENSORS: Final = "tensors are `pt`: `import consilience.tensor as pt`"
_FORMULAS: Final = "linear models from formulas are in the package Bambi, which writes them for PyMC"
_FILES: Final = "results are `xarray.DataTree`: `result.to_netcdf(path)` writes one, `xarray.open_datatree` reads it"

_TABLES: Final[dict[str, dict[str, str]]] = {
    "module": {
        # data and predictions
        "it is `pm.Data`, whose values can be exchanged; nothing is compiled anew": "ConstantData MutableData",
        "it is `pm.sample_posterior_predictive`": """
            sample_ppc sample_ppc_w sample_posterior_predictive_w fast_sample_posterior_predictive
        """,
        "it is `pm.sample_prior_predictive`": "sample_prior sample_generative",
        "it is `pm.sample`, whose runs with `blocking=False` can be followed": "iter_sample",
        "it is `pm.sample_smc`": "sample_abc SMC_ABC",
        "it is `pm.sample(init=…)`": "init_advi",
        "it is `pm.find_hessian(point)`": "find_hessian_diag fisher_matrix guess_scaling approx_hessian",
        "gradients of tensors are `pm.grad`": "gradient1 tensor_gradient",
        "`pm.model_to_graphviz(model)` draws a model": "model_graph_to_graphviz plot_model draw_model",
        # functions
        "it is `pm.math.invlogit`": "invlogit sigmoid expit inverse_logit",
        "it is `pm.math.logit`": "logit",
        "it is `pm.math.expand_packed_triangular`": "expand_packed_triangular",
        "it is `pm.math.probit` and `pm.math.invprobit`": "probit invprobit",
        "functions of tensors are in `pm.math`": """
            exp log log1p sqrt dot switch where maximum minimum clip stack concatenate logsumexp erf gammaln softmax
            logaddexp tanh ceil floor round sgn
        """,
        _TENSORS: "tt T theano theanof aesara aesaraf pytensorx theano_tensor",
        "models and runs take `random_seed=`": "tt_rng set_tt_rng at_rng set_at_rng",
        "it is `pm.shared`": "set_shared generator GeneratorAdapter align_minibatches",
        "it is `pm.config.floatX`, or data as float32": "set_floatX",
        # distributions
        "bounds are `pm.Truncated('x', pm.Normal.dist(0, 1), lower=0)`, or of a latent variable `transform=`": "Bound",
        "it is `pm.DiracDelta`": "ConstantDist Constantdist",
        "it is `pm.AR('x', rho=[k], …)`": "AR1",
        "it is `pm.CustomDist`": "NoDistribution",
        "it is `pm.MvNormal`": "MvGaussian",
        "a binary variable is `pm.Bernoulli`": "Binary",
        "transforms are in `pm.distributions.transforms`": """
            SimplexTransform StickBreaking Ordered LogTransform LogOddsTransform logodds stick_breaking simplextransform
            log_exp_m1 sum_to_1
        """,
        # variational inference
        "it is `pm.fit(method='advi')`": "advi advi_minibatch",
        "it is `pm.fit(…).sample(draws)`": "sample_vp",
        "it is `pm.fit(method='svgd')`": "svgd",
        # linear models, Gaussian processes
        _FORMULAS: "glm GLM LinearComponent families linear",
        "it is `pm.gp.Latent` or `pm.gp.Marginal`": "GP NoncenteredGP NonCenteredGP sample_gp",
        # results
        _FILES: "save_trace load_trace save_model_trace",
        "`result.posterior.to_dataset().to_dataframe()` makes a table of draws": "trace_to_dataframe",
        "it is `pm.summary(result)`": "df_summary statistics quantiles summarize",
        "it is `pm.hdi(result)`": "hpd",
        "it is `pm.rhat(result)`": "gelman_rubin",
        "it is `pm.ess(result)`": "effective_n effective_sample_size",
        "it is `pm.mcse(result)`": "mc_error",
        "`pm.rhat` and `pm.ess` tell whether chains have converged": "geweke",
        "`pm.loo(result)` estimates the same quantity": "dic DIC bpic BPIC",
        "chains are in one result, along the dim `chain`": "merge_traces autocov autocorr",
        _PLOTS + "`pm.plot_trace`": "traceplot",
        _PLOTS + "`pm.plot_forest`": "forestplot",
        _PLOTS + "`pm.plot_autocorr`": "autocorrplot",
        _PLOTS + "`pm.plot_energy`": "energyplot",
        _PLOTS + "`pm.plot_compare`": "compareplot",
        _PLOTS + "`pm.plot_pair`": "pairplot",
        _PLOTS + "`pm.plot_dist`": "densityplot kdeplot kdeplot_op",
        _PLOTS + "`pm.plot_lm`": "plot_posterior_predictive_glm",
        # samplers
        "one sampler runs in machine code: `pm.sample()`": """
            sampling_jax sample_numpyro_nuts sample_blackjax_nuts jax external smc_sampler
        """,
        "draws are written while they are made with `pm.sample(save=pm.Save(store=…))`": "Text SQLite HDF5 NDArray",
        "it is `pm.NUTS`, `pm.HamiltonianMC` or `pm.Metropolis`": "HMC MH ElemwiseCategorical MLDA DEMetropolisMLDA",
        "step methods are combined by a list, `step=[…]`": "assign_step_methods instantiate_steppers",
        "points are dicts of arrays; `model.log_density()` has flat vectors": "DictToVarBijection ArrayOrdering",
        "parts of a model under a prefix are `with pm.Model(name='…'):` inside a model": "Factor Context",
    },
    "tensor": {
        _DRAWS: "random rvs sample_rv draw",
        "`pm.logp(x, value)` is the log density of a random variable, `model.compile_logp()` that of a model": """
            logp logpt logp_sum logp_elemwise logp_elemwiset logp_nojac
        """,
        "`pm.logcdf(x, value)` is the log distribution function of a random variable": "logcdf",
        "starting values are `initval=` of a variable, and `model.initial_point()` those of a model": """
            init_value test_value testval default
        """,
        "`pm.logp(x, value)` and `pm.draw(x)` are of the distribution of a random variable": "distribution",
        "its value on the unconstrained line is `model.rvs_to_values[x]`": "transformed",
        "the data of an observed variable are `model.rvs_to_values[x]`": "observations data_values",
    },
    "model": {
        "it is `model.value_vars`": "vars",
        "it is `model.continuous_value_vars`": "cont_vars",
        "it is `model.discrete_value_vars`": "disc_vars",
        "it is `model.initial_point()`": "test_point recompute_initial_point initial_values",
        "it is `model.logp()`, a tensor, or `model.compile_logp()`, a function of a point": """
            logpt logp_elemwise fastlogp varlogpt observedlogpt datalogpt potentiallogpt
        """,
        "it is `model.logp(jacobian=False)`": "logp_nojac logp_nojact fastlogp_nojac",
        "it is `model.dlogp()`, a tensor, or `model.compile_dlogp()`, a function of a point": "dlogpt fastdlogp",
        "it is `model.d2logp()` or `model.compile_d2logp()`": "d2logpt fastd2logp",
        "it is `model.compile_fn(outs)`": "makefn fn fastfn",
        "it is `model.point_logps()`": "check_test_point",
        "it is `model.named_vars_to_dims`": "RV_dims",
        "variables are declared by distributions inside `with model:`": "add_random_variable Var",
        "it is `model.set_initval`, or `initval=` of a variable": "update_start_vals",
        "it is `model.rvs_to_values`": "missing_values rv_to_value",
        "positions as flat vectors are `model.log_density()`'s": "bijection ordering ndim",
    },
    "result": {
        "the draws are `result.to_numpy(name)`, an array (chain, draw, …)": "get_values get_draws",
        "the statistics of the sampler are `result.sample_stats[name]`": "get_sampler_stats stat_names",
        "the names are `list(result.posterior.data_vars)`": "varnames var_names",
        "it is `result.posterior.sizes['chain']`": "nchains chains",
        "a draw is `result.posterior.isel(chain=0, draw=i)`": "point points",
        "it is `result.posterior[name] = (('chain', 'draw'), values)`": "add_values",
        "summaries are `pm.summary(result)`": "summary",
        "effects of thinning are `result.isel(draw=slice(None, None, k))`": "burn_in thin",
    },
    "gp": {
        "it is `pm.gp.Latent` or `pm.gp.Marginal`": "GP GPFull GPFullNonConjugate GPLatent",
        "it is `gp.conditional('f_new', X_new)` and `pm.sample_posterior_predictive`": "sample_gp",
        "it is `pm.gp.MarginalApprox`": "GPSparseConjugate",
    },
    "variational": {
        "it is `pm.fit(method='advi')`": "advi advi_minibatch ADVI_minibatch",
        "it is `pm.fit(method='svgd')`": "svgd",
        "it is `pm.fit(…).sample(draws)`": "sample_vp sample_vi",
    },
    "backends": {
        "draws are written while they are made with `pm.sample(save=pm.Save(store=…))`": """
            Text SQLite HDF5 text sqlite hdf5
        """,
    },
}
_SENTENCES: Final = {
    place: {name: sentence for sentence, names in groups.items() for name in names.split()}
    for place, groups in _TABLES.items()
}

# What every distribution takes besides.
_OF_ALL: Final = ("dims", "initval", "observed", "shape", "size", "total_size", "transform")

# Parameters of distributions, with the word of today.
PARAMETERS: Final = {
    "sd": "sigma", "std": "sigma", "testval": "initval", "test_value": "initval", "start": "initval", "Tau": "tau",
    "covariance": "cov", "init": "init_dist", "distribution": "dist", "comp_dist": "comp_dists", "dim": "dims",
    "observations": "observed",
}  # fmt: skip

# Those of SciPy, NumPyro and Stan, with what they may be here: the first that a distribution has.
_ELSEWHERE: Final = {
    "loc": "mu", "location": "mu", "scale": "sigma b", "stddev": "sigma", "std_dev": "sigma", "precision": "tau",
    "rate": "lam beta mu", "lambda_": "lam", "probs": "p", "prob": "p", "logits": "logit_p", "total_count": "n",
    "trials": "n", "df": "nu", "concentration": "alpha a kappa", "covariance_matrix": "cov", "scale_tril": "chol",
    "data": "observed", "obs": "observed", "value": "observed", "low": "lower", "high": "upper", "min": "lower",
    "max": "upper",
}  # fmt: skip


def today(place: str, name: str) -> str | None:
    """How an older name is written now; None for a name that PyMC did not have there."""
    return _SENTENCES.get(place, {}).get(name)


def parameter(name: str, accepted: Sequence[str]) -> str:
    """What to say behind the name of a parameter that a distribution does not have: the word that may be meant."""
    known = (*accepted, *_OF_ALL)
    if (word := PARAMETERS.get(name)) in known:
        return f": in today's PyMC it is `{word}`"
    if (words := _ELSEWHERE.get(name)) is not None:
        near = [word for word in words.split() if word in known]
    else:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f" (did you mean `{near[0]}`?)" if near else ""

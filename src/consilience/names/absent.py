"""What PyTensor and PyMC have and this library does not have yet: names, and what serves meanwhile.

In: a name, or a thing of those libraries. Out: the sentence for whoever asks for it. Outside: everything that is there.
"""

from __future__ import annotations

import sys
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Final

_GROUPS: Final = {
    # Tensors.
    "loops are in `pm.scan`, which is function and module, and in `pt`": "map",
    "interpolation is in `pt.interpolate`": "interpolate1d",
    "Fourier transforms are in `pt.fft`": "rfft irfft",
    "convolutions are in `pt.signal`": "convolve convolve1d convolve2d",
    "the configuration is `pt.config`, with `floatX` and `change_flags`": "configparser",
    "`pt.dot` and `pt.matmul` do this": "dense_dot",
    "random numbers are in `pt.random`, with explicit keys": "RandomStream random_stream",
    "there is one kind of node: constants, inputs and results are `TensorVariable`": """
        Constant TensorConstant NoneConst NoneSliceConst
    """,
    "scalars are tensors of rank 0": "scalar_from_tensor tensor_from_scalar",
    "slices are Python's own": "make_slice slicetype none_type_t",
    "a constant's value is `.eval()`": """
        get_scalar_constant_value get_underlying_scalar_constant_value get_underlying_scalar_constant
    """,
    "everything is computed in main memory": "transfer",
    "dtypes are names, as in `dtype='float64'`": """
        complex_matrix_types complex_scalar_types complex_types complex_vector_types
        float_matrix_types float_scalar_types float_types float_vector_types int_matrix_types int_scalar_types
        int_types int_vector_types
    """,
    "functions of tensors are Python functions": """
        as_symbolic
    """,
    "an inner part of PyTensor or PyMC; the public functions are in `consilience`, `pt`, `pt.linalg` and `pm.math`": """
        blas_c blas_headers elemwise_cgen pytensor rewriting utils assumptions link misc npy_2_compat
        values_eq_approx_always_true logging BaseModel FrozenModel compile_forward_sampling_function
        init_nuts SymbolicRandomVariable Sequence TYPE_CHECKING Union singledispatch Any Optional
        Callable NoReturn
    """,
    "this is in `pm.gradient`": "Lop Rop pullback pushforward",
    "this is in `pm.printing`": "pp pprint",
    "this is a function of `pt.linalg`, no method": "norm",
    # Models.
    "`pm.Wishart` and `pm.LKJCholeskyCov` are there": "WishartBartlett",
    "PyMC's helper of its own samplers; step methods are written with `pm.Kernel`": "logbern",
    "an approximation has all variables of a model; of some alone, `pm.fit_laplace` has `vars=`": "Group",
    "an optimizer of `pm.fit` has its momentum, and `pm.fit` has `total_grad_norm_constraint`": """
        apply_momentum apply_nesterov_momentum norm_constraint total_norm_constraint
    """,
    "the method `model.compile_fn` does this": "compile_fn",
    "example data of PyMC's package are not shipped": "get_data",
}
FORMER: Final = {
    "plot_bpv": "`plot_ppc_pit` and `plot_ppc_tstat` show Bayesian p-values",
    "plot_density": "`plot_dist` compares densities of several results",
    "plot_dist_comparison": "`plot_prior_posterior` compares prior and posterior",
    "plot_dot": '`plot_dist(..., kind="dot")` draws dots',
    "plot_ecdf": '`plot_dist(..., kind="ecdf")` draws the distribution function, `plot_ecdf_pit` checks it',
    "plot_elpd": "`plot_compare` shows the differences, `loo_i` gives them one by one",
    "plot_hdi": "`plot_lm` draws intervals along a predictor",
    "plot_joint": "`plot_pair` shows two parameters jointly",
    "plot_kde": "`plot_dist` estimates densities",
    "plot_separation": "`plot_ppc_pava` checks the calibration of binary predictions",
    "plot_violin": "`plot_ridge` and `plot_forest` compare the densities of many parameters",
    "psens": "`psense` and `psense_summary` measure the sensitivity to prior and likelihood",
    "r2_score": "`bayesian_r2` and `residual_r2` give the variance explained",
    "waic": "`loo` estimates the same quantity more reliably",
}
"""Names that ArviZ 1.0 gave up, and what to use instead."""

_REASONS: Final = {name: " ".join(reason.split()) for reason, names in _GROUPS.items() for name in names.split()}
_REASONS.update((name, f"ArviZ 1.0 gave it up; {instead}") for name, instead in FORMER.items())


_PLACES: Final = {
    "module 'consilience'": "module",
    "a tensor": "tensor",
    "module 'consilience.gp'": "gp",
    "module 'consilience.estimators.variational'": "variational",
    "module 'consilience.backends'": "backends",
}


def known(name: str) -> str | None:
    """Why PyTensor's or PyMC's `name` is missing and what is there in its place; None for a name of neither."""
    return _REASONS.get(name)


def elsewhere(thing: object) -> str:
    """What to tell somebody who brings an expression, an op or a model of PyTensor or PyMC; empty for other things."""
    own = next((c.__module__.split(".")[0] for c in type(thing).__mro__ if c.__module__.startswith(_OTHERS)), "")
    return own and (
        f"`{str(thing).splitlines()[0]:.60}` belongs to {_TITLES[own]}, whose expressions and models do not mix with "
        "those of consilience: import `consilience` and its modules in place of `pymc` and `pytensor` everywhere, or "
        "convert with `pm.from_pytensor` (a graph) or `pm.from_pymc` (a model)."
    )


def around() -> str:
    """The same of the model of PyMC inside whose `with` block this library is called; empty outside of one."""
    asked: Any = getattr(getattr(sys.modules.get("pymc"), "Model", None), "get_context", None)
    told = "" if asked is None else elsewhere(asked(error_if_none=False))
    return told and f"The model around is not one of this library: {told}"


def refuse_elsewhere(kind: type[Any]) -> None:
    """Have PyTensor, where it is loaded, refuse expressions of this library in the same words."""
    convert = getattr(sys.modules.get("pytensor.tensor"), "_as_tensor_variable", None)
    if convert is not None:
        convert.register(kind, _refused)


def ours(thing: str) -> str:
    """What to tell somebody who brings a thing of this library, by its description, to PyTensor or PyMC."""
    return (
        f"{thing} belongs to consilience, whose expressions and models do not mix with those of PyTensor and PyMC: "
        "import `consilience` and its modules in place of `pymc` and `pytensor` everywhere."
    )


def _refused(thing: object, *arguments: object, **keywords: object) -> None:
    raise TypeError(ours(repr(thing)))


_TITLES: Final = {"pytensor": "PyTensor", "pymc": "PyMC"}
_OTHERS: Final = tuple(f"{name}." for name in _TITLES)


def reason(place: str, name: str, there: list[str] | None = None) -> str:
    """What to tell somebody who looks for `name` in `place`, where the names `there` are."""
    older = import_module("consilience.names.older_names")  # loaded by mistakes alone
    found = older.today(_PLACES.get(place, place), name) or known(name)
    near = [] if found is not None else get_close_matches(name, there or [], 1)
    return f"{place} has no attribute {name!r}" + (
        f": {found}." if found else f"; did you mean {near[0]!r}?" if near else "."
    )

"""What PyTensor and PyMC have and this library does not have yet: names, and what serves meanwhile.

In: a name. Out: the sentence for whoever asks for it. Outside: everything that is there.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final

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
    "scalars are tensors of rank 0": "scalar_from_tensor tensor_from_scalar scalar",
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
    "new ops are written in the library (CONTRIBUTING.md); functions of tensors are Python functions": """
        Op as_symbolic
    """,
    "an inner part of PyTensor or PyMC; the public functions are in `consilience`, `pt`, `pt.linalg` and `pm.math`": """
        blas_c blas_headers elemwise_cgen pytensor rewriting utils assumptions link misc npy_2_compat
        values_eq_approx_always_true blocking data logging BaseModel FrozenModel compile_forward_sampling_function
        compile_fn init_nuts SymbolicRandomVariable Sequence TYPE_CHECKING Union singledispatch Any Optional
        Callable NoReturn
    """,
    "this is in `pm.gradient`": "Lop Rop pullback pushforward",
    "this is in `pm.printing`": "pp pprint",
    "this is a function of `pt.linalg`, no method": "norm",
    # Models.
    "`pm.Wishart` and `pm.LKJCholeskyCov` are there": "WishartBartlett",
    "`pm.distributions` has the base classes": "Continuous Discrete Distribution",
    "PyMC's helper of its own samplers; step methods are written with `pm.Kernel`": "logbern",
    "an approximation has all variables of a model; of some alone, `pm.fit_laplace` has `vars=`": "Group",
    "an optimizer of `pm.fit` has its momentum, and `pm.fit` has `total_grad_norm_constraint`": """
        apply_momentum apply_nesterov_momentum norm_constraint total_norm_constraint
    """,
    "example data of PyMC's package are not shipped": "get_data",
    "`pm.Data` is both: its values can be exchanged, and nothing is compiled anew while shapes stay": """
        ConstantData MutableData
    """,
}
_REASONS: Final = {name: " ".join(reason.split()) for reason, names in _GROUPS.items() for name in names.split()}


def known(name: str) -> str | None:
    """Why PyTensor's or PyMC's `name` is missing and what is there in its place; None for a name of neither."""
    return _REASONS.get(name)


def reason(place: str, name: str, there: list[str] | None = None) -> str:
    """What to tell somebody who looks for `name` in `place`, where the names `there` are."""
    found = known(name)
    near = [] if found is not None else get_close_matches(name, there or [], 1)
    return f"{place} has no attribute {name!r}" + (
        f": {found}." if found else f"; did you mean {near[0]!r}?" if near else "."
    )

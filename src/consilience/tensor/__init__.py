"""The public names of tensors: PyTensor's and NumPy's vocabulary over the expression graph.

`import consilience.tensor as pt`. Everything here builds frozen, interned expressions; `function` and
`.eval()` compute them. Each name is written where its function is, and that file is loaded when the name is first used.
"""

from consilience.first_use import load_on_use
from consilience.ir import Node
from consilience.names.absent import refuse_elsewhere
from consilience.tensor.elementwise import ROWS
from consilience.tensor.inputs import __all__ as INPUTS
from consilience.tensor.keywords import published

refuse_elsewhere(Node)

load_on_use(
    __name__,
    {
        "": "extra_ops fft interpolate linalg nlinalg optimize random signal slinalg special",
        "arrangement": """
            atleast_1d atleast_2d atleast_3d atleast_Nd broadcast_dynamic broadcast_shape flip get_vector_length
            is_flat join_dims permute_dims ravel roll shape_padaxis shape_padleft shape_padright
            specify_broadcastable specify_shape split_dims transpose
        """,
        "branches": "switch_case",
        "consilience.backends.contexts": "Context shared",
        "consilience.backends.evaluation": "eval",
        "consilience.backends.function": "Function function",
        "consilience.backends.printing": "dprint",
        "consilience.ir": "TensorType TensorVariable=Node Variable=Node",
        "consilience.ir.settings": "config",
        "consilience.ops.arrangement": "diagonal dimshuffle flatten full_like repeat take take_along_axis trace",
        "consilience.ops.complex_numbers": "angle complex complex_from_polar conj conjugate=conj imag real",
        "consilience.ops.control": "cond ifelse",
        "consilience.ops.elementwise": "TensorLike cast",
        "consilience.ops.index": "argwhere flatnonzero",
        "consilience.ops.linalg": "det dot inv matmul matrix_transpose outer slogdet tensordot",
        "consilience.ops.notation": "clip float_power pow=power power shape=shape_of",
        "consilience.ops.order": "argsort searchsorted sort",
        "consilience.ops.reductions": """
            all any argmax argmin cumprod cumsum logsumexp max mean min prod ptp std sum var
        """,
        "consilience.ops.shape": """
            arange broadcast_arrays broadcast_to concat=concatenate concatenate expand_dims eye full moveaxis reshape
            squeeze stack swapaxes
        """,
        "consilience.transforms.vectorize": "axis_index pmax pmean pmin psum vectorize=vectorize_function vmap",
        "construction": """
            alloc as_tensor=as_tensor_variable as_tensor_variable constant e empty empty_like euler_gamma floatX
            identity_like inf key nan newaxis ones ones_like pi tri tril_indices tril_indices_from triu_indices
            triu_indices_from zeros zeros_like
        """,
        "counting": "bincount digitize histogram histogram_bin_edges to_one_hot",
        "differentiation": "grad gradient hessian jacobian value_and_grad",
        "einstein": "einsum",
        "elementwise": " ".join(ROWS),
        "formulas": """
            allclose erfcinv fill identity invprobit isclose isneginf isposinf largest logaddexp logdiffexp nan_to_num
            positive second sici sinc smallest stop_gradient switch tensor_copy where xlogx xlogy0
        """,
        "functions": "OpFromGraph custom_vjp custom_vmap",
        "gamma_functions": "beta binom chi2sf comb factorial gammal gammau multigammaln poch polygamma zeta",
        "gathering": """
            choose compress diag extract_diag fill_diagonal fill_diagonal_offset inc_subtensor inverse_permutation
            nonzero nonzero_values ravel_multi_index set_subtensor slice_at_axis tril triu unravel_index
        """,
        "grids": "bartlett geomspace linspace logspace meshgrid mgrid ogrid",
        "inputs": " ".join(INPUTS),
        "joining": """
            column_stack concat_with_broadcast dstack horizontal_stack hstack join split stacklists tile
            vertical_stack vstack
        """,
        "linear_systems": "cholesky solve solve_triangular",
        "loops": "foldl foldr map reduce scan until while_loop",
        "ordering": "argpartition argtopk partition permute_row_elements topk topk_and_argtopk unique",
        "packing": "pack unpack",
        "padding": "pad",
        "piecewise_linear": "interp",
        "products": """
            batched_dot batched_tensordot block_diag inner kron matrix_dot matvec multi_dot vdot vecdot vecmat
        """,
        "python_functions": "as_op wrap_py",
        "python_ops": "Op",
        "quantiles": "median percentile quantile",
        "reduction": "average corrcoef cov diff log_softmax max_and_argmax softmax",
        "rounding": "ceil_intdiv divmod iround round round_half_away_from_zero tround",
    },
    publish=published,
)

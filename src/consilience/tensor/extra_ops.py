"""The functions of PyTensor's module of this name; each is written where its subject is."""

from consilience.first_use import load_on_use
from consilience.tensor.keywords import published

load_on_use(
    __name__,
    {
        "arrangement": "broadcast_shape",
        "consilience.ops.arrangement": "repeat",
        "consilience.ops.order": "searchsorted",
        "consilience.ops.reductions": "cumprod cumsum",
        "consilience.ops.shape": "broadcast_arrays broadcast_to squeeze",
        "counting": "bincount to_one_hot",
        "gathering": "compress fill_diagonal fill_diagonal_offset ravel_multi_index unravel_index",
        "grids": "bartlett geomspace linspace logspace",
        "joining": "concat_with_broadcast",
        "ordering": "unique",
        "reduction": "diff",
    },
    publish=published,
)

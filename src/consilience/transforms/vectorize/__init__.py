"""Batched forms of programs: a table with one row per op, an engine, and functions of batches for users."""

from consilience.first_use import load_on_use

load_on_use(
    __name__,
    {
        "engine": "vectorize vectorize_graph",
        "mapped": "vmap",
        "named_axes": "axis_index pmax pmean pmin psum",
        "signature": "vectorize_function",
        "table": "BATCHED NO_BATCHED missing",
    },
)

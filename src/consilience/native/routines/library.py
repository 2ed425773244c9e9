"""Routines as machine code, under the names that generated code calls.

In: a symbol `consilience_routine_<name>`. Out: a library with it, compiled when first asked for.
"""

from __future__ import annotations

import functools
from typing import Any, Final

from consilience.native import jit
from consilience.native.jit import Library
from consilience.native.mathematics import LIBRARY
from consilience.native.routines.matrices import (
    all_finite,
    column_numbers,
    count_from_zero,
    eigenvectors,
    identity,
    join_complex,
    mirror_lower,
    orient_factors,
    orient_rows,
    permutation,
    split_complex,
    transpose,
    triangle_finite,
    unpack_ldl,
    upper_rows,
)
from consilience.native.routines.roots import distance_from_identity, root_of_block
from consilience.native.routines.rotations import small_eigen
from consilience.native.routines.small_systems import small_cholesky, small_solve
from consilience.native.routines.sorting import argsort, ordered_key
from consilience.native.routines.sparse_cholesky import (
    sparse_cholesky,
    sparse_cholesky_pullback,
    sparse_lower_solve,
    sparse_upper_solve,
)
from consilience.native.typed_python import NativeFunction
from consilience.native.typed_python.translate import translate
from consilience.native.typed_python.translations import written

PREFIX: Final = "consilience_routine_"
ROUTINES: Final[dict[str, NativeFunction[..., Any]]] = {
    "argsort": argsort,
    "ordered_key": ordered_key,
    "all_finite": all_finite,
    "column_numbers": column_numbers,
    "count_from_zero": count_from_zero,
    "distance_from_identity": distance_from_identity,
    "eigenvectors": eigenvectors,
    "identity": identity,
    "join_complex": join_complex,
    "mirror_lower": mirror_lower,
    "orient_factors": orient_factors,
    "orient_rows": orient_rows,
    "permutation": permutation,
    "root_of_block": root_of_block,
    "split_complex": split_complex,
    "transpose": transpose,
    "triangle_finite": triangle_finite,
    "unpack_ldl": unpack_ldl,
    "upper_rows": upper_rows,
    "small_cholesky": small_cholesky,
    "small_eigen": small_eigen,
    "small_solve": small_solve,
    "sparse_cholesky": sparse_cholesky,
    "sparse_cholesky_pullback": sparse_cholesky_pullback,
    "sparse_lower_solve": sparse_lower_solve,
    "sparse_upper_solve": sparse_upper_solve,
}


@functools.cache
def library(symbol: str) -> Library | None:
    """The library of one symbol, or None if there is no such routine."""
    function = ROUTINES.get(symbol.removeprefix(PREFIX))
    if function is None:
        return None
    exported = {symbol: function}
    return jit.load(written(exported, lambda: translate(exported)), exported, LIBRARY)

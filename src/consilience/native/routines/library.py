"""Routines as machine code, under the names that generated code calls.

In: a symbol `consilience_routine_<name>`. Out: a library with it, compiled when first asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from consilience.native import jit
from consilience.native.jit import Library
from consilience.native.loops import Module
from consilience.native.mathematics import LIBRARY
from consilience.native.own_code import load_own, translated
from consilience.native.routines import extremes, sorting
from consilience.native.routines.correlation import correlate
from consilience.native.routines.fourier import fourier, pack_real, unpack_real
from consilience.native.routines.kalman import kalman_filter
from consilience.native.routines.kalman_slopes import kalman_slopes
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
from consilience.native.routines.row_networks import write_sort_rows
from consilience.native.routines.row_sorting import put_rows_right, sort_rows
from consilience.native.routines.small_systems import small_cholesky, small_solve
from consilience.native.routines.sparse_cholesky import (
    sparse_cholesky,
    sparse_cholesky_pullback,
    sparse_lower_solve,
    sparse_upper_solve,
)
from consilience.native.routines.toeplitz import toeplitz_inverse
from consilience.native.routines.triangles import (
    lower_inverse,
    lower_to_upper,
    solve_rows,
    upper_factor,
    upper_to_lower,
)
from consilience.native.typed_python import NativeFunction

PREFIX: Final = "consilience_routine_"
ROUTINES: Final[dict[str, NativeFunction[..., Any]]] = {
    "all_finite": all_finite,
    "correlate": correlate,
    "fourier": fourier,
    "pack_real": pack_real,
    "unpack_real": unpack_real,
    "column_numbers": column_numbers,
    "count_from_zero": count_from_zero,
    "distance_from_identity": distance_from_identity,
    "eigenvectors": eigenvectors,
    "identity": identity,
    "join_complex": join_complex,
    "kalman_filter": kalman_filter,
    "kalman_slopes": kalman_slopes,
    "mirror_lower": mirror_lower,
    "orient_factors": orient_factors,
    "orient_rows": orient_rows,
    "permutation": permutation,
    "extreme_of_floats": extremes.place_among_floats,
    "extreme_of_integers": extremes.place_among_integers,
    "extremes_of_floats": extremes.places_among_floats,
    "extremes_of_integers": extremes.places_among_integers,
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
    "toeplitz_inverse": toeplitz_inverse,
    "lower_inverse": lower_inverse,
    "lower_to_upper": lower_to_upper,
    "solve_rows": solve_rows,
    "upper_factor": upper_factor,
    "upper_to_lower": upper_to_lower,
    "argsort": sorting.argsort,
    "below": sorting.below,
    "floats_of_keys": sorting.floats_of_keys,
    "keys_of_floats": sorting.keys_of_floats,
    "next_key": sorting.next_key,
    "places_of_floats": sorting.places_of_floats,
    "places_of_integers": sorting.places_of_integers,
    "select": sorting.select,
    "select_run": sorting.select_run,
    "sort_keys": sorting.sort_keys,
    "put_rows_right": put_rows_right,
    "sort_rows": sort_rows,
}
# Routines whose loops LLVM makes vectors of: they take longer to compile, and a fourth of the time to run.
VECTORISED: Final = frozenset(
    [
        "argsort",
        "extreme_of_floats",
        "extreme_of_integers",
        "extremes_of_floats",
        "extremes_of_integers",
        "floats_of_keys",
        "fourier",
        "keys_of_floats",
        "next_key",
        "pack_real",
        "select",
        "select_run",
        "sort_keys",
        "unpack_real",
    ]
)
WRITTEN: Final[dict[str, Callable[[str], Module]]] = {"sort_rows": write_sort_rows}
"""Routines whose vectors are written one by one; typed Python says what they mean."""


@functools.cache
def library(symbol: str) -> Library | None:
    """The library of one symbol, or None if there is no such routine."""
    function = ROUTINES.get(symbol.removeprefix(PREFIX))
    if function is None:
        return None
    name = symbol.removeprefix(PREFIX)
    passes: jit.Passes = "full" if name in VECTORISED else "light"
    write = functools.partial(WRITTEN[name], symbol) if name in WRITTEN else None
    return load_own({symbol: function}, write, imports=LIBRARY, passes=passes)


def program(symbol: str) -> Module | None:
    """The loop program that defines one symbol, or None if there is no such routine."""
    function = ROUTINES.get(symbol.removeprefix(PREFIX))
    return None if function is None else translated({symbol: function})

"""Parameters that many public functions share: each is written once, and its entry is filled in when one is loaded.

In: a function or a class whose docstring has a line `x, axis : ...`. Out: the whole docstring, in which each name of
that line has its type, its default, read off the signature, and its meaning. A word in brackets, as in `axis (one)`,
tells rows for the same name apart.
"""

from __future__ import annotations

from typing import Any, Final

ROWS: Final = {
    "a, c, input, t, v, x": ("TensorLike", "A tensor, an array, a number or nested lists."),
    "A, B, Q": ("TensorLike", "Matrix, or a batch of them."),
    "active_dims": ("sequence of int", "The columns that the function looks at; all by default."),
    "arry": ("TensorLike", "The arrays or tensors."),
    "axes": ("sequence of int", "The axes meant, negative ones counted from the end."),
    "axis": ("int or sequence of int", "Axis or axes; negative numbers count from the end. None: all axes."),
    "axis (new)": ("int", "Place of the new axis in the result."),
    "axis (one)": ("int", "The axis; negative numbers count from the end."),
    "axis (or flattened)": (
        "int",
        "The axis; negative numbers count from the end. None: the flattened tensor.",
    ),
    "axis1": ("int", "First of the two axes."),
    "axis2": ("int", "Second of the two axes."),
    "axis_name": ("AxisName", "Name that `vmap` was given for the axis."),
    "b": ("TensorLike", "Right sides, shape (..., n) or (..., n, m)."),
    "b (second), y": ("TensorLike", "Second operand, broadcast against the first."),
    "check_finite": ("bool", "Taken for SciPy's sake and without effect: the compiler decides about checks."),
    "compiled": ("bool", "False runs the same source under CPython: slow, for debugging."),
    "condition": ("TensorLike", "Boolean expression; a number other than 0 counts as true."),
    "consider_constant": ("Nodes", "Expressions that count as constants."),
    "cost": ("TensorVariable", "Scalar expression to differentiate."),
    "csm": ("object", "A sparse matrix."),
    "dim": ("str or sequence of str", "Name or names of the dims to work along; None for all that apply."),
    "dims": ("str or iterable of str", "Names of the axes; their lengths come from the model's coords."),
    "disconnected_inputs": ("str", '"raise", "warn" or "ignore" where the result does not depend on a variable.'),
    "draws": ("array_like", "Draws, shape (chain, draw, ...)."),
    "dtype": ("dtype", "Dtype of the result; by default it follows from the operands."),
    "dtype (floatX)": ("dtype", "Dtype of the result; `config.floatX` by default."),
    "epsilon": ("float", "Small number that keeps divisions finite."),
    "factor_list": ("sequence", "The functions to combine; numbers and arrays may be among them."),
    "format": ("Format", 'Sparse format, "csc" or "csr".'),
    "graph": ("GraphLike", "The expression, a list of them or a compiled function."),
    "input_dim": ("int", "Number of columns of the inputs."),
    "k": ("int", "Offset of the diagonal; 0 is the main one, positive ones lie above it."),
    "keepdims": ("bool", "True: keep the reduced axes, with length 1."),
    "krons": ("sequence of TensorLike", "Factors of the Kronecker product, matrices in order."),
    "learning_rate": ("float", "Length of a step, > 0."),
    "left": ("bool", "Whether new axes come in front."),
    "loss_or_grads": (
        "TensorVariable or sequence",
        "Loss, or its gradients by parameter; None gives the rule alone, for `pm.fit(obj_optimizer=...)`.",
    ),
    "ls": ("TensorLike", "Length scale > 0 in the unit of the inputs; one, or one for each active column."),
    "ls_inv": ("TensorLike", "Inverse length scale, in place of `ls`."),
    "lwork": ("int", "Taken for SciPy's sake and without effect: the compiler decides about memory."),
    "mode": ("str or Mode", "Taken for PyTensor's sake and without effect."),
    "model": ("Model", "The model; by default that of the enclosing `with` block."),
    "model (given)": ("Model", "The model."),
    "name": ("str", "Name shown when the expression is printed."),
    "ndim": ("int", "Rank."),
    "non_sequences": ("object", "Values that every step gets unchanged."),
    "norm": ("str", 'Scaling: None for 1/n in the inverse alone, "ortho" for 1/sqrt(n) in both, "no_norm" for none.'),
    "numeric_inverse": ("bool", "Whether a quantile without a formula is searched for numerically."),
    "outputs": ("TensorVariable or sequence of TensorVariable", "Expressions whose values are wanted."),
    "outputs_info": ("object", "Value before the first step."),
    "overwrite_a, overwrite_b": (
        "bool",
        "Taken for SciPy's sake and without effect: the compiler decides about memory.",
    ),
    "params": ("sequence of shared variables", "The shared variables to move."),
    "progressbar": ("bool", "Whether to show a progress line."),
    "random_seed": (
        "int, sequence of int or Generator",
        "Seed; the same seed gives the same result. A fresh seed by default.",
    ),
    "return_updates": ("bool", "Whether the result is a pair with PyTensor's dictionary of updates, which is empty."),
    "rv": ("TensorVariable", "Random variable, made by `dist` or in a model."),
    "s": ("sequence of int", "Lengths of the transformed axes; cut or padded with zeros."),
    "sample_dims": ("sequence of str", 'Axes of the draws; ("chain", "draw") by default.'),
    "sequences": ("object", "Tensors that the loop runs along, by their first axis."),
    "shape": ("int or sequence of int", "Lengths of the axes."),
    "start": ("mapping", "Starting values by name; the model's starting point by default."),
    "start_sigma": ("mapping", "Standard deviations to begin with by name."),
    "target": ("TargetDensity", "The compiled density that is approximated."),
    "tensor_list": ("sequence of TensorLike", "The tensors to join."),
    "var_name": ("str", "The observed variable, where there are several."),
    "var_names": ("sequence of str", "Names of the variables to include; all by default."),
    "vars": (
        "sequence of variables or str",
        "The variables that the step method moves; by default all that no other one moves.",
    ),
    "warn_rvs": ("bool", "Whether a warning tells of random variables that the result still contains."),
    "wrt": ("Nodes", "The variable or variables to differentiate by."),
    "x (sparse)": ("SparseVariable or sparse matrix", "The matrix."),
}
"""By names, separated by commas: the type without "optional" and default, and the meaning."""

SHARED: Final = {name: row for names, row in ROWS.items() for name in names.split(", ")}
MARK: Final = " : ...\n"


def filled(thing: Any, text: str) -> str:
    """The docstring of a function or class with its shared parameters."""
    function: Any = getattr(thing, "__init__", thing) if isinstance(thing, type) else thing
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    values, code = function.__defaults__ or (), function.__code__
    places = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]
    defaults = dict(zip(places, values, strict=True)) | (function.__kwdefaults__ or {})
    pieces = text.split(MARK)
    for place, piece in enumerate(pieces[:-1]):  # each ends in the names of a line
        before, _, names = piece.rpartition("\n")
        pieces[place] = f"{before}\n{_entries(names.strip(), names[: -len(names.lstrip())], defaults)}"
    return "".join(pieces)


def _entries(names: str, margin: str, defaults: dict[str, Any]) -> str:
    """The entries of a line; neighbours that mean the same share one."""
    heads: list[tuple[str, str]] = []
    for key in names.split(", "):
        name = key.partition(" (")[0]
        kind, meaning = SHARED[key]
        if name in defaults:
            kind += ", optional" if defaults[name] is None else f", default {defaults[name]!r}"
        below = f" : {kind}\n{margin}    {meaning}\n"
        if heads and heads[-1][1] == below:
            name = f"{heads.pop()[0]}, {name}"
        heads.append((name, below))
    return "".join(f"{margin}{name}{below}" for name, below in heads)

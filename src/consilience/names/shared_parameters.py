"""Docstrings of public names, completed when one is loaded: types, defaults and shared parameters are written once.

In: a function or a class with a docstring in numpydoc's form, or in a shorter one without what its code says already:

    x: First operand.
    y (sequence of str): Words, whose annotation says less.
    axis, keepdims : ...
    Returns: The sum.
    Raises ShapeError: If the shapes do not fit.
    See prod: Product of the elements.
    References: Higham (1993), The accuracy of floating point summation.
    >>> pt.sum([1.0, 2.0]).eval().item()
    3.0

Out: the docstring with all of numpydoc's sections. A type comes from the annotation, a default from the signature, and
examples import `np`, `pm`, `pt` and `px` where they use them. A line that ends in ` : ...` stands for parameters of
`ROWS`: a word in brackets, as in `axis (one)`, tells rows for the same name apart. Sections of other titles, and of
several paragraphs, stay underlined. Classes whose objects users get without naming the class are in full, as nothing
completes their docstrings.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from functools import cache
from types import FunctionType
from typing import Any, Final

ROWS: Final = {
    "a, c, input, t, v, x": ("TensorLike", "A tensor, an array, a number or nested lists."),
    "A, B, Q": ("TensorLike", "Matrix, or a batch of them."),
    "active_dims": ("sequence of int", "The columns that the function uses; all by default."),
    "arry": ("TensorLike", "The arrays or tensors."),
    "axes": ("sequence of int", "The axes; negative numbers count from the end."),
    "axis": ("int or sequence of int", "Axis or axes; negative numbers count from the end. None: all axes."),
    "axis (new)": ("int", "Place of the new axis in the result."),
    "axis (one)": ("int", "The axis; negative numbers count from the end."),
    "axis (or flattened)": (
        "int",
        "The axis; negative numbers count from the end. None: the flattened tensor.",
    ),
    "axis1": ("int", "First of the two axes."),
    "axis2": ("int", "Second of the two axes."),
    "axis_name": ("AxisName", "The name of the axis that was passed to `vmap`."),
    "b": ("TensorLike", "Right-hand sides, shape (..., n) or (..., n, m)."),
    "b (second), y": ("TensorLike", "Second operand, broadcast against the first."),
    "check_finite": (
        "bool",
        "Accepted for compatibility with SciPy; has no effect, because the compiler decides about checks.",
    ),
    "compiled": ("bool", "False runs the same source under CPython: slow, for debugging."),
    "condition": ("TensorLike", "Boolean expression; a number other than 0 counts as true."),
    "consider_constant": ("Nodes", "Expressions that count as constants."),
    "cost": ("TensorVariable", "Scalar expression to differentiate."),
    "csm": ("object", "A sparse matrix."),
    "data (series)": (
        "array_like",
        "The series, shape (..., times, p), with NaN for missing values; by default the observed data.",
    ),
    "dim": ("str or sequence of str", "Name or names of the dims to work along; None for all that apply."),
    "dims": ("str or iterable of str", "Names of the axes; their lengths come from the model's coords."),
    "disconnected_inputs": (
        "str",
        'What happens if the result does not depend on a variable: "raise", "warn" or "ignore".',
    ),
    "draws": ("array_like", "Draws, shape (chain, draw, ...)."),
    "dtype": ("dtype", "Dtype of the result; by default it follows from the operands."),
    "dtype (floatX)": ("dtype", "Dtype of the result; `config.floatX` by default."),
    "epsilon": ("float", "Small number that avoids division by zero."),
    "factor_list": ("sequence", "The functions to combine; numbers and arrays may be among them."),
    "format": ("Format", 'Sparse format, "csc" or "csr".'),
    "graph": ("GraphLike", "The expression, a list of them or a compiled function."),
    "input_dim": ("int", "Number of columns of the inputs."),
    "k": ("int", "Offset of the diagonal; 0 is the main one, positive ones lie above it."),
    "keepdims": ("bool", "True: keep the reduced axes, with length 1."),
    "krons": ("sequence of TensorLike", "Factors of the Kronecker product, matrices, in order."),
    "learning_rate": ("float", "Step size, > 0."),
    "left": ("bool", "True: new axes come first."),
    "loss_or_grads": (
        "TensorVariable or sequence",
        "Loss, or its gradients by parameter; None gives the rule alone, for `pm.fit(obj_optimizer=...)`.",
    ),
    "ls": ("TensorLike", "Length scale > 0 in the unit of the inputs; one, or one for each active column."),
    "ls_inv": ("TensorLike", "Inverse length scale, in place of `ls`."),
    "lwork": (
        "int",
        "Accepted for compatibility with SciPy; has no effect, because the compiler decides about memory.",
    ),
    "mode": ("str or Mode", "Accepted for compatibility with PyTensor; has no effect."),
    "model": ("Model", "The model; by default that of the enclosing `with` block."),
    "model (given)": ("Model", "The model."),
    "name": ("str", "Name shown when the expression is printed."),
    "ndim": ("int", "Rank."),
    "non_sequences": ("object", "Values that every step gets unchanged."),
    "norm": ("str", 'Scaling: None for 1/n in the inverse only, "ortho" for 1/sqrt(n) in both, "no_norm" for none.'),
    "numeric_inverse": ("bool", "Whether quantiles without a formula are computed numerically."),
    "outputs": ("TensorVariable or sequence of TensorVariable", "Expressions to evaluate."),
    "outputs_info": ("object", "Value before the first step."),
    "overwrite_a, overwrite_b": (
        "bool",
        "Accepted for compatibility with SciPy; has no effect, because the compiler decides about memory.",
    ),
    "params": ("sequence of shared variables", "The shared variables to update."),
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
    "series": (
        "TensorVariable",
        "A `pm.LinearGaussianStateSpace` of the enclosing `with` block; also what `build_statespace_graph` returned.",
    ),
    "shape": ("int or sequence of int", "Lengths of the axes."),
    "start": ("mapping", "Starting values by name; the model's starting point by default."),
    "start_sigma": ("mapping", "Initial standard deviations by name."),
    "target": ("TargetDensity", "The compiled density that is approximated."),
    "tensor_list": ("sequence of TensorLike", "The tensors to join."),
    "var_name": ("str", "The observed variable, if there are several."),
    "var_names": ("sequence of str", "Names of the variables to include; all by default."),
    "vars": (
        "sequence of variables or str",
        "The variables that the step method samples; by default all that no other step method samples.",
    ),
    "warn_rvs": ("bool", "Whether to warn about random variables that remain in the result."),
    "wrt": ("Nodes", "The variable or variables to differentiate with respect to."),
    "x (sparse)": ("SparseVariable or sparse matrix", "The matrix."),
}
"""By names, separated by commas: the type without "optional" and default, and the meaning."""

SHARED: Final = {name: row for names, row in ROWS.items() for name in names.split(", ")}
MARK: Final = " : ..."
WORDS: Final = {
    "Any": "object",
    "ArrayLike": "array_like",
    "Callable": "callable",
    "DTypeLike": "dtype",
    "Iterable": "iterable",
    "Iterator": "iterator",
    "Mapping": "mapping",
    "Node": "TensorVariable",
    "Sequence": "sequence",
}
"""What annotations are called in docstrings, where that is another word."""
IMPORTS: Final = {
    "np": "import numpy as np",
    "pm": "import consilience as pm",
    "pt": "import consilience.tensor as pt",
    "px": "import consilience.xtensor as px",
}
"""What examples import without saying so, in this order."""
_FULL: Final = re.compile(r"^(Parameters|Returns|Yields|Raises|See Also)\n---", re.MULTILINE)
_ENTRY: Final = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: \((.+?)\))?: (.*)")
_PARAGRAPH: Final = re.compile(r"(Notes|References): (.*)")
_OTHER: Final = re.compile(r"(Raises|Warns|See) ([\w.]+(?:, [\w.]+)*): (.*)")
_TITLES: Final = {"See": "See Also", "Returns": "Returns", "Yields": "Yields"}


def filled(thing: Any, text: str) -> str:
    """The docstring of a function or class with all that its code and the rows of this file say."""
    text = _without_margin(text)
    full = _FULL.search(text)
    if full and MARK not in text:
        return text
    function: Any = getattr(thing, "__init__", thing) if isinstance(thing, type) else thing
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    names, notes, defaults = {"Returns", "Yields"}, {}, {}
    if isinstance(function, FunctionType):
        code, notes, values = function.__code__, function.__annotations__, function.__defaults__ or ()
        places = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]
        defaults = dict(zip(places, values, strict=True)) | (function.__kwdefaults__ or {})
        starred = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
        names |= {*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + starred]}
    if not full:
        return in_sections(text, names, notes, defaults)
    lines = text.split("\n")
    for place, line in enumerate(lines):
        if line.endswith(MARK):
            lines[place] = _shared(line.removesuffix(MARK), defaults)
    return "\n".join(lines)


def _without_margin(text: str) -> str:
    """What `inspect.cleandoc` gives, at a tenth of its price where the last line is the margin."""
    body, _, margin = text.rpartition("\n")
    return body.replace(f"\n{margin}", "\n").strip() if margin.isspace() else inspect.cleandoc(text)


def in_sections(text: str, names: set[str], notes: Mapping[str, Any] | None, defaults: Mapping[str, Any]) -> str:
    """A docstring of the shorter form in numpydoc's; a docstring in that form as it is.

    `names`: the parameters, "Returns" and "Yields". `notes`: annotations; with None, types are those written out.
    """
    if _FULL.search(text):
        return text
    sections: dict[str, list[str]] = {"": []}
    title, folded, lines = "", "none", text.split("\n")
    for place, line in enumerate(lines):
        if line.startswith(">>> "):
            rest = lines[place:]
            sections.setdefault("Examples", []).extend(rest if title == "Examples" else [*_imports(rest), *rest])
            break
        if line.startswith("---"):  # a section that is written out
            title = sections[title].pop()
            sections[title] = []
        elif line.endswith(MARK):
            title = "Parameters"
            sections.setdefault(title, []).append(_shared(line.removesuffix(MARK), defaults))
        elif ": " not in line or line.startswith(" "):
            sections[title].append(line.strip() if title == folded else line)
        elif (found := _ENTRY.fullmatch(line)) and names.issuperset(found[1].replace("*", "").split(", ")):
            names_here, kind, meaning = found.groups()
            title = _TITLES.get(names_here, "Parameters")
            first = names_here.partition(",")[0].strip("*")
            if notes is not None:
                kind = kind or worded(notes.get("return" if title != "Parameters" else first, "object"))
            if kind and first in defaults and "optional" not in kind and ", default " not in kind:
                kind += _default(defaults[first])
            head = kind if title != "Parameters" else f"{names_here} : {kind}" if kind else names_here
            sections.setdefault(title, []).extend((head, f"    {meaning}"))
        elif found := _OTHER.fullmatch(line):
            title = _TITLES.get(found[1], found[1])
            rows = sections.setdefault(title, [])
            rows.extend((f"{found[2]} : {found[3]}",) if found[1] == "See" else (found[2], f"    {found[3]}"))
        elif found := _PARAGRAPH.fullmatch(line):
            title = folded = found[1]
            sections[title] = [found[2]]
        else:
            sections[title].append(line)
    parts = ["\n".join(body).rstrip() for body in sections.values()]
    return "\n\n".join(f"{t}\n{'-' * len(t)}\n{p}" if t else p for t, p in zip(sections, parts, strict=True))


def _imports(example: list[str]) -> list[str]:
    """The lines that import what an example uses; none where it begins with one."""
    if example[0].startswith((">>> import ", ">>> from ")):
        return []
    code = "\n".join(line[4:] for line in example if line.startswith((">>> ", "... ")))
    return [f">>> {line}" for name, line in IMPORTS.items() if f"{name}." in code and re.search(rf"\b{name}\.", code)]


@cache
def worded(annotation: Any) -> str:
    """An annotation as docstrings have it: `Sequence[str] | None` is a "sequence of str"."""
    if not isinstance(annotation, str):  # in a module that evaluates its annotations
        return WORDS.get(getattr(annotation, "__name__", ""), getattr(annotation, "__name__", "object"))
    return _worded(ast.parse(annotation, mode="eval").body)


def _worded(node: ast.expr) -> str:
    match node:
        case ast.BinOp(left=left, right=right):
            return " or ".join(_worded(side) for side in (left, right) if not _is_none(side)) or "None"
        case ast.Subscript(value=ast.Name(id="Literal"), slice=values):
            return "{" + ast.unparse(values).strip("()") + "}"
        case ast.Subscript(value=of, slice=ast.Tuple(elts=[one, ast.Constant(value=value)])) if value is ...:
            return f"{_worded(of)} of {_worded(one)}"
        case ast.Subscript(value=of, slice=ast.Tuple(elts=[key, value])) if _worded(of) in ("mapping", "dict"):
            return f"{_worded(of)} of {_worded(key)} to {_worded(value)}"
        case ast.Subscript(value=of, slice=ast.Tuple(elts=elements)) if _worded(of) == "tuple":
            return f"tuple of ({', '.join(map(_worded, elements))})"
        case ast.Subscript(value=of, slice=one) if _worded(of) not in ("callable", "type"):
            return f"{_worded(of)} of {_worded(one)}"
        case ast.Subscript(value=of):
            return _worded(of)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return WORDS.get(name, name)
        case ast.Constant(value=str(quoted)):
            return worded(quoted)
    return ast.unparse(node)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _default(value: Any) -> str:
    return ", optional" if value is None else f", default {value!r}"


def _shared(names: str, defaults: Mapping[str, Any]) -> str:
    """The entries of a line; neighbours that mean the same share one."""
    heads: list[tuple[str, str]] = []
    for key in names.split(", "):
        name = key.partition(" (")[0]
        kind, meaning = SHARED[key]
        below = f" : {kind}{_default(defaults[name]) if name in defaults else ''}\n    {meaning}"
        if heads and heads[-1][1] == below:
            name = f"{heads.pop()[0]}, {name}"
        heads.append((name, below))
    return "\n".join(name + below for name, below in heads)

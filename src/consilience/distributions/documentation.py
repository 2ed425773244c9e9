"""Docstrings of distributions, made when they are asked for: `help(pm.Normal)`, Shift-Tab, the pages of the reference.

In: the docstring of a class (a summary, a word for each parameter, in the shorter form of `names.shared_parameters`),
its declarations, and the tables of this file.
Out: the whole in numpydoc's form: types, ranges, defaults, the keywords of all distributions, support, moments,
sources, an example.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from typing import Any, Final

from consilience import distributions
from consilience.distributions.constraints import Constraint
from consilience.distributions.distribution import Distribution
from consilience.distributions.examples import EXAMPLES, WITH_DIMS, with_dims
from consilience.distributions.moment_rows import MOMENTS
from consilience.distributions.parameters import DistributionParameter, StaticParameter, signatures
from consilience.names.shared_parameters import in_sections

COMMON: Final = {
    "name": ("str", "Name of the variable, unique in the model. `{name}.dist(...)` takes none."),
    "observed": ("array_like, optional", "Data. NaN marks a missing value, which is drawn like a free variable."),
    "dims": ("str or sequence of str, optional", "Names of the axes; their lengths come from the model's coords."),
    "shape": ("int or sequence of int, optional", "Lengths of all axes; by default those of parameters and data."),
    "size": ("int or sequence of int, optional", "Lengths of the batch axes, without the axes of one event."),
    "transform": ("Transform, optional", "Map to the unconstrained scale, after the default one. None: no map."),
    "default_transform": ("Transform, optional", "None removes the default map to the unconstrained scale."),
    "initval": ("array_like or str, optional", 'Starting value; "support_point" or "prior" let the model choose.'),
    "total_size": ("int or sequence of int, optional", "Size of the full data if `observed` is a minibatch."),
    "init_dist": ("distribution, optional", "Distribution of the first value, `pm.Normal.dist(0, 100)` by default."),
    "steps": ("int, optional", "Number of steps; it may follow from shape, dims or data."),
    "lower": ("bool, default True", "Whether `chol` is lower triangular."),
    "method": ("str, default 'cholesky'", "Accepted for PyMC code; draws always use the Cholesky factor."),
    "compute_corr": ("bool, default True", "Whether factor, correlations and standard deviations are returned."),
    "store_in_trace": ("bool, default True", "Whether the model keeps correlations and standard deviations."),
    "compute_p": ("bool, default True", "Whether the model keeps the probabilities as `{{name}}_probs`."),
    "core_dims": ("str or sequence of str, optional", "Dims that belong to one event; the others are independent."),
    "dim_lengths": ("mapping of str to int, optional", "Lengths of dims that no parameter has."),
    "chols": ("sequence of TensorLike, optional", "In place of `covs`: their lower Cholesky factors."),
    "evds": ("sequence of pairs, optional", "In place of `covs`: their eigenvalues and eigenvectors."),
    "max_n_steps": ("int, optional", "Largest number of attempts per draw if the distribution has no `icdf`."),
    "parameters": ("TensorLike", "Parameters that the functions receive after the value."),
    "unknown": ("object", "Other keywords raise an error that names them."),
    "value": ("TensorLike", "Point at which to evaluate the density."),
}  # fmt: skip
"""Keywords of all, or of several, distributions: type and meaning."""

MADE: Final = "TensorVariable\n    The random variable, for use in further expressions."
OUTSIDE: Final = "TensorVariable\n    A variable outside any model, for `logp`, `draw` and as a component of others."
NAMED: Final = "XTensorVariable\n    The variable with its dims."
RAISES: Final = {
    "ModelError": "If it is called outside a model. Use `{name}.dist(...)` there.",
    "TypeError": "If the parameters are not one of the accepted combinations.",
    "ParameterError": "If a constant parameter is out of range.",
    "ShapeError": "If the shapes do not fit.",
}
_TITLE: Final = re.compile(r"^([A-Z][A-Za-z ]+)\n-+$", re.MULTILINE)


def sections(text: str) -> dict[str, str]:
    """The sections of a docstring by title; what stands in front of all has the title ""."""
    parts = _TITLE.split(inspect.cleandoc(text))
    return {"": parts[0].strip()} | {
        title: textwrap.dedent(body).strip() for title, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def entries(text: str) -> dict[str, tuple[str, str]]:
    """Names of a section of parameters, each with its type and its description."""
    found: dict[str, tuple[str, str]] = {}
    for block in re.split(r"\n(?=\S)", text) if text else ():
        head, _, body = block.partition("\n")
        names, _, kind = head.partition(" : ")
        for name in names.split(", "):
            found[name] = (kind, " ".join(body.split()))
    return found


def documented(
    cls: type[Distribution], signature: inspect.Signature | None = None, made: str = MADE, *, named: bool = False
) -> str | None:
    """The docstring of a distribution; of one that is not this library's, what its author wrote.

    `signature`: of the call that is documented, if it is another than that of the class. `made`: what that call
    returns. `named`: whether it is the one of `pm.dims`.
    """
    own = vars(cls).get("__doc__")
    if own is None or not cls.__module__.startswith("consilience."):
        return own
    shown = inspect.signature(cls) if signature is None else signature
    told = sections(in_sections(inspect.cleandoc(own), {"Returns", *inspect.signature(cls).parameters}, None, {}))
    written = entries(told.get("Parameters", ""))
    lines = [told[""], "", *_section("Parameters", _parameters(cls, shown, written))]
    lines += ["", *_section("Returns", [NAMED if named else told.get("Returns") or made])]
    raises = {error: text for error, text in RAISES.items() if error != "ModelError" or made == MADE}
    raised = [_entry(error, text.format(name=cls.__name__)) for error, text in raises.items()]
    lines += ["", *_section("Raises", [*filter(None, [told.get("Raises")]), *raised])]
    lines += ["", *_section("See Also", _relatives(cls))]
    lines += ["", *_section("Notes", ["\n\n".join(_notes(cls, told.get("Notes", "")))])]
    source = told.get("References") or (MOMENTS[cls.__name__].source if cls.__name__ in MOMENTS else "")
    if source:
        lines += ["", *_section("References", [source])]
    example = _example_with_dims(cls) if named else told.get("Examples") or _example(cls.__name__)
    if example:
        lines += ["", *_section("Examples", [example])]
    return "\n".join(lines)


def _section(title: str, parts: list[str]) -> list[str]:
    return [title, "-" * len(title), *parts]


def _entry(head: str, text: str) -> str:
    return "\n".join([head, *textwrap.wrap(text, 116, initial_indent="    ", subsequent_indent="    ")])


def _parameters(cls: type[Distribution], shown: inspect.Signature, written: dict[str, tuple[str, str]]) -> list[str]:
    """An entry for each parameter; neighbours that mean the same share one."""
    rows: list[tuple[list[str], str, str]] = []
    for parameter in shown.parameters.values():
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**" * (parameter.kind is parameter.VAR_KEYWORD)
        kind, text = _one(cls, parameter, written)
        if rows and text and rows[-1][1:] == (kind, text):
            rows[-1][0].append(star + parameter.name)
        else:
            rows.append(([star + parameter.name], kind, text))
    return [_entry(f"{', '.join(names)} : {kind}", text) for names, kind, text in rows]


def _one(cls: type[Distribution], shown: inspect.Parameter, written: dict[str, tuple[str, str]]) -> tuple[str, str]:
    """Type and description of a parameter."""
    name = shown.name
    own_kind, text = written.get(name) or written.get("*" + name) or written.get("**" + name) or ("", "")
    kind = "object"
    optional = "" if shown.default is shown.empty else f", default {shown.default!r}"
    optional = ", optional" if shown.default is None else optional
    for form in cls.parameterizations:
        every: tuple[Any, ...] = (*form.parameters, *form.static_parameters, *form.component_parameters)
        declared = {p.name: p for p in every}
        if name in declared:
            kind = _kind(declared[name]) + optional
            others = [f"`{one}`" for one in cls.parameter_names if one not in form.parameter_names]
            text = text or (f"In place of {' and '.join(others)}." if others else "")
            break
        for alternative in form.alternatives:
            if name in alternative.constraints:
                kind = "TensorLike" + _range(alternative.constraints[name]) + optional
                replaced = " and ".join(f"`{one}`" for one in alternative.replaced)
                text = text or f"In place of {replaced}."
                return own_kind or kind, text
    else:
        if name in COMMON:
            common_kind, common = COMMON[name]
            return own_kind or common_kind, text or common.format(name=cls.__name__)
        kind = _OTHER_KINDS.get(name, "TensorLike") + optional
    return own_kind or kind, text


_OTHER_KINDS: Final = {
    "sde_pars": "sequence of TensorLike", "covs": "sequence of TensorLike", "chols": "sequence of TensorLike",
    "evds": "sequence of pairs of TensorLike", "logp": "callable", "logcdf": "callable", "random": "callable",
    "dist": "callable", "support_point": "callable", "signature": "str", "ndim_supp": "int", "dtype": "str",
    "ndims_params": "sequence of int", "class_name": "str", "numeric_inverse": "bool",
    "sd_dist": "distribution", "innovation_dist": "distribution",
}  # fmt: skip


def _kind(declared: Any) -> str:
    if isinstance(declared, DistributionParameter):
        return "TensorLike" + _range(declared.constraint)
    if isinstance(declared, StaticParameter):
        counting = declared.convert.__qualname__.startswith(("whole", "length"))
        return "int" if counting else _OTHER_KINDS.get(declared.name, "object")
    return "sequence of distributions" if declared.many else "distribution"


def _range(constraint: Constraint) -> str:
    """A constraint as part of a type."""
    rule = constraint.rule
    return "" if rule in ("a finite number", "finite numbers") else ", " + rule.removeprefix("a ")


def _relatives(cls: type[Distribution]) -> list[str]:
    """Other distributions of the same file, and what is done with a distribution."""
    file = next((names for names in distributions.PUBLIC.values() if cls.__name__ in names.split()), "")
    near = [name for name in file.split() if name != cls.__name__ and name[0].isupper()]
    listed = [f"{name} : {_summary(name)}" for name in near[:4]]
    return [*listed, "logp : Log density of a variable.", "draw : Draws from a variable."]


def _summary(name: str) -> str:
    text = vars(getattr(distributions, name)).get("__doc__") or ""
    first = text.split("\n", 1)[0].rstrip(".").partition(": ")[0]
    first = first.partition("; ")[0].partition(", (")[0]
    return first[0].upper() + first[1:] + "."


def _notes(cls: type[Distribution], own: str) -> list[str]:
    """Support, moments, accepted combinations of parameters."""
    notes = [own] if own else []
    rule = getattr(cls.support, "rule", "")
    facts = [f"Support: {rule}."] if rule else []
    row = MOMENTS.get(cls.__name__)
    if row is not None:
        facts += [f"Mean: {row.mean}."] if row.mean else []
        facts += [f"Variance: {row.variance}."] if row.variance else []
    if len(forms := signatures(cls.parameterizations)) > 1:
        combinations = " or ".join(dict.fromkeys(f"({', '.join(form.names)})" for form in forms))
        facts.append(f"Parameters are given as {combinations}.")
    return [*notes, "\n".join(textwrap.wrap(" ".join(facts), 116))]


def _example_with_dims(cls: type[Distribution]) -> str:
    name, coords = cls.__name__, {"city": '["Bern", "Rome"]'}
    if name in WITH_DIMS:
        given, dims = WITH_DIMS[name]
        shown = tuple(dims.split())
        lengths = {"k": 2, "l": 2, "m": 1, "p": 2, "q": 3, "t": 4}
        coords = {dim: f"range({lengths[dim]})" for dim in shown if "dims=" in given.partition("core_dims=")[2]}
    else:
        given, core = with_dims(EXAMPLES[name].given, "as_xtensor")
        event = core[: cls.support.event_rank]
        shown = ("city", *event)
        given += f", core_dims={core!r}".replace("'", '"') if core else ""
        given += ', dims=("city", ...)' if event else ', dims="city"'
    listed = ", ".join(f'"{dim}": {labels}' for dim, labels in coords.items())
    arguments = ['"x"', *_arguments(given.removeprefix(", "))]
    made = [f"x = pm.dims.{name}({', '.join(arguments)})"]
    if len(made[0]) > 108:
        made = [f"x = pm.dims.{name}(", *(f"    {argument}," for argument in arguments), ")"]
    return "\n".join(
        [
            ">>> import consilience as pm",
            *([">>> from consilience.dims import as_xtensor"] if "as_xtensor" in given else []),
            f">>> with pm.Model({f'coords={{{listed}}}' if coords else ''}):",
            *(f"...     {line}" for line in made),
            ">>> x.dims",
            repr(shown),
        ]
    )


def _arguments(text: str) -> list[str]:
    """The arguments of a call, each by itself."""
    call = ast.parse(f"f({text})", mode="eval").body
    assert isinstance(call, ast.Call)
    return [ast.unparse(argument) for argument in (*call.args, *call.keywords)]


def _example(name: str) -> str:
    row = EXAMPLES.get(name)
    if row is None:
        return ""
    made = f'pm.{name}("x"{", " if row.given else ""}{row.given})'
    lines = [">>> import consilience as pm", ">>> with pm.Model():", f"...     x = {made}"]
    if row.value:
        lines += [f">>> pm.logp(pm.{name}.dist({row.given}), {row.value}).eval().round(4).tolist()", row.logp]
    return "\n".join(lines)

"""Formulas as plain functions, `Gamma.logp(value, alpha, scale)`, and the signatures of `dist`.

In: the class of a distribution. Out: functions of a value and of the parameters in PyMC's order, for densities written
by hand. Formulas of a variable that exists are in `densities`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from consilience.distributions import densities
from consilience.distributions.distribution import Distribution
from consilience.distributions.parameters import signatures
from consilience.ir import Node
from consilience.ops.elementwise import as_tensor

# Parameters of PyMC's densities that are others than those of its variables, or in another order, and what they are in
# those of variables; `loc` moves the value.
_OTHERS: Final[Mapping[str, tuple[str, Callable[..., dict[str, Any]]]]] = {
    "AsymmetricLaplace": ("b kappa mu", lambda b, kappa, mu: {"b": b, "kappa": kappa, "mu": mu}),
    "BetaBinomial": ("n alpha beta", lambda n, alpha, beta: {"n": n, "alpha": alpha, "beta": beta}),
    "Exponential": ("mu", lambda mu: {"lam": 1.0 / mu}),
    "Gamma": ("alpha scale", lambda alpha, scale: {"alpha": alpha, "beta": 1.0 / scale}),
    "HalfNormal": ("loc sigma", lambda loc, sigma: {"loc": loc, "sigma": sigma}),
    "HyperGeometric": ("good bad n", lambda good, bad, n: {"N": good + bad, "k": good, "n": n}),
    "MatrixNormal": (
        "mu rowchol colchol", lambda mu, rowchol, colchol: {"mu": mu, "rowchol": rowchol, "colchol": colchol},
    ),
    "MvStudentT": ("nu mu scale", lambda nu, mu, scale: {"nu": nu, "mu": mu, "scale": scale}),
    "NegativeBinomial": ("n p", lambda n, p: {"n": n, "p": p}),
    "Rice": ("b sigma", lambda b, sigma: {"b": b, "sigma": sigma}),
    "SkewNormal": ("mu sigma alpha", lambda mu, sigma, alpha: {"mu": mu, "sigma": sigma, "alpha": alpha}),
    "Triangular": ("lower c upper", lambda lower, c, upper: {"lower": lower, "c": c, "upper": upper}),
    "Wald": ("mu lam alpha", lambda mu, lam, alpha: {"mu": mu, "lam": lam, "alpha": alpha}),
    "Wishart": ("nu scale_chol", lambda nu, scale_chol: {"nu": nu, "scale_chol": scale_chol}),
}  # fmt: skip


def _row(cls: type[Distribution]) -> tuple[tuple[str, ...], Callable[..., dict[str, Any]] | None]:
    """The parameters of a density in order, and what they are in those of `dist` where they are others."""
    if cls.__module__.startswith("consilience.") and cls.__name__ in _OTHERS:
        names, convert = _OTHERS[cls.__name__]
        return tuple(names.split()), convert
    return cls.argument_names(), None


def plain_formula(cls: type[Distribution], formula: str) -> Callable[..., Any]:
    """A formula of a class as a function; that of one written for PyMC, with `rv_op`, is a function as it stands."""
    if not hasattr(cls, "rv_op") or not cls.declares(formula):
        return PlainFormula(cls, formula)
    written: Any = cls.declaration(formula)
    function: Callable[..., Any] = getattr(written, "__func__", written)
    return function


class PlainFormula:
    """A formula of a class as a function: of a value, or of a probability for `icdf`, and of the parameters."""

    def __init__(self, cls: type[Distribution], formula: str) -> None:
        self._cls, self._formula = cls, formula
        self.__name__ = formula
        self.__qualname__ = f"{cls.__name__}.{formula}"
        self.__doc__ = f"`{formula}` of {cls.__name__}, of the parameters shown here or of those of `dist` by name."

    def __repr__(self) -> str:
        return f"<function {self.__qualname__}{self.__signature__}>"

    @property
    def __signature__(self) -> inspect.Signature:
        names = ("value", *(name for name in _row(self._cls)[0] if name != "value"))
        return inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names])

    def __call__(self, value: Any, *parameters: Any, **named: Any) -> Node:
        title = f"{self._cls.__name__}.{self._formula}"
        names, convert = _row(self._cls)
        if len(parameters) > len(names):
            raise TypeError(f"{title} takes a value and {', '.join(names) or 'no parameters'}; got {len(parameters)}.")
        given = dict(zip(names, parameters, strict=False))
        if twice := next((name for name in named if name in given), None):
            raise TypeError(f"{title} got `{twice}` twice, by position and by name.")
        given |= named
        if convert is not None and (parameters or given.keys() <= set(names)):
            if lacking := [name for name in names if name not in given]:
                raise TypeError(f"{title} takes (value, {', '.join(names)}); {', '.join(lacking)} is missing.")
            given = convert(**{name: _number_or_node(part) for name, part in given.items()})
        shift = given.pop("loc", None) if "loc" in names else None
        rv = self._cls.dist(**given)
        if shift is not None and self._formula != "icdf":
            value = as_tensor(value) - shift
        result: Node = getattr(densities, self._formula)(rv, value)
        return result + shift if shift is not None and self._formula == "icdf" else result


def _number_or_node(part: Any) -> Any:
    return part if isinstance(part, bool | int | float) else as_tensor(part)


def signature_of_dist(cls: type[Distribution], method: Callable[..., Any]) -> inspect.Signature:
    """The signature of `dist`: its parameters by name, those without which it cannot do without a default."""
    declared = inspect.signature(method)
    parameters = list(declared.parameters.values())
    alone = cls.parameter_names and not (cls.arguments or cls.parameters or cls.component_parameters)
    if alone and cls.declaration("dist") is not vars(Distribution)["dist"]:
        return declared  # the user's own function has them
    plain = inspect.signature(cls.declaration("dist").__get__(None, cls)).parameters.values()
    handed_on = [p for p in plain if p.name not in (*declared.parameters, "shape", "size")]  # of a variable with dims
    own = [p for p in (*parameters, *handed_on) if p.kind is p.KEYWORD_ONLY]
    names = [name for name in cls.argument_names() if name not in {p.name for p in own}]
    defaults = {p.name: p.default for form in cls.parameterizations for p in form.parameters}
    needed = [i for i, name in enumerate(names) if _needed(cls, name, defaults)]
    in_front = [i for place, i in enumerate(needed) if place == i]
    place = max(in_front if cls.arguments else needed, default=-1)
    first = [
        inspect.Parameter(
            name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=inspect.Parameter.empty if i <= place else defaults.get(name),
        )
        for i, name in enumerate(names)
    ]
    return inspect.Signature([*first, *own], return_annotation=declared.return_annotation)


def with_class(signature: inspect.Signature) -> inspect.Signature:
    """The signature of a class method before it is bound."""
    cls = inspect.Parameter("cls", inspect.Parameter.POSITIONAL_ONLY)
    return signature.replace(parameters=[cls, *signature.parameters.values()])


def signature_of_call(
    cls: type[Distribution], calls: Sequence[Callable[..., Any]], method: Callable[..., Any], outside: str = ""
) -> inspect.Signature:
    """The signature of a distribution called with a name: that, the parameters of `dist`, and the keywords of the call.

    `calls`: what takes the call, and what that hands its other keywords to. `outside`: the keyword of `dist` that a
    call does not take.
    """
    declared = inspect.signature(calls[0])
    made = signature_of_dist(cls, method).parameters.values()
    keywords = [*(p for call in calls for p in inspect.signature(call).parameters.values()), *made]
    own: dict[str, inspect.Parameter] = {}
    for parameter in keywords:
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.name != outside:
            own.setdefault(parameter.name, parameter)
    name = declared.parameters["name"].replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
    first = [p for p in made if p.kind is p.POSITIONAL_OR_KEYWORD and p.name not in own]
    rest = [p for p in made if p.kind is p.VAR_POSITIONAL]
    open_ended = [p for p in made if p.kind is p.VAR_KEYWORD]
    # A parameter of a distribution may be needed behind one that has a default; the name comes first in any case.
    given = [name, *first, *rest, *own.values(), *open_ended]
    return inspect.Signature(given, return_annotation=declared.return_annotation)


def _needed(cls: type[Distribution], name: str, defaults: Mapping[str, Any]) -> bool:
    """Whether every accepted combination of parameters has a name, which has no default; lengths follow from shapes."""
    optional = {p.name for p in cls.static_parameters if not p.required} | {"steps"}
    optional |= {p.name for p in cls.component_parameters if not p.required}
    everywhere = all(name in signature.names for signature in signatures(cls.parameterizations))
    return everywhere and name not in optional and defaults.get(name) is None

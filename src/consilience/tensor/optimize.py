"""`pt.optimize`: minima and roots of expressions, under PyTensor's names and with its parameters.

An expression and its variables in; the solution and whether it is one out, both expressions. The solution depends on
everything else in the expression, and is differentiated by the implicit function theorem.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from consilience.errors import ShapeError
from consilience.first_use import load_on_use
from consilience.ir import Node, ShapeConstraint
from consilience.ir.side_tables import describe
from consilience.ops.assertion import require
from consilience.ops.elementwise import TensorLike, apply, as_tensor, cast
from consilience.ops.loop import fresh
from consilience.ops.shape import concatenate, reshape
from consilience.tensor.differentiation import grad, hessian, jacobian, undefined_grad
from consilience.tensor.keywords import published
from consilience.tensor.optimization import descent, scalar_minima, scalar_roots, systems
from consilience.tensor.optimization.by_scipy import Search, searched
from consilience.tensor.optimization.iteration import both, precision, where
from consilience.tensor.optimization.problem import Problem, problem

Keywords = Mapping[str, Any] | None
Method = Callable[[Node, list[Node]], tuple[Node, Node]]

# SciPy's methods that are computed by SciPy, those of them that read no derivatives, and those that read second ones.
_VALUES = ("nelder-mead", "powell", "cobyla", "cobyqa")
_HESSIAN = ("newton-cg", "dogleg", "trust-ncg", "trust-exact", "trust-krylov")
_MINIMIZE = (*_VALUES, "cg", "tnc", "slsqp", "trust-constr", *_HESSIAN)
_BROYDEN = ("broyden1", "broyden2", "diagbroyden")
_ROOT = ("lm", *_BROYDEN, "anderson", "linearmixing", "excitingmixing", "krylov", "df-sane")
_ROOT_SCALAR = ("brenth", "ridder", "toms748")


def minimize(
    objective: TensorLike,
    x: Node | Sequence[Node],
    method: str = "BFGS",
    jac: bool = True,
    hess: bool = False,
    use_vectorized_jac: bool = False,
    optimizer_kwargs: Keywords = None,
    x0: Any = None,
) -> tuple[Any, Node]:
    """Values of some variables at which a scalar expression has a (local) minimum.

    objective: Float scalar that depends on `x`.
    x: The variable, or a list of variables of any shapes; their values are where the search begins.
    method: "BFGS" and "L-BFGS-B" (without bounds) are loops in machine code. "Nelder-Mead", "Powell", "CG",
        "Newton-CG", "TNC", "COBYLA", "COBYQA", "SLSQP", "trust-constr", "dogleg", "trust-ncg", "trust-exact",
        "trust-krylov", and "L-BFGS-B" with bounds are SciPy's, called by Python in each evaluation.
    jac: False: SciPy takes differences in place of derivatives.
    hess: Whether SciPy's method gets second derivatives; those that need them do in any case.
    use_vectorized_jac: Accepted; all rows of a Jacobian are always computed together.
    optimizer_kwargs: As `scipy.optimize.minimize` takes them. `tol` or `options={"gtol": ...}`: elements of the
        gradient at a minimum are at most so large (default 1.5e-8, in float32 3.5e-4); `options={"maxiter": ...}`
        (default 200 for each element).
    x0: Where the search begins, in place of the values of `x`.
    Returns: The solution, in the form of `x`, and whether the search succeeded, a bool scalar. Where it did not, the
        solution is the last point of the search, which is no minimum, and its derivatives are NaN; so are they where
        the matrix of second derivatives is singular.
    Raises ValueError: For an unknown method or option.
    Raises ShapeError, DtypeError: For objectives that are no float scalars.
    Raises DisconnectedInputError: For those that do not depend on `x`.
    See minimize_scalar: Of one variable.
    See root: Where equations hold.
    Notes: Variables at `bounds` do not move with other values. With `constraints` the solution has no derivative:
        NullTypeGradError.
    >>> x, a = pt.dvector("x"), pt.dscalar("a")
    >>> place, success = pt.optimize.minimize(((x - a) ** 2).sum(), x)
    >>> place.eval({x: [0.0, 0.0], a: 3.0}).round(4).tolist()
    [3.0, 3.0]
    """
    of = problem("minimize", [_scalar(objective, "minimize")], _listed(x), _starts(x, x0), scalar=False)
    keywords = dict(optimizer_kwargs or {})
    kind = _known("minimize", method, ("bfgs", "l-bfgs-b"), _MINIMIZE)
    (value,) = of.expressions
    slope = grad(value, of.leaf, disconnected_inputs="ignore")
    native = kind in ("bfgs", "l-bfgs-b") and jac and not keywords.keys() & {"bounds", "constraints", "callback"}
    if not native:
        derivatives = [slope] if jac and kind not in _VALUES else []
        if derivatives and (hess or kind in _HESSIAN):
            derivatives.append(hessian(value, of.leaf, disconnected_inputs="ignore"))
        solved = _by_scipy("minimize", kind, of, [value, *derivatives], keywords)
        fixed = None if keywords.get("bounds") is None else _at_bounds(keywords["bounds"])
        if keywords.get("constraints"):
            parts, success = of.solution("minimize", solved, slope)
            return _as(x, [undefined_grad(part) for part in parts]), success
        parts, success = of.solution("minimize", solved, slope, fixed=fixed)
        return _as(x, parts), success
    options = _options("minimize", method, keywords, {"gtol": None, "maxiter": None, "maxcor": 10})
    tolerance = _first(options["gtol"], keywords.get("tol"), math.sqrt(precision(of.leaf)))
    limit = _first(options["maxiter"], 200 * of.leaf.size)
    model = descent.Dense() if kind == "bfgs" else descent.Limited(int(options["maxcor"]))

    def search(start: Node, _: list[Node]) -> tuple[Node, Node]:
        return descent.minimum(of.at(value, slope), start, model, gtol=tolerance, maxiter=limit)

    parts, success = of.solution("minimize", search, slope)
    return _as(x, parts), success


def minimize_scalar(
    objective: TensorLike,
    x: Node,
    method: str = "brent",
    optimizer_kwargs: Keywords = None,
    x0: TensorLike | None = None,
) -> tuple[Node, Node]:
    """The value of a scalar variable at which a scalar expression has a (local) minimum.

    objective: Float scalar that depends on `x`.
    x: Scalar variable; without a bracket the search begins at its value and at that plus 1.
    method: "brent", "golden", or "bounded", which needs bounds; loops in machine code.
    optimizer_kwargs: As `scipy.optimize.minimize_scalar` takes them. `bracket`: two points from which the search goes
        downhill, or three, whose second one has the least value; `bounds`: two points between which the method
        "bounded" searches; both may be expressions. `tol` or `options={"xtol": …}`: the relative distance to the
        minimum (default 1.5e-8); for "bounded" `options={"xatol": …}`: the absolute one (default 1.5e-8).
        `options={"maxiter": …}` (default 500).
    x0: Where the search begins, in place of the value of `x`.
    Returns: The place, and whether the search succeeded.
    See minimize: Of several variables.
    See root_scalar: Where an expression is zero.

    Notes
    -----
    Returns (solution, success). Where `success` is False (no bracket was found, or no tolerance met), the solution is
    the best point that was seen, and its derivatives are NaN; so are they where the second derivative is zero. A
    minimum at one of the `bounds` moves with it alone.

    Raises ValueError for an unknown method or option; otherwise as `minimize`.

    >>> x, a = pt.dscalars("x", "a")
    >>> place, success = pt.optimize.minimize_scalar((x - a) ** 2, x)
    >>> place.eval({x: 0.0, a: 3.0}).round(4).item()
    3.0
    """
    kind = _known("minimize_scalar", method, ("brent", "golden", "bounded"), ())
    of = problem("minimize_scalar", [_scalar(objective, "minimize_scalar")], [x], _starts(x, x0), scalar=True)
    keywords = dict(optimizer_kwargs or {})
    options = _options(
        "minimize_scalar", method, keywords, {"xtol": None, "xatol": None, "maxiter": 500}, ("bracket", "bounds")
    )
    (value,) = of.expressions
    slope = grad(value, of.leaf, disconnected_inputs="ignore")
    default = math.sqrt(precision(of.leaf))
    relative = _first(options["xtol"], keywords.get("tol"), default)
    if kind == "bounded":
        bounds = keywords.get("bounds")
        if bounds is None or len(bounds) != 2:
            raise ValueError("method 'bounded' of `minimize_scalar` needs `optimizer_kwargs={'bounds': (low, high)}`.")
        absolute = _first(options["xatol"], keywords.get("tol"), default)

        def between(start: Node, ends: list[Node]) -> tuple[Node, Node]:
            low, high = ends
            begin = low + scalar_minima.GOLDEN * (high - low)
            return scalar_minima.brent(
                of.at(value), low, begin, high, low <= high, xtol=default, atol=absolute / 3, maxiter=options["maxiter"]
            )

        def on_bounds(solution: Node, ends: list[Node]) -> list[Node]:
            low, high = ends
            error = 2 * (default * apply("abs", solution) + absolute)
            downhill = of.at(slope)(solution)
            return [both(solution - low <= error, downhill > 0), both(high - solution <= error, downhill < 0)]

        parts, success = of.solution("minimize_scalar", between, slope, _points(bounds, of), on_bounds)
        return parts[0], success
    given = keywords.get("bracket")
    if given is not None and len(given) not in (2, 3):
        raise ValueError(f"`bracket` of `minimize_scalar` has two or three points, got {len(given)}.")
    within = scalar_minima.golden if kind == "golden" else scalar_minima.brent

    def downhill(start: Node, points: list[Node]) -> tuple[Node, Node]:
        first, second, *third = points or [start, start + 1.0]
        a, b, c, valid = scalar_minima.bracket(of.at(value), first, second, third[0] if third else None)
        return within(of.at(value), a, b, c, valid, xtol=relative, atol=1e-11, maxiter=options["maxiter"])

    parts, success = of.solution("minimize_scalar", downhill, slope, _points(given or (), of))
    return parts[0], success


def root(
    equations: TensorLike | Sequence[TensorLike],
    variables: Node | Sequence[Node],
    method: str = "hybr",
    jac: bool = True,
    use_vectorized_jac: bool = False,
    optimizer_kwargs: Keywords = None,
    x0: Any = None,
) -> tuple[Any, Node]:
    """Values of some variables at which expressions are zero.

    equations: Float tensor, or a list of them, with as many elements as the variables together.
    variables: The variable, or a list of variables of any shapes; their values are where the search begins.
    method: "hybr" (Powell's hybrid method, with the exact Jacobian at every point) and "newton" (Newton steps, halved
        until the residuals become smaller) are loops in machine code. "lm", "broyden1", "broyden2", "anderson",
        "linearmixing", "diagbroyden", "excitingmixing", "krylov" and "df-sane" are SciPy's, called by Python in each
        evaluation.
    jac: False: SciPy takes differences in place of derivatives.
    use_vectorized_jac: Accepted; all rows of a Jacobian are always computed together.
    optimizer_kwargs: As `scipy.optimize.root` takes them. `tol` or `options={"xtol": ...}`: the last Newton step
        changes each element x by at most this times |x| + 1e-4 (default 1.5e-8, in float32 3.5e-4), which leaves an
        error of about its square; `options={"maxiter": ...}`: evaluations (default 200 for each element and one).
    x0: Where the search begins, in place of the values of `variables`.
    Returns: The solution, in the form of `variables`, and whether the search succeeded, a bool scalar. Where it did
        not, the solution is the last point of the search, which is no root, and its derivatives are NaN; so are they
        where the Jacobian is singular.
    Raises ValueError: For an unknown method or option.
    Raises ShapeError: For another number of equations than of variables.
    Raises DtypeError: For equations that are no floats.
    Raises DisconnectedInputError: For those that do not depend on a variable.
    See root_scalar: One equation.
    See minimize: Where an expression is least.
    >>> x, a = pt.dvector("x"), pt.dscalar("a")
    >>> place, success = pt.optimize.root(x**2 - a, x)
    >>> place.eval({x: [1.0, 2.0], a: 9.0}).round(4).tolist()
    [3.0, 3.0]
    """
    given: list[Any] = list(equations) if isinstance(equations, list | tuple) else [equations]
    of = problem("root", given, _listed(variables), _starts(variables, x0), scalar=False)
    flat = [reshape(e, (-1,)) for e in of.expressions]
    value = flat[0] if len(flat) == 1 else concatenate(flat)
    count, wanted = value.static_shape[0], of.leaf.static_shape[0]
    if isinstance(count, int) and isinstance(wanted, int) and count != wanted:
        raise ShapeError(f"`root` needs as many equations as variables, got {count} equations in {wanted} variables.")
    value = require([value], (ShapeConstraint(count, wanted, "`root` has as many equations as variables"),))[0]
    keywords = dict(optimizer_kwargs or {})
    kind = _known("root", method, ("hybr", "newton"), _ROOT)
    slope = jacobian(value, of.leaf, disconnected_inputs="ignore")
    if kind not in ("hybr", "newton"):
        solved = _by_scipy("root", kind, of, [value, slope] if jac and kind == "lm" else [value], keywords)
        parts, success = of.solution("root", solved, value)
        return _as(variables, parts), success
    options = _options("root", method, keywords, {"xtol": None, "maxiter": None, "maxfev": None})
    tolerance = _first(options["xtol"], keywords.get("tol"), math.sqrt(precision(of.leaf)))
    limit = _first(options["maxiter"], options["maxfev"], 200 * (of.leaf.size + 1))
    search = systems.hybrid if kind == "hybr" else systems.newton

    def searched_root(start: Node, _: list[Node]) -> tuple[Node, Node]:
        return search(of.at(value, slope), start, xtol=tolerance, maxiter=limit)

    parts, success = of.solution("root", searched_root, value)
    return _as(variables, parts), success


def root_scalar(
    equation: TensorLike,
    variable: Node,
    method: str = "secant",
    jac: bool = False,
    hess: bool = False,
    optimizer_kwargs: Keywords = None,
    x0: TensorLike | None = None,
) -> tuple[Node, Node]:
    """The value of a scalar variable at which a scalar expression is zero.

    equation: Float scalar that depends on `variable`.
    variable: Scalar variable; its value is where methods without a bracket begin.
    method: "bisect", "brentq" (both need a bracket), "newton", "secant" and "halley" are loops in machine code.
        "brenth", "ridder" and "toms748" (all need a bracket) are SciPy's, called by Python in each evaluation.
    jac, hess: Accepted; "newton" and "halley" have the exact derivatives in any case.
    optimizer_kwargs: As `scipy.optimize.root_scalar` takes them. `bracket`: two points where the equation has different
        signs, which may be expressions; `x1`: the second point of "secant"; `xtol` and `rtol`: the last step, or half
        of the interval, is at most xtol + rtol |x| (defaults 2e-12 and 9e-16 with a bracket, 1.5e-8 and 0 without);
        `maxiter` (default 100 with a bracket, 50 without).
    x0: Where the search begins, in place of the value of `variable`.
    Returns: The place, and whether the search succeeded.
    See root: Of several equations.
    See minimize_scalar: Where an expression is least.

    Notes
    -----
    Returns (solution, success). Where `success` is False (no change of sign, a slope of zero, no tolerance met), the
    solution is the last point of the search, or an end of the bracket, and its derivatives are NaN; so are they where
    the slope is zero.

    Raises ValueError for an unknown method or option and for a bracket that is missing; otherwise as `root`.

    >>> x, a = pt.dscalars("x", "a")
    >>> place, success = pt.optimize.root_scalar(x**2 - a, x)
    >>> place.eval({x: 1.0, a: 9.0}).round(4).item()
    3.0
    """
    bracketed = ("bisect", "brentq", *_ROOT_SCALAR)
    kind = _known("root_scalar", method, ("bisect", "brentq", "newton", "secant", "halley"), _ROOT_SCALAR)
    of = problem("root_scalar", [_scalar(equation, "root_scalar")], [variable], _starts(variable, x0), scalar=True)
    keywords = dict(optimizer_kwargs or {})
    (value,) = of.expressions
    ends = keywords.get("bracket", ())
    if kind in bracketed and len(ends) != 2:
        raise ValueError(f"method {method!r} of `root_scalar` needs `optimizer_kwargs={{'bracket': (low, high)}}`.")
    if kind in _ROOT_SCALAR:
        others = {word: given for word, given in keywords.items() if word != "bracket"}
        solved = _by_scipy("root_scalar", kind, of, [value], others)
        parts, success = of.solution("root_scalar", solved, value, _points(ends, of))
        return parts[0], success
    options = _options(
        "root_scalar", method, {}, {"xtol": None, "rtol": None, "maxiter": None}, given=keywords,
        also=("bracket", "x1", "x0"),
    )  # fmt: skip
    eps = precision(of.leaf)
    tolerances = {
        "xtol": _first(options["xtol"], 2e-12 if kind in bracketed else math.sqrt(eps)),
        "rtol": _first(options["rtol"], 4 * eps if kind in bracketed else 0.0),
        "maxiter": _first(options["maxiter"], 100 if kind in bracketed else 50),
    }
    slopes = [value]
    for _ in range({"newton": 1, "halley": 2}.get(kind, 0)):
        slopes.append(grad(slopes[-1], of.leaf, disconnected_inputs="ignore"))
    more = ends if kind in bracketed else (keywords["x1"],) if kind == "secant" and "x1" in keywords else ()

    def search(start: Node, points: list[Node]) -> tuple[Node, Node]:
        if kind in bracketed:
            within = scalar_roots.brent if kind == "brentq" else scalar_roots.bisection
            return within(of.at(value), *points, **tolerances)
        if kind == "secant":
            second = points[0] if points else start * (1.0 + 1e-4) + where(start >= 0, 1e-4, -1e-4)
            return scalar_roots.secant(of.at(value), start, second, **tolerances)
        stepwise = scalar_roots.newton if kind == "newton" else scalar_roots.halley
        return stepwise(of.at(*slopes), start, **tolerances)

    parts, success = of.solution("root_scalar", search, value, _points(more, of))
    return parts[0], success


def _scalar(expression: TensorLike, name: str) -> Node:
    node = as_tensor(expression)
    if node.ndim:
        raise ShapeError(f"`{name}` needs a scalar expression, got {describe(node)}.")
    return node


def _listed(variables: Any) -> list[Any]:
    return list(variables) if isinstance(variables, list | tuple) else [variables]


def _starts(variables: Any, x0: Any) -> list[Any] | None:
    if x0 is None:
        return None
    return list(x0) if isinstance(variables, list | tuple) else [x0]


def _as(variables: Any, parts: Sequence[Node]) -> Any:
    """Solutions in the form of the variables: one, a tuple or a list."""
    if not isinstance(variables, list | tuple):
        return parts[0]
    return tuple(parts) if isinstance(variables, tuple) else list(parts)


def _first(*values: Any) -> Any:
    """The first value that is given."""
    return next(value for value in values if value is not None)


def _known(name: str, method: str, native: Collection[str], others: Collection[str]) -> str:
    """A method by its name, whose case does not matter."""
    found = str(method).lower()
    found = {"l-bfgs": "l-bfgs-b"}.get(found, found)
    if found in native or found in others:
        return found
    called = f"; called by Python: {', '.join(others)}" if others else ""
    raise ValueError(f"`{name}` has no method {method!r}; in machine code: {', '.join(native)}{called}.")


def _options(
    name: str,
    method: str,
    keywords: Mapping[str, Any],
    known: Mapping[str, Any],
    also: Collection[str] = (),
    given: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Options of a method with their defaults; ValueError for others."""
    options = dict(keywords.get("options") or {}) if given is None else dict(given)
    options.pop("disp", None)
    outer = [] if given is not None else [k for k in keywords if k not in ("tol", "options", *also)]
    odd = outer + [k for k in options if k not in known and not (given is not None and k in also)]
    if odd:
        allowed = ", ".join([*known, *also, *([] if given is not None else ["tol"])])
        raise ValueError(f"method {method!r} of `{name}` has no option {odd[0]!r}; it has {allowed}.")
    return {k: options.get(k, default) for k, default in known.items()}


def _points(given: Sequence[TensorLike], of: Problem) -> list[Node]:
    """Ends of an interval as scalars of the dtype of the variable."""
    nodes = [cast(as_tensor(point), of.leaf.dtype) for point in given]
    wrong = next((node for node in nodes if node.ndim), None)
    if wrong is not None:
        raise ShapeError(f"a point of a bracket is a scalar, got {describe(wrong)}.")
    return nodes


def _by_scipy(kind: str, method: str, of: Problem, expressions: Sequence[Node], keywords: Mapping[str, Any]) -> Method:
    """A method of SciPy's."""
    odd = next((word for word, given in keywords.items() if isinstance(given, Node)), None)
    if odd is not None:
        raise TypeError(f"SciPy's method {method!r} takes numbers in `optimizer_kwargs`, got an expression as {odd!r}.")
    # The variables by themselves tell the lengths of which the packed one is made.
    own = [] if of.shapes == (of.leaf.static_shape,) else [fresh(part) for part in of.parts(of.leaf)]
    search = Search(kind, method, of.leaf, [*own, *of.inside], expressions, keywords)

    def solved(start: Node, points: list[Node]) -> tuple[Node, Node]:
        return searched(search, start, [*points, *(of.parts(start) if own else ()), *of.inside])

    return solved


def _at_bounds(bounds: Any) -> Callable[[Node, list[Node]], list[Node]]:
    """Which elements of a solution lie on bounds, given as pairs or as SciPy's `Bounds`."""
    if hasattr(bounds, "lb"):
        low, high = np.asarray(bounds.lb, float), np.asarray(bounds.ub, float)
    else:
        low = np.array([-math.inf if a is None else float(a) for a, _ in bounds])
        high = np.array([math.inf if b is None else float(b) for _, b in bounds])
    return lambda solution, _: [solution <= low, solution >= high]


load_on_use(__name__, {}, publish=published)

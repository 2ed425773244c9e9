"""Every error and warning of the library, as one family.

ConsilienceError
├── GraphError            an expression that has no meaning
│   ├── ShapeError            lengths that do not fit
│   ├── DtypeError            element types that do not fit
│   ├── UnusedInputError      an input of a function that its outputs do not depend on
│   ├── DisconnectedInputError  a derivative by something the cost does not depend on
│   ├── NullTypeGradError     a derivative that was declared undefined
│   └── MissingRuleError      a table has no row for this op
├── ArgumentError         a public function was given what it cannot take
├── GradientError         a derivative that differs from the numerical one
├── ParseError            text that is no program
├── VerificationError     a program that breaks a law of its form
├── ExecutionError        a compiled function could not finish
│   ├── LinearAlgebraError    a factorisation failed
│   ├── MemoryShortage        arrays larger than memory
│   └── OutOfBoundsError      an index outside its axis
├── NativeError           machine code could not be made or loaded
├── ModelError            a model that is not well formed
│   ├── ParameterError        a distribution parameter outside its range
│   └── SupportError          an observed value outside the support
├── SamplingError         a run that cannot start or go on
│   ├── InitialPointError     no finite starting point
│   ├── TimeLimitError        a task that did not end in its time
│   └── WorkerLostError       a task whose worker died
├── StorageError          a file that cannot be written or read
└── MissingPackageError   a package that is not installed
"""

from __future__ import annotations

import enum
import sys
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


def shown(text: str) -> str:
    """Words of others, such as names of variables, as one line of text: what would act on a screen is written out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in JOINERS else ascii(c)[1:-1] for c in text)


JOINERS = "\u200c\u200d"  # inside words of some scripts, and of emoji


class _Shown(Exception):
    """What errors and warnings have in common: the message is shown line by line, and names in it are text."""

    def __str__(self) -> str:
        return "\n".join(map(shown, super().__str__().split("\n")))


class ConsilienceError(_Shown):
    """Base of all errors raised by this library.

    See ConsilienceWarning: Base of all warnings.
    >>> try:
    ...     pm.Normal.dist(0.0, -1.0)
    ... except pm.ConsilienceError as error:
    ...     print(type(error).__name__)
    ParameterError
    """


class GraphError(ConsilienceError):
    """An expression that has no meaning."""


class ShapeError(GraphError, ValueError):
    """Lengths of axes that do not fit together.

    See ConsilienceError: Base of all errors.
    >>> import consilience as pm, consilience.tensor as pt
    >>> try:
    ...     pt.dot([1.0, 2.0], [1.0, 2.0, 3.0])
    ... except pm.ShapeError as error:
    ...     print(type(error).__name__)
    ShapeError
    """


class AxisError(ShapeError, IndexError):
    """An axis that a tensor does not have."""


class DtypeError(GraphError, TypeError):
    """Element types that do not fit together."""


class RangeError(GraphError, OverflowError):
    """A number that its element type cannot hold."""


class UnusedInputError(GraphError, ValueError):
    """The outputs of a function do not depend on one of its inputs."""


class DisconnectedInputError(GraphError, ValueError):
    """A derivative with respect to something that the cost does not depend on.

    See Also
    --------
    grad : Raises it.

    Examples
    --------
    >>> import consilience as pm, consilience.tensor as pt
    >>> from consilience.gradient import DisconnectedInputError
    >>> x, y = pt.dscalars("x", "y")
    >>> try:
    ...     pm.grad(2 * x, y)
    ... except DisconnectedInputError as error:
    ...     print(type(error).__name__)
    DisconnectedInputError
    """


class NullTypeGradError(GraphError, TypeError):
    """A derivative passes a place where it was declared undefined.

    See Also
    --------
    undefined_grad : Declares a derivative undefined.

    Examples
    --------
    >>> import consilience as pm, consilience.tensor as pt
    >>> from consilience.gradient import NullTypeGradError, undefined_grad
    >>> x = pt.dscalar("x")
    >>> try:
    ...     pm.grad(undefined_grad(x) ** 2, x)
    ... except NullTypeGradError as error:
    ...     print(type(error).__name__)
    NullTypeGradError
    """


class MissingRuleError(GraphError, NotImplementedError):
    """A table (gradient, batching, backend) has no row for an op."""


class ArgumentError(ConsilienceError, TypeError, ValueError):
    """A public function was given an argument that it cannot take; the message names it.

    See ConsilienceError: Base of all errors.
    >>> import consilience as pm, consilience.tensor as pt
    >>> try:
    ...     pt.sum([1.0, 2.0], axis=0.5)
    ... except pm.ArgumentError as error:
    ...     print(error)
    `sum`: `axis` must be a whole number, whole numbers or None, got 0.5.
    """


class GradientError(ConsilienceError, ArithmeticError):
    """A derivative differs from the one found by differences of values.

    See Also
    --------
    verify_grad : Raises it.

    Examples
    --------
    >>> import consilience.tensor as pt
    >>> from consilience.gradient import GradientError, verify_grad
    >>> try:
    ...     verify_grad(lambda x: x**2 + pt.stop_gradient(x), [3.0])
    ... except GradientError as error:
    ...     print(type(error).__name__)
    GradientError
    """


class ParseError(ConsilienceError, ValueError):
    """Program text that cannot be read."""


class VerificationError(ConsilienceError):
    """A program that breaks a law of its own form; always a fault of the compiler."""


class ExecutionError(ConsilienceError):
    """A compiled function could not finish."""


if TYPE_CHECKING:

    class LinearAlgebraError(ExecutionError, ArithmeticError, np.linalg.LinAlgError):
        """A matrix has no factorisation or inverse; NumPy's error of that name too."""


def __getattr__(name: str) -> Any:
    """`LinearAlgebraError`, made when it is asked for: its base is NumPy's, which much here does without."""
    if name != "LinearAlgebraError":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import numpy as np

    bases = (ExecutionError, ArithmeticError, np.linalg.LinAlgError)
    about = "A matrix has no factorisation or inverse; NumPy's error of that name too."
    globals()[name] = found = type(name, bases, {"__doc__": about, "__module__": __name__})
    return found


class NotFiniteError(ExecutionError, AssertionError):
    """A result holds NaN or infinity, in a function that is guarded against them."""


class DebugModeError(ExecutionError, AssertionError):
    """A value of machine code differs from NumPy's."""


class MemoryShortage(ExecutionError, MemoryError):
    """Arrays that a computation needs are larger than the memory."""


class OutOfBoundsError(ExecutionError, IndexError):
    """An index lies outside its axis."""


class NativeError(ConsilienceError):
    """Machine code could not be generated, cached or loaded."""


class ModelError(ConsilienceError, ValueError):
    """A model that is not well formed.

    See ConsilienceError: Base of all errors.
    >>> try:
    ...     pm.Normal("x")
    ... except pm.ModelError as error:
    ...     print(type(error).__name__)
    ModelError
    """


class ParameterError(ModelError):
    """A distribution parameter lies outside its range.

    See SupportError: For observed values.
    >>> try:
    ...     pm.Normal.dist(0.0, -1.0)
    ... except pm.ParameterError as error:
    ...     print(error)
    Normal: sigma must be > 0, got -1.0.
    """


class SupportError(ModelError):
    """An observed value lies outside the support of its distribution.

    See ParameterError: For parameters.
    >>> with pm.Model():
    ...     try:
    ...         pm.Exponential("y", 1.0, observed=[-1.0])
    ...     except pm.SupportError as error:
    ...         print(type(error).__name__)
    SupportError
    """


class SamplingError(ConsilienceError):
    """A run cannot start or go on.

    See InitialPointError: Where no starting point is found.
    >>> with pm.Model():
    ...     x = pm.Normal("x")
    ...     try:
    ...         pm.sample(step=pm.EllipticalSlice([x], prior_cov=[1.0]), progressbar=False)
    ...     except pm.SamplingError as error:
    ...         print(error)
    prior_cov needs a square matrix of finite numbers, got the shape (1,).
    """


class InitialPointError(SamplingError, ValueError):
    """No starting point with a finite log density was found.

    See Model: `debug` tells where a density is not finite.
    >>> with pm.Model():
    ...     x = pm.Normal("x", initval=1.0)
    ...     y = pm.Potential("y", float("-inf") * x**2)
    ...     try:
    ...         pm.sample(progressbar=False)
    ...     except pm.InitialPointError as error:
    ...         print(type(error).__name__)
    InitialPointError
    """


class TimeLimitError(SamplingError, TimeoutError):
    """A task did not end in the time that it was given."""


class WorkerLostError(SamplingError):
    """The process or machine that a task ran on died, and so did others that it was given to."""


class StorageError(ConsilienceError):
    """A file or directory of results cannot be written or read.

    See resume: Reads checkpoints.
    >>> try:
    ...     pm.resume("no_such_file", model=pm.Model())
    ... except pm.StorageError as error:
    ...     print(type(error).__name__)
    StorageError
    """


class MissingPackageError(ConsilienceError, ImportError):
    """A package that this function needs is not installed, or cannot be imported."""

    @classmethod
    def of(cls, package: str, command: str, error: Exception) -> MissingPackageError:
        """The error for a package, by what importing it raised; `command` installs it."""
        if isinstance(error, ModuleNotFoundError):
            return cls(f"{package} is not there: {command}.")
        return cls(
            f"{package} is installed, and importing it fails: {type(error).__name__}: {error}. Where its parts do not "
            f"fit together, installing it anew helps: {command}."
        )


class ConsilienceWarning(_Shown, UserWarning):
    """Base of all warnings issued by this library.

    See ConsilienceError: Base of all errors.
    >>> issubclass(pm.ConvergenceWarning, pm.ConsilienceWarning)
    True
    """


class ConvergenceWarning(ConsilienceWarning):
    """The draws of a run should not be used yet.

    See ConsilienceWarning: Base of all warnings.
    >>> import warnings
    >>> import consilience as pm
    >>> with warnings.catch_warnings(record=True) as told, pm.Model():
    ...     warnings.simplefilter("always", pm.ConvergenceWarning)
    ...     x = pm.Normal("x")
    ...     result = pm.sample(draws=10, tune=10, random_seed=1, progressbar=False)
    >>> told[0].category.__name__, result.status == "converged"
    ('ConvergenceWarning', False)
    """


class ImputationWarning(ConsilienceWarning):
    """Observed data have missing values, which become a free variable.

    See ConsilienceWarning: Base of all warnings.
    >>> import warnings
    >>> import consilience as pm
    >>> with warnings.catch_warnings(record=True) as told, pm.Model() as model:
    ...     warnings.simplefilter("always", pm.ImputationWarning)
    ...     y = pm.Normal("y", observed=[1.0, float("nan")])
    >>> [one.category.__name__ for one in told], [v.name for v in model.free_RVs]
    (['ImputationWarning'], ['y_unobserved'])
    """


class ImplicitFreezeWarning(ConsilienceWarning):
    """Draws of the trace are used for a variable although something that it depends on has changed.

    See resampled_variables: Tells what is drawn anew, and why.
    See sample_posterior_predictive: Warns so.
    >>> issubclass(pm.ImplicitFreezeWarning, pm.ConsilienceWarning)
    True
    """


class CacheWarning(ConsilienceWarning):
    """The object cache cannot be used; code is compiled in every process."""


def warn(message: str, category: type[Warning] = ConsilienceWarning) -> None:
    """Warn, pointing to the nearest line outside this library: the user's, who can do something about it."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals):
        frame = frame.f_back
    said, place = frame.f_globals.setdefault("__warningregistry__", {}), frame.f_globals.get("__name__", "<string>")
    warnings.warn_explicit(message, category, frame.f_code.co_filename, frame.f_lineno, place, said)


def _is_ours(module: dict[str, Any]) -> bool:
    return f"{module.get('__name__', '')}.".startswith("consilience.")


class Status(enum.IntFlag):
    """Bits that generated code returns; zero means success."""

    OK = 0
    FACTORISATION_FAILED = 1
    OUT_OF_BOUNDS = 2
    PYTHON_FAILED = 4
    INTERRUPTED = 8

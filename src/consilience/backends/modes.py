"""Ways to compile under PyTensor's names: a name in, a backend and whether graphs are simplified out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from consilience.backends.registry import BACKENDS
from consilience.errors import ArgumentError
from consilience.ir.settings import config
from consilience.record import Record, field_names

_LINKERS: Final = {
    **dict.fromkeys(("cvm", "cvm_nogc", "vm", "vm_nogc", "c|py", "c|py_nogc", "numba", None), "llvm"),
    "py": "reference",
    "pytorch": "torch",
}
"""Backends by the names of PyTensor's linkers; other names are those of backends."""


_DEBUG_SETTINGS: Final = frozenset((
    "check_c_code", "check_isfinite", "check_preallocated_output", "check_py_code", "linker",
    "require_matching_strides", "stability_patience",
))  # fmt: skip


class Mode(Record):
    """How a function is compiled.

    linker (str or None): Name of the backend.
    optimizer (bool or str or None): Name of the set of rewrites.
    backend: A name of `registry.BACKENDS`; PyTensor's linkers, as in `Mode(linker="py")`, are taken too.
    simplified: Whether the graph is rewritten before it is compiled; of PyTensor's `optimizer=`, None is False.
    plan: Whether machine code computes the equal form that is predicted to be cheapest, of graphs that are rewritten; a
        number: the cheapest that holds so many bytes at most.
    See function: Takes it as `mode`.
    >>> import consilience as pm, consilience.tensor as pt
    >>> x = pt.dscalar("x")
    >>> pm.function([x], pt.exp(x), mode=pm.Mode(backend="reference"))(0.0).item()
    1.0
    """

    backend: str = "llvm"
    simplified: bool = True
    plan: bool | int = True

    def __init__(
        self,
        linker: str | None = "llvm",
        optimizer: bool | str | None = True,
        *,
        backend: str | None = None,
        simplified: bool | None = None,
        plan: bool | int = True,
    ) -> None:
        chosen = linker if backend is None else backend
        if not isinstance(chosen, str | None):
            raise TypeError(f"`linker` of a `Mode` must be the name of a backend, got {chosen!r}.")
        if not isinstance(optimizer, bool | str | None):
            raise TypeError(f"`optimizer` of a `Mode` must be True, False or a name, got {optimizer!r}.")
        object.__setattr__(self, "backend", _LINKERS.get(chosen, chosen))
        object.__setattr__(self, "simplified", bool(optimizer) if simplified is None else simplified)
        object.__setattr__(self, "plan", self.simplified and _checked_plan(plan))

    @property
    def linker(self) -> str:
        """The backend, under PyTensor's name for what makes a function."""
        return self.backend

    @property
    def optimizer(self) -> bool:
        """Whether the graph is rewritten, under PyTensor's name for it."""
        return self.simplified

    def __setattr__(self, name: str, value: object) -> None:
        """PyTensor's settings of what is checked may be set, without influence: every call is checked alike."""
        if name not in _DEBUG_SETTINGS - {"linker"}:
            super().__setattr__(name, value)
        _refuse_finite({name: value})

    def with_plan(self, plan: bool | int) -> Mode:
        """This mode with another `plan`."""
        made = object.__new__(type(self))
        for name in field_names(self):
            object.__setattr__(made, name, getattr(self, name))
        object.__setattr__(made, "plan", self.simplified and _checked_plan(plan))
        return made

    def excluding(self, *tags: str) -> Mode:
        """This mode: PyTensor's tags of rewrites choose none here, where every rewrite keeps values and checks."""
        return self

    including = excluding


def _checked_plan(plan: bool | int) -> bool | int:
    if not isinstance(plan, int) or plan < 0:
        raise TypeError(f"`plan` must be True, False or a number of bytes, got {plan!r:.200}.")
    return plan


class NanGuardMode(Mode):
    """Machine code whose results are looked at; where one holds what is wrong, the value that it came from is named.

    backend: Name of the backend that computes.
    simplified: Whether the simplified expressions are checked.
    plan (bool): Whether machine code computes the equal form that is predicted to be cheapest, of graphs that are
        rewritten.
    nan_is_error: Whether NaN is wrong.
    inf_is_error: Whether infinities are wrong.
    big_is_error: Whether numbers beyond 1e10 are wrong (by default not, unlike PyTensor's).
    See DebugMode: Compares values with NumPy's.
    >>> import consilience as pm, consilience.tensor as pt
    >>> x = pt.dscalar("x")
    >>> f = pm.function([x], pt.log(x), mode=pm.NanGuardMode())
    >>> try:
    ...     f(-1.0)
    ... except AssertionError as error:
    ...     print(type(error).__name__)
    NotFiniteError
    """

    nan_is_error: bool = True
    inf_is_error: bool = True
    big_is_error: bool = False


class DebugMode(Mode):
    """Machine code that is compared with NumPy at every call, value by value; slow.

    optimizer (bool or str or None): Name of the set of rewrites.
    **settings: Of PyTensor's mode: what it compares and how often; accepted, since here everything is compared.
    Raises TypeError: For other names.
    Raises ValueError: For `check_isfinite=True`.
    See NanGuardMode: Looks for what is not finite.
    See Mode: How a function is compiled.
    >>> import consilience as pm, consilience.tensor as pt
    >>> x = pt.dscalar("x")
    >>> pm.function([x], pt.exp(x), mode=pm.DebugMode())(0.0).item()
    1.0
    """

    def __init__(self, optimizer: bool | str | None = True, **settings: object) -> None:
        super().__init__("llvm", optimizer)
        unknown = sorted(settings.keys() - _DEBUG_SETTINGS)
        if unknown:
            raise TypeError(f"DebugMode has no setting `{unknown[0]}`; it takes {', '.join(sorted(_DEBUG_SETTINGS))}.")
        _refuse_finite(settings)


def _refuse_finite(settings: Mapping[str, object]) -> None:
    if settings.get("check_isfinite"):
        raise ValueError("values are taken as they are, finite or not; `NanGuardMode()` refuses those that are not.")


MODES: Final = {
    "Mode": Mode(),
    "FAST_RUN": Mode(),
    "FAST_COMPILE": Mode("reference", simplified=False),
    "PY": Mode("reference"),
    **dict.fromkeys(("C_VM", "CVM", "VM", "NUMBA"), Mode()),
    **{name: Mode(name) for name in BACKENDS},
    "C": Mode("c"),
    "JAX": Mode("jax"),
    "PYTORCH": Mode("torch"),
    **dict.fromkeys(("nan_guard", "NAN_GUARD", "NanGuardMode", "NANGUARDMODE"), NanGuardMode()),
    **dict.fromkeys(("debug", "DEBUG", "DebugMode", "DEBUGMODE", "DEBUG_MODE"), DebugMode()),
}
ABSENT: Final = {
    "MLX": "there is no backend of MLX",
}


def mode_named(mode: Mode | str | None, backend: str | None = None) -> Mode:
    """The mode for `mode=` and `backend=` of a function, of which at most one is given; `config.mode` for neither.

    Raises ValueError for an unknown name or for both.
    """
    if mode is not None and backend is not None:
        raise ValueError(f"give `mode` or `backend`, not both: got {mode!r} and {backend!r}.")
    wanted = backend if mode is None else mode
    if wanted is None:
        wanted = config.mode
    if isinstance(wanted, Mode):
        return wanted
    if not isinstance(wanted, str):
        raise ArgumentError(f"`mode` must be a name such as 'FAST_RUN', got {wanted!r}.")
    found = MODES.get(wanted) or MODES.get(wanted.upper())
    if found is None:
        known = f"available are {', '.join(MODES)}"
        why = ABSENT.get(wanted.upper())
        kind = "mode" if backend is None else "backend"
        raise ArgumentError(f"unknown `{kind}` {wanted!r}; " + (f"{why}; {known}." if why else f"{known}."))
    return found

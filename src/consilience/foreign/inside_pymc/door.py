"""The place in PyMC where samplers are chosen: while the door is open, there is one more to choose.

PyMC has a fixed list of samplers, so its function `sample` is replaced by one that looks for the name of ours and
leaves all other calls to it. What runs a model is in `sampling`.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from consilience.errors import MissingPackageError, SamplingError
from consilience.foreign.inside_pymc import bambi as bambi
from consilience.foreign.inside_pymc.sampling import refuse_ours, sampled
from consilience.record import Record

NAME: Final = "consilience"
OLDEST, NEWEST = (5, 28), (6, 4)  # what was tried; the next major version may dispatch elsewhere
MARK: Final = "_before_consilience"  # of a function of ours, with that of PyMC


class Behaviour(Record):
    """What holds for calls that do not say otherwise; `install` tells what the fields mean."""

    fallback: bool = False
    default: bool = False


_behaviour: Behaviour | None = None  # None: the door is closed


def install(*, fallback: bool = False, default: bool = False) -> None:
    """Make `pymc.sample(nuts_sampler="consilience")` sample with this library; `import consilience.for_pymc` does it.

    Called again, it only changes the two settings.

    `fallback`: whether a model, or a keyword of `pymc.sample`, that has no translation goes back to PyMC's own sampler,
    with one warning that names it. A single call says so in `nuts={"fallback": True}`. `default`: whether calls without
    `nuts_sampler=` come here too, for libraries that do not hand that keyword on. Raises MissingPackageError without
    PyMC, or for a version outside 5.28 to 6.

    Examples
    --------
    >>> import consilience.for_pymc  # doctest: +SKIP
    >>> with pymc.Model():  # doctest: +SKIP
    ...     mu = pymc.Normal("mu")
    ...     trace = pymc.sample(nuts_sampler="consilience")
    """
    global _behaviour
    checked(_imported())
    _restore()  # what an earlier import of this module left
    _behaviour = Behaviour(fallback=bool(fallback), default=bool(default))
    wide: dict[Any, Any] = {}  # one for all homes of one function, which pickles by its name
    for home, name in _places():
        before = getattr(home, name)
        if before not in wide:
            wide[before] = _widened(before) if name == "sample" else _explained(before)
        setattr(home, name, wide[before])
    bambi.open_door(NAME)


def uninstall() -> None:
    """Give PyMC back the functions it had before `install`.

    A function that somebody else has put in the place of ours meanwhile stays where it is, and what it calls of ours
    hands everything on to PyMC.
    """
    global _behaviour
    _behaviour = None
    bambi.close_door(NAME)
    _restore()


def _places() -> Iterator[tuple[Any, str]]:
    """Modules of PyMC, and names of theirs that are exchanged."""
    homes = [importlib.import_module(path) for path in ("pymc.sampling.mcmc", "pymc.sampling", "pymc")]
    return iter([*((home, "sample") for home in homes), (homes[0], "_sample_external_nuts")])


def _restore() -> None:
    for home, name in _places():
        before = getattr(getattr(home, name), "__dict__", {}).get(MARK)
        if before is not None:
            setattr(home, name, before)


def checked(pymc: Any) -> None:
    """MissingPackageError for what is no PyMC, or a version of it that was not tried."""
    if pymc.__version__.endswith("+consilience"):
        raise MissingPackageError(
            "`import pymc` means this library here, since `consilience.as_pymc` was imported: its `sample` is this "
            "sampler already. `consilience.for_pymc` is for programs that keep PyMC; import one of the two."
        )
    numbers = tuple(int(part) for part in pymc.__version__.split(".")[:2] if part.isdigit())
    if numbers < OLDEST or numbers[:1] > NEWEST[:1]:
        oldest, newest = (".".join(map(str, version)) for version in (OLDEST, NEWEST))
        raise MissingPackageError(
            f"`consilience.for_pymc` works with PyMC {oldest} to {NEWEST[0]} (tried up to {newest}), but "
            f"{pymc.__version__} is installed; `pip install 'pymc>={oldest},<{NEWEST[0] + 1}'`, or sample "
            "`consilience.from_pymc(model)` yourself."
        )


def _imported() -> Any:
    try:
        return importlib.import_module("pymc")
    except ModuleNotFoundError as error:
        if error.name != "pymc":
            raise
        raise MissingPackageError(
            "`consilience.for_pymc` brings this sampler into PyMC, which is not there: pip install pymc. Models can be "
            "written with this library alone: `import consilience as pm`."
        ) from error


def _widened(before: Callable[..., Any]) -> Callable[..., Any]:
    """PyMC's `sample`, which knows one sampler more."""
    signature = inspect.signature(before)

    @functools.wraps(before)
    def sample(*arguments: Any, **keywords: Any) -> Any:
        if _behaviour is not None:
            refuse_ours(keywords.get("model"))
        chosen = keywords.get("nuts_sampler")
        if _behaviour is None or (chosen != NAME and not (chosen is None and _behaviour.default)):
            return before(*arguments, **keywords)
        given: Mapping[str, Any] = signature.bind(*arguments, **keywords).arguments
        return sampled(before, given, _behaviour.fallback)

    setattr(sample, MARK, before)
    return sample


def _explained(before: Callable[..., Any]) -> Callable[..., Any]:
    """PyMC's choice among other samplers, which is asked for ours by a `sample` from before the door was open."""

    @functools.wraps(before)
    def dispatch(sampler: str, *arguments: Any, **keywords: Any) -> Any:
        if sampler == NAME and _behaviour is not None:
            raise SamplingError(
                "this `sample` was taken from PyMC before `consilience.for_pymc` was imported, and does not know the "
                "sampler; call `pymc.sample`, or write `from pymc import sample` below that import."
            )
        return before(sampler, *arguments, **keywords)

    setattr(dispatch, MARK, before)
    return dispatch

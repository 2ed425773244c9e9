"""What runs on a worker: a function with values that are kept there between tasks, its time and its end.

Names of values, the pickle of a call and, where the worker said that it lacks them, pickles of values in; the pickle of
what came of it out. A thread is interrupted by an exception that is raised in it from without.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from consilience.cluster.pickles import dumps
from consilience.errors import SamplingError, TimeLimitError
from consilience.native.blas import single_threaded

KEPT: Final = 16
"""Values that a process keeps, the last that were used."""
LOOK: Final = 0.2
"""Seconds between two looks at clocks and wishes to stop."""
AGAIN: Final = 1.0
"""Seconds after which a task that did not end is told again."""
GRACE: Final = 5.0
"""Seconds that a task has to end after its time, before its process is ended."""

_values: OrderedDict[str, Any] = OrderedDict()
_own = threading.local()
_lock = threading.RLock()


class Halted(BaseException):
    """Raised in a task from without."""


def versions() -> dict[str, str]:
    """Of what has to be the same wherever a task runs."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {"consilience": sys.modules["consilience"].__version__, "NumPy": np.__version__, "Python": python}


def keep(digest: str, value: Any) -> None:
    """Give this process a value under its name."""
    with _lock:
        _values[digest] = value
        _values.move_to_end(digest)
        while len(_values) > KEPT:
            _values.popitem(last=False)


def forget(digest: str) -> None:
    """Take a value from this process."""
    with _lock:
        _values.pop(digest, None)


def value_of(digest: str) -> Any:
    """The copy of a value that belongs to this thread: a shallow one, or what its `__copy__` makes."""
    copies: dict[str, tuple[Any, Any]] = _own.__dict__.setdefault("copies", {})
    with _lock:
        for old in [name for name in copies if name not in _values]:
            del copies[old]
        whole = _values[digest]
        _values.move_to_end(digest)
        if digest not in copies or copies[digest][0] is not whole:
            copies[digest] = (whole, copy.copy(whole))
        return copies[digest][1]


def run(wanted: dict[str, str], digests: tuple[str, ...], call: bytes, settings: tuple[Any, ...], *pickles: Any) -> Any:
    """A task of another process: ("done", pickle of the result), ("raised", error, text), or why it did not begin.

    wanted     versions of the driver; others give ("refused", those that are here)
    digests    names of the values that it needs; ("missing", those that are not here) asks for them
    call       pickle of a function and its arguments
    settings   limit in seconds or None, and the name under which tasks are stopped
    pickles    bytes of each value, or none of them
    """
    here = versions()
    if here != wanted:
        return "refused", here
    _leave_interrupts_to_the_driver()
    for digest, pickled in zip(digests, pickles, strict=False):
        if digest not in _values:
            keep(digest, pickle.loads(pickled))
    lacking = [digest for digest in digests if digest not in _values]
    if lacking:
        return "missing", lacking
    limit, stop = settings
    try:
        with single_threaded():
            function, arguments = pickle.loads(call)
            result = called(function, arguments, limit, stop, os.getpid())
        return "done", dumps(result, "the result of a task")
    except Exception as error:
        return "raised", _portable(error), traceback.format_exc()


def _leave_interrupts_to_the_driver() -> None:
    """A terminal's Ctrl-C reaches all processes of the driver's, of which those that wait would end with tracebacks."""
    own = threading.current_thread() is threading.main_thread() and multiprocessing.parent_process() is not None
    if own and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def called(function: Callable[..., Any], arguments: tuple[Any, ...], limit: float | None, stop: str, ends: int) -> Any:
    """The function of its arguments in its time; TimeLimitError after it, SamplingError where it was stopped."""
    if stop in _stopped or os.path.exists(flag(stop)):
        raise SamplingError("it was stopped.")
    began = time.monotonic()
    try:
        with _watched(None if limit is None else began + limit, stop, ends):
            return function(*(value_of(a.digest) if isinstance(a, Kept) else a for a in arguments))
    except Halted:
        if limit is not None and time.monotonic() - began >= limit:
            raise TimeLimitError(f"it did not end within {limit:g} s.") from None
        raise SamplingError("it was stopped.") from None


class Kept:
    """An argument that stands for a value by its name."""

    def __init__(self, digest: str) -> None:
        self.digest = digest


def _portable(error: Exception) -> Exception:
    """The error itself if it survives the way, or one that says the same."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # classes with constructors of their own, or that are not importable
        return SamplingError(f"{type(error).__name__}: {error}")
    return error


# --- tasks that have a clock, or may be told to stop

_watch: dict[int, tuple[float | None, str, int]] = {}  # by thread
_stopped: set[str] = set()
_watcher: tuple[int, threading.Thread] | None = None


def flag(stop: str) -> str:
    """A file whose existence stops all tasks of a name on the machine of the driver."""
    return os.path.join(tempfile.gettempdir(), f"consilience-stop-{stop}")


def halt(stop: str) -> None:
    """Stop all tasks of a name in this process."""
    _stopped.add(stop)


@contextlib.contextmanager
def _watched(end: float | None, stop: str, ends: int) -> Iterator[None]:
    """Raise `Halted` in this thread at `end` or when the tasks of a name are stopped; see `_look`."""
    global _watcher
    thread = threading.get_ident()
    with _lock:
        _watch[thread] = (end, stop, ends)
        if _watcher is None or _watcher[0] != os.getpid() or not _watcher[1].is_alive():
            _watcher = (os.getpid(), threading.Thread(target=_look, name="consilience-clock", daemon=True))
            _watcher[1].start()
    try:
        yield
    finally:
        with _lock:
            del _watch[thread]
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), None)  # if it comes too late


def _look() -> None:
    """Of one thread for all tasks, as long as there are any; where a task of a process of its own stays deaf for GRACE,
    the process ends.
    """
    global _watcher
    before_hook = sys.unraisablehook

    def quiet(lost: Any) -> None:
        """A `Halted` that came while a destructor ran is lost, and raised once more: nobody need hear of it."""
        if lost.exc_type is not Halted:
            before_hook(lost)

    sys.unraisablehook = quiet
    told: dict[int, tuple[tuple[float | None, str, int], float]] = {}  # and when
    while True:
        time.sleep(LOOK)
        now = time.monotonic()
        with _lock:
            if not _watch:
                _watcher = None
                if sys.unraisablehook is quiet:
                    sys.unraisablehook = before_hook
                return
            stops = {stop for _, stop, _ in _watch.values()}
            ended = {stop for stop in stops if stop in _stopped or os.path.exists(flag(stop))}
            for thread, row in _watch.items():
                end, stop, ends = row
                before, when = told.get(thread, (None, now))
                # Machine code that calls Python loses an exception, as destructors do, which is then raised once more.
                heard = before is row and now - when < AGAIN
                if (stop in ended or (end is not None and now >= end)) and not heard:
                    told[thread] = (row, now)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Halted))
                if ends == os.getpid() and end is not None and now >= end + GRACE:
                    os._exit(70)

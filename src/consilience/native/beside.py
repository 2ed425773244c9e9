"""One computation beside another: a function enters, its result or its exception leaves when asked for.

Only what releases the interpreter's lock, as LLVM does, gains by it. So what is begun ahead takes turns at what needs
the interpreter: one that is through with it keeps another processor busy, where several at once only wait.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

Made = TypeVar("Made")
_here = threading.local()


def hand_over() -> None:
    """Say that what follows in this thread hardly needs the interpreter: it is the turn of others."""
    turn: _Turn | None = getattr(_here, "turn", None)
    if turn is not None:
        turn.end()


class Beside(Generic[Made]):
    """`make()` on a thread of its own, begun at once."""

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make = make
        self._made: list[Made] = []
        self._error: BaseException | None = None
        # Not a daemon: a process that ends meanwhile must not tear down what native code is in the middle of.
        self._thread = threading.Thread(target=self._run, name="consilience-beside")
        self._thread.start()
        _under_way.add(self)
        if self._made or self._error is not None:  # over already, perhaps too early to be found in there
            _under_way.discard(self)

    def _run(self) -> None:
        try:
            self._made.append(self._make())
        except BaseException as error:
            self._error = error
        finally:
            _under_way.discard(self)

    def wait(self) -> None:
        """Return when `make` is over."""
        self._thread.join()

    def result(self) -> Made:
        """What `make` returned, as soon as it has; raises what it raised."""
        self.wait()
        if self._error is not None:
            raise self._error
        return self._made[0]


_under_way: Final[set[Beside[Any]]] = set()


def _finish() -> None:
    """Wait for all that is under way: a process that is forked would inherit its locks, but no thread to free them."""
    for work in list(_under_way):
        if work._thread is not threading.current_thread():
            work.wait()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_finish)


class _Turn:
    """The part of a work that needs the interpreter; it begins when no other one is under way."""

    _lock = threading.Lock()

    def __init__(self) -> None:
        self.over = threading.Event()

    def take(self, make: Callable[[], Made]) -> Made:
        """`make()`, of which the part up to `hand_over` is the turn."""
        _here.turn = self
        self._lock.acquire()
        try:
            return make()
        finally:
            self.end()
            _here.turn = None

    def end(self) -> None:
        """The turn is over; said again it means nothing."""
        if not self.over.is_set():
            self.over.set()
            self._lock.release()


class Workshop:
    """What is made once per process, perhaps beside something else and before anybody needs it.

    No work waits for another before it has handed over.
    """

    def __init__(self) -> None:
        self._begun: dict[object, Beside[Any]] = {}
        self._turns: list[_Turn] = []
        self._lock = threading.Lock()

    def begin(self, key: object, make: Callable[[], Made]) -> Beside[Made]:
        """Begin to make what has this key, unless that was begun before."""
        with self._lock:
            known = self._begun.get(key)
            if known is None:
                turn = _Turn()
                self._turns.append(turn)
                known = self._begun[key] = Beside(lambda: turn.take(make))
            return known

    def begin_behind(self, key: object, make: Callable[[], Made]) -> Beside[Made]:
        """The same for what needs the interpreter to its end: it begins when no work begun so far needs it much."""
        with self._lock:
            known = self._begun.get(key)
            if known is None:
                first = list(self._turns)

                def begin() -> Made:
                    for turn in first:
                        turn.over.wait()
                    return make()

                known = self._begun[key] = Beside(begin)
            return known

    def finish(self) -> None:
        """Return when all begun so far is made; what failed says so where its result is asked for."""
        with self._lock:
            begun = list(self._begun.values())
        for work in begun:
            work.wait()


WORKSHOP: Final = Workshop()

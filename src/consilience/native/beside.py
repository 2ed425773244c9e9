"""One computation beside another: a function enters, its result or its exception leaves when asked for.

Only what releases the interpreter's lock, as LLVM does, gains by it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

Made = TypeVar("Made")


class Beside(Generic[Made]):
    """`make()` on a thread of its own, begun at once."""

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make = make
        self._made: list[Made] = []
        self._error: BaseException | None = None
        # Not a daemon: a process that ends meanwhile must not tear down what native code is in the middle of.
        self._thread = threading.Thread(target=self._run, name="consilience-beside")
        self._thread.start()

    def _run(self) -> None:
        try:
            self._made.append(self._make())
        except BaseException as error:
            self._error = error

    def result(self) -> Made:
        """What `make` returned, as soon as it has; raises what it raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._made[0]


class Workshop:
    """What is made once per process, perhaps beside something else and before anybody needs it."""

    def __init__(self) -> None:
        self._begun: dict[object, Beside[Any]] = {}
        self._lock = threading.Lock()

    def begin(self, key: object, make: Callable[[], Made]) -> Beside[Made]:
        """Begin to make what has this key, unless that was begun before."""
        with self._lock:
            known = self._begun.get(key)
            if known is None:
                known = self._begun[key] = Beside(make)
            return known


WORKSHOP: Final = Workshop()

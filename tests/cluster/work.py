"""Functions for workers, which import them from here."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any


def square(number: int) -> int:
    return number * number


def raises(number: int) -> int:
    raise ValueError(f"no {number}")


class Awkward(Exception):
    """Unpickles only with two arguments."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def raises_awkwardly(number: int) -> int:
    raise Awkward(number, 2)


def dies_if_odd(number: int) -> int:
    if number % 2:
        os._exit(1)
    return number


def dies_once(where: str) -> str:
    if not Path(where).exists():
        Path(where).touch()
        os._exit(1)
    return "lived"


def sleeps(seconds: float) -> float:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.01)
    return seconds


class SlowToDie:
    """Takes its time when it is destroyed."""

    def __del__(self) -> None:
        sleeps(0.5)


def dies_slowly(seconds: float) -> float:
    thing = SlowToDie()
    del thing
    return sleeps(seconds)


class Counted:
    """Says how often it was used in its place."""

    def __init__(self, size: int) -> None:
        self.payload = bytes(size)
        self.used = 0

    def use(self, number: int) -> tuple[int, int, int]:
        self.used += 1
        return number, os.getpid(), self.used


def use(counted: Counted, number: int) -> tuple[int, int, int]:
    return counted.use(number)


def other_versions(*_: Any) -> dict[str, str]:
    return {"consilience": "0.0.0", "NumPy": "1.0", "Python": "2.7"}

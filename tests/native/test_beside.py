"""Laws of work beside other work."""

from __future__ import annotations

import threading

import pytest

from consilience.native.beside import Beside


def test_work_begins_at_once_on_another_thread() -> None:
    """The caller goes on meanwhile, and gets the result when it asks."""
    begun, go_on = threading.Event(), threading.Event()

    def make() -> int:
        begun.set()
        assert go_on.wait(10)
        return threading.get_ident()

    work = Beside(make)
    assert begun.wait(10)
    go_on.set()
    assert work.result() != threading.get_ident()
    assert work.result() == work.result()


def test_an_error_comes_out_where_the_result_is_asked_for() -> None:
    """Not on the other thread, and every time."""

    def fail() -> None:
        raise ValueError("no luck")

    work = Beside(fail)
    for _ in range(2):
        with pytest.raises(ValueError, match="no luck"):
            work.result()

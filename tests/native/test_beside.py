"""Laws of work beside other work."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from consilience.native.beside import Beside, Workshop, hand_over


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


FORKING = """
import os, sys, time
from consilience.native.beside import Beside
work = Beside(lambda: time.sleep(0.2) or 7)
inside = os.fork() == 0
os.write(1, f"{work.result()}\\n".encode())  # at once: both write to one pipe
if not inside:
    os.wait()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_inherits_what_was_under_way_finished() -> None:
    """Threads are not inherited; a result that nobody goes on to make would be lost, and locks never freed."""
    run = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKING]
    assert subprocess.run(run, capture_output=True, text=True, timeout=60, check=True).stdout == "7\n7\n"


def test_works_take_turns_until_they_hand_over() -> None:
    """One is in its first part at a time; what follows `hand_over` goes on beside the others."""
    workshop, inside, finish = Workshop(), [], threading.Event()
    most = [0]

    def make() -> int:
        inside.append(1)
        most[0] = max(most[0], len(inside))
        finish.wait(0.01)
        inside.pop()
        hand_over()
        hand_over()  # said again it means nothing
        assert finish.wait(10)
        return 7

    works = [workshop.begin(key, make) for key in range(5)]
    workshop.begin_behind("behind", lambda: most[0]).result()  # none is finished, all have handed over
    assert most == [1]
    finish.set()
    assert [work.result() for work in works] == [7] * 5
    assert workshop.begin(3, make) is works[3]


def test_what_comes_behind_begins_when_the_others_have_handed_over() -> None:
    """It takes no turn itself: what is begun later does not wait for it."""
    workshop, turn_over, finish = Workshop(), threading.Event(), threading.Event()

    def make() -> int:
        assert turn_over.wait(10)
        hand_over()
        assert finish.wait(10)
        return 7

    first = workshop.begin("first", make)
    behind = workshop.begin_behind("behind", lambda: turn_over.is_set() and finish.wait(10))
    assert workshop.begin_behind("behind", lambda: False) is behind
    turn_over.set()
    assert workshop.begin("later", lambda: 1).result() == 1
    finish.set()
    workshop.finish()
    assert (first.result(), behind.result()) == (7, True)


def test_to_finish_is_to_wait_for_all_that_was_begun() -> None:
    """For what fails too: it says so to whom the result matters."""
    workshop, finish = Workshop(), threading.Event()

    def fail() -> None:
        raise ValueError("no")

    failing = workshop.begin("failing", fail)
    slow = [workshop.begin(key, lambda: (hand_over(), finish.wait(10))[1]) for key in range(3)]
    threading.Timer(0.05, finish.set).start()
    workshop.finish()
    assert finish.is_set()
    assert [work.result() for work in slow] == [True] * 3
    with pytest.raises(ValueError, match="no"):
        failing.result()


def test_a_work_that_fails_gives_its_turn_back() -> None:
    """Before it handed over, and after."""
    workshop = Workshop()

    def fail_early() -> None:
        raise ValueError("early")

    def fail_late() -> None:
        hand_over()
        raise ValueError("late")

    for key, make in enumerate([fail_early, fail_late, fail_early]):
        with pytest.raises(ValueError, match=r"early|late"):
            workshop.begin(key, make).result()
    assert workshop.begin_behind("behind", lambda: 2).result() == 2
    assert workshop.begin("another", lambda: 1).result() == 1

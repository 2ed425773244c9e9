"""What one thread waits for from others: in order, in time, whatever signals come."""

from __future__ import annotations

import os
import queue
import signal
import threading
import time

import pytest

from consilience.native.threads import Mailbox


def test_items_come_in_order_and_then_none_does() -> None:
    box: Mailbox[int] = Mailbox()
    for item in range(3):
        box.put(item)
    assert [box.get(), box.get(1.0), box.get()] == [0, 1, 2]
    assert box.empty()
    for seconds in (0.0, -1.0, 0.01):
        with pytest.raises(queue.Empty):
            box.get(seconds)


def test_a_wait_ends_with_what_another_thread_puts() -> None:
    box: Mailbox[int] = Mailbox()
    threading.Timer(0.05, box.put, [7]).start()
    assert box.get(30.0) == 7
    threading.Timer(0.05, box.put, [8]).start()
    assert box.get(None) == 8


def test_all_items_of_several_threads_come_once() -> None:
    box: Mailbox[int] = Mailbox()
    threads = [threading.Thread(target=lambda k=k: [box.put(k * 500 + i) for i in range(500)]) for k in range(4)]
    for thread in threads:
        thread.start()
    assert sorted(box.get(30.0) for _ in range(2000)) == list(range(2000))


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_signals_at_any_moment_of_a_wait_do_not_make_it_endless() -> None:
    box: Mailbox[str] = Mailbox()
    before = signal.signal(signal.SIGALRM, lambda *_: (box.put("signal"), time.sleep(0.002)))
    came = 0
    try:
        for k in range(60):  # some of them as the wait is about to end, when its handler takes it beyond the end
            signal.setitimer(signal.ITIMER_REAL, 0.0095 + 0.00002 * k)
            try:
                while box.get(0.01):
                    came += 1
            except queue.Empty:
                pass
            time.sleep(0.002)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    while not box.empty():
        box.get()
        came += 1
    assert came == 60

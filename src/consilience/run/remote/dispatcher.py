"""Orders of chains to workers, and what came of them back: how many go in one task, how long tasks are, and what is
sent again.

A task that is lost with its worker is sent again, and one that is overdue is sent to another worker, too: the first
answer counts, and any would be the same.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from consilience.cluster import Task, Workers
from consilience.cluster.workers import MOST_LOSSES
from consilience.errors import WorkerLostError
from consilience.run.remote.segment import Order, Piece, Recipe, segments

SHARE: Final = 0.05  # of a task's time that its way there and back takes at most
SHORTEST, LONGEST = 1.0, 10.0  # seconds of a task, unless a single transition takes longer
FIRST_PATIENCE: Final = 120.0  # seconds to wait for a first answer, before which workers compile
PATIENCE: Final = 10.0  # seconds at least that an answer may be overdue; doubled until there is one
SLOWER: Final = 10.0  # times the longest task until then, after which one is overdue
LOOK: Final = 1.0  # seconds between two looks at what is overdue
REMEMBERED: Final = 20  # tasks of which the way is known


class Errand:
    """An order, and who waits for what comes of it: `answer` is called once with a `Piece` or what the chain raised."""

    def __init__(self, order: Order, answer: Callable[[Piece | BaseException | None], None]) -> None:
        self.order, self.answer = order, answer
        self.losses = 0
        self.over = False


class Sent:
    """A task under way, with what it carries, and when it went.

    waits    whether it had to wait for another task: its time away is not that of its way
    passed   when one that went later was back
    """

    def __init__(self, task: Task, requests: list[Errand], number: int, waits: bool) -> None:
        self.task, self.requests, self.number, self.waits = task, requests, number, waits
        self.began = time.monotonic()
        self.passed: float | None = None
        self.again = False  # whether its requests were sent once more


class Dispatcher:
    """A thread that feeds the workers of an executor.

    executor   see `cluster.Workers`
    recipe     what the chains are made of
    """

    def __init__(self, executor: Any, recipe: Recipe) -> None:
        self.executor, self.recipe = executor, recipe
        self.round_trip = 0.0  # seconds of the way there and back, the least of late
        self.order_seconds = 0.0  # what a worker spends on one order, on average of late
        self.workers = Workers(executor)
        self._inbox: queue.SimpleQueue[Errand | None] = queue.SimpleQueue()
        self._ways: deque[float] = deque(maxlen=REMEMBERED)
        self._processors: set[str] = set()
        self._longest = 0.0  # seconds of a task, that was answered
        self._number = 0
        self._away = ""  # why nothing could be sent at the last look

    def start(self, failed: Callable[[str], None], news: Callable[[str], None]) -> None:
        """Begin, or begin again after `close`.

        failed   called, with the reason, where no worker can do the work
        news     takes words about what happened to workers
        raises   SamplingError where the recipe does not pickle
        """
        self.failed, self.news = failed, news
        self._waiting: deque[Errand] = deque()
        self._sent: dict[Task, Sent] = {}
        self._patience = FIRST_PATIENCE
        self._heard = 0.0  # when there was the last answer, or nothing was under way
        self.workers = Workers(self.executor)
        self._shared = self.workers.share(self.recipe, "the model")
        self._thread = threading.Thread(target=self._run, name="consilience-dispatcher", daemon=True)
        self._thread.start()

    def post(self, request: Errand) -> None:
        """Have an order done; from any thread."""
        self._inbox.put(request)
        self.workers.wake()

    def forget(self, request: Errand) -> None:
        """Nobody waits for it any more."""
        request.over = True

    def close(self) -> None:
        """Free the workers, and answer nobody any more."""
        self._inbox.put(None)
        self.workers.wake()
        self._thread.join()

    # --- the dispatcher's own thread

    def _run(self) -> None:
        with self.workers as workers:
            try:
                while self._take_in():
                    self._send()
                    for task in workers.finished(LOOK):
                        self._receive(task)
                    for words in workers.news():
                        self.news(words)
                    if not (self._is_away() or workers.vacant):
                        self._send_again()
            except BaseException as error:  # no worker can go on, or Ctrl-C came to one: the run ends with what it has
                self.failed(str(error) or type(error).__name__)
            self._end()

    def _take_in(self) -> bool:
        """New orders, waited for where nothing is under way; False once there will be none."""
        while not (self._sent or self._waiting) or not self._inbox.empty():
            request = self._inbox.get()
            if request is None:
                return False
            self._waiting.append(request)
        return True

    def _is_away(self) -> bool:
        """Whether nothing can be sent for now, which is told once; meanwhile nothing is overdue."""
        before, self._away = self._away, self.workers.away
        if self._away or self.workers.vacant:
            self._heard = time.monotonic()
        if self._away:
            if not before:
                self.news(self._away)
        elif before:
            self.news("it answers again; what workers were at is done again")
        return bool(self._away)

    @property
    def _seconds(self) -> float:
        return min(LONGEST, max(SHORTEST, self.round_trip / SHARE))

    def _send(self) -> None:
        """Orders of chains that are short go together, but not while a worker would have none."""
        workers = self.workers
        if not self._sent:
            self._heard = time.monotonic()
        under_way = sum(len(sent.requests) for sent in self._sent.values())
        while self._waiting and len(self._sent) < 2 * workers.count:
            fair = -(-(len(self._waiting) + under_way) // (2 * workers.count))
            worthwhile = 1 + int(self.round_trip / SHARE / max(self.order_seconds, 1e-6))
            several = min(fair, worthwhile, len(self._waiting))
            chosen = [request for request in (self._next() for _ in range(several)) if not request.over]
            under_way += len(chosen)
            if chosen:
                self._submit(chosen)

    def _next(self) -> Errand:
        """The order that has most left: a long one that is begun last has all others wait for its chain."""
        chosen = max(self._waiting, key=lambda request: request.order.count)  # of equals the first
        self._waiting.remove(chosen)
        return chosen

    def _submit(self, requests: list[Errand]) -> None:
        orders = [request.order for request in requests]
        task = self.workers.submit(segments, self._shared, orders, self._seconds)
        self._number += 1
        self._sent[task] = Sent(task, requests, self._number, len(self._sent) >= self.workers.count)

    def _receive(self, task: Task) -> None:
        now = time.monotonic()
        sent = self._sent.pop(task)
        self._heard = now
        if isinstance(task.error, WorkerLostError):
            for request in sent.requests:
                request.losses += 1
            if any(request.losses >= MOST_LOSSES for request in sent.requests):
                raise task.error
            self.news(f"a worker was lost; what it was at is done again ({task.error})")
            self._waiting.extendleft(reversed([request for request in sent.requests if not request.over]))
            return
        done, busy, processor = task.result()
        if not sent.waits:
            self._ways.append(now - sent.began - busy)
            self.round_trip = max(0.0, min(self._ways))
        self._longest = max(self._longest, busy)
        self.order_seconds += (busy / len(done) - self.order_seconds) / (5 if self.order_seconds else 1)
        self._patience = max(PATIENCE, SLOWER * self._longest)
        for other in self._sent.values():
            if other.number < sent.number and other.passed is None:
                other.passed = now
        if processor not in self._processors:
            self._processors.add(processor)
            if len(self._processors) > 1:
                self.news(
                    f"workers have different processors ({'; '.join(sorted(self._processors))}), on which last bits "
                    "differ: CONSILIENCE_TARGET=x86-64-v3 on all makes draws the same"
                )
        for request, answer in zip(sent.requests, done, strict=True):
            if not request.over:
                request.over = True
                request.answer(answer)

    def _send_again(self) -> None:
        """Send what is overdue to other workers, too. It is not taken back: its place with its worker stays taken."""
        now = time.monotonic()
        for sent in list(self._sent.values()):
            since = max(self._heard, sent.began) if sent.passed is None else sent.passed
            left = [request for request in sent.requests if not request.over]
            if left and not sent.again and now - since > self._patience:
                sent.again = True
                self._patience *= 2
                self.news(f"a worker did not answer for {now - sent.began:.0f} s; another does what it was at, too")
                self._submit(left)

    def _end(self) -> None:
        for request in [*self._waiting, *(r for sent in self._sent.values() for r in sent.requests)]:
            if not request.over:
                request.over = True
                request.answer(None)
        while not self._inbox.empty():
            if (late := self._inbox.get()) is not None:
                late.answer(None)

"""Ways to show the state of a run: overviews enter, text appears on a stream.

A bar is redrawn in place, for terminals and notebooks; plain lines follow each other, for files and pipes.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any, Protocol, TextIO

from consilience.ui.overview import Overview

SECONDS_BETWEEN_FRAMES = 0.1
SECONDS_BETWEEN_LINES = 5.0


class Display(Protocol):
    """Shows a run.

    interval: seconds that should lie between two calls of `show`
    """

    interval: float

    def show(self, overview: Overview) -> None:
        """Show the state of a run that goes on."""

    def finish(self, overview: Overview | None) -> None:
        """Show the end of a run, or only tidy up for None."""


class Lines:
    """Plain lines, each below the last."""

    interval = SECONDS_BETWEEN_LINES

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def show(self, overview: Overview) -> None:
        """Write one line."""
        print(overview.going_on(), file=self.stream, flush=True)

    def finish(self, overview: Overview | None) -> None:
        """Write the last line."""
        if overview is not None:
            print(overview.at_the_end(), file=self.stream, flush=True)


class Bar:
    """One line redrawn in place by rich, which is loaded when the first frame is due."""

    interval = SECONDS_BETWEEN_FRAMES

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.draw: Callable[[Overview], None] | None = None
        self.stop: Callable[[], None] = lambda: None

    def show(self, overview: Overview) -> None:
        """Redraw the line."""
        if self.draw is None:
            self.draw = self._start(overview)
        self.draw(overview)

    def finish(self, overview: Overview | None) -> None:
        """Remove the bar and leave one line about the end."""
        self.stop()
        if overview is not None:
            line = overview.at_the_end(room=shutil.get_terminal_size().columns)
            print(line, file=self.stream, flush=True)

    def _start(self, overview: Overview) -> Callable[[Overview], None]:
        """Begin to draw; gives what draws a frame."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        console = Console(file=self.stream)
        widest_words = 2 * len(str(overview.total)) + len("/, 99 divergences, 9.9M gradients/s, 0:00 left")
        activity = len(f"Sampling {overview.chains} chains")
        width = max(8, min(40, console.width - activity - widest_words - 2))
        room = console.width - activity - width - 2
        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=width),
            TextColumn("{task.fields[words]}"),
            console=console,
            auto_refresh=False,  # frames are drawn when there is news; no thread of its own is needed
            transient=True,
        )

        def state(overview: Overview) -> dict[str, Any]:  # arguments of two methods of rich
            return {
                "description": overview.activity,
                "completed": overview.done,
                "total": max(1, overview.total),
                "words": overview.beside_bar(room),
            }

        task = bar.add_task(**state(overview))
        self.stop = bar.stop
        bar.start()
        return lambda overview: bar.update(task, refresh=True, **state(overview))

"""Callbacks that cut a run off, as an interrupt from the keyboard does."""

from __future__ import annotations

from collections.abc import Callable

from consilience.events import Event


def stopping(number: int, kind: type = object) -> Callable[[Event], None]:
    """A callback that stops a run at an event, after so many of the kind."""
    count = iter(range(number))

    def listen(event: Event) -> None:
        if isinstance(event, kind) and next(count, None) is None:
            raise KeyboardInterrupt

    return listen

"""Connections of the page's server: those that ask nothing, or half of something, are closed; there are not too many.

The server's connections enter; some of them are closed.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Any, Final

IDLE: Final = 10.0  # seconds that a request may take to arrive, and that a connection may wait for the next one
MOST_WAITING: Final = 128  # connections that wait for a request, or for the rest of one; the eldest are closed


class Watchman:
    """Closes what waits too long; `look` is called every now and then."""

    def __init__(self) -> None:
        self._since: dict[Any, float] = {}

    def look(self, connections: Collection[Any], now: float | None = None) -> None:
        """See which wait, and close those that waited for too long; then the eldest where there are too many."""
        now = time.monotonic() if now is None else now
        waiting = [c for c in connections if _waits(c)]
        self._since = {c: self._since.get(c, now) for c in waiting}
        by_age = sorted(waiting, key=self._since.__getitem__)
        for place, connection in enumerate(by_age):
            if now - self._since[connection] > IDLE or place < len(by_age) - MOST_WAITING:
                connection.transport.abort()


def _waits(connection: Any) -> bool:
    """Whether a connection has sent no whole request to which an answer is due."""
    cycle = connection.cycle
    return cycle is None or cycle.response_complete or cycle.more_body


def protocol(headers: Collection[tuple[bytes, bytes]]) -> type[Any]:
    """HTTP as the server reads it; what is no HTTP gets an answer with the headers of all others."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Protocol(H11Protocol):
        def send_400_response(self, msg: str) -> None:
            body = msg.encode("ascii", "replace")
            known = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close"), *headers]
            known.append((b"content-length", str(len(body)).encode()))
            lines = [b"HTTP/1.1 400 Bad Request", *(name + b": " + value for name, value in known)]
            self.transport.write(b"\r\n".join(lines) + b"\r\n\r\n" + body)
            self.transport.close()

    return Protocol

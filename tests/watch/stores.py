"""Stores to look at, made without a run, and requests by hand."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.parse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from consilience.output.storage import journal

Make = Callable[..., Path]


def begin(**more: Any) -> dict[str, Any]:
    """The record with which a run begins."""
    known = {"chains": 4, "threads": 2, "dimension": 3, "min_draws": 400, "seed": 1, "model": "x ~ Normal(0, 1)"}
    return {"kind": "began", "time": time.time(), **known, **more}


def moment(seconds: float, draws: int, phase: str = "sampling", at: float | None = None) -> dict[str, Any]:
    """A record of progress of four chains."""
    chains = [[c, draws + 50, draws, 0, 0.5, 3.0, 8 * draws, seconds, phase] for c in range(4)]
    when = time.time() if at is None else at
    return {"kind": "progress", "time": when, "seconds": seconds, "paused": False, "interval": 1.0, "chains": chains}


class Answer:
    """What a server answered."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status_code, self.headers, self.body = status, headers, body

    @property
    def text(self) -> str:
        """As text."""
        return self.body.decode()

    def json(self) -> Any:
        """As JSON."""
        return json.loads(self.body)


class Client:
    """Sends requests to an ASGI application as they are written, whatever a browser would make of them."""

    def __init__(self, app: Any, host: str) -> None:
        self.app, self.host = app, host

    def get(self, address: str, *, params: Mapping[str, str] | None = None, headers: Any = None) -> Answer:
        """A question."""
        query = f"?{urllib.parse.urlencode(params)}" if params else ""
        return self.request("GET", address + query, headers=headers)

    def post(
        self, address: str, *, json: Any = None, content: bytes | None = None, headers: Any = None
    ) -> Answer:  # as clients name it
        """Something to do."""
        return self.request("POST", address, content=_as_json(json) if content is None else content, headers=headers)

    def request(self, method: str, address: str, *, content: bytes = b"", headers: Any = None) -> Answer:
        """Any request."""
        path, _, query = address.partition("?")
        known = {"host": self.host, **(headers or {})}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": urllib.parse.unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(k.encode(), v.encode()) for k, v in known.items()],
            "client": ("127.0.0.1", 1),
            "server": None,
        }
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": content, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        asyncio.run(self.app(scope, receive, send))
        found = {k.decode(): v.decode() for k, v in sent[0]["headers"]}
        return Answer(sent[0]["status"], found, b"".join(m.get("body", b"") for m in sent[1:]))


def _as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A store of some variables (chain, draw, …) below the test's folder."""
    zarr_store = pytest.importorskip("consilience.output.storage.zarr_store")
    pytest.importorskip("zarr")

    def made(
        name: str,
        posterior: Mapping[str, Any] | None = None,
        records: Any = (),
        status: str | None = "converged",
        coords: Mapping[str, Any] | None = None,
        dims: Mapping[str, Any] | None = None,
        stats: Mapping[str, Any] | None = None,
    ) -> Path:
        rng = np.random.default_rng(1)
        draws = {"x": rng.normal(size=(4, 200)), "theta": rng.normal(size=(4, 200, 3))}
        values = draws if posterior is None else dict(posterior)
        chains = len(next(iter(values.values())))
        groups = {"posterior": values, **({"sample_stats": stats} if stats else {})}
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        store = zarr_store.ZarrStore.create(
            path, chains=chains, coords=coords, dims=dims, attributes={"status": "running"}, groups=groups
        )
        for record in records:
            store.note(record)
        if status is None:
            store.close()
        else:
            store.finish({}, {"status": status, "last_check": json.dumps(None)})
        return path

    return made


def lines(path: Path) -> int:
    """How many records a store has."""
    return len(list(journal.records((path / journal.NAME).read_bytes())))

"""The server: runs below a path, or the run of this process, enter; a page in the browser leaves.

Safe by these rules, each of which has its test: it listens on this machine alone unless asked; the address has a
token, and there are no cookies; Host and Origin must be its own, against DNS rebinding; a strict policy says what the
page may load; only runs that were found are read; nothing is changed but by whoever has the token of control, which
the process that runs gives.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hmac
import ipaddress
import json
import math
import secrets
import socket
import threading
import time
import webbrowser
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from consilience.errors import MissingPackageError, SamplingError, StorageError
from consilience.watch import connections, criticism, views
from consilience.watch.folder import Folder
from consilience.watch.source import RunSource

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PORT: Final = 8765
PAGE: Final = Path(__file__).parent / "page"
FILES: Final[Mapping[str, str]] = {
    "": "index.html", "uPlot.js": "vendor/uPlot.iife.min.js", "uPlot.css": "vendor/uPlot.min.css",
    **{name: name for name in ("style.css", "data.js", "draw.js", "model.js", "run.js", "runs.js", "main.js")},
}  # fmt: skip
"""What there is to load, by name; nothing else is."""
TYPES: Final = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self' http://localhost:* http://127.0.0.1:*"
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
RAW_HEADERS: Final = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
TICK: Final = 1.0  # seconds between two looks for something new
QUIET: Final = 10.0  # seconds after which a page is told that nothing is, or that the run goes on
LONGEST: Final = 3.0  # seconds between two looks where earlier answers are not yet paid for
PATIENT: Final = 30.0  # seconds after which a page is told whatever earlier answers took
SHARE: Final = 0.01  # of the time that the server's threads may take while there is something new
PAUSE: Final = 0.5  # seconds after which a server ends, at most
MOST_PAIRS: Final = 6
EXACT: Final = 2**53  # up to which JavaScript's numbers hold every whole one
MOST_MADE: Final = 128  # answers that are kept


class Runs(Protocol):
    """Where runs are found: a folder, or this process."""

    single: bool
    shares: bool  # whether looking takes time from the runs, whose process this is

    def clock(self) -> float:
        """Seconds of the time that looking may take a share of."""

    def names(self) -> list[str]:
        """Of all runs."""

    def version(self, name: str) -> object:
        """Another value whenever a run may have something new."""

    def stamp(self, name: str) -> object:
        """Another value whenever a run of the last `names` has other files; None where it has none."""

    def source(self, name: str) -> RunSource:
        """A run by its name; KeyError where there is none."""

    def brief(self, name: str) -> RunSource:
        """A run of the last `names`, as far as the list of runs needs it."""


class Control(Protocol):
    """What may be done to a run: see `sample.background.Controls`."""

    def __call__(self, action: str, number: float | None) -> None:
        """Do it; SamplingError where it cannot be done."""


def application(
    runs: Runs, token: str, host: str, *, control: Control | None = None, control_token: str | None = None
) -> Starlette:
    """The server as an ASGI application.

    token          part of every address
    host           the name it was asked to listen on
    control        what buttons do, for whoever sends the control token
    """
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.middleware import Middleware
    from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
    from starlette.routing import Route

    clock = views.Clock()
    lock = threading.Lock()  # sources are read by one thread at a time
    spent = 0.0  # seconds of threads on answers

    def cost() -> float:
        """Processor seconds so far, as the thread of the server's loop asks, which sends what the others make."""
        return spent + time.thread_time()

    def refused(request: Request) -> Response | None:
        """The answer to a request that came by another name, or from a page of another place."""
        if not allowed_host(request.headers.get("host", ""), host):
            return Response("This name is not one of this server's.", 421)
        origin = request.headers.get("origin")
        if origin is not None and origin != f"{request.url.scheme}://{request.headers['host']}":
            return Response("Pages of other places may not ask here.", 403)
        return None

    def guarded(answer: Callable[[Request], Any]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            if not same(str(request.path_params.get("token", "")), token):
                return Response("Not found: the address needs its token, as it was printed.", 404)
            try:
                found: Response = await answer(request)
            except (KeyError, ValueError, IndexError, TypeError):
                return Response("Not found, or no longer there.", 404)
            except (StorageError, OSError) as error:  # the latter where the run replaces what is being read
                return JSONResponse({"error": str(error)}, 409)
            except (SamplingError, RecursionError) as error:  # the latter for JSON of too many levels
                return JSONResponse({"error": str(error)}, 400)
            except Exception as error:  # of contents of files that nobody thought of
                return JSONResponse({"error": f"This cannot be shown ({type(error).__name__}: {error})."}, 409)
            return found

        return endpoint

    def locked(make: Callable[[RunSource], Any], name: str) -> Any:
        nonlocal spent
        with lock:
            began = time.thread_time()
            try:
                return make(runs.source(name))
            finally:
                spent += time.thread_time() - began

    def version(name: str) -> object:
        with lock:
            return runs.version(name)

    made: dict[tuple[str, str], tuple[object, Any]] = {}  # what takes long, for whoever asks for it too

    def once(what: str, source: RunSource, make: Callable[[RunSource], Any]) -> Any:
        now, key = source.version(), (what, source.name)
        if key not in made or made[key][0] != now:
            while len(made) >= MOST_MADE:
                del made[next(iter(made))]
            made[key] = now, make(source)
        return made[key][1]

    async def look(request: Request, make: Callable[[RunSource], Any]) -> Response:
        found = await run_in_threadpool(locked, make, request.query_params["run"])
        return JSONResponse(as_json(found))

    @guarded
    async def page(request: Request) -> Response:
        return RedirectResponse(f"/{token}/")

    @guarded
    async def file(request: Request) -> Response:
        place = PAGE / FILES[request.path_params.get("file", "")]
        return Response(place.read_bytes(), media_type=TYPES[place.suffix])

    over: dict[str, tuple[object, dict[str, Any]]] = {}  # runs of the list that ended, with the stamp of their files

    def one_of_the_list(name: str) -> dict[str, Any]:
        now = runs.stamp(name)
        if now is not None and name in over and over[name][0] == now:
            return over[name][1]
        try:
            found = dict(as_json(views.overview(runs.brief(name), clock)))
        except Exception as error:  # whatever a file holds, the others are shown
            told = str(error) if isinstance(error, StorageError) else f"{type(error).__name__}: {error}"
            return {"name": name, "status": "unreadable", "reason": told}
        if found["status"] not in views.UNDER_WAY:
            over[name] = now, found
        return found

    def all_runs() -> dict[str, Any]:
        with lock:
            names = runs.names()
            for gone in over.keys() - set(names):
                del over[gone]
            return {"single": runs.single, "runs": [one_of_the_list(name) for name in names]}

    @guarded
    async def listed(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(all_runs))

    @guarded
    async def one(request: Request) -> Response:
        return await look(
            request, lambda s: {**views.run(s, clock), "control": control is not None and control_token is not None}
        )

    @guarded
    async def search(request: Request) -> Response:
        return await look(request, lambda s: views.search(s, request.query_params.get("q", "")[:10_000]))

    @guarded
    async def summary(request: Request) -> Response:
        return await look(request, lambda s: once("summary", s, views.summary))

    @guarded
    async def divergences(request: Request) -> Response:
        return await look(request, lambda s: once("divergences", s, views.divergences))

    @guarded
    async def predictive(request: Request) -> Response:
        return await look(request, lambda s: criticism.predictive(s, request.query_params["variable"]))

    @guarded
    async def prior(request: Request) -> Response:
        name, place = place_of(json.loads(request.query_params["of"]))
        return await look(request, lambda s: criticism.prior(s, name, place))

    @guarded
    async def leave_one_out(request: Request) -> Response:
        return await look(request, lambda s: once("loo", s, criticism.leave_one_out))

    @guarded
    async def pairs(request: Request) -> Response:
        chosen = [place_of(given) for given in json.loads(request.query_params["of"])][:MOST_PAIRS]
        if not chosen:
            raise ValueError("no elements")
        return await look(request, lambda s: once(f"pairs {chosen}", s, lambda s: views.pairs(s, chosen)))

    @guarded
    async def trace(request: Request) -> Response:
        name, place = place_of(json.loads(request.query_params["of"]))
        points = min(4000, max(10, int(request.query_params.get("points", views.MOST_POINTS))))
        group = request.query_params.get("group", "posterior")
        lines, figures = await run_in_threadpool(
            locked,
            lambda s: once(f"{group} {name} {place} {points}", s, lambda s: views.trace(s, group, name, place, points)),
            request.query_params["run"],
        )
        data = with_arrays({**figures, "shape": lines.shape}, lines.tobytes())
        return Response(data, media_type="application/octet-stream")

    @guarded
    async def events(request: Request) -> Response:
        name = request.query_params["run"]

        async def told() -> AsyncIterator[str]:
            before, waited, rested, paid, since = object(), 0.0, -math.inf, cost(), 0.0
            while not (request.app.state.closing or await request.is_disconnected()):
                owed = (cost() - paid) / SHARE - (runs.clock() - rested)  # seconds that answers have to be paid with
                pause = min(max(TICK, owed), LONGEST)
                if owed <= 0 or since >= PATIENT:
                    try:
                        now: object = await run_in_threadpool(version, name)
                    except (StorageError, KeyError, OSError):
                        now = None
                    changed = now != before
                    if changed or waited >= QUIET:  # a run of this process that says nothing is none the less alive
                        yield f"event: {'change' if changed else 'alive' if runs.shares else 'quiet'}\ndata: 1\n\n"
                        before, rested, paid, since, waited = now, runs.clock(), cost(), 0.0, 0.0
                await asyncio.sleep(pause)
                waited, since = waited + pause, since + pause

        return StreamingResponse(told(), media_type="text/event-stream")

    @guarded
    async def act(request: Request) -> Response:
        given = request.headers.get("x-control", "")
        if control is None or control_token is None or not same(given, control_token):
            return JSONResponse(
                {"error": "this page only looks: the process that runs gives the address with buttons"}, 403
            )
        body = await request.body()
        asked = dict(json.loads(body[:1000]))
        number = asked.get("number")
        await run_in_threadpool(control, str(asked["action"]), None if number is None else float(number))
        return JSONResponse({"done": True})

    rows: list[tuple[str, Any, list[str]]] = [
        ("runs", listed, ["GET"]), ("run", one, ["GET"]), ("search", search, ["GET"]), ("summary", summary, ["GET"]),
        ("divergences", divergences, ["GET"]), ("pairs", pairs, ["GET"]), ("trace", trace, ["GET"]),
        ("predictive", predictive, ["GET"]), ("prior", prior, ["GET"]), ("loo", leave_one_out, ["GET"]),
        ("events", events, ["GET"]), ("control", act, ["POST"]),
    ]  # fmt: skip
    routes = [Route(f"/{{token}}/api/{name}", endpoint, methods=methods) for name, endpoint, methods in rows]
    routes += [Route("/{token}", page), Route("/{token}/", file), Route("/{token}/{file}", file)]

    async def nothing(request: Request, error: Exception) -> Response:
        return Response("Not found.", getattr(error, "status_code", 404))

    app = Starlette(
        routes=routes,
        exception_handlers={404: nothing, 405: nothing},
        middleware=[Middleware(Checked, refused=refused)],
    )
    app.router.redirect_slashes = False  # or its answers would come before the checks of an address
    app.state.closing = False
    return app


class Checked:
    """Each request, whatever it asks for, passes the checks first; each answer has the headers."""

    def __init__(self, app: ASGIApp, refused: Callable[[Request], Response | None]) -> None:
        self.app, self.refused = app, refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from starlette.requests import Request

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *RAW_HEADERS]
            await send(message)

        answer = self.refused(Request(scope)) or self.app
        await answer(scope, receive, with_headers)


def with_arrays(about: Mapping[str, Any], data: bytes) -> bytes:
    """One answer: the length of a JSON text in four bytes, the text filled up to a multiple of four, the numbers."""
    text = json.dumps(as_json(about), allow_nan=False).encode()
    text += b" " * (-len(text) % 4)
    return len(text).to_bytes(4, "little") + text + data


def as_json(value: Any) -> Any:
    """Plain values as a browser reads them: whole numbers that its floats do not hold are text."""
    match value:
        case np.generic() | np.ndarray():
            return as_json(value.tolist())
        case str():  # in files, too, what is no text
            return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
        case bool() | None:
            return value
        case int():
            return value if abs(value) <= EXACT else str(value)
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {str(name): as_json(part) for name, part in value.items()}
        case list() | tuple():
            return [as_json(part) for part in value]
    return str(value)


def place_of(given: Any) -> tuple[str, tuple[int, ...]]:
    """An element as a page names it: `[variable, [place, …]]`."""
    name, place = given
    if not isinstance(name, str) or not all(type(i) is int for i in place):
        raise ValueError(given)
    return name, tuple(place)


def same(given: str, known: str) -> bool:
    """Whether two tokens are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(given.encode(), known.encode())


def allowed_host(given: str, host: str) -> bool:
    """Whether a Host may be ours: a number, which no foreign name server gives out, or this machine's own name."""
    name = given.rsplit(":", 1)[0] if given.rsplit(":", 1)[-1].isdigit() else given
    name = name.strip("[]").lower()
    own = {"localhost", host.lower()}
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name in own or (not is_local(host) and name in {socket.gethostname().lower(), socket.getfqdn().lower()})
    return address.is_loopback or not is_local(host)


def is_local(host: str) -> bool:
    """Whether a name to listen on is heard on this machine alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Server:
    """A server at work in a thread.

    address   with its token, and that of control if there is one
    """

    def __init__(self, runs: Runs, host: str, port: int | None, control: Control | None = None) -> None:
        check_installed()
        import uvicorn

        class Quiet(uvicorn.Server):
            """One that wakes up when it is asked, or is to end; not ten times a second."""

            async def main_loop(self) -> None:
                watchman = connections.Watchman()
                while not self.should_exit:
                    await asyncio.sleep(PAUSE)
                    watchman.look(self.server_state.connections)

        self.token, self.control_token = secrets.token_urlsafe(24), secrets.token_urlsafe(24)
        self._socket = listening(host, port)
        number = self._socket.getsockname()[1]
        app = self._app = application(
            runs, self.token, host, control=control, control_token=self.control_token if control else None
        )
        shown = f"[{host}]" if ":" in host else host if host not in ("0.0.0.0", "") else socket.gethostname()
        self.port = number
        self.address = f"http://{shown}:{number}/{self.token}/"
        if control is not None:
            self.address += f"#control={self.control_token}"  # what follows # stays in the browser
        config = uvicorn.Config(
            app,
            log_config=None,
            log_level="critical",
            access_log=False,
            lifespan="off",
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=1,
            ws="none",
            http=connections.protocol(RAW_HEADERS),
        )
        self._server = Quiet(config)
        self._thread = threading.Thread(target=self._serve, name="consilience-watch", daemon=True)

    def _serve(self) -> None:
        self._server.run(sockets=[self._socket])

    def start(self) -> Server:
        """Begin to answer."""
        self._thread.start()
        return self

    def serve(self) -> None:
        """Answer until Ctrl-C."""
        self._serve()

    def close(self) -> None:
        """End."""
        self._app.state.closing = self._server.should_exit = True
        self._thread.join(5)
        self._socket.close()

    def _repr_html_(self) -> str:
        return f'<iframe src="{self.address}" width="100%" height="720" title="The run"></iframe>'

    def __repr__(self) -> str:
        return f"watch it at {self.address}"


def listening(host: str, port: int | None) -> socket.socket:
    """A socket that listens; without a port the usual one or, if that is taken, any. StorageError where it can't be."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for number in [PORT, 0] if port is None else [port]:
        made = socket.socket(family, socket.SOCK_STREAM)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind((host, number))
            made.listen(128)
            return made
        except (OSError, OverflowError) as error:
            made.close()
            if port is None and number and getattr(error, "errno", None) == errno.EADDRINUSE:
                continue
            raise StorageError(
                f"cannot listen at {host}:{number} ({error}); give another --port, or none for any that is free"
            ) from error
    raise StorageError(f"no port of {host} is free")


def check_installed() -> None:
    """MissingPackageError unless the server's packages are there."""
    for name in ("starlette", "uvicorn"):
        try:
            __import__(name)
        except ImportError as error:
            raise MissingPackageError(
                f"to watch runs in the browser needs {name}, which cannot be loaded ({error}): "
                "pip install 'consilience[watch]'"
            ) from error


def watch(path: str, host: str = "127.0.0.1", port: int | None = None, browser: bool = True) -> None:
    """Show the runs below a path until Ctrl-C; the address is printed, and opened where there is a browser."""
    server = Server(Folder(path), host, port)
    print(f"Watching {path} at {server.address}", flush=True)
    if not is_local(host):
        print("Whoever has this address sees these runs, and it is not encrypted on the way.", flush=True)
    if browser:
        with contextlib.suppress(webbrowser.Error):
            webbrowser.open(server.address)
    server.serve()

"""Hand-made requests get nothing but what their sender may see."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
import urllib.parse
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from consilience.errors import SamplingError, StorageError  # as above
from consilience.watch import connections, server  # as above
from consilience.watch.folder import Folder  # as above
from tests.watch.stores import Client, Make, make  # as above

TOKEN, CONTROL = "of-the-address", "of-control"
HOST = "127.0.0.1:8765"
BASE = f"http://{HOST}"
__all__ = ["make"]


class Done:
    """Notes what is done to a run."""

    def __init__(self) -> None:
        self.actions: list[Any] = []

    def __call__(self, action: str, number: float | None) -> None:
        if action not in ("pause", "more"):
            raise SamplingError(f"no {action}")
        self.actions.append((action, number))


@pytest.fixture
def client(make: Make, tmp_path: Path) -> Client:
    make("runs/one.zarr")
    return Client(server.application(Folder(tmp_path / "runs"), TOKEN, "127.0.0.1"), HOST)


def test_an_address_needs_its_token(client: Client) -> None:
    assert client.get(f"/{TOKEN}/").status_code == 200
    assert client.get(f"/{TOKEN}/api/runs").status_code == 200
    for wrong in ("", "/", "/wrong/", f"/{TOKEN[:-1]}/", f"/{TOKEN}x/api/runs", "/api/runs", "/é/", f"/{TOKEN}%00/"):
        answer = client.get(wrong)
        assert answer.status_code == 404, wrong
        assert "one.zarr" not in answer.text
        assert TOKEN not in answer.text


def test_there_are_no_cookies_and_nothing_is_kept(client: Client) -> None:
    for address in (f"/{TOKEN}/", f"/{TOKEN}/main.js", f"/{TOKEN}/api/runs", "/wrong/"):
        answer = client.get(address)
        assert "set-cookie" not in answer.headers
        assert "access-control-allow-origin" not in answer.headers
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"  # the token stays here
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_foreign_names_are_refused(client: Client) -> None:
    """DNS rebinding: a page of evil.example whose name leads to this machine."""
    for host in (
        "evil.example",
        "evil.example:8765",
        "127.0.0.1.evil.example",
        "",
        "localhost.evil.example",
        "10.0.0.1",
    ):
        assert client.get(f"/{TOKEN}/api/runs", headers={"host": host}).status_code == 421, host
    for host in ("localhost:8765", "127.0.0.1", "[::1]:8765", "LOCALHOST"):
        assert client.get(f"/{TOKEN}/api/runs", headers={"host": host}).status_code == 200, host
    assert server.allowed_host("192.168.1.7:80", "0.0.0.0")
    assert not server.allowed_host("evil.example", "0.0.0.0")


def test_pages_of_other_places_may_not_ask(client: Client) -> None:
    for origin in ("http://evil.example", "null", "https://127.0.0.1:8765", "http://127.0.0.1:9", ""):
        assert client.get(f"/{TOKEN}/api/runs", headers={"origin": origin}).status_code == 403, origin
    assert client.get(f"/{TOKEN}/api/runs", headers={"origin": BASE}).status_code == 200


def test_the_policy_allows_no_other_host_and_no_code_inside_the_page(client: Client) -> None:
    page = client.get(f"/{TOKEN}/")
    policy = dict(part.strip().split(" ", 1) for part in page.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert {policy[name] for name in ("script-src", "style-src", "connect-src")} == {"'self'"}
    assert "unsafe" not in page.headers["content-security-policy"]
    assert "http://" not in page.text
    assert "https://" not in page.text
    assert "<style" not in page.text
    own = [(server.PAGE / file).read_text(encoding="utf-8") for file in server.FILES.values() if "vendor" not in file]
    for text in own:  # names are text, never HTML
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
            assert word not in text


@pytest.mark.parametrize(
    "name",
    [
        "../outside.zarr",
        "runs/../../outside.zarr",
        "..%2foutside.zarr",
        "/etc/passwd",
        "one.zarr/../../outside.zarr",
        "link.zarr",
        "inner",
        ".",
        "",
        "one.zarr/",
        "one.zarr\0",
        "a" * 10_000,
    ],
)
def test_no_run_outside_of_the_path_is_read(client: Client, make: Make, tmp_path: Path, name: str) -> None:
    make("outside.zarr")
    os.symlink(tmp_path / "outside.zarr", tmp_path / "runs" / "link.zarr")
    os.symlink(tmp_path, tmp_path / "runs" / "inner")
    for what in ("run", "summary", "search", "divergences"):
        answer = client.get(f"/{TOKEN}/api/{what}?{urllib.parse.urlencode({'run': name})}")
        assert answer.status_code == 404
    assert [run["name"] for run in client.get(f"/{TOKEN}/api/runs").json()["runs"]] == ["one.zarr"]


def test_no_file_but_the_page_s_own_is_given(client: Client) -> None:
    for name in (
        "../server.py",
        "..%2fserver.py",
        "%2e%2e/server.py",
        "vendor/LICENSE-uPlot",
        "LICENSE",
        "index.html/..",
        "%2fetc%2fpasswd",
    ):
        assert client.get(f"/{TOKEN}/{name}").status_code == 404, name


def test_links_and_names_inside_a_store_lead_nowhere_else(client: Client, make: Make, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "c").mkdir()
    (secret / "c" / "0").mkdir()
    (secret / "c" / "0" / "0").write_bytes(b"\0" * 8 * 4 * 200)
    bad = make("runs/bad.zarr")
    file = bad / "posterior" / "x" / "c" / "0" / "0"
    file.unlink()
    os.symlink(secret / "c" / "0" / "0", file)
    root = json.loads((bad / "zarr.json").read_text())
    members = root["consolidated_metadata"]["metadata"]
    members["posterior/../../../secret"] = members["posterior/x"]
    (bad / "zarr.json").write_text(json.dumps(root))
    for variable in ("x", "../../../secret"):
        of = json.dumps([variable, []])
        answer = client.get(f"/{TOKEN}/api/trace", params={"run": "bad.zarr", "of": of})
        assert answer.status_code == 409, variable
        assert "outside" in answer.json()["error"]


def test_nothing_is_unpickled() -> None:
    files = list(Path(server.__file__).parent.glob("*.py"))
    assert len(files) > 5
    for file in files:
        text = file.read_text(encoding="utf-8")
        for word in ("pickle", "allow_pickle", "eval(", "exec(", "marshal", "shelve"):
            assert word not in text.replace("unpickled", ""), file


def test_a_page_that_only_looks_changes_nothing(client: Client) -> None:
    for headers in ({}, {"x-control": ""}, {"x-control": CONTROL}):
        assert client.post(f"/{TOKEN}/api/control", json={"action": "stop"}, headers=headers).status_code == 403
    for method in ("PUT", "DELETE", "PATCH", "POST"):
        assert client.request(method, f"/{TOKEN}/api/runs").status_code in (404, 405)
    assert client.get(f"/{TOKEN}/api/control").status_code in (404, 405)


def test_buttons_need_the_token_of_control(make: Make, tmp_path: Path) -> None:
    make("one.zarr")
    done = Done()
    app = server.application(Folder(tmp_path), TOKEN, "127.0.0.1", control=done, control_token=CONTROL)
    client = Client(app, HOST)
    address = f"/{TOKEN}/api/control"
    for wrong in ("", TOKEN, CONTROL[:-1], CONTROL + "x"):
        assert client.post(address, json={"action": "pause"}, headers={"x-control": wrong}).status_code == 403
    right = {"x-control": CONTROL}
    assert (
        client.post(address, json={"action": "pause"}, headers=right | {"origin": "http://evil.example"}).status_code
        == 403
    )
    assert client.post(address, json={"action": "pause"}, headers=right | {"host": "evil.example"}).status_code == 421
    assert done.actions == []
    assert (
        client.post(address, json={"action": "more", "number": 2000}, headers=right | {"origin": BASE}).status_code
        == 200
    )
    assert done.actions == [("more", 2000.0)]
    for content, code in [(b"{}", 404), (b"nonsense", 404), (b'{"action": "fly"}', 400), (b"[1]", 404)]:
        assert client.post(address, content=content, headers=right).status_code == code
    assert CONTROL not in client.get(f"/{TOKEN}/api/run?run=one.zarr").text


def test_it_listens_on_this_machine_alone_unless_asked(make: Make, tmp_path: Path) -> None:
    make("one.zarr")
    made = server.Server(Folder(tmp_path), "127.0.0.1", 0)
    assert made.address.startswith("http://127.0.0.1:")
    assert len(made.token) >= 32
    with pytest.raises(StorageError, match="cannot listen at"):
        server.listening("127.0.0.1", made.port)
    with pytest.raises(StorageError, match="cannot listen at"):
        server.listening("127.0.0.1", 99_999)
    again = server.listening("127.0.0.1", None)
    assert again.getsockname()[1] != made.port
    again.close()
    made._socket.close()


def test_questions_that_make_no_sense_are_answered_in_words(client: Client) -> None:
    known = {"run": "one.zarr"}
    for what, query in [
        ("trace", {"of": "x"}),
        ("trace", {"of": '["x",[1]]'}),
        ("trace", {"of": '["theta",[7]]'}),
        ("trace", {"of": '["theta",[-1]]'}),
        ("trace", {"of": '["nothing",[]]'}),
        ("trace", {"of": '[["x"],[]]'}),
        ("trace", {"of": '["x",[]]', "points": "many"}),
        ("trace", {"of": '["x",[]]', "group": "../x"}),
        ("pairs", {"of": "{}"}),
        ("pairs", {}),
        ("predictive", {"variable": "x"}),
    ]:
        assert client.get(f"/{TOKEN}/api/{what}", params={**known, **query}).status_code == 404, query
    found = client.get(f"/{TOKEN}/api/search", params={**known, "q": "<script>" * 3000})
    assert found.json() == {"found": [], "more": False}


def test_every_answer_passes_the_same_checks_and_has_the_headers(client: Client) -> None:
    """Those of addresses that lead elsewhere, that nobody has, and of methods that nobody takes."""
    addresses = [f"/{TOKEN}", f"/{TOKEN}/api/runs/", f"/{TOKEN}/api/", f"/{TOKEN}/api/run", "/", "//evil.example/"]
    for method in ("GET", "POST", "OPTIONS", "HEAD"):
        for address in addresses:
            answer = client.request(method, address)
            assert answer.headers["content-security-policy"] == server.POLICY, (method, address)
            assert "evil.example" not in answer.headers.get("location", "")
            assert client.request(method, address, headers={"host": "evil.example"}).status_code == 421
            assert client.request(method, address, headers={"origin": "http://evil.example"}).status_code == 403
    assert client.get(f"/{TOKEN}").headers["location"] == f"/{TOKEN}/"
    assert client.get("/wrong").status_code == 404


def test_json_of_many_levels_is_refused_in_words(client: Client, make: Make, tmp_path: Path) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    answer = client.get(f"/{TOKEN}/api/pairs", params={"run": "one.zarr", "of": deep})
    assert (answer.status_code, answer.headers["cache-control"]) == (400, "no-store")
    acting = Client(
        server.application(Folder(tmp_path / "runs"), TOKEN, "127.0.0.1", control=Done(), control_token=CONTROL), HOST
    )
    answer = acting.post(f"/{TOKEN}/api/control", content=b"[" * 1000, headers={"x-control": CONTROL})
    assert answer.status_code in (400, 404)


def test_connections_that_ask_nothing_or_half_of_something_are_closed(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "IDLE", 0.3)
    monkeypatch.setattr(connections, "MOST_WAITING", 5)
    monkeypatch.setattr(server, "PAUSE", 0.05)
    make("one.zarr")
    shown = server.Server(Folder(tmp_path), "127.0.0.1", 0).start()
    host = f"Host: 127.0.0.1:{shown.port}\r\n".encode()
    post = f"POST /{shown.token}/api/control HTTP/1.1\r\n".encode() + host
    halves = [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: 127", post + b"Content-Length: 1000\r\n\r\n{"]
    many = [socket.create_connection(("127.0.0.1", shown.port), timeout=20) for _ in range(12)]
    for sent in halves:
        with socket.create_connection(("127.0.0.1", shown.port), timeout=20) as one:
            one.sendall(sent)
            with contextlib.suppress(ConnectionResetError):
                while one.recv(1000):  # an answer, perhaps; then the end
                    pass
    for one in many:
        with one, contextlib.suppress(ConnectionResetError):
            assert one.recv(1) == b""
    # Whoever follows a run asked for something, and stays.
    with socket.create_connection(("127.0.0.1", shown.port), timeout=20) as one:
        one.sendall(f"GET /{shown.token}/api/events?run=one.zarr HTTP/1.1\r\n".encode() + host + b"\r\n")
        time.sleep(1.0)
        assert b"event: change" in one.recv(10_000)
        time.sleep(1.0)
        one.settimeout(0.2)
        with pytest.raises(TimeoutError):
            one.recv(1)
    with socket.create_connection(("127.0.0.1", shown.port), timeout=20) as one:
        one.sendall(b"no request at all\r\n\r\n")
        answer = one.recv(10_000)
        assert answer.startswith(b"HTTP/1.1 400")
        assert b"content-security-policy: default-src 'none'" in answer
    shown.close()

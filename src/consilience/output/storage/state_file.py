"""A state and the blocks that led to it, in one SQLite file: plain values enter, and are on the disk together.

One transaction writes both: after a kill or a loss of power the file is as it was before or after it. Every value
has a checksum. A file that was made to deceive is refused before anything of it runs: it has one table and no view, and
no value is longer than the file. What the values mean, and who may write, stays outside.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from consilience.errors import StorageError
from consilience.output.storage.files import failure, replacing
from consilience.output.storage.plain_values import pack, unpack

if TYPE_CHECKING:
    import sqlite3

MARK = 0x43534C01
"""SQLite's `application_id` of these files, the version of their layout in the last byte."""
STATE = 0
"""Number of the state; blocks are counted from 1."""
JOURNAL = "-journal"
"""What SQLite puts behind the name of a file for that in which the pages before a transaction are."""
OTHER_JOURNAL = bytes.fromhex("d9d505f920a163d7")
"""Last bytes of a journal that names another one, as of a transaction over several files."""
PART = 1 << 28
"""Bytes per row; SQLite's rows end at 10⁹."""
TABLE = "CREATE TABLE contents (number, part, digest, bytes, PRIMARY KEY (number, part))"
SCHEMA = [("index", "sqlite_autoindex_contents_1", None), ("table", "contents", TABLE)]


def create(path: Path, state: object, blocks: Sequence[object]) -> bytes:
    """Write a new file, in place of any that is there, and return the digest of the state.

    Raises StorageError if it cannot be written; what was there before is then untouched.
    """
    try:
        with replacing(path) as temporary:
            with _connected(temporary, "rwc", path) as database:
                database.execute(f"PRAGMA application_id = {MARK}")
                database.execute("BEGIN")
                database.execute(TABLE)
                digest = _put(database, state, blocks, 0)
                database.execute("COMMIT")
            # what a killed process left of an older file would be taken for a part of this one
            path.with_name(f"{path.name}{JOURNAL}").unlink(missing_ok=True)
    except OSError as error:
        raise failure(path, error, "what was there before is kept") from error
    return digest


def write(path: Path, state: object, blocks: Sequence[object], count: int, expected: bytes) -> bytes:
    """Append blocks and replace the state, in one transaction; the digest of the state.

    `count`: how many blocks are there before. `expected`: digest of the state before.

    Raises StorageError if it cannot be written, or if the state there is another one; the file then stays as it was.
    """
    with _connected(path) as database:
        database.execute("BEGIN IMMEDIATE")
        _check_state(database, path, expected)
        database.execute("DELETE FROM contents WHERE number = ?", (STATE,))
        digest = _put(database, state, blocks, count)
        database.execute("COMMIT")
    return digest


def is_one(path: Path) -> bool:
    """Whether a file was made here, whole or damaged."""
    with open(path, "rb") as file:
        start = file.read(100)
    return not start or (start[:6] == b"SQLite" and start[68:71] == MARK.to_bytes(4)[:3])


def read(path: Path) -> tuple[Any, int, bytes]:
    """The state, the number of blocks, and the digest of the state.

    Raises StorageError if the file is missing, another one, truncated or damaged; it is not changed.
    """
    with _connected(path) as database:
        _check_schema(database, path)
        if (fault := database.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise damaged(path, fault)
        # SQLite does not miss a part of a page that is free.
        if path.stat().st_size % database.execute("PRAGMA page_size").fetchone()[0]:
            raise damaged(path, "its last page is not whole")
        found, digest = _select(database, path, STATE)
        last = database.execute("SELECT max(number) FROM contents").fetchone()[0]
    match found:
        case [state, int(count)] if count == last:
            return state, count, digest
    raise damaged(path, "its state does not say how many blocks there are")


def glance(path: Path) -> Any:
    """The state alone, for whoever only looks: nothing is checked but its digest, and nothing there is ever written.

    What a killed process left half written is undone in a copy.

    Raises StorageError, also while the file is being written for longer than five seconds.
    """
    with _undone(path) as whole, _connected(whole, "ro", path) as database:
        _check_schema(database, path)
        found, _ = _select(database, path, STATE)
    if not isinstance(found, list) or len(found) != 2:
        raise damaged(path, "its state does not say how many blocks there are")
    return found[0]


@contextlib.contextmanager
def _undone(path: Path) -> Iterator[Path]:
    """The file, or a copy of it without the transaction in which its writer was killed, if it was."""
    import sqlite3

    try:
        with _connected(path, "ro") as database:
            database.execute("PRAGMA application_id")
    except StorageError as error:
        if getattr(error.__cause__, "sqlite_errorcode", None) != sqlite3.SQLITE_READONLY_ROLLBACK:
            raise
    else:
        yield path
        return
    import shutil  # few files need them
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        try:
            for end in ("", JOURNAL):
                shutil.copyfile(f"{path}{end}", f"{copy}{end}")
        except OSError as error:
            raise failure(path, error, "its writer was killed; `pm.resume` goes on from it") from error
        with _connected(copy, "rw", path) as database:
            database.execute("PRAGMA application_id")
        yield copy


def _check_schema(database: sqlite3.Connection, path: Path) -> None:
    """StorageError unless the file has the one table that is made here, and nothing that is computed on reading."""
    found = database.execute("PRAGMA application_id").fetchone()[0]
    if found != MARK:
        known = found >> 8 == MARK >> 8
        raise StorageError(
            f"{str(path)!r} was written by another version of this library, which can read it"
            if known
            else f"{str(path)!r} is no checkpoint of this library, or truncated"
        )
    if database.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY type LIMIT 3").fetchall() != SCHEMA:
        raise damaged(path, "it has other tables than a checkpoint")


def blocks(path: Path, count: int, expected: bytes) -> Iterator[Any]:
    """The blocks in the order in which they were written.

    Raises StorageError at one that is damaged, or if `expected` is not the digest of the state.
    """
    with _connected(path) as database:
        _check_schema(database, path)
        _check_state(database, path, expected)
        for number in range(1, count + 1):
            yield _select(database, path, number)[0]


def damaged(path: Path, reason: object) -> StorageError:
    """The error for a file that is not as it was written."""
    return StorageError(f"{str(path)!r} is truncated or damaged ({reason}); go on from a copy of it, or sample anew")


@contextlib.contextmanager
def _connected(path: Path, mode: str = "rw", shown: Path | None = None) -> Iterator[sqlite3.Connection]:
    """A connection without a transaction; what is not committed is rolled back. Errors become StorageError."""
    import sqlite3

    name = shown or path
    with contextlib.suppress(OSError), open(f"{path}{JOURNAL}", "rb") as journal:
        journal.seek(-len(OTHER_JOURNAL), 2)
        if journal.read() == OTHER_JOURNAL:
            raise damaged(name, "its journal names another file, which SQLite would delete")
    try:
        with contextlib.closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", isolation_level=None, uri=True)
        ) as database:
            database.execute("PRAGMA synchronous = FULL")
            database.execute("PRAGMA trusted_schema = OFF")
            yield database
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter of a message that quotes damaged names
        match getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF:
            case sqlite3.SQLITE_FULL:
                advice = "free some space there, or name a place with more"
            case sqlite3.SQLITE_BUSY:
                advice = "another process has it open; wait for its end"
            case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_IOERR:
                advice = "see that the place is there and can be written, or name another"
            case _:
                raise damaged(name, error) from error
        raise StorageError(f"{str(name)!r} could not be read or written ({error}); {advice}") from error


def _check_state(database: sqlite3.Connection, path: Path, expected: bytes) -> None:
    if database.execute("SELECT digest FROM contents WHERE number = ?", (STATE,)).fetchone() != (expected,):
        raise StorageError(f"{str(path)!r} was written by another run meanwhile; it is left as it is")


def _put(database: sqlite3.Connection, state: object, blocks: Sequence[object], count: int) -> bytes:
    for number, block in enumerate(blocks, count + 1):
        _insert(database, number, block)
    return _insert(database, STATE, [state, count + len(blocks)])


def _insert(database: sqlite3.Connection, number: int, value: object) -> bytes:
    data = memoryview(pack(value))
    digest = _digest(number, data)
    for part in range(-(-len(data) // PART)):
        row = (number, part, digest, data[part * PART : (part + 1) * PART])
        database.execute("INSERT INTO contents VALUES (?, ?, ?, ?)", row)
    return digest


def _select(database: sqlite3.Connection, path: Path, number: int) -> tuple[Any, bytes]:
    """A value and its digest."""
    what = "the state" if number == STATE else f"block {number}"
    size = database.execute("SELECT total(length(bytes)) FROM contents WHERE number = ?", (number,)).fetchone()[0]
    if size > path.stat().st_size:
        raise damaged(path, f"{what} is larger than the file")
    rows = database.execute("SELECT digest, bytes FROM contents WHERE number = ? ORDER BY part", (number,)).fetchall()
    if not rows:
        raise damaged(path, f"{what} is missing")
    data = b"".join(part if isinstance(part, bytes) else b"" for _, part in rows)
    if _digest(number, data) != rows[0][0]:
        raise damaged(path, f"the checksum of {what} is wrong")
    try:
        return unpack(data), rows[0][0]
    except StorageError as error:
        raise damaged(path, f"{what}: {error}") from error


def _digest(number: int, data: bytes | memoryview) -> bytes:
    return hashlib.blake2b(data, digest_size=16, salt=number.to_bytes(8, "little")).digest()

"""Compiled objects kept on disk, so that the next process need not compile.

Digests and bytes come in, verified bytes go out. Whatever is wrong with the directory, the answer is
"not here", never an error: compiling and loading stay outside. What lies there is executed, so a directory that others
could change is not used (`trusted_folder`).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from consilience.errors import CacheWarning, NativeError, warn
from consilience.native.target import Target, versions
from consilience.native.trusted_folder import doubt

FORMAT = 4
"""Raise it when an entry's layout or the meaning of a pass pipeline's name changes."""

DEFAULT_LIMIT = 256 * 2**20
"""Bytes on disk when CONSILIENCE_CACHE_LIMIT does not say otherwise."""

_MAGIC = b"consilience object %d\n" % FORMAT
_HEADER = len(_MAGIC) + hashlib.sha256().digest_size
_MEMORY_LIMIT = 32 * 2**20  # bytes held in this process when the directory cannot be written
_ABANDONED = 3600.0  # seconds after which a temporary file belongs to nobody

_lock = threading.Lock()
_unwritable: set[Path] = set()
_doubts: dict[object, str | None] = {}
_memory: OrderedDict[str, bytes] = OrderedDict()
_warned = False


class Entry(NamedTuple):
    """One file of the cache: when it was last used (seconds since 1970), its bytes, where it is."""

    used: float
    bytes: int
    path: Path


def digest(text: str, target: Target, level: int, passes: str) -> str:
    """SHA-256, in hexadecimal, of everything the object depends on.

    Addresses, data and imported symbols are no part of an object and so no part of its digest.
    """
    state = _prefix(target).copy()
    state.update(f"{level}\0{passes}\0".encode())
    state.update(text.encode())
    return state.hexdigest()


def get(digest: str) -> bytes | None:
    """The object kept under `digest`, or None. An entry that fails its checksum is deleted."""
    path = _path(digest)
    try:
        content = None if _doubt(path.parent.parent) or _doubt(path.parent) else path.read_bytes()
    except OSError:
        content = None
    if content is None:
        with _lock:
            return _memory.get(digest)
    payload = content[_HEADER:]
    if content[:_HEADER] != _header(digest, payload):
        _delete(path)
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # the time of modification is the time of last use
    return payload


def put(digest: str, payload: bytes) -> None:
    """Keep `payload` under `digest`; when the directory refuses or is not safe, keep it in memory and warn once.

    Readers see the whole entry or none. Now and then, on average once per 1/32 of the limit written by
    all processes together, the least recently used entries beyond the limit are deleted.
    """
    most = limit()
    if len(payload) + _HEADER > most:
        return
    directory = place()
    with _lock:
        refused = directory in _unwritable
        if refused:
            _remember(digest, payload)
    if refused:
        return
    try:
        try:
            _write(_path(digest), _header(digest, payload) + payload)
        except FileNotFoundError:  # the directory was deleted meanwhile
            _write(_path(digest), _header(digest, payload) + payload)
    except (OSError, NativeError) as error:
        with _lock:
            _unwritable.add(directory)
            _remember(digest, payload)
        _warn(directory, error)
        return
    # The digest is as good as a random number, needs no state shared among processes, and leaves the
    # user's own generators alone.
    if int(digest[:8], 16) / 2**32 * most < 32 * len(payload):
        _evict(directory, most)


def place() -> Path:
    """The directory: CONSILIENCE_CACHE if set, else `consilience` in the user's cache directory.

    A path that begins with "~" where the user has no home directory.
    """
    chosen = os.environ.get("CONSILIENCE_CACHE")
    if chosen:
        return _absolute(os.path.expanduser(chosen))
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(base):  # the XDG specification says to ignore a relative path
            base = os.path.expanduser("~/.cache")
    return _absolute(os.path.join(base, "consilience"))


def _absolute(path: str) -> Path:
    return Path(path) if path.startswith("~") else Path(path).absolute()


def limit() -> int:
    """Bytes the directory may hold: CONSILIENCE_CACHE_LIMIT, with suffix K, M or G if wanted."""
    text = os.environ.get("CONSILIENCE_CACHE_LIMIT", "").strip()
    if not text:
        return DEFAULT_LIMIT
    number, unit = text, 1
    if text[-1].upper() in "KMG":
        number, unit = text[:-1].strip(), 1024 ** ("KMG".index(text[-1].upper()) + 1)
    if not number.isdecimal():
        raise NativeError(
            f"CONSILIENCE_CACHE_LIMIT must be a number of bytes such as 268435456 or 256M; it is {text!r}"
        )
    return int(number) * unit


def entries() -> list[Entry]:
    """The files of the cache that exist now, in no particular order."""
    return [entry for entry in _files(place()) if entry.path.suffix == ".object"]


def size() -> int:
    """Bytes on disk."""
    return sum(entry.bytes for entry in _files(place()))


def check() -> None:
    """Write, read and delete an entry; raises OSError or NativeError saying what does not work."""
    digest, payload = hashlib.sha256(b"check").hexdigest(), b"not machine code"
    path = _path(digest)
    _write(path, _header(digest, payload) + payload)
    if get(digest) != payload:
        raise NativeError(f"what was written to {path} is not what is read")
    path.unlink()


def clear() -> int:
    """Delete every entry, on disk and in memory, and what processes that died left of others; the number of entries."""
    with _lock:
        _memory.clear()
        _doubts.clear()
        _unwritable.discard(place())
    deleted = 0
    for entry in _files(place()):
        if entry.path.suffix == ".object":
            deleted += _delete(entry.path)
        elif time.time() - entry.used > _ABANDONED:  # others are being written
            _delete(entry.path)
    return deleted


@functools.lru_cache(maxsize=64)
def _prefix(target: Target) -> hashlib._Hash:
    described = (FORMAT, *versions(), target.triple, target.cpu, target.features)
    return hashlib.sha256("".join(f"{part}\0" for part in described).encode())


def _path(digest: str) -> Path:
    return place() / digest[:2] / f"{digest}.object"


def _header(digest: str, payload: bytes) -> bytes:
    """What an intact entry begins with; the digest is in it, so a renamed file is no entry."""
    return _MAGIC + hashlib.sha256(digest.encode() + payload).digest()


def _write(path: Path, content: bytes) -> None:
    # Machine code is executed as it is found, so only its owner may write here.
    for folder in (path.parent.parent, path.parent):
        if folder.is_absolute():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        reason = _doubt(folder)
        if reason is not None:
            raise NativeError(reason)
    temporary = path.with_name(f"{path.stem}.{os.urandom(8).hex()}.temporary")
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, 0o644)) as file:
            file.write(content)
        temporary.replace(path)
    except PermissionError:
        # Windows refuses to replace a file that another process reads; then the entry is there already.
        _delete(temporary)
        if not path.exists():
            raise
    except BaseException:
        _delete(temporary)
        raise


def _doubt(shelf: Path) -> str | None:
    """Why a folder that exists must not be used, or None."""
    status = shelf.stat() if shelf.is_absolute() else None
    key = (shelf, status and (status.st_dev, status.st_ino, status.st_uid, status.st_mode))
    if key not in _doubts:
        _doubts[key] = doubt(shelf)
    return _doubts[key]


def _files(directory: Path) -> Iterator[Entry]:
    """Files that this module wrote: others in the same directory are left alone."""
    for shelf in _scan(directory):
        if len(shelf.name) == 2 and set(shelf.name) <= set("0123456789abcdef"):
            for file in _scan(shelf.path):
                if file.name.startswith(shelf.name) and file.name.endswith((".object", ".temporary")):
                    with contextlib.suppress(OSError):
                        status = file.stat()
                        yield Entry(status.st_mtime, status.st_size, Path(file.path))


def _scan(directory: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as found:
            return list(found)
    except OSError:
        return []


def _evict(directory: Path, most: int) -> None:
    """Delete the least recently used entries until a quarter of the limit is free, if it is passed."""
    found = sorted(_files(directory))
    now = time.time()
    for entry in list(found):
        if entry.path.suffix == ".temporary":
            found.remove(entry)
            if now - entry.used > _ABANDONED:
                _delete(entry.path)
    total = sum(entry.bytes for entry in found)
    if total <= most:
        return
    for entry in found:
        if total <= most - most // 4:
            break
        _delete(entry.path)
        total -= entry.bytes


def _delete(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True


def _remember(digest: str, payload: bytes) -> None:
    _memory[digest] = payload
    while sum(map(len, _memory.values())) > _MEMORY_LIMIT:
        _memory.popitem(last=False)


def _warn(directory: Path, error: OSError | NativeError) -> None:
    global _warned
    with _lock:
        if _warned:
            return
        _warned = True
    reason = (isinstance(error, OSError) and error.strerror) or error
    warn(
        f"compiled code cannot be kept in {directory} ({reason}); it is compiled anew in "
        "every process. Set CONSILIENCE_CACHE to a directory that you alone can write to.",
        CacheWarning,
    )

"""Files that are replaced as a whole: contents enter, and at no moment does a reader see a part of them.

What the contents mean stays outside.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from consilience.errors import StorageError

ATTEMPTS = 100 if os.name == "nt" else 1
"""Windows does not replace a file that a reader has open; readers of small files are soon done."""


@contextlib.contextmanager
def replacing(path: Path, *, durable: bool = True, owner: Path | None = None) -> Iterator[Path]:
    """Give the name of a temporary file, which afterwards takes the place of `path`.

    If what happens meanwhile raises, the temporary file is deleted and `path` stays as it was. With `durable`
    the contents have reached the disk before the old ones are given up, so that a loss of power leaves one or
    the other. (On macOS they have reached the drive, whose own cache the system does not flush here.)

    owner   the file or directory to which `path` belongs, itself by default; the temporary file is beside it

    Raises OSError.
    """
    temporary = temporary_name(owner or path)
    try:
        yield temporary
        if durable:
            synchronise(temporary)
        move(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    if durable:
        synchronise_directory(path.parent)


def replace(path: Path, contents: Iterable[bytes], *, durable: bool = True, owner: Path | None = None) -> None:
    """Replace the file `path`, or create it; raises OSError and leaves what was there. See `replacing`."""
    with replacing(path, durable=durable, owner=owner) as temporary, open(temporary, "xb") as file:
        file.writelines(contents)


def write_all(file: BinaryIO, contents: bytes) -> None:
    """Write to an unbuffered file, which may take a part at a time."""
    rest = memoryview(contents)
    while rest:
        rest = rest[file.write(rest) :]


def temporary_name(path: Path) -> Path:
    """A name beside `path` that is not taken."""
    return path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")


def move(source: Path, target: Path) -> None:
    """Put `source` in the place of the file `target`."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            os.replace(source, target)
            break
        except PermissionError:
            if attempt == ATTEMPTS:
                raise
            time.sleep(0.01)


def synchronise(path: Path) -> None:
    """Return when the contents of a file have reached the disk."""
    # Windows flushes only through a handle that may write.
    descriptor = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def synchronise_directory(path: Path) -> None:
    """Return when the names in a directory have reached the disk; Windows has no such call and needs none."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network and user-space filesystems know no fsync of directories.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def forget_leftovers(path: Path) -> None:
    """Delete the temporary files and directories that killed processes left beside `path`.

    The caller sees to it that no other process is writing `path`, such as by its lock.
    """
    prefix = f".{path.name}."
    with os.scandir(path.parent) as entries:
        leftovers = [entry for entry in entries if entry.name.startswith(prefix) and entry.name.endswith(".tmp")]
    for entry in leftovers:
        with contextlib.suppress(OSError):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)


def failure(path: Path, error: OSError, kept: str) -> StorageError:
    """The error to raise when `path` could not be written: why, what was kept, what to do."""
    if error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)):
        advice = "free some space there, or name a place with more"
    elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        advice = "name a place that this user may write, or change its permissions"
    elif error.errno in (errno.ENOENT, errno.ENOTDIR):
        advice = f"the directory {str(path.parent)!r} must exist"
    else:
        advice = "see that the place can be written, or name another"
    reason = os.strerror(error.errno) if error.errno else str(error)
    return StorageError(f"{str(path)!r} could not be written ({reason}); {kept}; {advice}")

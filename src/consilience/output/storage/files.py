"""Files that appear as a whole, and locks: at no moment does a reader see a part, nor do two runs write one place.

What the contents mean stays outside.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from consilience.errors import StorageError

if TYPE_CHECKING:
    from filelock import BaseFileLock


def lock(path: Path) -> BaseFileLock:
    """The lock of an absolute path, which need not exist; held until `release` or the end of the process.

    The lock is the operating system's, on a hidden file beside the path that stays there. Raises StorageError if
    another run has the lock, of this process or another, or if it cannot be made.
    """
    from filelock import FileLock, Timeout

    file = path.with_name(f".{path.name}.lock")
    held = FileLock(file, timeout=0, thread_local=False)
    try:
        file.touch()  # says why, where FileLock makes directories or waits
        held.acquire()
    except Timeout as error:
        raise StorageError(
            f"{str(path)!r} is being written by another run; wait for its end, or name another place"
        ) from error
    except OSError as error:
        raise failure(path, error, "what was there before is kept") from error
    return held


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give the name of a temporary file, which afterwards takes the place of `path`.

    If what happens meanwhile raises, the temporary file is deleted and `path` stays as it was. The contents have
    reached the disk before the old ones are given up, so that a loss of power leaves one or the other.

    Raises OSError.
    """
    temporary = temporary_name(path)
    try:
        yield temporary
        synchronise(temporary)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    if os.name != "nt":  # Windows has no such call for directories, and needs none
        synchronise(path.parent)


def synchronise(path: Path) -> None:
    """Return when the contents of a file, or the names in a directory, have reached the disk."""
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR | getattr(os, "O_BINARY", 0))
    try:
        os.fsync(descriptor)
    except OSError as error:  # some network and user-space filesystems know no fsync of directories
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def replace_directory(source: Path, target: Path) -> None:
    """Put a directory in the place of another, which is deleted then. Raises OSError and leaves what was there.

    Readers find one or the other at every moment; where the system cannot `exchange` them, none for a short one.
    """
    if not target.exists():
        os.rename(source, target)
        return
    if exchange(source, target):
        shutil.rmtree(source, ignore_errors=True)
        return
    old = temporary_name(target)
    os.rename(target, old)
    try:
        os.rename(source, target)
    except BaseException:
        os.rename(old, target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def exchange(one: Path, other: Path) -> bool:
    """Let two names change places at one moment; False where Linux or the filesystem has no such call.

    Raises OSError.
    """
    import ctypes  # no other use of a store needs it

    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    if rename is None:
        return False
    here, swapped = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of renameat2(2)
    if rename(here, os.fsencode(one), here, os.fsencode(other), swapped) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number), str(other))


def temporary_name(path: Path) -> Path:
    """A name beside `path` that is not taken."""
    return path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")


def forget_leftovers(path: Path) -> None:
    """Delete the temporary files and directories that killed processes left beside `path`.

    Not where `path` itself is missing: one of them may then be what it was. The caller holds the lock.
    """
    if not path.exists():
        return
    for entry in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                entry.unlink()


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

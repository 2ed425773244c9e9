"""One process at a time writes a file or directory: its path enters, and a lock that the process's end undoes.

The lock is the operating system's, on a small file beside the path that names the holder. It ends with the
process however that ends. Network filesystems without locks are told below; what is written stays outside.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import errno
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from consilience.errors import StorageError
from consilience.record import Record, as_plain
from consilience.storage.files import failure

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

FAR = 1 << 30
"""Windows lets nobody read a locked byte, so the locked one lies beyond the text."""

# By path, as some network filesystems give one process the same lock twice.
_held: dict[Path, Lock] = {}


class Holder(Record):
    """Who holds a lock.

    process   its number
    started   when the process started, in whatever form the system tells it; empty where it does not
    host      name of its machine
    since     when it took the lock, ISO 8601
    """

    process: int
    started: str
    host: str
    since: str

    def __str__(self) -> str:
        return f"process {self.process} on {self.host!r}, since {self.since}"


class Lock:
    """A held lock, made by `acquire`."""

    def __init__(self, path: Path, file: Path, descriptor: int) -> None:
        self.path = path
        self.file = file
        self.descriptor = descriptor

    @classmethod
    def acquire(cls, path: Path) -> Lock:
        """The lock of `path`, which must be absolute; `path` itself need not exist.

        A lock whose process has ended is taken over. If the filesystem has no locks, as some network
        filesystems are mounted, what the lock file says decides: a process of this machine is asked for; one of
        another machine cannot be, and then the lock file has to be deleted by hand once that process has ended.
        Two runs that start there in the same instant may then both get the lock.

        Raises StorageError, which names the holder, if another run has the lock.
        """
        file = path.with_name(f".{path.name}.lock")
        if path in _held:
            raise StorageError(f"{str(path)!r} is being written by another run of this process")
        try:
            while True:
                descriptor = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
                try:
                    if _take(descriptor, file, path):
                        break
                except BaseException:
                    os.close(descriptor)
                    raise
                os.close(descriptor)
        except OSError as error:
            raise failure(file, error, f"{str(path)!r} is left as it was") from error
        _held[path] = cls(path, file, descriptor)
        return _held[path]

    def release(self) -> None:
        """Give the lock back; more than once does nothing, and so it does in a forked process."""
        if _held.get(self.path) is not self:
            return
        with contextlib.suppress(OSError):
            os.ftruncate(self.descriptor, 0)
        # Where open files can be deleted that comes first, as afterwards the file may be another's.
        if os.name != "nt":
            with contextlib.suppress(OSError):
                self.file.unlink()
        os.close(self.descriptor)
        if os.name == "nt":
            with contextlib.suppress(OSError):
                self.file.unlink()
        del _held[self.path]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _take(descriptor: int, file: Path, path: Path) -> bool:
    """Lock an open lock file and write this process into it; False if the file was meanwhile deleted."""
    locked = lock_file(descriptor)
    holder = _read(descriptor)
    here = holder is not None and holder.host == platform.node()
    if locked is False or (locked is None and holder is not None and here and is_running(holder)):
        gone = holder is not None and here and not is_running(holder)
        remark = "; that process has ended, so one that it started must hold the lock" if gone else ""
        raise StorageError(
            f"{str(path)!r} is being written by another run ({holder or 'its process is not known'}){remark}; "
            "wait for its end, or name another place"
        )
    if holder is not None and not here:
        # Not every network filesystem shares its locks between machines.
        raise StorageError(
            f"{str(path)!r} may be being written by another run ({holder}), which cannot be asked from "
            f"{platform.node()!r}; when it has ended, delete {str(file)!r}"
        )
    if os.name != "nt" and not _is_still(file, descriptor):
        return False
    number = os.getpid()
    since = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    text = json.dumps(as_plain(Holder(number, start_of(number), platform.node(), since))).encode()
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, text)
    return True


def _is_still(file: Path, descriptor: int) -> bool:
    """Whether the open file is the one with that name, and not one deleted meanwhile."""
    try:
        return os.path.samestat(os.stat(file), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _read(descriptor: int) -> Holder | None:
    """What a lock file says; None if it says nothing, or is being written."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    try:
        return Holder(**json.loads(os.read(descriptor, 4096)))
    except (ValueError, TypeError):
        return None


def lock_file(descriptor: int) -> bool | None:
    """Whether the lock could be had; None if the filesystem has no locks."""
    try:
        if sys.platform == "win32":
            os.lseek(descriptor, FAR, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            return False
        if error.errno in (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL):
            return None
        raise
    return True


def is_running(holder: Holder) -> bool:
    """Whether a process of this machine that took a lock still runs; True if it cannot be asked."""
    if os.name == "nt":
        # There a signal of number 0 would end it; and its filesystems have locks, which answer better.
        return True
    try:
        os.kill(holder.process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return not holder.started or start_of(holder.process) in (holder.started, "")


def start_of(process: int) -> str:
    """When a process started, so that another with the same number is not taken for it; empty if not known."""
    if platform.system() == "Linux":
        try:
            # The name, in parentheses, may hold spaces and parentheses; the 20th field after it is the start.
            return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
        except (OSError, IndexError):
            return ""
    if os.name == "nt":
        return ""
    command = ["ps", "-o", "lstart=", "-p", str(process)]
    with contextlib.suppress(OSError):
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return ""


def _leave_to_parent() -> None:
    """A forked process keeps no lock alive that its parent gave up or died with."""
    for lock in _held.values():
        with contextlib.suppress(OSError):
            os.close(lock.descriptor)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)

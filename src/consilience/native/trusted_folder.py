"""Whether anybody else could change what lies in a folder, as matters where it is executed.

The path of a folder that exists comes in; a reason not to trust it goes out, or None. What is done then stays outside.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path


def doubt(folder: Path) -> str | None:
    """Why others could put something into `folder`, or something else in its place; None where only the user can.

    Folders on the way there count too, up to the home directory or the root, and so do links. Owners may be the user
    and the superuser, who can do anything. On Windows, where permissions are lists, it must be in the user's profile.

    raises   OSError where the folder or something on the way to it cannot be looked at
    """
    if not folder.is_absolute():
        return "this user has no home directory"
    if sys.platform == "win32":
        profile = os.environ.get("USERPROFILE")
        inside = profile and folder.resolve().is_relative_to(Path(profile).resolve())
        return None if inside else f"{folder} is not in the user's profile, where others can't write"
    folder.stat()  # a loop of links has no end
    return _doubt_of_entry(folder, os.path.expanduser("~"), last=True)


def _doubt_of_entry(path: Path, home: str, last: bool) -> str | None:
    status = path.lstat()
    if status.st_uid not in (0, os.geteuid()):
        return f"{path} belongs to {_name(status.st_uid)}"
    if stat.S_ISLNK(status.st_mode):
        found = _doubt_of_entry(path.parent / path.readlink(), home, last)
    elif not stat.S_ISDIR(status.st_mode):
        return f"{path} is not a folder"
    else:
        # In a folder like /tmp everybody can make entries, and nobody replace those of others.
        shared = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        replaceable = shared and (last or not status.st_mode & stat.S_ISVTX)
        found = f"others may write to {path}" if replaceable and not _alone(status) else None
    if found is None and str(path) != home and path != path.parent:
        found = _doubt_of_entry(path.parent, home, last=False)
    return found


def _alone(status: os.stat_result) -> bool:
    """Whether those who may write are a group with no member but the user, as many systems make for each user."""
    if status.st_mode & stat.S_IWOTH:
        return False
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(status.st_gid)
    except KeyError:
        return False
    return user.pw_gid == group.gr_gid and user.pw_name == group.gr_name and set(group.gr_mem) <= {user.pw_name}


def _name(owner: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(owner).pw_name
    except KeyError:
        return f"the user of number {owner}"

"""The cache on disk: what goes in comes out, and nothing that is wrong with the disk stops a compilation."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience.errors import CacheWarning, NativeError
from consilience.native import cache, jit, trusted_folder
from consilience.native.target import CROSS, host
from consilience.record import replace

ANSWER = "define i64 @answer() {\n  ret i64 42\n}\n"


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "objects"
    monkeypatch.setenv("CONSILIENCE_CACHE", str(place))
    monkeypatch.delenv("CONSILIENCE_CACHE_LIMIT", raising=False)
    monkeypatch.setattr(cache, "_warned", False)
    monkeypatch.setattr(cache, "_unwritable", set())
    cache._memory.clear()
    return place


def name(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


def answer(text: str = ANSWER) -> int:
    return int(jit.load(text, ["answer"]).function("answer", ctypes.c_int64)())


def blocked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place where nobody, not even the superuser, can make a directory."""
    file = tmp_path / "a file"
    file.write_text("in the way")
    monkeypatch.setenv("CONSILIENCE_CACHE", str(file / "cache"))
    return file


class TestEntries:
    @given(payload=st.binary(max_size=5000), number=st.integers())
    def test_what_goes_in_comes_out(self, payload: bytes, number: int) -> None:
        cache.put(name(number), payload)
        assert cache.get(name(number)) == payload

    def test_what_was_never_put_in_is_not_there(self) -> None:
        assert cache.get(name(0)) is None
        assert cache.entries() == []
        assert cache.size() == 0

    @settings(max_examples=300)
    @given(position=st.integers(0, 10**6), change=st.integers(1, 255))
    def test_an_entry_with_any_byte_changed_is_deleted(self, position: int, change: int) -> None:
        cache.put(name(1), b"machine code" * 20)
        (entry,) = cache.entries()
        content = bytearray(entry.path.read_bytes())
        content[position % len(content)] ^= change
        entry.path.write_bytes(content)
        assert cache.get(name(1)) is None
        assert cache.entries() == []

    @pytest.mark.parametrize("kept", [0, 1, 30, 54, 60])
    def test_a_truncated_entry_is_deleted(self, kept: int) -> None:
        cache.put(name(1), b"machine code")
        (entry,) = cache.entries()
        entry.path.write_bytes(entry.path.read_bytes()[:kept])
        assert cache.get(name(1)) is None
        assert cache.entries() == []

    def test_an_entry_under_another_name_is_deleted(self) -> None:
        cache.put(name(1), b"machine code")
        (entry,) = cache.entries()
        wrong = cache._path(name(2))
        wrong.parent.mkdir(exist_ok=True)
        entry.path.rename(wrong)
        assert cache.get(name(2)) is None
        assert cache.entries() == []

    def test_only_the_owner_may_write(self, directory: Path) -> None:
        if os.name != "posix":
            pytest.skip("permissions of POSIX")
        cache.put(name(1), b"machine code")
        for place in (directory, directory / name(1)[:2]):
            assert place.stat().st_mode & 0o077 == 0


class TestDigest:
    def test_every_ingredient_counts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def changed(**parts: str) -> str:
            return cache.digest(ANSWER, replace(host(), **parts), 2, "light")

        digests = [
            cache.digest(ANSWER, host(), 2, "light"),
            cache.digest(ANSWER + " ", host(), 2, "light"),
            cache.digest(ANSWER, host(), 3, "light"),
            cache.digest(ANSWER, host(), 2, "full"),
            changed(triple="x86_64-other-linux-gnu"),
            changed(cpu="other"),
            changed(features=host().features + ",+other"),
            *(cache.digest(ANSWER, target, 2, "light") for target in CROSS.values()),
        ]
        versions = cache.versions()
        for field in versions._fields:
            monkeypatch.setattr(cache, "versions", lambda f=field: versions._replace(**{f: "other"}))
            cache._prefix.cache_clear()
            digests.append(cache.digest(ANSWER, host(), 2, "light"))
        monkeypatch.setattr(cache, "versions", lambda: versions)
        monkeypatch.setattr(cache, "FORMAT", cache.FORMAT + 1)
        cache._prefix.cache_clear()
        digests.append(cache.digest(ANSWER, host(), 2, "light"))
        cache._prefix.cache_clear()
        assert len(set(digests)) == len(digests)

    def test_a_digest_is_the_same_in_every_process(self) -> None:
        script = (
            "from consilience.native import cache; from consilience.native.target import host; "
            f"print(cache.digest({ANSWER!r}, host(), 2, 'light'))"
        )
        for seed in ("1", "2"):
            environment = os.environ | {"PYTHONHASHSEED": seed}
            done = subprocess.run(
                [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
            )
            assert done.stdout.strip() == cache.digest(ANSWER, host(), 2, "light")


class TestLoading:
    def test_the_second_process_does_not_compile(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert answer() == 42
        monkeypatch.setattr(jit, "_compile", lambda *_: pytest.fail("compiled although it was kept"))
        assert answer() == 42

    def test_a_corrupted_object_is_compiled_anew(self) -> None:
        assert answer() == 42
        (entry,) = cache.entries()
        content = bytearray(entry.path.read_bytes())
        content[len(content) // 2] ^= 1
        entry.path.write_bytes(content)
        assert answer() == 42
        (mended,) = cache.entries()
        content[len(content) // 2] ^= 1
        assert mended.path.read_bytes() == content

    def test_without_a_directory_code_is_kept_in_memory_with_one_warning(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        blocked(tmp_path, monkeypatch)
        with pytest.warns(CacheWarning, match="Set CONSILIENCE_CACHE to a directory that you alone") as caught:
            assert answer() == 42
        assert [Path(warning.filename) for warning in caught] == [Path(__file__)]
        assert answer(ANSWER + ";") == 42  # a second warning would be an error here
        monkeypatch.setattr(jit, "_compile", lambda *_: pytest.fail("compiled although it was kept"))
        assert answer() == 42

    def test_even_a_warning_turned_into_an_error_leaves_the_cache_usable(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        blocked(tmp_path, monkeypatch)
        with pytest.raises(CacheWarning):  # the tests run with warnings as errors
            answer()
        assert answer() == 42

    def test_a_full_disk_leaves_no_pieces(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        class Half(io.FileIO):
            """A file on a disk with room for half of what is written."""

            def write(self, content: bytes) -> int:  # type: ignore[override]
                super().write(content[: len(content) // 2])
                raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(cache, "open", lambda *of, opener: Half(*of, opener=opener), raising=False)
        with pytest.warns(CacheWarning, match="No space left on device"):
            assert answer() == 42
        assert [path for path in directory.rglob("*") if path.is_file()] == []

    def test_a_directory_deleted_meanwhile_is_made_again(self, directory: Path) -> None:
        assert answer() == 42
        cache.clear()
        for shelf in directory.iterdir():
            shelf.rmdir()
        directory.rmdir()
        assert answer() == 42
        assert len(cache.entries()) == 1

    def test_memory_held_instead_of_disk_is_bounded(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        blocked(tmp_path, monkeypatch)
        monkeypatch.setattr(cache, "_MEMORY_LIMIT", 1000)
        with pytest.warns(CacheWarning):
            cache.put(name(0), bytes(99))
        for number in range(1, 100):
            cache.put(name(number), bytes(99))
        assert [number for number in range(100) if cache.get(name(number))] == list(range(90, 100))


class TestLimit:
    @pytest.mark.parametrize(
        ("text", "value"),
        [("", 256 * 2**20), ("0", 0), ("1000", 1000), ("3K", 3072), ("64M", 2**26), (" 2 g ", 2**31)],
    )
    def test_is_read_from_the_environment(self, text: str, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CONSILIENCE_CACHE_LIMIT", text)
        assert cache.limit() == value

    @pytest.mark.parametrize("text", ["much", "-1", "1.5G", "M", "10T"])
    def test_nonsense_is_refused(self, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CONSILIENCE_CACHE_LIMIT", text)
        with pytest.raises(NativeError, match="must be a number of bytes"):
            cache.limit()

    def test_is_never_passed_when_entries_are_large(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Entries above 1/32 of the limit make every write look."""
        monkeypatch.setenv("CONSILIENCE_CACHE_LIMIT", "10000")
        for number in range(100):
            cache.put(name(number), bytes(500 + number % 7))
            assert cache.size() <= 10000
        assert len(cache.entries()) > 10

    def test_is_kept_on_average_when_entries_are_small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CONSILIENCE_CACHE_LIMIT", "100000")
        largest = 0
        for number in range(1500):
            cache.put(name(number), bytes(200))
            if number % 10 == 0:
                largest = max(largest, cache.size())
        assert 75000 < largest < 130000

    def test_the_least_recently_used_goes_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CONSILIENCE_CACHE_LIMIT", "10000")
        now = time.time()
        for number in range(8):
            cache.put(name(number), bytes(1000))
            os.utime(cache._path(name(number)), (now - 1000 + number, now - 1000 + number))
        assert cache.get(name(0)) == bytes(1000)
        cache.put(name(8), bytes(2000))  # 10486 bytes with headers: down to three quarters of the limit
        assert [number for number in range(9) if cache._path(name(number)).exists()] == [0, 4, 5, 6, 7, 8]

    def test_an_object_larger_than_the_limit_is_not_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CONSILIENCE_CACHE_LIMIT", "100")
        cache.put(name(1), bytes(200))
        assert cache.get(name(1)) is None
        assert answer() == 42

    def test_pieces_of_processes_that_died_are_removed(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        cache.put(name(1), bytes(10))
        shelf = directory / name(1)[:2]
        old, new = (shelf / f"{name(1)}.{number}.0.temporary" for number in (1, 2))
        for piece in (old, new):
            piece.write_bytes(bytes(100))
        os.utime(old, (0, 0))
        monkeypatch.setenv("CONSILIENCE_CACHE_LIMIT", "2000")
        cache.put(name(2), bytes(1000))
        assert not old.exists()
        assert new.exists()


class TestClearing:
    def test_everything_goes_but_what_others_put_there(self, directory: Path) -> None:
        for number in range(20):
            cache.put(name(number), bytes(number))
        foreign = [
            directory / "notes.txt",
            directory / "ab" / "notes.object",
            directory / "other" / "x.object",
        ]
        for path in foreign:
            path.parent.mkdir(exist_ok=True)
            path.write_text("not ours")
        assert cache.clear() == 20
        assert cache.entries() == []
        assert cache.size() == 0
        assert all(path.read_text() == "not ours" for path in foreign)

    def test_clearing_nothing_is_harmless(self) -> None:
        assert cache.clear() == 0

    def test_a_cleared_place_is_tried_again(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file = blocked(tmp_path, monkeypatch)
        with pytest.warns(CacheWarning):
            cache.put(name(1), b"code")
        file.unlink()
        cache.clear()
        cache.put(name(1), b"code")
        assert len(cache.entries()) == 1


class TestCheck:
    def test_a_working_cache_passes_and_is_left_as_it_was(self) -> None:
        cache.check()
        assert cache.entries() == []

    def test_a_blocked_place_is_reported(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        blocked(tmp_path, monkeypatch)
        with pytest.raises(OSError, match="a file"):
            cache.check()


class TestPlace:
    @pytest.mark.parametrize(
        ("platform", "environment", "place"),
        [
            ("linux", {"HOME": "/h"}, "/h/.cache/consilience"),
            ("linux", {"HOME": "/h", "XDG_CACHE_HOME": "/x"}, "/x/consilience"),
            ("linux", {"HOME": "/h", "XDG_CACHE_HOME": "relative"}, "/h/.cache/consilience"),
            ("darwin", {"HOME": "/h", "XDG_CACHE_HOME": "/x"}, "/h/Library/Caches/consilience"),
            ("win32", {"HOME": "/h", "LOCALAPPDATA": "/l"}, "/l/consilience"),
            ("linux", {"HOME": "/h", "CONSILIENCE_CACHE": "~/mine"}, "/h/mine"),
            ("win32", {"LOCALAPPDATA": "/l", "CONSILIENCE_CACHE": "/mine"}, "/mine"),
        ],
    )
    def test_follows_the_custom_of_the_platform(
        self, platform: str, environment: dict[str, str], place: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for variable in ("CONSILIENCE_CACHE", "HOME", "LOCALAPPDATA", "XDG_CACHE_HOME"):
            monkeypatch.delenv(variable, raising=False)
        for variable, value in environment.items():
            monkeypatch.setenv(variable, value)
        monkeypatch.setattr(sys, "platform", platform)
        assert cache.place() == Path(place)


class TestCompany:
    def test_threads_share_the_directory(self) -> None:
        def work(thread: int) -> bool:
            for round_ in range(30):
                number = (thread * 7 + round_) % 10
                cache.put(name(number), bytes([number]) * 3000)
                if cache.get(name(number)) != bytes([number]) * 3000:
                    return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(work, range(8)))

    def test_processes_share_the_directory(self, directory: Path) -> None:
        """While two processes write the same entries over and over, no reader ever misses one."""
        script = (
            "import hashlib, time\n"
            "from consilience.native import cache\n"
            "names = [hashlib.sha256(str(n).encode()).hexdigest() for n in range(5)]\n"
            "end = time.time() + 0.7\n"
            "while time.time() < end:\n"
            "    for n, name in enumerate(names):\n"
            "        cache.put(name, bytes([n]) * 50000)\n"
        )
        for number in range(5):
            cache.put(name(number), bytes([number]) * 50000)
        writers = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(2)]
        reads = 0
        while any(writer.poll() is None for writer in writers):
            assert cache.get(name(reads % 5)) == bytes([reads % 5]) * 50000
            reads += 1
        assert [writer.returncode for writer in writers] == [0, 0]
        assert reads > 50
        assert list(directory.rglob("*.temporary")) == []

    def test_a_directory_that_is_deleted_between_two_steps_is_made_again(
        self, directory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As by a cleaner of temporary files, or another process."""
        make, made = os.open, []

        def deleted(path: str, *of: int, **more: int) -> int:
            made.append(path)
            if len(made) == 1:
                shutil.rmtree(directory)
            return make(path, *of, **more)

        monkeypatch.setattr(os, "open", deleted)
        cache.put(name(1), b"code")
        monkeypatch.undo()
        monkeypatch.setenv("CONSILIENCE_CACHE", str(directory))
        assert cache.get(name(1)) == b"code"

    def test_cleaning_beside_reading_and_writing_loses_entries_and_nothing_else(self) -> None:
        script = (
            "import time\nfrom consilience.native import cache\nend = time.time() + 0.4\n"
            "while time.time() < end:\n    cache.clear()\n"
        )
        cleaner = subprocess.Popen([sys.executable, "-c", script])
        found = set()
        while cleaner.poll() is None:
            cache.put(name(1), b"code" * 1000)
            found.add(cache.get(name(1)))
        assert cleaner.returncode == 0
        assert found <= {None, b"code" * 1000}
        assert b"code" * 1000 in found

    def test_two_first_runs_at_once_both_run(self, directory: Path) -> None:
        script = (
            "import ctypes\nfrom consilience.native import jit\n"
            f"assert jit.load({ANSWER!r}, ['answer']).function('answer', ctypes.c_int64)() == 42\n"
        )
        runs = [subprocess.Popen([sys.executable, "-W", "error", "-c", script]) for _ in range(2)]
        assert [run.wait() for run in runs] == [0, 0]
        assert len(cache.entries()) == 1
        assert list(directory.rglob("*.temporary")) == []


posix = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
SOMEBODY = 54321  # a number without a name


@posix
class TestTrust:
    """What lies in the directory is executed: where others could change it, it is left alone."""

    @pytest.fixture
    def kept(self, directory: Path) -> Path:
        """The entry of a program, made while all was well."""
        assert answer() == 42
        (entry,) = cache.entries()
        return entry.path

    @staticmethod
    def refused(kept: Path, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is not read; a new program is compiled in memory, with one warning, and nothing is written."""
        monkeypatch.setattr(cache, "_doubts", {})
        before = kept.read_bytes()
        assert cache.get(kept.stem) is None
        with pytest.warns(CacheWarning, match=reason) as caught:
            assert answer(ANSWER + "; other") == 42
        assert len(caught) == 1
        assert answer(ANSWER + "; third") == 42  # a second warning would be an error here
        assert kept.read_bytes() == before
        assert len(cache.entries()) == 1
        with pytest.raises(NativeError, match=reason):
            cache.check()
        assert len(list(cache.place().iterdir())) == 1

    @pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
    def test_a_directory_that_others_may_write_to(
        self, mode: int, kept: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        directory.chmod(mode)
        monkeypatch.setattr(trusted_folder, "_alone", lambda status: False)
        self.refused(kept, f"others may write to {directory}", monkeypatch)

    @pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
    def test_a_directory_inside_that_others_may_write_to(
        self, mode: int, kept: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each of them is looked at: none that somebody made is used."""
        kept.parent.chmod(mode)
        monkeypatch.setattr(trusted_folder, "_alone", lambda status: False)
        assert cache.get(kept.stem) is None
        kept.parent.chmod(0o700)
        assert cache.get(kept.stem) is not None

    def test_a_directory_on_the_way_that_others_may_write_to(
        self, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tmp_path.chmod(0o777)
        self.refused(kept, f"others may write to {tmp_path}", monkeypatch)

    def test_where_all_may_make_entries_and_none_replace_those_of_others(
        self, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As in /tmp."""
        tmp_path.chmod(0o1777)
        monkeypatch.setattr(cache, "_doubts", {})
        assert cache.get(kept.stem) is not None

    def test_directories_above_the_home_directory_are_its_administrators(
        self, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tmp_path.chmod(0o777)
        monkeypatch.setenv("HOME", str(tmp_path / "objects"))
        monkeypatch.setattr(cache, "_doubts", {})
        assert cache.get(kept.stem) is not None

    @pytest.mark.parametrize("which", [1, 2])
    def test_a_directory_of_somebody_else(self, which: int, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """As where the superuser runs a program with the home directory of a user."""
        if os.geteuid():
            pytest.skip("needs the superuser")
        os.chown(kept.parents[which], SOMEBODY, -1)
        self.refused(kept, f"{kept.parents[which]} belongs to the user of number {SOMEBODY}", monkeypatch)

    def test_what_the_superuser_made_is_read(self, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """As in the image of a container."""
        if os.geteuid():
            pytest.skip("needs the superuser")
        monkeypatch.setattr(os, "geteuid", lambda: SOMEBODY)
        monkeypatch.setattr(cache, "_doubts", {})
        assert cache.get(kept.stem) is not None

    def test_links_are_as_good_as_where_they_lead_and_where_they_lie(
        self, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lies = tmp_path / "lies"
        lies.mkdir()
        link = lies / "link"
        link.symlink_to("../objects", target_is_directory=True)
        monkeypatch.setenv("CONSILIENCE_CACHE", str(link))
        assert cache.get(kept.stem) is not None
        lies.chmod(0o777)
        through = link / kept.parent.name / kept.name
        self.refused(through, f"others may write to {lies}", monkeypatch)

    def test_a_link_to_a_directory_that_others_may_write_to(
        self, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        link = tmp_path / "link"
        link.symlink_to("objects", target_is_directory=True)
        monkeypatch.setenv("CONSILIENCE_CACHE", str(link))
        kept.parents[1].chmod(0o777)
        self.refused(link / kept.parent.name / kept.name, "others may write to .*objects", monkeypatch)

    def test_links_in_a_circle_are_no_directory(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "a").symlink_to("b")
        (tmp_path / "b").symlink_to("a")
        monkeypatch.setenv("CONSILIENCE_CACHE", str(tmp_path / "a" / "cache"))
        with pytest.warns(CacheWarning, match="symbolic links"):
            assert answer() == 42

    def test_others_cannot_write_what_a_careless_user_makes(self, directory: Path) -> None:
        """Whatever the mask of permissions, and in a directory that others may read."""
        directory.mkdir(mode=0o755)
        before = os.umask(0)
        try:
            assert answer() == 42
        finally:
            os.umask(before)
        (entry,) = cache.entries()
        assert entry.path.stat().st_mode & 0o022 == 0
        assert entry.path.parent.stat().st_mode & 0o022 == 0

    def test_a_group_of_one_is_the_user(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Many systems make one for each user, and let it write."""
        import grp
        import pwd

        status = tmp_path.stat()
        changed = os.stat_result((0o40770, *status[1:5], 77, *status[6:]))
        user = pwd.struct_passwd(("ann", "x", status.st_uid, 77, "", "/h", "/bin/sh"))
        monkeypatch.setattr(pwd, "getpwuid", lambda number: user)
        for name, members, alone in (
            ("ann", [], True),
            ("ann", ["ann"], True),
            ("ann", ["bo"], False),
            ("all", [], False),
        ):
            group = grp.struct_group((name, "x", 77, members))
            monkeypatch.setattr(grp, "getgrgid", lambda number, group=group: group)
            assert trusted_folder._alone(changed) is alone
        assert not trusted_folder._alone(os.stat_result((0o40777, *changed[1:])))


class TestNoHome:
    def test_without_a_home_directory_code_is_compiled_in_memory(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("CONSILIENCE_CACHE")
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setattr(sys, "platform", "linux")
        monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # what it gives where there is none
        monkeypatch.chdir(tmp_path)
        with pytest.warns(CacheWarning, match="no home directory"):
            assert answer() == 42
        assert list(tmp_path.iterdir()) == []

    def test_on_windows_the_directory_lies_in_the_profile(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "platform", "win32")
        monkeypatch.setenv("USERPROFILE", str(tmp_path / "ann"))
        assert trusted_folder.doubt(tmp_path / "ann" / "AppData") is None
        assert "not in the user's profile" in (trusted_folder.doubt(tmp_path / "shared") or "")
        monkeypatch.delenv("USERPROFILE")
        assert trusted_folder.doubt(tmp_path / "ann") is not None

    def test_a_home_that_cannot_be_written_still_gives_what_it_holds(
        self, directory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert answer() == 42

        def refuse(*_: object, **__: object) -> None:
            raise OSError(errno.EROFS, "Read-only file system")

        monkeypatch.setattr(os, "utime", refuse)
        monkeypatch.setattr(cache, "open", refuse, raising=False)
        with monkeypatch.context() as patched:
            patched.setattr(jit, "_compile", lambda *_: pytest.fail("compiled although it was kept"))
            assert answer() == 42
        with pytest.warns(CacheWarning, match="Read-only file system"):
            assert answer(ANSWER + "; other") == 42


def test_the_directory_of_the_tests_is_not_the_users() -> None:
    assert cache.place().is_relative_to(tempfile.gettempdir())

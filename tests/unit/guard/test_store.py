# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import errno
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ocf_agents.guard import store as store_module
from ocf_agents.guard.record import DISABLED, ENABLED, Known, Record, decode, encode
from ocf_agents.guard.store import MAX_SIZE, Identity, LockBusy, Store, StoreError, recorded_host

IDENTITY = Identity("nova-compute:0", "machine", "c1")
STEM = "nova-compute%3A0"
ROOT = str(Path(__file__).parents[3])


class Home:
    """A store in a directory of its own, and what it had to say."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.notes: list[str] = []
        self.store = Store(str(directory), IDENTITY, self.notes.append)
        self.record = directory / f"{STEM}.json"
        self.lock = directory / f"{STEM}.lock"
        self.flag = directory / f"{STEM}.open"
        self.beside = directory / f"{STEM}.json.new"

    def aside(self) -> list[str]:
        return sorted(p.name for p in self.directory.iterdir() if ".bad-" in p.name)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "state")


def one_more(record: Record) -> Record:
    return replace(record, generation=record.generation + 1, want=DISABLED)


def quiet(record: Record) -> Record:
    generation = record.generation + 1
    return replace(record, generation=generation, want=ENABLED, known=Known(ENABLED, generation, True))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


# reading and writing


def test_an_absent_record_is_empty_and_reading_makes_nothing(home: Home) -> None:
    assert home.store.load() == Record.empty(*IDENTITY)
    assert not home.directory.exists()
    assert home.notes == []


def test_what_was_written_is_read_by_another(home: Home) -> None:
    written = home.store.update(one_more, 1.0)
    assert written.generation == 1
    assert Store(str(home.directory), IDENTITY, home.notes.append).load() == written
    assert decode(home.record.read_text(encoding="ascii")) == written
    assert home.notes == []


@pytest.mark.parametrize("change", [lambda record: None, lambda record: record])
def test_no_change_is_no_write(home: Home, change: Any) -> None:
    home.store.update(one_more, 1.0)
    before = home.record.stat()
    assert home.store.update(change, 1.0).generation == 1
    assert home.record.stat().st_ino == before.st_ino


def test_an_error_of_the_change_leaves_the_record_and_the_lock_free(home: Home) -> None:
    home.store.update(one_more, 1.0)

    def fail(record: Record) -> Record:
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        home.store.update(fail, 1.0)
    assert home.store.update(one_more, 0.0).generation == 2


def test_a_write_goes_beside_is_synced_renamed_and_synced(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order that survives a power cut: data, name, directory."""
    home.store.update(one_more, 1.0)
    calls: list[str] = []

    def spy(name: str) -> None:
        real = getattr(os, name)

        def call(*args: Any, **more: Any) -> Any:
            kind = "directory" if name == "fsync" and stat.S_ISDIR(os.fstat(args[0]).st_mode) else ""
            calls.append(f"{name} {kind}".strip())
            return real(*args, **more)

        monkeypatch.setattr(os, name, call)

    for name in ("write", "fsync", "rename"):
        spy(name)
    home.store.update(one_more, 1.0)
    assert calls == ["write", "fsync", "rename", "fsync directory"]


# modes


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o026, 0o077])
def test_nobody_else_may_read_anything(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        home = Home(tmp_path / "state")
        home.store.update(one_more, 1.0)
    finally:
        os.umask(before)
    assert mode(home.directory) == 0o700
    assert mode(home.record) == 0o600
    if home.lock.exists():  # some versions of filelock remove it
        assert mode(home.lock) & 0o077 == 0
    assert mode(home.flag) & 0o077 == 0


def test_a_trailing_slash_changes_nothing(tmp_path: Path) -> None:
    store = Store(f"{tmp_path}/state/", IDENTITY, print)
    store.update(one_more, 1.0)
    assert mode(tmp_path / "state") == 0o700


@pytest.mark.parametrize("bits", [0o770, 0o707, 0o777, 0o1777])
def test_a_directory_that_others_may_write_is_not_used(home: Home, bits: int) -> None:
    home.directory.mkdir()
    home.directory.chmod(bits)
    for use in (home.store.load, lambda: home.store.update(one_more, 1.0)):
        with pytest.raises(StoreError) as caught:
            use()
        assert str(home.directory) in caught.value.text
    assert list(home.directory.iterdir()) == []


def test_a_directory_that_is_a_link_is_not_followed(home: Home, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    home.directory.symlink_to(tmp_path / "elsewhere")
    for use in (home.store.load, lambda: home.store.update(one_more, 1.0)):
        with pytest.raises(StoreError, match="state"):
            use()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_directory_that_is_a_file_is_one_clear_line(home: Home) -> None:
    home.directory.write_text("x", encoding="ascii")
    with pytest.raises(StoreError) as caught:
        home.store.update(one_more, 1.0)
    assert str(home.directory) in caught.value.text
    assert "\n" not in caught.value.text


# the flag that a monitor looks at


def test_the_flag_is_up_while_a_record_is_not_quiet(home: Home) -> None:
    home.store.update(one_more, 1.0)
    assert home.flag.exists()
    home.store.update(quiet, 1.0)
    assert not home.flag.exists()
    home.store.update(one_more, 1.0)
    assert home.flag.exists()


def test_the_flag_is_up_before_the_record_and_goes_after_it(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the two, a monitor looks once too often, never once too rarely."""
    seen: list[bool] = []
    real = os.rename
    home.store.update(quiet, 1.0)

    def rename(*args: Any, **more: Any) -> None:
        seen.append(home.flag.exists())
        real(*args, **more)

    monkeypatch.setattr(os, "rename", rename)
    home.store.update(one_more, 1.0)
    home.store.update(quiet, 1.0)
    assert seen == [True, True]


# records that are none

BAD = {
    "empty": b"",
    "NULs": b"\0" * 512,
    "half": encode(replace(Record.empty(*IDENTITY), generation=3)).encode()[:100],
    "not UTF-8": b"\xff\xfe\x80",
    "future version": encode(replace(Record.empty(*IDENTITY), generation=3, version=2)).encode(),
    "10 MB": b"{" + b" " * 10_000_000 + b"}",
    "a little too large": (encode(replace(Record.empty(*IDENTITY), generation=3)) + " " * MAX_SIZE).encode(),
    "of another machine": encode(replace(Record.empty(*IDENTITY), generation=3, machine_id="other")).encode(),
    "of another host": encode(replace(Record.empty(*IDENTITY), generation=3, host="c2")).encode(),
    "of another resource": encode(replace(Record.empty(*IDENTITY), generation=3, resource="x")).encode(),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_record_is_set_aside_whole_and_proves_nothing(home: Home, kind: str) -> None:
    """Cases 105 and 133."""
    home.directory.mkdir(mode=0o700)
    home.record.write_bytes(BAD[kind])
    home.record.chmod(0o600)
    assert home.store.load().is_empty
    assert home.record.exists(), "reading changes nothing"
    assert home.store.update(one_more, 1.0).generation == 1
    (name,) = home.aside()
    assert name.startswith(f"{STEM}.json.bad-")
    assert (home.directory / name).read_bytes() == BAD[kind]
    assert any(name in note and str(home.record) in note for note in home.notes)


def plant(path: Path, what: str, victim: Path) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    if what == "symlink":
        victim.write_text(encode(replace(Record.empty(*IDENTITY), generation=99)), encoding="ascii")
        path.symlink_to(victim)
    elif what == "dangling symlink":
        path.symlink_to(victim.parent / "nothing")
    elif what == "FIFO":
        os.mkfifo(path)
    elif what == "directory":
        path.mkdir()
    elif what == "full directory":
        path.mkdir()
        (path / "file").write_text("x", encoding="ascii")
    elif what == "socket":
        here = os.getcwd()
        os.chdir(path.parent)
        try:
            with socket.socket(socket.AF_UNIX) as end:
                end.bind(path.name)
        finally:
            os.chdir(here)


PLANTS = ["symlink", "dangling symlink", "FIFO", "directory", "full directory", "socket"]


@pytest.mark.parametrize("what", PLANTS)
@pytest.mark.parametrize("where", ["record", "lock", "flag", "beside"])
def test_whatever_was_planted_is_neither_followed_nor_waited_for(
    home: Home, tmp_path: Path, where: str, what: str
) -> None:
    """Case 132."""
    victim = tmp_path / "victim"
    plant(getattr(home, where), what, victim)
    before = victim.read_bytes() if victim.exists() else None
    begun = time.monotonic()
    assert home.store.load().is_empty
    assert home.store.update(one_more, 1.0).generation == 1
    assert time.monotonic() - begun < 2.0
    assert home.store.load().generation == 1
    assert not (tmp_path / "nothing").exists()
    assert (victim.read_bytes() if victim.exists() else None) == before
    if where == "record" or (where in ("lock", "flag")) or "directory" in what:
        assert len(home.aside()) == 1, "never deleted"


def test_a_record_that_others_may_have_written_is_none(home: Home) -> None:
    home.store.update(one_more, 1.0)
    home.record.chmod(0o620)
    assert home.store.load().is_empty
    assert home.store.update(one_more, 1.0).generation == 1
    assert len(home.aside()) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_record_of_another_owner_is_none(home: Home) -> None:
    home.store.update(one_more, 1.0)
    os.chown(home.record, 12345, 0)
    assert home.store.load().is_empty
    assert home.store.update(one_more, 1.0).generation == 1


def test_two_bad_records_in_one_second_keep_their_names_apart(home: Home) -> None:
    home.store.update(one_more, 1.0)
    for _ in range(20):
        home.record.write_text("bad", encoding="ascii")
        home.store.update(one_more, 1.0)
    assert len(home.aside()) == 20


@pytest.mark.parametrize("number", [errno.EIO, errno.EMFILE, errno.ENOMEM, errno.EACCES])
def test_a_record_that_cannot_be_opened_now_is_not_set_aside(
    home: Home, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """It may be a good one: an error of the moment must not cost the memory of a person's words."""
    home.store.update(one_more, 1.0)
    real = os.open

    def fail(path: Any, *args: Any, **more: Any) -> int:
        if path == home.record.name:
            raise OSError(number, os.strerror(number), path)
        return real(path, *args, **more)

    monkeypatch.setattr(os, "open", fail)
    with pytest.raises(StoreError, match=r"nova-compute%3A0\.json"):
        home.store.load()
    with pytest.raises(StoreError):
        home.store.update(one_more, 1.0)
    monkeypatch.undo()
    assert home.aside() == []
    assert home.store.load().generation == 1


# disks that do not take it


def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_full_disk_leaves_the_old_record(home: Home) -> None:
    home.store.update(one_more, 1.0)
    code = """
        import resource, signal, sys
        sys.path.insert(0, ".")
        from dataclasses import replace
        from ocf_agents.guard.store import Identity, Store, StoreError
        store = Store(sys.argv[1], Identity("nova-compute:0", "machine", "c1"), print)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        try:
            store.update(lambda r: replace(r, generation=r.generation + 1), 1.0)
        except StoreError as error:
            print("refused:", error.text)
    """
    result = run_python(code, str(home.directory))
    assert result.stdout.startswith(f"refused: {home.directory}"), result.stderr
    assert home.store.load().generation == 1
    assert home.store.update(one_more, 1.0).generation == 2, "what was left beside is no obstacle"


def test_a_read_only_disk_is_one_clear_line(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.store.update(one_more, 1.0)
    real = os.open

    def read_only(path: Any, flags: int, *args: Any, **more: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        return real(path, flags, *args, **more)

    monkeypatch.setattr(os, "open", read_only)
    with pytest.raises(StoreError, match="Read-only file system"):
        home.store.update(one_more, 0.5)
    assert home.store.load().generation == 1


@pytest.mark.parametrize("call", ["write", "fsync", "rename"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_a_failing_call_leaves_the_old_record_and_a_usable_store(
    home: Home, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    home.store.update(one_more, 1.0)

    def fail(*args: Any, **more: Any) -> Any:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(StoreError) as caught:
        home.store.update(one_more, 1.0)
    monkeypatch.undo()
    assert os.strerror(number) in caught.value.text
    assert home.store.load().generation == 1
    assert home.store.update(one_more, 1.0).generation == 2


# the lock


@pytest.fixture
def holder(home: Home) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the record's lock until it is killed."""
    home.store.update(one_more, 1.0)
    code = """
        import sys, time
        sys.path.insert(0, ".")
        from ocf_agents.guard.store import Identity, Store
        store = Store(sys.argv[1], Identity("nova-compute:0", "machine", "c1"), print)
        def hold(record):
            print("held", flush=True)
            time.sleep(600)
        store.update(hold, 10.0)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), str(home.directory)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.parametrize("timeout", [0.0, 0.3])
def test_a_lock_that_another_process_has_is_waited_for_so_long(
    home: Home, holder: subprocess.Popen[str], timeout: float
) -> None:
    begun = time.monotonic()
    with pytest.raises(LockBusy) as caught:
        home.store.update(one_more, timeout)
    assert timeout <= time.monotonic() - begun < timeout + 1.0
    assert str(home.lock) in caught.value.text
    assert home.store.load().generation == 1, "reading needs no lock"


def test_the_lock_of_a_killed_process_is_free(home: Home, holder: subprocess.Popen[str]) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert home.store.update(one_more, 1.0).generation == 2


def test_the_lock_is_not_inherited(home: Home) -> None:
    """Case 127: a daemon started under the lock must not keep it."""
    children: list[subprocess.Popen[bytes]] = []

    def start(record: Record) -> Record:
        children.append(subprocess.Popen(["sleep", "60"], close_fds=False))
        return one_more(record)

    home.store.update(start, 1.0)
    try:
        assert home.store.update(one_more, 0.0).generation == 2
    finally:
        children[0].kill()
        children[0].wait()


def test_no_update_is_lost_among_many_processes(home: Home) -> None:
    """Case 129: 8 processes, 200 rounds each of lock, read, add one, write."""
    code = """
        import sys
        sys.path.insert(0, ".")
        from dataclasses import replace
        from ocf_agents.guard import store as module
        from ocf_agents.guard.store import Identity, Store
        module.os.fsync = lambda descriptor: None
        store = Store(sys.argv[1], Identity("nova-compute:0", "machine", "c1"), print)
        for _ in range(200):
            store.update(lambda r: replace(r, generation=r.generation + 1), 60.0)
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(home.directory)]
    workers = [subprocess.Popen(command, cwd=ROOT) for _ in range(8)]
    assert [worker.wait(120) for worker in workers] == [0] * 8
    assert home.store.load().generation == 8 * 200
    assert home.aside() == []


def test_a_lock_file_that_is_always_replaced_does_not_hold_us_for_ever(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.store.update(one_more, 1.0)
    monkeypatch.setattr(store_module, "_is_held", lambda folder, name: False)
    begun = time.monotonic()
    with pytest.raises(LockBusy):
        home.store.update(one_more, 0.3)
    assert time.monotonic() - begun < 2.0


def test_a_lock_on_a_file_that_was_removed_is_taken_again(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our lock on an unlinked file keeps nobody out."""
    home.store.update(one_more, 1.0)
    real = store_module._is_held
    seen: list[bool] = []

    def remove_first(folder: int, name: str) -> bool:
        if not seen:
            home.lock.unlink(missing_ok=True)
        seen.append(real(folder, name))
        return seen[-1]

    monkeypatch.setattr(store_module, "_is_held", remove_first)
    home.store.update(one_more, 2.0)
    assert seen == [False, True]


# who was it


def test_the_recorded_host_is_found_without_knowing_it(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.store.update(one_more, 1.0)
    monkeypatch.setattr(store_module, "machine_id", lambda: "machine")
    assert recorded_host(str(home.directory), "nova-compute:0") == "c1"
    assert recorded_host(str(home.directory), "nova-compute:1") == ""
    assert recorded_host("/nonexistent", "nova-compute:0") == ""
    home.record.write_text("bad", encoding="ascii")
    assert recorded_host(str(home.directory), "nova-compute:0") == ""
    monkeypatch.setattr(store_module, "machine_id", lambda: "other machine")
    home.record.write_text(json.dumps({}), encoding="ascii")
    assert recorded_host(str(home.directory), "nova-compute:0") == ""


def test_the_record_is_small(home: Home) -> None:
    home.store.update(one_more, 1.0)
    assert home.record.stat().st_size < 2000

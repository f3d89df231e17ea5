# SPDX-License-Identifier: Apache-2.0
"""The record on disk: one file for each resource, changed under one kernel lock.

A change is written beside, fsynced, renamed, and the directory fsynced, so that a crash at any
point leaves the old record or the new one. The lock covers work on the file only, never a
request. What is no record of ours (torn, of another machine, a symlink, a FIFO, a directory) is
set aside under another name; it is never followed and never deleted (cases 105, 132, 133).
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Callable, NamedTuple

from filelock import FileLock, Timeout

from ocf_agents.guard import names
from ocf_agents.guard.record import Record, Unusable, decode, encode

MAX_SIZE = 65536
"""Bytes: a record has a few hundred, so a larger file is none."""

Change = Callable[[Record], "Record | None"]


class StoreError(Exception):
    """The record cannot be used; `text` is one line that names the path."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class LockBusy(StoreError):
    """Another process held the record's lock all the time that we could wait."""


class Identity(NamedTuple):
    """Whose record it is: the resource's instance, this machine's id, the Nova host."""

    instance: str
    machine_id: str
    host: str


class Store:
    """The records' directory (0700, root's) as seen by one resource.

    `on_note` receives one line whenever something unusual was met. `is_guest`: a helper's, which works on
    the record of its action and of no other; where a later action has begun one for another host, its
    generation tells, and nothing is set aside.
    """

    def __init__(
        self, directory: str, identity: Identity, on_note: Callable[[str], None], *, is_guest: bool = False
    ) -> None:
        self.directory = os.path.normpath(directory)
        self.identity = identity
        self.on_note = on_note
        self.is_guest = is_guest

    @property
    def path(self) -> str:
        return os.path.join(self.directory, names.record(self.identity.instance))

    def load(self) -> Record:
        """The record without the lock, for reading only. Raises StoreError when it cannot be looked at."""
        try:
            with self._opened(create=False) as folder:
                return self._read(folder)
        except FileNotFoundError:
            return self._empty()
        except Unusable as error:
            self.on_note(f"{self.path}: not a usable record ({error})")
            return self._empty()
        except OSError as error:
            raise self._failed(error) from error

    def update(self, change: Change, timeout: float) -> Record:
        """Under the lock: read, change, write if it changed; the record as it then is.

        `change` may return None to leave the record. Waits at most `timeout` seconds for the lock
        (LockBusy). Raises StoreError when the disk does not take it; the old record then stands.
        """
        try:
            with self._opened(create=True) as folder, self._locked(folder, timeout):
                before = self._read_or_set_aside(folder)
                after = change(before)
                if after is None or after == before:
                    return before
                self._write(folder, after)
                return after
        except OSError as error:
            raise self._failed(error) from error

    def _empty(self) -> Record:
        return Record.empty(*self.identity)

    def _failed(self, error: OSError) -> StoreError:
        name = error.filename if isinstance(error.filename, str) else ""
        path = os.path.join(self.directory, name) if name else self.directory
        return StoreError(f"{path}: {error.strerror or error}")

    @contextmanager
    def _opened(self, *, create: bool) -> Iterator[int]:
        if create:
            os.makedirs(os.path.dirname(self.directory) or "/", mode=0o755, exist_ok=True)
            _make_private(self.directory)
        folder = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            status = os.fstat(folder)
            if status.st_uid != os.geteuid() or status.st_mode & 0o022:
                raise StoreError(
                    f"{self.directory}: must belong to uid {os.geteuid()} and be writable by nobody else"
                )
            yield folder
        finally:
            os.close(folder)

    @contextmanager
    def _locked(self, folder: int, timeout: float) -> Iterator[None]:
        name = names.lock(self.identity.instance)
        self._require_regular(folder, name)
        lock = FileLock(os.path.join(self.directory, name))
        end = time.monotonic() + timeout
        try:
            while True:
                lock.acquire(timeout=max(0.0, end - time.monotonic()), poll_interval=0.02)
                if _is_held(folder, name):
                    break
                lock.release()  # somebody removed the file while we waited on it: our lock is on nothing
                if time.monotonic() >= end:
                    raise LockBusy(f"{self.directory}/{name}: replaced by somebody for {timeout:.0f} s")
            os.chmod(name, 0o600, dir_fd=folder)  # who can open it can lock it; the library is generous
            yield
        except Timeout:
            raise LockBusy(
                f"{self.directory}/{name}: locked by another process for {timeout:.0f} s"
            ) from None
        except NotImplementedError as error:
            raise StoreError(f"{self.directory}/{name}: no file locks here ({error})") from None
        finally:
            lock.release()

    def _require_regular(self, folder: int, name: str) -> None:
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return
        if not stat.S_ISREG(status.st_mode):
            self._set_aside(folder, name, "not a regular file")

    def _read(self, folder: int) -> Record:
        """Raises FileNotFoundError, or Unusable for whatever is no record of this resource and machine."""
        name = names.record(self.identity.instance)
        text = _read_regular(folder, name)
        record = decode(text)
        found = Identity(record.resource, record.machine_id, record.host)
        for field, ours, theirs in zip(Identity._fields, self.identity, found):
            if ours != theirs and not (self.is_guest and field == "host"):
                raise Unusable(f"it is of {field} {theirs[:80]!r}, this is {ours[:80]!r}")
        return record

    def _read_or_set_aside(self, folder: int) -> Record:
        try:
            return self._read(folder)
        except FileNotFoundError:
            return self._empty()
        except Unusable as error:
            self._set_aside(folder, names.record(self.identity.instance), str(error))
            return self._empty()

    def _set_aside(self, folder: int, name: str, why: str) -> None:
        aside = f"{name}.bad-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.urandom(3).hex()}"
        os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)
        self.on_note(f"{self.directory}/{name}: {why}; set aside as {aside}")

    def _write(self, folder: int, record: Record) -> None:
        name = names.record(self.identity.instance)
        if not record.is_quiet:
            self._raise_flag(folder)
        beside = f"{name}.new"
        self._remove(folder, beside)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(beside, flags, 0o600, dir_fd=folder)
        try:
            _write_all(file, encode(record).encode())
            os.fsync(file)
        finally:
            os.close(file)
        os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
        if record.is_quiet:
            self._remove(folder, names.flag(self.identity.instance))

    def _raise_flag(self, folder: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        name = names.flag(self.identity.instance)
        self._require_regular(folder, name)
        file = os.open(name, flags, 0o600, dir_fd=folder)
        try:
            os.utime(file, (0, 0))  # a monitor that sends a helper puts its time there
        finally:
            os.close(file)

    def _remove(self, folder: int, name: str) -> None:
        try:
            os.unlink(name, dir_fd=folder)
        except FileNotFoundError:
            pass
        except IsADirectoryError:
            self._set_aside(folder, name, "a directory")


def recorded_host(directory: str, instance: str) -> str:
    """The Nova host that this machine's record of an instance is for; empty when there is none to be read."""
    try:
        folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        record = decode(_read_regular(folder, names.record(instance)))
    except (OSError, Unusable):
        return ""
    finally:
        os.close(folder)
    return record.host if (record.resource, record.machine_id) == (instance, machine_id()) else ""


def machine_id() -> str:
    """This machine's id; empty when the host has none, which then equals itself."""
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            return Path(path).read_text(encoding="ascii", errors="replace").strip()
        except OSError:
            continue
    return ""


def _make_private(directory: str) -> None:
    try:
        os.mkdir(directory, 0o700)
    except FileExistsError:
        return
    os.chmod(directory, 0o700)  # the caller's umask may have taken more away


def _read_regular(folder: int, name: str) -> str:
    try:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO):  # a planted link, a socket
            raise  # the record may be good: it stays where it is
        raise Unusable(error.strerror or str(error)) from None
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise Unusable("not a regular file")
        if status.st_uid != os.geteuid() or status.st_mode & 0o022:
            raise Unusable("others may have written it")
        if status.st_size > MAX_SIZE:
            raise Unusable(f"it has {status.st_size} bytes")
        return os.read(file, MAX_SIZE + 1).decode("utf-8", "replace")
    finally:
        os.close(file)


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def _is_held(folder: int, name: str) -> bool:
    """Whether the file that now has the lock's name is the one that we have open and locked."""
    try:
        wanted = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    for number in os.listdir("/proc/self/fd"):
        try:
            if os.path.samestat(os.fstat(int(number)), wanted):
                return True
        except OSError:
            continue
    return False

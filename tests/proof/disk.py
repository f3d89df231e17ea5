# SPDX-License-Identifier: Apache-2.0
"""A simulated directory under the real `store` code, and what a power loss leaves of it.

What the file system owes: fsync of a file makes its bytes durable, fsync of the directory makes its
names durable. A power loss keeps any prefix of the changes of names that were not, and of each
file whose bytes were not: nothing, half, or all.
"""

from __future__ import annotations

import errno
import os
import posixpath
import stat
from typing import TYPE_CHECKING, Any, NamedTuple

from filelock import Timeout

from ocf_agents.guard import names, store
from ocf_agents.guard.record import Record
from ocf_agents.guard.store import Change

if TYPE_CHECKING:
    from tests.proof.machine import Proc, World

DIRECTORY = "/state"
UID = 0
_FILE_MODE = stat.S_IFREG | 0o600


class Status(NamedTuple):
    """What stat tells."""

    st_ino: int
    st_mode: int
    st_size: int
    st_uid: int = UID
    st_dev: int = 1
    st_nlink: int = 1


_FOLDER = Status(1, stat.S_IFDIR | 0o700, 0)


class Inode:
    """A file: its bytes as programs see them, and as they are on the platter."""

    __slots__ = ("data", "durable", "number")

    def __init__(self, number: int, data: bytes = b"", *, durable: bool = False) -> None:
        self.number, self.data = number, data
        self.durable = data if durable else b""

    def variants(self) -> list[bytes]:
        """What a power loss may leave of it."""
        if self.durable == self.data:
            return [self.data]
        return [self.durable, self.data[: len(self.data) // 2], self.data]


class Directory:
    """The one directory of records. `keeps_everything`: no power loss is to come, so nothing is noted."""

    def __init__(self, names: dict[str, bytes], *, keeps_everything: bool) -> None:
        self.keeps_everything = keeps_everything
        self.count = 1
        self.names: dict[str, Inode] = {}
        for name, data in names.items():
            self.names[name] = self.make(data, durable=True)
        self.durable_names = dict(self.names)
        self.pending: list[tuple[str, str, Inode]] = []
        self.owner: Proc | None = None
        self.signature: Any = None
        self.may_be: list[dict[str, bytes]] | None = None

    def make(self, data: bytes = b"", *, durable: bool = False) -> Inode:
        self.count += 1
        return Inode(self.count, data, durable=durable)

    def note(self, what: str, name: str, inode: Inode) -> None:
        self.changed()
        if not self.keeps_everything:
            self.pending.append((what, name, inode))

    def changed(self) -> None:
        self.signature = self.may_be = None

    def settle(self) -> None:
        """fsync of the directory."""
        self.durable_names = dict(self.names)
        self.pending.clear()
        self.changed()

    def sign(self) -> Any:
        """All of it that matters, hashable."""
        if self.signature is None:
            now = tuple(sorted((n, i.data) for n, i in self.names.items()))
            late: Any = ()
            if not self.keeps_everything:
                durable = tuple(sorted((n, i.data, i.durable) for n, i in self.durable_names.items()))
                late = (durable, tuple((w, n, i.data, i.durable) for w, n, i in self.pending))
            self.signature = hash((now, late))
        return self.signature

    def outcomes(self) -> list[dict[str, bytes]]:
        """Each directory that a power loss may leave now, without repetition."""
        if self.may_be is not None:
            return self.may_be
        found: dict[tuple[tuple[str, bytes], ...], dict[str, bytes]] = {}
        names = dict(self.durable_names)
        self._add(found, names)
        for what, name, inode in self.pending:
            if what == "link":
                names[name] = inode
            elif what == "unlink":
                names.pop(name, None)
            else:
                old = next(n for n, i in names.items() if i is inode)
                del names[old]
                names[name] = inode
            self._add(found, names)
        self.may_be = list(found.values())
        return self.may_be

    @staticmethod
    def _add(found: dict[Any, dict[str, bytes]], names: dict[str, Inode]) -> None:
        variants: list[dict[str, bytes]] = [{}]
        for name, inode in names.items():
            variants = [{**one, name: data} for one in variants for data in inode.variants()]
        for one in variants:
            found.setdefault(tuple(sorted(one.items())), one)


class SimulatedOs:
    """What `store` calls `os`. Each process has descriptors of its own; `world` is set by the machine."""

    O_RDONLY, O_WRONLY, O_CREAT, O_EXCL = os.O_RDONLY, os.O_WRONLY, os.O_CREAT, os.O_EXCL
    O_DIRECTORY, O_NOFOLLOW, O_CLOEXEC, O_NONBLOCK = (
        os.O_DIRECTORY,
        os.O_NOFOLLOW,
        os.O_CLOEXEC,
        os.O_NONBLOCK,
    )

    class path:
        join, dirname, normpath = posixpath.join, posixpath.dirname, posixpath.normpath

        @staticmethod
        def samestat(one: Status, other: Status) -> bool:
            return one.st_ino == other.st_ino

    def __init__(self) -> None:
        self.world: World

    @property
    def _proc(self) -> Proc:
        proc = self.world.current
        assert proc is not None
        return proc

    # looking

    def geteuid(self) -> int:
        return UID

    def stat(self, name: str, *, dir_fd: int, follow_symlinks: bool) -> Status:
        inode = self.world.disk.names.get(name)
        if inode is None:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", name)
        return Status(inode.number, _FILE_MODE, len(inode.data))

    def fstat(self, fd: int) -> Status:
        inode = self._proc.fds.get(fd)
        if inode is None:
            raise OSError(errno.EBADF, "Bad file descriptor")
        return _FOLDER if inode == "." else Status(inode.number, _FILE_MODE, len(inode.data))

    def listdir(self, path: str) -> list[str]:
        return [str(fd) for fd in self._proc.fds]

    def read(self, fd: int, size: int) -> bytes:
        data: bytes = self._proc.fds[fd].data[:size]
        self._proc.saw(data)
        return data

    # opening

    def open(self, name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        proc, disk = self._proc, self.world.disk
        if flags & os.O_DIRECTORY:
            return proc.open(".")
        if flags & os.O_CREAT:
            if name.endswith(".new"):
                self.world.point_of_writing()
            if name in disk.names:
                if flags & os.O_EXCL:
                    raise FileExistsError(errno.EEXIST, "File exists", name)
            else:
                self.world.point_of_crash(f"create {name}")
                disk.names[name] = inode = disk.make()
                disk.note("link", name, inode)
        elif disk.owner is not proc:
            proc.wait("load")
            disk = self.world.disk
        if name not in disk.names:
            proc.saw("none")
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", name)
        return proc.open(disk.names[name])

    def close(self, fd: int) -> None:
        self._proc.fds.pop(fd, None)

    # changing

    def mkdir(self, path: str, mode: int) -> None:
        raise FileExistsError(errno.EEXIST, "File exists", path)

    def chmod(self, path: str, mode: int, *, dir_fd: int | None = None) -> None:
        pass

    def utime(self, file: int, times: tuple[int, int]) -> None:
        pass

    def makedirs(self, path: str, mode: int, exist_ok: bool) -> None:
        pass

    def write(self, fd: int, data: bytes) -> int:
        self.world.point_of_crash("write")
        self.world.disk.changed()
        inode = self._proc.fds[fd]
        inode.data += bytes(data)
        if self.world.disk.keeps_everything:
            inode.durable = inode.data
        return len(data)

    def fsync(self, fd: int) -> None:
        self.world.point_of_crash("fsync")
        inode = self._proc.fds[fd]
        if inode == ".":
            self.world.disk.settle()
        else:
            inode.durable = inode.data
            self.world.disk.changed()

    def rename(self, old: str, new: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        self.world.point_of_crash(f"rename to {new}")
        names = self.world.disk.names
        if old not in names:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", old)
        names[new] = names.pop(old)
        self.world.disk.note("rename", new, names[new])

    def unlink(self, name: str, *, dir_fd: int) -> None:
        disk = self.world.disk
        if name not in disk.names:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", name)
        self.world.point_of_crash(f"unlink {name}")
        if name in disk.names:
            disk.note("unlink", name, disk.names.pop(name))

    def urandom(self, size: int) -> bytes:
        self.world.randoms += 1
        return self.world.randoms.to_bytes(size, "big")


class SimulatedTime:
    """What `store` calls `time`."""

    def __init__(self) -> None:
        self.world: World

    def monotonic(self) -> float:
        return self.world.now

    def gmtime(self) -> None:
        return None

    def strftime(self, form: str, moment: None) -> str:
        return "20261130T000000Z"


class SimulatedLock:
    """What `store` calls `FileLock`: the kernel's lock on one file, which ends with its owner."""

    world: World

    def __init__(self, path: str, **options: Any) -> None:
        self._path = path
        self._fd = -1

    def acquire(self, timeout: float, **options: Any) -> None:
        world = self.world
        proc = world.current
        assert proc is not None
        disk = world.disk
        is_free = proc.wait("lock", ready=lambda: disk.owner is None, timer=world.now + timeout)
        if not is_free:
            raise Timeout(self._path)
        disk.owner = proc
        name = self._path.rpartition("/")[2]
        if name not in disk.names:  # the library makes it
            disk.names[name] = disk.make(durable=True)
            disk.note("link", name, disk.names[name])
        self._fd = proc.open(disk.names[name])

    def release(self) -> None:
        world = self.world
        proc = world.current
        if proc is not None and world.disk.owner is proc:
            proc.fds.pop(self._fd, None)
            world.disk.owner = None
            if not proc.is_dead:
                world.watch.has_written(proc)


class QuickStore:
    """The store's two verbs as one step each, for worlds in which nothing can happen inside of them.

    What the real store does under crashes, frozen owners of its lock and power losses is tried in
    the worlds that have such. This one saves two thirds of the time of the others.
    """

    def __init__(self, proc: Proc, empty: Record) -> None:
        self._proc, self._empty = proc, empty
        self._name, self._flag = names.record(empty.resource), names.flag(empty.resource)

    def load(self) -> Record:
        self._proc.wait("load")
        return self._read()

    def update(self, change: Change, timeout: float) -> Record:
        proc = self._proc
        proc.wait("lock")
        before = self._read()
        after = change(before)
        if after is not None and after != before:
            disk = proc.world.disk
            disk.names[self._name].data = disk.names[self._name].durable = store.encode(after).encode()
            if after.is_quiet:
                disk.names.pop(self._flag, None)
            elif self._flag not in disk.names:
                disk.names[self._flag] = disk.make(durable=True)
            disk.changed()
        proc.world.watch.has_written(proc)
        return before if after is None else after

    def _read(self) -> Record:
        inode = self._proc.world.disk.names.get(self._name)
        if inode is None:
            return self._empty
        self._proc.saw(inode.data)
        return store.decode(inode.data.decode())

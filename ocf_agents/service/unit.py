# SPDX-License-Identifier: Apache-2.0
"""Units of systemd, as far as files tell: their names, their files, who runs in which.

A monitor loads this module. What only systemd itself knows is asked in `systemctl`.
"""

from __future__ import annotations

import os

from ocf_agents.ocf.parameters import Type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ocf_agents.ocf.parameters import Parameter

SUFFIX = ".service"
OTHER_SUFFIXES = (
    ".automount",
    ".device",
    ".mount",
    ".path",
    ".scope",
    ".slice",
    ".socket",
    ".swap",
    ".target",
    ".timer",
)
LONGEST_NAME = 255
PUNCTUATION = ":-_.\\"
FOLDERS = (
    "/etc/systemd/system",
    "/run/systemd/system",
    "/run/systemd/transient",
    "/run/systemd/generator",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
    "/run/systemd/generator.late",
)
RUNTIME = "/run/systemd/system"
STATES = "/run/systemd/units"
PROGRAMS = ("/usr/bin/systemctl", "/bin/systemctl")
MASK = "/dev/null"
# What is started by hand, by a schedule or by the cluster's agents runs in these units of others.
SHARED = ("atd", "cron", "crond", "pacemaker", "pacemaker_remote", "ssh", "sshd")


class _UnitName(Type):
    """The name of a service's unit, with its suffix whether it was given or not (case 148)."""

    def read(self, text: str, parameter: Parameter) -> str:
        return full_name(text)

    def expected(self, parameter: Parameter) -> str:
        return "the name of a service's unit, such as nova-compute or nova-compute@1.service"


UnitName = _UnitName()


def full_name(text: str) -> str:
    """`x`, `x.service` and ` x ` are the same unit; a template needs its instance. Raises ValueError."""
    name = text.strip()
    if name.endswith(SUFFIX):
        name = name[: -len(SUFFIX)]
    prefix, at, instance = name.partition("@")
    letters = prefix + instance.replace("@", "")
    is_plain = letters.isascii() and not letters.strip(PUNCTUATION + _ALPHANUMERIC)
    is_other = name.endswith(OTHER_SUFFIXES)
    if not prefix or (at and not instance) or not is_plain or is_other or len(name + SUFFIX) > LONGEST_NAME:
        raise ValueError(text)
    return name + SUFFIX


_ALPHANUMERIC = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


class Units:
    """The units of this host, or of another root directory. programs: where systemctl may be."""

    __slots__ = ("programs", "root")

    def __init__(self, root: str = "", programs: Sequence[str] = PROGRAMS) -> None:
        self.root = root
        self.programs = tuple(programs)

    def is_booted(self) -> bool:
        """True where systemd runs as PID 1 (sd_booted(3))."""
        return os.path.isdir(self.root + RUNTIME)

    def find(self, names: Iterable[str]) -> str | None:
        """The first of these units that has a file here and is not masked, by the file's own name."""
        for name in names:
            path = self.file(name)
            if path is not None and not _is_mask(path):
                return _real_name(name, path)
        return None

    def file(self, name: str) -> str | None:
        """The file that systemd would read for the unit; that of its template for an instance."""
        prefix, at, _ = name.partition("@")
        for known in (name, f"{prefix}@{SUFFIX}") if at else (name,):
            for folder in FOLDERS:
                path = f"{self.root}{folder}/{known}"
                if os.path.lexists(path):
                    return path
        return None

    def drop_in(self, name: str) -> str:
        """The file with which the cluster's part of the unit is said; gone with the next boot."""
        return f"{self.root}{RUNTIME}/{name}.d/90-ocf-agents.conf"

    def tells_runs(self) -> bool:
        """Whether systemd leaves the ids of units' runs in files (version 236 and later)."""
        return os.path.isdir(self.root + STATES)

    def run_id(self, name: str) -> str | None:
        """The invocation id of the unit's present run; None while it is inactive or failed.

        systemd keeps it in a link for its own journal, from the start of each run to its end.
        """
        try:
            return os.readlink(f"{self.root}{STATES}/invocation:{name}")
        except OSError:
            return None


def unit_of(pid: int | str) -> str:
    """The service's unit whose control group the process is in; empty for none.

    The innermost one counts: a user's units are below the unit of his systemd.
    """
    try:
        descriptor = os.open(f"/proc/{pid}/cgroup", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return _unit_in(os.read(descriptor, 16384).decode("utf-8", "surrogateescape"))
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def is_of_another(pid: int, name: str) -> bool:
    """True when the process runs in a service's unit that is neither this one nor the agent's own."""
    unit = unit_of(pid)
    if unit in ("", name) or unit.partition("@")[0].partition(".")[0] in SHARED:
        return False
    return unit != unit_of("self")


def _unit_in(text: str) -> str:
    """Lines are `number:controllers:path`; systemd's are those of `name=systemd` and of version 2."""
    found = ""
    for line in text.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers in ("", "name=systemd"):
            found = next((part for part in reversed(path.split("/")) if part.endswith(SUFFIX)), found)
    return found


def _is_mask(path: str) -> bool:
    """A mask is a link to /dev/null, or an empty file."""
    try:
        return os.path.realpath(path) == MASK or os.stat(path).st_size == 0
    except OSError:
        return False


def _real_name(name: str, path: str) -> str:
    """An alias is a link to the file of the unit that systemd knows."""
    if "@" in name or not os.path.islink(path):
        return name
    real = os.path.basename(os.path.realpath(path))
    return real if real.endswith(SUFFIX) and "@" not in real else name

# SPDX-License-Identifier: Apache-2.0
"""What this host itself has that would bite: the unit, the directories, the libraries, other tools."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from ocf_agents.actions.advice import GRACEFUL_SHUTDOWN, MARGIN
from ocf_agents.guard import names
from ocf_agents.guard.store import machine_id
from ocf_agents.ocf.errors import OcfError
from ocf_agents.openstack import reporting
from ocf_agents.openstack.cloud import CloudSettings
from ocf_agents.openstack.nova_conf import BadConfiguration, options_of_section
from ocf_agents.operator import author, finding, installed, status
from ocf_agents.operator.cib import Operation
from ocf_agents.operator.doctor.cluster import EVACUATION
from ocf_agents.operator.doctor.finding import Finding, ok, problem, warning
from ocf_agents.operator.look import Look, Memory
from ocf_agents.operator.resource import Resource
from ocf_agents.operator.texts import clean
from ocf_agents.operator.trouble import Unusable
from ocf_agents.service.proc import ProcTable
from ocf_agents.service.supervisor import GONE
from ocf_agents.service.systemctl import NoAnswer, Systemctl

VOLATILE = ("tmpfs", "ramfs")
LEAST_FREE = 1 << 20
READERS = 0o037
PROGRAMS = {
    "masakari-hostmonitor": "Masakari",
    "masakari-processmonitor": "Masakari",
    "masakari-engine": "Masakari",
    "instanceha": "instanceha",
    "instanceha.py": "instanceha",
    "fence_compute": "fence_compute",
}
DEEP = 10
MAY_GO = "the cluster's log has why; it may be removed"


def of_installation(resource: Resource) -> Iterator[Finding]:
    """The agent's file, and what its own interpreter finds."""
    found = installed.of_agent(resource.agent.name)
    if not found:
        text = f"{resource.agent.name} is not in {' or '.join(installed.ROOTS)}"
        yield problem("agent", text, "ocf-agents list tells what is installed; install it on every node")
        return
    deep = [one for one in _operations(resource) if one.level >= DEEP]
    for one in found:
        try:
            absent = installed.missing(one.path, ["openstack", "filelock", *(["amqp"] if deep else [])])
        except installed.CannotAsk as error:
            yield problem("agent", f"{one.path}: {clean(str(error))}", "mend the first line of the agent")
            continue
        for module in absent:
            why = " (a monitor at level 10 is configured)" if module == "amqp" else ""
            package = {"openstack": "openstacksdk"}.get(module, module)
            mend = f"install python3-{package} for the interpreter of {one.path}"
            yield problem("library", f"the Python module {module} is missing{why}", mend)
        if not absent:
            yield ok("agent", f"{one.path}, with its libraries")


class Times(NamedTuple):
    """Nova's own times, as configured: seconds of its graceful shutdown, and what contradicts itself."""

    graceful: float
    trouble: str = ""


def times_of(resource: Resource) -> Times:
    """Read as Nova would read them."""
    call, service = resource.call(), resource.service
    try:
        options = options_of_section("DEFAULT", service.arguments(call.values), service.home(call))
        problem = reporting.from_options(options).contradiction()
        graceful = reporting.seconds("graceful_shutdown_timeout", options, GRACEFUL_SHUTDOWN)
    except (BadConfiguration, OcfError) as error:
        return Times(GRACEFUL_SHUTDOWN, str(error))
    return Times(graceful, f"in Nova's configuration {problem}" if problem else "")


def of_times(times: Times) -> Iterator[Finding]:
    """Contradictions in Nova's configuration, and a shutdown without end."""
    if times.trouble:
        yield warning("nova.conf", clean(times.trouble), "mend it there")
    if times.graceful <= 0:
        text = (
            "graceful_shutdown_timeout is 0: it waits without end, and a stop kills it when its time is over"
        )
        yield warning("nova.conf", text, "give some seconds there")


def of_service(resource: Resource, times: Times) -> Iterator[Finding]:
    """What runs the service: is it there, and does anything else start or kill it?"""
    call = resource.call("validate-all")
    try:
        call.values.check()
        resource.service.supervisor(call, is_lenient=False).require_installed()
    except OcfError as error:
        yield problem("service", clean(error.reason), "mend that: each start fails with it")
    units = resource.service.units
    try:
        wanted = resource.service.unit(call, is_lenient=True)
    except OcfError:
        wanted = None
    found = wanted or (units.find(resource.service.unit_names) if units.is_booted() else None)
    if found is None:
        return
    try:
        state = Systemctl(call.deadline, units.programs).show(found)
    except NoAnswer as silence:
        yield warning("unit", f"systemd does not answer: {clean(str(silence))}", "look at systemd first")
        return
    if state.is_at_boot:
        text = f"{found} starts at boot, before the cluster can tell"
        yield problem("unit", text, f"systemctl disable {found}")
    if state.restart not in ("", "no") and not os.path.exists(units.drop_in(found)):
        text = f"{found} has Restart={state.restart}: outside of the cluster systemd restarts it"
        yield warning("unit", text, f"systemctl edit {found}: [Service] Restart=no")
    if wanted and state.stop_seconds is not None and times.graceful >= state.stop_seconds:
        patience, needed = f"{state.stop_seconds:g}", f"{times.graceful:g} s"
        text = f"TimeoutStopSec={patience} of {found}, Nova's graceful shutdown may take {needed}"
        mend = f"systemctl edit {found}: [Service] TimeoutStopSec={times.graceful + MARGIN:g}"
        yield warning("unit", f"{text}: systemd kills it in that", mend)
    if not state.is_at_boot:
        yield ok("unit", f"{found} does not start at boot")


def of_name(resource: Resource) -> Iterator[Finding]:
    """Whether the next start is for another host than the record: a stop goes by the record."""
    recorded = resource.recorded_host
    try:
        configured = resource.next_host()
    except Unusable as error:
        yield problem(
            "host", clean(error.text), "each start fails with it: mend that, or set the parameter host"
        )
        return
    if recorded and recorded != configured:
        text = f"the record is for {clean(recorded)}, the next start is for {clean(configured)}"
        stays = f"{clean(recorded)} stays in Nova as it is: enable it, or delete its service"
        mend = f"if that is meant: after it, {stays}"
        yield warning("host", text, mend)
    else:
        yield ok("host", clean(configured))


def of_state_dir(resource: Resource) -> Iterator[Finding]:
    """The records' directory: whose, how open, and whether it survives a reboot."""
    path = resource.state_dir
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        yield ok("state_dir", f"{path} will be made by the first start")
        return
    except OSError as error:
        yield problem("state_dir", f"{path}: {error.strerror}", "run this as root, or mend the path")
        return
    if not stat.S_ISDIR(found.st_mode):
        yield problem("state_dir", f"{path} is no directory", f"move it away: mv {path} {path}.old")
        return
    if found.st_uid not in (0, os.geteuid()) or found.st_mode & 0o022:
        text = f"{path} belongs to uid {found.st_uid}, mode {found.st_mode & 0o777:04o}: the agent refuses it"
        yield problem("state_dir", text, f"chown root: {path} && chmod 0700 {path}")
        return
    if _file_system(path) in VOLATILE:
        text = f"{path} is in memory: after a reboot nothing tells who disabled the host but its reason"
        yield problem("state_dir", text, "set state_dir to a directory on a disk")
    yield from _of_disk(path)
    pattern = os.path.join(glob.escape(path), glob.escape(names.record(resource.name)) + ".bad-*")
    for bad in sorted(glob.glob(pattern)):
        yield warning("record", f"{clean(bad)} was set aside: {_why_aside(resource, bad)}", MAY_GO)
    yield ok("state_dir", path)


def _why_aside(resource: Resource, path: str) -> str:
    """Whose it is, where that is somebody else; the start that set it aside told the rest."""
    found = finding.whose(path)
    if found is not None and found.instance != resource.name:
        return f"it is of resource {clean(found.instance)!r}"
    if found is not None and found.machine_id != machine_id():
        return f"it is of another machine, {clean(found.machine_id)!r}, and of host {clean(found.host)!r}"
    if found is not None and found.host != finding.host_or_none(resource):
        return f"it is of host {clean(found.host)!r}"
    return "it could not be used"


def _of_disk(path: str) -> Iterator[Finding]:
    try:
        found = os.statvfs(path)
    except OSError:
        return
    if found.f_flag & os.ST_RDONLY:
        text = f"the file system of {path} is read-only: each start fails"
        yield problem("state_dir", text, "look into the kernel's log for why, mend that, and mount it again")
    elif found.f_bavail * found.f_frsize < LEAST_FREE:
        yield problem("state_dir", f"the disk of {path} is full: each start fails", "make room there")
    elif found.f_files and not found.f_favail:
        text = f"the file system of {path} has no inodes left: each start fails"
        yield problem("state_dir", text, "remove files there")


def of_clouds_file(settings: CloudSettings) -> Iterator[Finding]:
    """Who can read the secret, and which keys are slips."""
    if not settings.cloud:
        return
    path = settings.clouds_file
    for one in (path, os.path.join(os.path.dirname(path), "secure.yaml")):
        try:
            found = os.stat(one)
        except OSError:
            continue  # the survey tells of one that is missing
        if found.st_mode & READERS or found.st_uid not in (0, os.geteuid()):
            text = f"{one} holds a secret; it belongs to uid {found.st_uid}, mode {found.st_mode & 0o777:04o}"
            yield warning("secret", text, f"chown root: {one} && chmod 0600 {one}")
        else:
            yield ok("secret", f"{one} is closed to others")
    for line in settings.file.strays() if settings.file else ():
        yield warning("clouds.yaml", clean(line), "mend that key: as it is, it says nothing to anybody")


def of_programs(table: ProcTable | None = None) -> Iterator[Finding]:
    """Programs on this host that read the row in another way than we mean it."""
    table = table or ProcTable()
    found = {name for pid in table.pids() for name in _programs_of(table.argv(pid))}
    for name in sorted(found):
        yield warning("evacuator", f"{name} runs here; it may read a disabled host otherwise", EVACUATION)


def of_record(memory: Memory) -> Iterator[Finding]:
    """A record that cannot be read, or that is none."""
    if memory.record is None:
        yield problem("record", clean(memory.text), "run this as root; else mend the path that is named")
    for note in memory.notes:
        mend = "the next start or stop sets it aside and begins anew; the reason in Nova tells whose it is"
        yield warning("record", clean(note), mend)


def of_look(look: Look) -> Iterator[Finding]:
    """What is wrong just now."""
    running = look.service is not None and look.service.is_running
    who = status.author_of(look)
    record, memory = look.record, look.memory
    if running and who is not None and who.kind == author.AGENT and memory and not memory.is_helped:
        mend = "the next monitor sends a helper; if none comes, start the resource again (cleanup)"
        yield problem(
            "now", "the service runs, the agent's own disable is in effect, nobody works on it", mend
        )
    if look.service is not None and look.service.state == GONE and status.is_given_up(look):
        text = "the service is stopped, no helper is at work any more, and the row is still enabled"
        yield problem("now", text, _way_to_disable(clean(look.target.name)))
    if running and who is not None and who.kind not in (author.NOBODY, author.AGENT):
        yield warning("now", f"the service runs and the host is disabled by {who.text}", _way_out(look, who))
    if look.row is not None and look.row.forced_down:
        mend = f"once it is safe: openstack compute service set --up {_service(look)}"
        yield warning("now", "the host is forced down in Nova: it gets no instances", mend)
    if (
        record
        and record.reconciler
        and record.reconciler.is_overdue(look.now)
        and memory
        and memory.is_helped
    ):
        yield warning(
            "helper", f"pid {record.reconciler.process.pid} is overdue", "the next monitor replaces it"
        )


def of_remains(look: Look) -> Iterator[Finding]:
    """What a resource that is no more has left in its row, which nobody takes back now."""
    who = status.author_of(look)
    if who is not None and who.kind == author.AGENT:
        mend = "ocf-agents adopt, if the resource was renamed; else, where the host is well:"
        text = f"{clean(look.target.host)} is disabled by {who.text}: nobody enables it any more"
        yield problem("row", text, f"{mend} openstack compute service set --enable {_service(look)}")
    elif look.row is not None:
        yield ok("row", status.row_text(look))


def _way_to_disable(name: str) -> str:
    again = f"pcs resource enable {name}, and disable it again"
    return f"ocf-agents hold {name} --reason ...; or mend what ocf-agents history names, then {again}"


def _way_out(look: Look, who: author.Author) -> str:
    if who.kind == author.HELD:
        return f"ocf-agents release {clean(look.target.name)}, when the maintenance is over"
    return f"if it may go: openstack compute service set --enable {_service(look)}"


def _service(look: Look) -> str:
    """As the openstack command names it."""
    return f"{clean(look.target.host)} {look.target.via.service.row}"


def _operations(resource: Resource) -> tuple[Operation, ...]:
    return resource.configured.operations if resource.configured else ()


def _programs_of(argv: tuple[str, ...]) -> list[str]:
    """A program's name, or its script's: behind the interpreter's options (`python3 -tt /usr/sbin/...`)."""
    scripts = [word for word in argv[1:] if not word.startswith("-")]
    words = {os.path.basename(word) for word in [*argv[:1], *scripts[:1]]}
    return [name for word, name in PROGRAMS.items() if word in words]


def _file_system(path: str) -> str:
    """The type of the file system that a path is on; empty where /proc does not tell."""
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as file:
            mounts = [line.split()[1:3] for line in file]
    except OSError:
        return ""
    real = os.path.realpath(path)
    best = ("", "")
    for place, kind in mounts:
        is_above = place in ("/", real) or real.startswith(place + "/")
        if is_above and len(place) >= len(best[0]):
            best = (place, kind)
    return best[1]

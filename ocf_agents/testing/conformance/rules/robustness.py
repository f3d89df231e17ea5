# SPDX-License-Identifier: Apache-2.0
"""Actions that are killed or run at once, resources that hang, children that keep the caller waiting."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ocf_agents.testing.conformance.rule import Failed, Group, NotApplicable, ended, expect
from ocf_agents.testing.conformance.runner import Bystander, Process, Ran
from ocf_agents.testing.conformance.subject import ACTIVE, Subject
from ocf_agents.testing.conformance.trail import Trail

GROUP = Group("robustness")
MOMENTS = (0.0, 0.3, 0.6, 0.9)
"""When an action is killed: parts of the time that it took undisturbed."""


@GROUP.rule(
    "outputs-closed",
    "When start, monitor and stop have ended, no child has their outputs",
    "shells, ocf-tester and pcs wait for the end of the output; case 123",
)
def check_outputs_closed(subject: Subject) -> None:
    subject.ensure_stopped()
    for action in ("start", "monitor", "stop"):
        if subject.run(action).is_open:
            raise Failed(
                f"a child of {action} keeps its stdout or stderr; expected: closed when {action} ends"
            )


@GROUP.rule(
    "killed-start",
    "Whenever a start is killed, a stop then returns 0, a monitor 7, and it starts again",
    "Pacemaker kills the process group at the timeout, and then stops; cases 28 and 72",
)
def check_killed_start(subject: Subject) -> None:
    subject.ensure_stopped()
    whole = undisturbed(subject, "start")
    for part in MOMENTS:
        subject.ensure_stopped()
        before = subject.processes()
        subject.run("start", kill_after=part * whole)
        when = f"after a start that was killed when {part:.0%} of its time were over"
        recover(subject, before, when)
    expect(subject.run("start"), "start after starts that were killed")


@GROUP.rule(
    "killed-stop",
    "Whenever a stop is killed, the next one returns 0, and a monitor 7",
    "Pacemaker kills the process group at the timeout; an operator stops again",
)
def check_killed_stop(subject: Subject) -> None:
    subject.ensure_started()
    whole = undisturbed(subject, "stop")
    before = subject.processes()
    for part in MOMENTS:
        subject.ensure_started()
        subject.run("stop", kill_after=part * whole)
        recover(subject, before, f"after a stop that was killed when {part:.0%} of its time were over")


def undisturbed(subject: Subject, action: str) -> float:
    """How long it takes."""
    ran = subject.run(action)
    if ran.code != 0:
        raise NotApplicable(f"{action} {ended(ran)}")
    return ran.seconds


def recover(subject: Subject, before: list[Process], when: str) -> None:
    expect(subject.run("stop"), f"stop {when}")
    expect(subject.monitor(), f"a monitor {when} and a stop", [7])
    left = subject.settle(before)
    if left:
        raise Failed(f"{when} and a stop {left[0]} lives; expected: none")


@GROUP.rule(
    "double-start",
    "Two starts at once: one of them returns 0, the resource runs, and a stop ends all of it",
    "the executor may be restarted while an action runs; an operator may use pcs debug-start; case 128",
)
def check_double_start(subject: Subject) -> None:
    subject.ensure_stopped()
    before = subject.processes()
    expect_one(subject.run_twice_at_once("start"), "start")
    expect(subject.monitor(), "a monitor after two starts at once")
    recover(subject, before, "after two starts at once")


@GROUP.rule(
    "double-stop",
    "Two stops at once: one of them returns 0, and the resource is stopped",
    "the executor may be restarted while an action runs; an operator may use pcs debug-stop",
)
def check_double_stop(subject: Subject) -> None:
    subject.ensure_started()
    expect_one(subject.run_twice_at_once("stop"), "stop")
    expect(subject.monitor(), "a monitor after two stops at once", [7])


def expect_one(both: list[Ran], action: str) -> None:
    if all(ran.code != 0 for ran in both):
        raise Failed(f"two {action}s at once: one {ended(both[0])}, one {ended(both[1])}; expected: 0 of one")


@GROUP.rule(
    "frozen-stop",
    "stop ends a resource that does not react, inside its timeout",
    "OCF 1.1, stop: even by force; cases 27 and 97",
)
def check_frozen_stop(subject: Subject) -> None:
    subject.ensure_started()
    before = freeze(subject)
    ran = subject.run("stop")
    left = subject.outlives(before)
    subject.runner.signal([one.pid for one in left], signal.SIGCONT)
    expect(ran, "stop of a resource that does not react (SIGSTOP)")
    if left:
        raise Failed(
            f"stop of a resource that does not react returned 0, and {left[0]} lives; expected: none"
        )
    expect(subject.monitor(), "a monitor after that stop", [7])


@GROUP.rule(
    "deaf-stop",
    "stop ends a resource that only SIGKILL can end, inside its timeout",
    "OCF 1.1, stop: even by force; cases 27 and 97",
)
def check_deaf_stop(subject: Subject) -> None:
    subject.ensure_started()
    if not subject.daemons():
        raise NotApplicable("start leaves no process of its own")
    before = subject.processes()
    if not subject.runner.deafen([one.pid for one in before]):
        raise NotApplicable("this system does not allow to keep signals from a process (ptrace)")
    ran = subject.run("stop")
    left = subject.outlives(before)
    expect(ran, "stop of a resource that only SIGKILL ends")
    if left:
        raise Failed(
            f"stop of a resource that only SIGKILL ends returned 0, and {left[0]} lives; expected: none"
        )
    expect(subject.monitor(), "a monitor after that stop", [7])


@GROUP.rule(
    "frozen-monitor",
    "A monitor does not return 0 for a resource that does not react",
    "OCF 1.1, Exit status codes: 1 for a hung resource; case 80",
    strict=True,
)
def check_frozen_monitor(subject: Subject) -> None:
    subject.ensure_started()
    before = freeze(subject)
    ran = subject.monitor()
    subject.runner.signal([one.pid for one in before], signal.SIGCONT)
    if ran.code == 0:
        raise Failed("a monitor of a resource that does not react (SIGSTOP) returned 0; expected: 1")


def freeze(subject: Subject) -> list[Process]:
    """SIGSTOP to all that the agent has started. Raises NotApplicable if that is nothing."""
    if not subject.daemons():
        raise NotApplicable("start leaves no process of its own")
    before = subject.processes()
    subject.runner.signal([one.pid for one in before], signal.SIGSTOP)
    return before


STRANGER = "a pid file that names a process of somebody else"


@contextmanager
def mistaken(subject: Subject) -> Iterator[Bystander]:
    """The resource was killed, and the number of its process is now that of a bystander.

    Raises NotApplicable if no file holds that number. It is as after a crash or a reboot, when the kernel
    gives a number again.
    """
    subject.ensure_stopped()
    deeds = subject.run("start", trace="deeds").deeds or []
    subject.ensure_started()
    before = subject.processes()
    trail = Trail.of(subject, before, [Path(deed["file"]) for deed in deeds if "file" in deed])
    subject.runner.signal([one.pid for one in before], signal.SIGKILL)
    subject.settle()
    with subject.runner.bystander() as stranger:
        trail.lead_to(stranger.pid)
        yield stranger


@GROUP.rule(
    "stranger-monitor",
    f"A monitor does not believe {STRANGER}",
    "OCF 1.1, monitor; a number is given again after a crash or a reboot; cases 68 to 71",
)
def check_stranger_monitor(subject: Subject) -> None:
    with mistaken(subject) as stranger:
        for name, ran in (("probe", subject.probe()), ("monitor", subject.monitor())):
            if ran.code in ACTIVE:
                raise Failed(f"a {name} with {STRANGER} {ended(ran)}; expected: 7 or 1")
    complain_of_death(stranger, "a monitor")


@GROUP.rule(
    "stranger-stop",
    f"stop with {STRANGER} returns 0, and leaves that process alone",
    "OCF 1.1, stop; a number is given again after a crash or a reboot; cases 68 to 71",
)
def check_stranger_stop(subject: Subject) -> None:
    with mistaken(subject) as stranger:
        ran = subject.run("stop")
    complain_of_death(stranger, "stop")
    expect(ran, f"stop with {STRANGER}")
    expect(subject.monitor(), "a monitor after that stop", [7])


@GROUP.rule(
    "stranger-start",
    f"start with {STRANGER} starts the resource",
    "OCF 1.1, start: 0 when the resource runs; a number is given again; cases 68 to 71",
)
def check_stranger_start(subject: Subject) -> None:
    with mistaken(subject) as stranger:
        ran = subject.run("start")
        daemons = subject.daemons()
    complain_of_death(stranger, "start")
    expect(ran, f"start with {STRANGER}")
    if not daemons:
        raise Failed(f"start with {STRANGER} returned 0 and started nothing; expected: the resource runs")


def complain_of_death(stranger: Bystander, what: str) -> None:
    if not stranger.lived:
        raise Failed(f"{what} with {STRANGER} ended that process; expected: it lives on")

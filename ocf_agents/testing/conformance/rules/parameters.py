# SPDX-License-Identifier: Apache-2.0
"""Parameters that are right, wrong or missing: who says so, how; and a stop works all the same."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ocf_agents.testing.conformance.rule import Failed, Group, NotApplicable, expect, named, one_line
from ocf_agents.testing.conformance.runner import Ran
from ocf_agents.testing.conformance.subject import ACTIVE, Subject

GROUP = Group("parameters")
BAD_VALUES = {"integer": "not-a-number", "select": "no-such-option"}
REFUSED = (2, 6)
PREFIX = "ocf-exit-reason:"
OTHER_PREFIX = "another-prefix:"
LONGEST_REASON = 1000
PLACEHOLDER = re.compile(r"%[sd](?!\w)|%\(\w+\)[sd]|\{\w*\}|\$\{?\w+\}?|\$[(@*]")


def missing(subject: Subject) -> Iterator[tuple[str, dict[str, str]]]:
    """The given parameters, each time without one that is required."""
    for one in subject.document.parameters:
        if one.is_required and one.default is None:
            rest = {name: value for name, value in subject.parameters.items() if name != one.name}
            yield f"without the parameter {one.name}", rest


def wrong(subject: Subject) -> Iterator[tuple[str, dict[str, str]]]:
    """The given parameters, each time with one value that is no integer or none of the options."""
    for one in subject.document.parameters:
        if one.type in BAD_VALUES:
            value = BAD_VALUES[one.type]
            yield f"with {one.name}={value}", {**subject.parameters, one.name: value}


def required(subject: Subject) -> list[tuple[str, dict[str, str]]]:
    found = list(missing(subject))
    if not found:
        raise NotApplicable("no parameter is required")
    return found


def typed(subject: Subject) -> list[tuple[str, dict[str, str]]]:
    found = list(wrong(subject))
    if not found:
        raise NotApplicable("no parameter is an integer or has options")
    return found


def spoilt(subject: Subject) -> list[tuple[str, dict[str, str]]]:
    found = [*missing(subject), *wrong(subject)]
    if not found:
        raise NotApplicable("no parameter is required, an integer or has options")
    return found


@GROUP.rule("valid", "validate-all of good parameters returns 0", "OCF 1.1, validate-all; ocf-tester")
def check_valid(subject: Subject) -> None:
    subject.needs("validate-all")
    expect(subject.run("validate-all"), "validate-all")


@GROUP.rule(
    "missing",
    "validate-all without a required parameter returns 6 or 2",
    "OCF 1.1, Exit status codes: not configured, or bad arguments",
)
def check_missing(subject: Subject) -> None:
    subject.needs("validate-all")
    for what, parameters in required(subject):
        expect(subject.run("validate-all", parameters=parameters), f"validate-all {what}", REFUSED)


@GROUP.rule(
    "missing-start",
    "start without a required parameter fails, and starts nothing",
    "OCF 1.1, start: must return an error if the resource is not fully started",
)
def check_missing_start(subject: Subject) -> None:
    cases = required(subject)
    subject.ensure_stopped()
    before = subject.processes()
    for what, parameters in cases:
        ran = subject.run("start", parameters=parameters)
        left = subject.settle(before)
        if ran.code == 0:
            subject.run("stop", parameters=parameters)
            raise Failed(f"start {what} returned 0 (success); expected: an error")
        if left:
            raise Failed(f"start {what} failed, and {left[0]} lives; expected: none")


@GROUP.rule(
    "wrong",
    "validate-all with a value that does not fit the parameter's type returns 2 or 6",
    "OCF 1.1, Exit status codes: bad arguments, or not configured; case 96",
)
def check_wrong(subject: Subject) -> None:
    subject.needs("validate-all")
    for what, parameters in typed(subject):
        expect(subject.run("validate-all", parameters=parameters), f"validate-all {what}", REFUSED)


@GROUP.rule(
    "booleans",
    "A boolean takes any usual word in any case; validate-all refuses others",
    "resource-agents: ocf_is_true; cases 35 and 107",
    strict=True,
)
def check_booleans(subject: Subject) -> None:
    subject.needs("validate-all")
    names = [one.name for one in subject.document.parameters if one.type == "boolean"]
    if not names:
        raise NotApplicable("no parameter is a boolean")
    name = names[0]
    for word in ("True", "YES", "on", "1", "False", "no", "OFF", "0"):
        ran = subject.run("validate-all", parameters={**subject.parameters, name: word})
        expect(ran, f"validate-all with {name}={word}")
    ran = subject.run("validate-all", parameters={**subject.parameters, name: "perhaps"})
    expect(ran, f"validate-all with {name}=perhaps", REFUSED)


@GROUP.rule(
    "idle-validation",
    "validate-all changes nothing: the resource stays as it is, and no process is left",
    "OCF 1.1, validate-all: a check of the parameters; case 101",
)
def check_idle_validation(subject: Subject) -> None:
    subject.needs("validate-all")
    subject.ensure_stopped()
    before, files = subject.processes(), subject.places.files()
    subject.run("validate-all")
    left = subject.settle(before, 1.0)
    if left:
        raise Failed(f"validate-all left {left[0]}; expected: no process")
    changed = sorted(path for path, _, _ in subject.places.files() - files)
    if changed:
        raise Failed(f"validate-all wrote {changed[0]}; expected: no file")
    expect(subject.monitor(), "a monitor after validate-all", [7])


@GROUP.rule(
    "stop-stopped",
    "stop of a stopped resource returns 0, also with a parameter that is wrong or missing",
    "Pacemaker: a stop that fails means fencing; cases 29, 32 and 33",
)
def check_stop_stopped(subject: Subject) -> None:
    cases = spoilt(subject)
    subject.ensure_stopped()
    for what, parameters in cases:
        expect(subject.run("stop", parameters=parameters), f"stop {what}")


@GROUP.rule(
    "stop-honest",
    "stop of a running resource with a parameter that is wrong or missing never returns 0 while it runs on",
    "OCF 1.1, stop: must return an error if the resource is not fully stopped; cases 30 and 31",
)
def check_stop_honest(subject: Subject) -> None:
    for what, parameters in spoilt(subject):
        subject.ensure_started()
        ran = subject.run("stop", parameters=parameters)
        after = subject.monitor()
        if ran.code == 0 and after.code in ACTIVE:
            raise Failed(
                f"stop {what} returned 0 (success), and a monitor then {named(after.code)};"
                " expected: 7, or an error of stop"
            )


def refusals(subject: Subject, **changes: str) -> list[tuple[str, Ran]]:
    """What validate-all, or start where that is not advertised, says to bad parameters; only what failed."""
    action = "validate-all" if subject.advertises("validate-all") else "start"
    if action == "start":
        subject.ensure_stopped()
    ran = [(what, subject.run(action, parameters=given, changes=changes)) for what, given in spoilt(subject)]
    failed = [(f"{action} {what}", one) for what, one in ran if one.code != 0]
    if not failed:
        raise NotApplicable("nothing is refused")
    return failed


@GROUP.rule(
    "reason-form",
    "An exit reason is a line of its own on stderr, with something in it, on one line",
    "resource-agents and Pacemaker: ocf-exit-reason:; case 117",
)
def check_reason_form(subject: Subject) -> None:
    found = False
    for what, ran in refusals(subject):
        if PREFIX in ran.stdout:
            raise Failed(f"{what} writes its exit reason to stdout; expected: stderr")
        for line in ran.stderr.splitlines():
            if PREFIX not in line:
                continue
            found = True
            before, _, reason = line.partition(PREFIX)
            if before.strip() or not reason.strip():
                raise Failed(f"{what} says {one_line(line, 80)!r}; expected: a line `{PREFIX}REASON`")
            if len(reason) > LONGEST_REASON:
                raise Failed(
                    f"{what} gives a reason of {len(reason)} characters; expected: a line for people"
                )
    if not found:
        raise NotApplicable("no exit reason is given")


@GROUP.rule(
    "reason",
    "What is refused is refused with an exit reason",
    "resource-agents and Pacemaker: crm_mon shows it",
    strict=True,
)
def check_reason(subject: Subject) -> None:
    for what, ran in refusals(subject):
        if not ran.reason:
            raise Failed(
                f"{what} returned {named(ran.code)} without a reason; expected: `{PREFIX}REASON` on stderr"
            )


@GROUP.rule(
    "reason-filled",
    "An exit reason says what it is about: no placeholder was left in it, such as %s, {} or $NAME",
    "crm_mon shows it to people as it is",
)
def check_reason_filled(subject: Subject) -> None:
    found = [(what, ran.reason) for what, ran in refusals(subject) if ran.reason]
    if not found:
        raise NotApplicable("no exit reason is given")
    for what, reason in found:
        left = PLACEHOLDER.search(reason)
        if left:
            raise Failed(f"{what} says {one_line(reason, 120)!r}; expected: a value instead of {left[0]}")


@GROUP.rule(
    "valid-deep",
    "validate-all of good parameters returns 0 at each advertised level, and refuses bad ones there too",
    "OCF 1.1, validate-all and OCF_CHECK_LEVEL; Pacemaker's tools ask at level 0 and 10",
)
def check_valid_deep(subject: Subject) -> None:
    declared = [one for one in subject.document.actions if one.name == "validate-all"]
    levels = sorted({one.depth for one in declared} - {"", "0"})
    if not levels:
        raise NotApplicable("validate-all is not advertised for another level than 0")
    for level in levels:
        deep = {"OCF_CHECK_LEVEL": level}
        expect(subject.run("validate-all", changes=deep), f"validate-all at level {level}")
        for what, parameters in (*missing(subject), *wrong(subject)):
            ran = subject.run("validate-all", parameters=parameters, changes=deep)
            expect(ran, f"validate-all at level {level} {what}", REFUSED)


@GROUP.rule(
    "reason-prefix",
    "OCF_EXIT_REASON_PREFIX is obeyed",
    "Pacemaker sets it; resource-agents: ocf_exit_reason",
    strict=True,
)
def check_reason_prefix(subject: Subject) -> None:
    if not any(ran.reason for _, ran in refusals(subject)):
        raise NotApplicable("no exit reason is given")
    for what, ran in refusals(subject, OCF_EXIT_REASON_PREFIX=OTHER_PREFIX):
        if PREFIX in ran.stderr or OTHER_PREFIX not in ran.stderr:
            raise Failed(
                f"{what} gives no reason under OCF_EXIT_REASON_PREFIX={OTHER_PREFIX}; expected: that prefix"
            )

# SPDX-License-Identifier: Apache-2.0
"""What a parameter named like a secret holds is for nobody to see. So is what the caller says is one.

The value that was given for the parameter is looked for; where none was given, a made-up one is given to
all actions, whatever they then come to. It is looked for in all spellings that are as good as plain text.
Each program that an action begins is seen, however short its life, where the system allows it (ptrace).
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

from ocf_agents.testing.conformance.rule import Failed, Group, NotApplicable
from ocf_agents.testing.conformance.spelling import SHORTEST, spellings
from ocf_agents.testing.conformance.subject import Subject
from ocf_agents.testing.conformance.workplace import PREFIX

GROUP = Group("privacy")
ACTIONS = ("validate-all", "start", "monitor", "stop")
OPEN = stat.S_IRGRP | stat.S_IROTH
PUBLIC = ("/tmp", "/var/tmp", "/dev/shm", "/run")  # noqa: S108 (to be looked at)
"""Directories where programs leave files."""
LONGEST_FILE = 1 << 20


@dataclass(frozen=True)
class Trial:
    """One round of actions with secrets: by spelling whose it is and what it is called; where texts are."""

    secrets: dict[str, tuple[str, str]]
    output: str
    log: str
    seen: frozenset[str]
    files: dict[str, str]

    def named_in(self, text: str) -> tuple[str, str] | None:
        """The parameter whose secret is in a text, and how it is spelt."""
        return next((found for spelling, found in self.secrets.items() if spelling in text), None)


TRIALS: WeakKeyDictionary[Subject, Trial] = WeakKeyDictionary()


def trial(subject: Subject) -> Trial:
    """The round for this subject, run once. Raises NotApplicable if it has no secrets."""
    if subject not in TRIALS:
        TRIALS[subject] = attempt(subject)
    return TRIALS[subject]


def secrets_of(subject: Subject) -> dict[str, str]:
    """The secret parameters with the values to be looked for. Raises NotApplicable if there are none."""
    named = {one.name for one in subject.document.parameters if one.is_secret} | set(subject.settings.secrets)
    found = {name: subject.parameters.get(name) or f"canary-{name}-%s-4711" for name in sorted(named)}
    if not found:
        raise NotApplicable("no parameter is named like a secret; another one is with --secret NAME")
    long_enough = {name: value for name, value in found.items() if len(value) >= SHORTEST}
    if not long_enough:
        raise NotApplicable("the given secret is too short to be told from other text")
    return long_enough


def attempt(subject: Subject) -> Trial:
    values = secrets_of(subject)
    secrets = {text: (name, how) for name, value in values.items() for text, how in spellings(value).items()}
    subject.stop_somehow()
    before = subject.processes()
    given = {**subject.parameters, **values}
    begin = time.time()
    output = ""
    seen: set[str] = set()
    for action in ACTIONS:
        if action == "validate-all" and not subject.advertises(action):
            continue
        ran = subject.run(
            action, parameters=given, changes={"HA_debug": "1"}, needles=list(secrets), trace="programs"
        )
        output += ran.stdout + ran.stderr
        seen.update(ran.seen)
    files = open_files(subject, begin)
    subject.settle(before)
    return Trial(secrets, output, subject.places.logged(), frozenset(seen), files)


def open_files(subject: Subject, since: float) -> dict[str, str]:
    """What others may read in the private directories, but the logs; and in public ones, if it is new."""
    found = {}
    paths = [Path(name) for name, _, _ in subject.places.files()]
    for path in [*paths, *recent(since)]:
        with suppress(OSError):
            status = path.lstat()
            if stat.S_ISREG(status.st_mode) and status.st_mode & OPEN and status.st_size <= LONGEST_FILE:
                found[str(path)] = path.read_text("utf-8", "surrogateescape")
    return found


def recent(since: float) -> Iterator[Path]:
    """The files of our own user in public directories, and one level below, that have changed since."""
    for place in map(Path, PUBLIC):
        below = [path for path in contents(place) if not path.name.startswith(PREFIX)]
        for path in (*below, *(deeper for one in below for deeper in contents(one))):
            with suppress(OSError):
                status = path.lstat()
                if status.st_uid == os.geteuid() and status.st_ctime >= since:
                    yield path


def contents(directory: Path) -> list[Path]:
    """What lies in a directory, which is no link; nothing if it may not be read."""
    try:
        return [] if directory.is_symlink() else sorted(directory.iterdir())
    except OSError:
        return []


def complain(found: tuple[str, str] | None, where: str) -> None:
    if found is not None:
        name, how = found
        spelt = "" if how == "as it is" else f", {how}"
        raise Failed(f"the value of the parameter {name} is {where}{spelt}; expected: nowhere to be seen")


@GROUP.rule("output", "A secret is not in what actions print", "Pacemaker logs it; case 41")
def check_output(subject: Subject) -> None:
    found = trial(subject)
    complain(found.named_in(found.output), "in what an action prints")


@GROUP.rule("log", "A secret is not in the log, also with HA_debug=1", "case 41")
def check_log(subject: Subject) -> None:
    found = trial(subject)
    complain(found.named_in(found.log), "in the log")


@GROUP.rule(
    "arguments",
    "A secret is not among the arguments of a process, however short its life",
    "ps shows them to all; OCF 1.1, Parameter passing",
)
def check_arguments(subject: Subject) -> None:
    found = trial(subject)
    complain(next((whose for text, whose in found.secrets.items() if text in found.seen), None), "in ps")


@GROUP.rule(
    "files",
    "A secret is in no file that others may read",
    "OCF 1.1, Parameter passing: not for unprivileged users",
)
def check_files(subject: Subject) -> None:
    found = trial(subject)
    for path, text in found.files.items():
        complain(found.named_in(text), f"in {path}, which others may read")

# SPDX-License-Identifier: Apache-2.0
"""What a parameter named like a secret holds is for nobody to see.

The value that was given for the parameter is looked for; where none was given, a made-up one is given to
all actions, whatever they then come to.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from ocf_agents.testing.conformance.rule import Failed, Group, NotApplicable
from ocf_agents.testing.conformance.subject import Subject

GROUP = Group("privacy")
ACTIONS = ("validate-all", "start", "monitor", "stop")
SHORTEST_SECRET = 6
OPEN = stat.S_IRGRP | stat.S_IROTH


@dataclass(frozen=True)
class Trial:
    """One round of actions with secrets: by name of the parameter its value; and where texts came out."""

    secrets: dict[str, str]
    output: str
    log: str
    seen: frozenset[str]
    files: dict[str, str]

    def named_in(self, text: str) -> str | None:
        """The parameter whose secret is in a text."""
        return next((name for name, value in self.secrets.items() if value in text), None)


TRIALS: WeakKeyDictionary[Subject, Trial] = WeakKeyDictionary()


def trial(subject: Subject) -> Trial:
    """The round for this subject, run once. Raises NotApplicable if it has no secrets."""
    if subject not in TRIALS:
        TRIALS[subject] = attempt(subject)
    return TRIALS[subject]


def attempt(subject: Subject) -> Trial:
    secrets = {
        one.name: subject.parameters.get(one.name) or f"canary-{one.name}-%s-4711"
        for one in subject.document.parameters
        if one.is_secret
    }
    if not secrets:
        raise NotApplicable("no parameter is named like a secret")
    secrets = {name: value for name, value in secrets.items() if len(value) >= SHORTEST_SECRET}
    if not secrets:
        raise NotApplicable("the given secret is too short to be told from other text")
    subject.stop_somehow()
    before = subject.processes()
    given = {**subject.parameters, **secrets}
    output = ""
    seen: set[str] = set()
    for action in ACTIONS:
        if action == "validate-all" and not subject.advertises(action):
            continue
        ran = subject.run(action, parameters=given, changes={"HA_debug": "1"}, needles=list(secrets.values()))
        output += ran.stdout + ran.stderr
        seen.update(ran.seen)
    files = open_files(subject)
    subject.settle(before)
    return Trial(secrets, output, subject.places.logged(), frozenset(seen), files)


def open_files(subject: Subject) -> dict[str, str]:
    """What lies in the private directories for others to read, but the logs."""
    found = {}
    for name, _, _ in subject.places.files():
        path = subject.places.root / name
        if path.is_file() and not path.is_symlink() and path.stat().st_mode & OPEN:
            found[name] = path.read_text("utf-8", "surrogateescape")
    return found


def complain(name: str | None, where: str) -> None:
    if name is not None:
        raise Failed(f"the value of the parameter {name} is {where}; expected: nowhere to be seen")


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
    "A secret is not among the arguments of a process",
    "ps shows them to all; OCF 1.1, Parameter passing",
)
def check_arguments(subject: Subject) -> None:
    found = trial(subject)
    complain(next((name for name, value in found.secrets.items() if value in found.seen), None), "in ps")


@GROUP.rule(
    "files",
    "A secret is in no file that others may read",
    "OCF 1.1, Parameter passing: not for unprivileged users",
)
def check_files(subject: Subject) -> None:
    found = trial(subject)
    for path, text in found.files.items():
        complain(found.named_in(text), f"in {path}, which others may read")

# SPDX-License-Identifier: Apache-2.0
"""The agent's file: who may run it, what interprets it, how it is called."""

from __future__ import annotations

import os
import re
import stat

from ocf_agents.testing.conformance.rule import Failed, Group, NotApplicable
from ocf_agents.testing.conformance.subject import Subject

GROUP = Group("file", is_harmless=True)
HEAD_BYTES = 8192
ELF = b"\x7fELF"
LICENCE = re.compile(rb"SPDX-License-Identifier|licen[cs]e|copyright|GPL", re.I)


def head(subject: Subject) -> bytes:
    with subject.path.open("rb") as file:
        return file.read(HEAD_BYTES)


@GROUP.rule(
    "mode",
    "All may read and run the file; not all may write to it",
    "ocf-tester (mode 0755); case 178",
)
def check_mode(subject: Subject) -> None:
    mode = stat.S_IMODE(subject.path.stat().st_mode)
    if mode & 0o555 != 0o555:
        raise Failed(f"its mode is {mode:04o}; expected: 0755")
    if mode & 0o002:
        raise Failed(f"its mode is {mode:04o}: anybody may change what root runs; expected: 0755")


@GROUP.rule(
    "interpreter",
    "Its first line names an interpreter that is there, by its absolute path",
    "developer's guide; case 113",
)
def check_interpreter(subject: Subject) -> None:
    data = head(subject)
    if data.startswith(ELF):
        raise NotApplicable("it is a binary")
    first = data.partition(b"\n")[0]
    if not first.startswith(b"#!"):
        raise Failed("its first line does not begin with #!; expected: an interpreter")
    if first.endswith(b"\r"):
        raise Failed(
            "its first line ends with a carriage return, which becomes a part of the interpreter's name"
        )
    words = os.fsdecode(first[2:]).split()
    interpreter = words[0] if words else ""
    if os.path.basename(interpreter) == "env":
        raise Failed("its first line looks for the interpreter in PATH; expected: an absolute path")
    if not os.path.isabs(interpreter) or not os.access(interpreter, os.X_OK):
        raise Failed(f"its interpreter is {interpreter!r}; expected: an absolute path that can be run")


@GROUP.rule(
    "name",
    "Its name can stand in a configuration: letters, digits, dots, dashes, underscores; it is not hidden",
    "OCF 1.1, Paths; Pacemaker leaves out hidden files",
)
def check_name(subject: Subject) -> None:
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", subject.path.name):
        raise Failed(
            f"it is called {subject.path.name!r}; expected: letters, digits, dots, dashes, underscores"
        )


@GROUP.rule(
    "name-style", "Its name is in lower case, words joined by dashes", "developer's guide", strict=True
)
def check_name_style(subject: Subject) -> None:
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", subject.path.name):
        raise Failed(f"it is called {subject.path.name!r}; expected: lower case, words joined by dashes")


@GROUP.rule("licence", "It says under which licence it is", "developer's guide", strict=True)
def check_licence(subject: Subject) -> None:
    data = head(subject)
    if data.startswith(ELF):
        raise NotApplicable("it is a binary")
    if not LICENCE.search(data):
        raise Failed("its beginning names no licence; expected: a licence header")

# SPDX-License-Identifier: Apache-2.0
"""Why a command did not do what it was asked, and the exit code that says so."""

from __future__ import annotations

DONE = 0
WRONG = 1
USAGE = 2
NOT_FOUND = 3
UNUSABLE = 4
IN_DOUBT = 5
REFUSED = 6
INTERNAL = 70
INTERRUPTED = 130

MEANINGS = {
    DONE: "done, or nothing is wrong",
    WRONG: "doctor has found a problem, or demo did not come out as told",
    USAGE: "the command line is wrong: an option, a name, a value",
    NOT_FOUND: "there is no such resource, host, agent or history",
    UNUSABLE: "the cloud, the record or the cluster could not be read, or refused",
    IN_DOUBT: "a write was not answered, or may still be undone: look again",
    REFUSED: "not done: it would undo or overwrite somebody else's disable, or enable a host that is down",
    INTERNAL: "a fault of the command itself",
    INTERRUPTED: "interrupted",
}
"""Each exit code but those of `run`, which are the action's own."""


class Trouble(Exception):
    """`text` is one line that names what to do; `code` the exit code."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.text = text
        self.code = code


class BadInput(Trouble):
    """What was typed cannot be meant."""

    def __init__(self, text: str) -> None:
        super().__init__(text, USAGE)


class NotFound(Trouble):
    """What was asked for is not here."""

    def __init__(self, text: str) -> None:
        super().__init__(text, NOT_FOUND)


class Unusable(Trouble):
    """Something that is needed could not be read, or refuses."""

    def __init__(self, text: str) -> None:
        super().__init__(text, UNUSABLE)


class Refused(Trouble):
    """It could be done, and is not: it would harm what is somebody else's."""

    def __init__(self, text: str) -> None:
        super().__init__(text, REFUSED)


class InDoubt(Trouble):
    """It may have been done, or may still be undone."""

    def __init__(self, text: str) -> None:
        super().__init__(text, IN_DOUBT)

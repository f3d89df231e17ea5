# SPDX-License-Identifier: Apache-2.0
"""One exception per OCF exit code. Only `Agent.run` turns them into exit codes and text.

Which code (facts of the standard): 6 wrong on any node, 2 wrong on this node, 5 something is
missing here, 4 permission, 7 cleanly stopped, 1 everything else.
"""

from __future__ import annotations

from . import codes

SHOWN_VALUE_LENGTH = 40


class OcfError(Exception):
    """An action's result other than success: `code` is the exit code, `reason` one line for people.

    Without a reason nothing is said: `raise NotRunning` is a whole answer.
    """

    code = codes.OCF_ERR_GENERIC

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class GenericError(OcfError):
    """The action failed, or the resource does."""

    code = codes.OCF_ERR_GENERIC


class BadArguments(OcfError):
    """Something is wrong on this node only; Pacemaker tries another one."""

    code = codes.OCF_ERR_ARGS


class Unimplemented(OcfError):
    """The agent has no such action."""

    code = codes.OCF_ERR_UNIMPLEMENTED


class PermissionDenied(OcfError):
    """The agent may not do what the action needs."""

    code = codes.OCF_ERR_PERM


class NotInstalled(OcfError):
    """A program, a user or a file that the resource needs is missing on this node."""

    code = codes.OCF_ERR_INSTALLED


class NotConfigured(OcfError):
    """The configuration is wrong, and would be so on every node."""

    code = codes.OCF_ERR_CONFIGURED


class NotRunning(OcfError):
    """The resource is cleanly stopped. A stop never raises it."""

    code = codes.OCF_NOT_RUNNING


class Degraded(OcfError):
    """The resource runs, but not as well as it should (Pacemaker 2.1.3 and later)."""

    code = codes.OCF_DEGRADED


class RunningPromoted(OcfError):
    """A monitor's result for an instance that runs and is promoted (OCF 1.1, promotable resources)."""

    code = codes.OCF_RUNNING_PROMOTED


class FailedPromoted(OcfError):
    """The instance is promoted, and has failed: Pacemaker demotes it before it stops it."""

    code = codes.OCF_FAILED_PROMOTED


class DegradedPromoted(OcfError):
    """The instance is promoted, and does not work as well as it should (Pacemaker 2.1.3 and later)."""

    code = codes.OCF_DEGRADED_PROMOTED


class BadParameter(NotConfigured):
    """A parameter's value is not what its type allows.

    `value` is None when the parameter is missing; a private parameter's value is never shown.
    `expected` continues "give ...".
    """

    def __init__(self, name: str, value: str | None, expected: str, *, private: bool = False) -> None:
        self.name = name
        self.value = None if private else value
        self.expected = expected
        super().__init__(f"parameter {name} {_describe(value, private)}: give {expected}")


def _describe(value: str | None, private: bool) -> str:
    if value is None:
        return "is required"
    if private:
        return "has an unusable value"
    shown = value if len(value) <= SHOWN_VALUE_LENGTH else value[:SHOWN_VALUE_LENGTH] + "..."
    return f"is {shown!a}"

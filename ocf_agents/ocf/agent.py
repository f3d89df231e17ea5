# SPDX-License-Identifier: Apache-2.0
"""An agent is a declaration of parameters and actions; `Agent.run` is its entry point.

Handlers return (success) or raise an `OcfError`. This is the one place that turns exceptions into
exit codes and writes the exit reason.
"""

from __future__ import annotations

import os
import sys

from . import codes
from .deadline import Deadline, usable_seconds
from .environment import Environment
from .errors import GenericError, OcfError, Unimplemented
from .lines import REASON_BYTES, one_line
from .log import Log
from .parameters import Values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import NoReturn

    from .attributes import NodeAttributes
    from .clone import Clone
    from .migration import Migration
    from .notification import Notification
    from .parameters import Parameter

SUPPORTED_MAJOR = 1
META_DATA = "meta-data"
# They must be quick, and do with this package alone at level 0.
HOT_ACTIONS = ("monitor", "status")
USAGE_ACTIONS = ("usage", "help", "--help", "-h")
# What Pacemaker asks again and again, or for its user to see: the reason itself is log enough.
UNLOGGED_ACTIONS = ("monitor", "status", "validate-all", META_DATA)


class Action:
    """One action: its name, what does it, and what the metadata advises.

    timeout, interval, start_delay: seconds. depth: the OCF check level of a monitor. role: of a
    monitor, `Promoted` or `Unpromoted`. A monitor is declared once for each depth or role, with
    different intervals, and handled by the first one's handler.
    """

    __slots__ = ("depth", "handler", "interval", "name", "role", "start_delay", "timeout")

    def __init__(
        self,
        name: str,
        handler: Callable[[Call], None],
        timeout: float,
        interval: float | None = None,
        depth: int | None = None,
        *,
        start_delay: float | None = None,
        role: str | None = None,
    ) -> None:
        self.name = name
        self.handler = handler
        self.timeout = timeout
        self.interval = interval
        self.depth = depth
        self.start_delay = start_delay
        self.role = role


class Call:
    """One run of one action: everything that its handler is told."""

    __slots__ = ("_environ", "action", "agent", "deadline", "environment", "log", "values")

    def __init__(self, agent: Agent, action: Action, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.agent = agent
        self.action = action
        self.environment = Environment(environ, action.name, agent.name)
        self.values = Values(agent.parameters, environ)
        self.log = Log(environ, f"{agent.name}({self.environment.instance})")
        timeout = self.environment.timeout
        self.deadline = Deadline(usable_seconds(action.timeout if timeout is None else timeout))

    # A monitor of a simple resource needs none of these: loaded when asked for.

    @property
    def clone(self) -> Clone:
        """The clone that this instance belongs to."""
        from .clone import Clone

        return Clone(self._environ)

    @property
    def notification(self) -> Notification:
        """What a `notify` action is told."""
        from .notification import Notification

        return Notification(self._environ)

    @property
    def migration(self) -> Migration:
        """Between which nodes `migrate_to` and `migrate_from` move the resource."""
        from .migration import Migration

        return Migration(self._environ)

    @property
    def attributes(self) -> NodeAttributes:
        """Attributes of this node in the cluster, and the promotion score of this instance."""
        from .attributes import NodeAttributes

        return NodeAttributes(self._environ, self.environment.instance, self.deadline)


class Agent:
    """A resource agent. `version` is the agent's own; texts may hold any character."""

    __slots__ = ("actions", "longdesc", "name", "parameters", "shortdesc", "version")

    def __init__(
        self,
        name: str,
        version: str,
        shortdesc: str,
        longdesc: str,
        parameters: Iterable[Parameter],
        actions: Iterable[Action],
    ) -> None:
        self.name = name
        self.version = version
        self.shortdesc = shortdesc
        self.longdesc = longdesc
        self.parameters = tuple(parameters)
        self.actions = tuple(actions)

    def main(self) -> NoReturn:
        """Run as a program. Ends at once: no thread that still waits for a peer delays the result."""
        code = self.run(sys.argv)
        for stream in (sys.stdout, sys.stderr):
            try:  # noqa: SIM105 (contextlib costs more than the flush)
                stream.flush()
            except (OSError, ValueError, AttributeError):
                pass
        os._exit(code)

    def run(self, argv: Sequence[str], environ: Mapping[str, str] = os.environ) -> int:
        """Run the action `argv[1]` and return its exit code; further arguments are ignored."""
        if len(argv) < 2:
            _say(2, self.usage())
            return codes.OCF_ERR_ARGS
        if argv[1] in USAGE_ACTIONS:
            _say(1, self.usage())
            return codes.OCF_SUCCESS
        environment = Environment(environ, argv[1], self.name)
        try:
            self._dispatch(environment, environ)
        except OcfError as error:
            self._report(error, environment, environ)
            return error.code
        return codes.OCF_SUCCESS

    def usage(self) -> str:
        """One line that names the actions."""
        names = list(dict.fromkeys(action.name for action in self.actions))
        return f"usage: {self.name} {{{'|'.join([*names, META_DATA])}}}\n"

    def _dispatch(self, environment: Environment, environ: Mapping[str, str]) -> None:
        major, minor = environment.ocf_version
        if major != SUPPORTED_MAJOR:
            said = ascii(environ.get("OCF_RA_VERSION_MAJOR", "")[:20])
            raise GenericError(f"OCF_RA_VERSION_MAJOR is {said}: this agent speaks version {SUPPORTED_MAJOR}")
        if environment.action == META_DATA:
            from .metadata import render

            _say(1, render(self, (major, minor)))
            return
        call = Call(self, self._find(environment.action), environ)
        if environment.action not in HOT_ACTIONS or environment.check_level:
            from .libraries import admit

            admit()
        try:
            call.action.handler(call)
        except OcfError:
            raise
        except KeyboardInterrupt:
            raise GenericError("interrupted") from None
        except Exception as error:
            _log_traceback(call.log)
            raise GenericError(_unexpected(error)) from error

    def _find(self, name: str) -> Action:
        for action in self.actions:
            if action.name == name:
                return action
        raise Unimplemented(f"{self.name} has no action {name[:40]!a}")

    def _report(self, error: OcfError, environment: Environment, environ: Mapping[str, str]) -> None:
        if not error.reason or _is_quiet(error, environment):
            return
        if environment.action not in UNLOGGED_ACTIONS:
            Log(environ, f"{self.name}({environment.instance})").error(error.reason, is_on_stderr=True)
        prefix = environment.exit_reason_prefix.encode("utf-8", "backslashreplace")
        _write(2, prefix + one_line(error.reason, REASON_BYTES) + b"\n")


def _is_quiet(error: OcfError, environment: Environment) -> bool:
    """A probe that finds nothing is no news (case 76)."""
    return environment.is_probe and error.code in (codes.OCF_NOT_RUNNING, codes.OCF_ERR_INSTALLED)


def _unexpected(error: Exception) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _log_traceback(log: Log) -> None:
    import traceback

    for line in traceback.format_exc().splitlines():
        log.debug(line)


def _say(descriptor: int, text: str) -> None:
    _write(descriptor, text.encode("utf-8", "backslashreplace"))


def _write(descriptor: int, data: bytes) -> None:
    """All of it, past Python's buffers; a reader that has gone is not our trouble."""
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except OSError:
        pass

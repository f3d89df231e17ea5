# SPDX-License-Identifier: Apache-2.0
"""The actions of a service that has a row in the cloud: what each OCF action does, in order.

Loaded by every monitor, and by meta-data, which needs the declaration only: what an action does is
imported inside of it.
"""

from __future__ import annotations

import os
import sys
import time

from ocf_agents.ocf import libraries
from ocf_agents.ocf.agent import Action
from ocf_agents.ocf.errors import BadArguments, GenericError, NotConfigured, NotInstalled, OcfError
from ocf_agents.service.supervisor import FAILED, RUNNING
from ocf_agents.service.unit import Units

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from ocf_agents.actions.wiring import Wiring
    from ocf_agents.guard.guard import Guard, Starting, Stopping
    from ocf_agents.guard.record import Process
    from ocf_agents.ocf.agent import Call
    from ocf_agents.ocf.parameters import Values
    from ocf_agents.service.command import Command
    from ocf_agents.service.proc import ProcessId
    from ocf_agents.service.supervisor import Supervisor

    T = TypeVar("T")

TENDED_FOR = 60.0
"""Seconds for which monitors leave a record alone after one of them has sent a helper."""

ANNOUNCING_SHARE = 0.8


class GuardedService:
    """One kind of service. `module` declares it; `row` is its binary in the cloud's API.

    `arguments` makes the command line from the parameters; `helpers` are programs that it starts
    for its own use and that end with it. `host_variable` tells it the parameter `host`.
    `topic`: under which the message bus knows it. `unit_names`: its unit's in the distributions.
    """

    units = Units()
    """The host's units of systemd."""

    def __init__(
        self,
        agent: str,
        module: str,
        row: str,
        arguments: Callable[[Values], list[str]],
        helpers: Sequence[str] = (),
        host_variable: str = "",
        topic: str = "",
        unit_names: Sequence[str] = (),
    ) -> None:
        self.agent = agent
        self.module = module
        self.row = row
        self.arguments = arguments
        self.helpers = tuple(helpers)
        self.host_variable = host_variable
        self.topic = topic
        self.unit_names = tuple(unit_names)

    def actions(self) -> tuple[Action, ...]:
        """Stop's timeout leaves Nova its graceful shutdown of 180 s (case 25)."""
        return (
            Action("start", self.start, 240),
            Action("stop", self.stop, 240),
            Action("monitor", self.monitor, 30, interval=10, depth=0),
            Action("monitor", self.monitor, 60, interval=60, depth=10),
            Action("monitor", self.monitor, 60, interval=120, depth=20),
            Action("reload-agent", self.reload_agent, 30),
            Action("validate-all", self.validate_all, 30),
        )

    # the actions

    def start(self, call: Call) -> None:
        """Starts the service, then makes the host eligible again; fails rather than leave our disable."""
        self._check(call)
        supervisor = self.supervisor(call, is_lenient=False)
        supervisor.require_installed()  # what is not installed need not be configured (case 76)
        guard = self._wiring(call).strict()
        starting = self._intend(call, guard) if guard else None
        process = supervisor.start(call.deadline)
        if guard and starting:
            self._make_eligible(call, guard, starting, process)
        self._require_running(supervisor)

    def stop(self, call: Call) -> None:
        """Sends the disable ahead, stops the service, and fails only when it still runs (cases 29 to 33)."""
        supervisor = self.supervisor(call, is_lenient=True)
        is_alive = supervisor.status(patience=0).state == RUNNING
        announced = self._announce_stop(call, is_alive=is_alive)
        supervisor.stop(call.deadline, call.log.warning)
        self._conclude_stop(call, announced)

    def monitor(self, call: Call) -> None:
        """Looks at the process, from level 10 on at more; may start the helper that a running one needs."""
        status = self.supervisor(call, is_lenient=True).status()
        status.require_running(self.agent)
        if not call.environment.is_probe and status.process:
            from ocf_agents.actions import monitoring

            self._tend(call, status.process)
            monitoring.check(self, call, status)

    def reload_agent(self, call: Call) -> None:
        """Gives a living helper the present parameters; the service stays as it is."""
        self._check(call)
        guard = self._wiring(call).strict()
        if guard:
            process = self.supervisor(call, is_lenient=False).process()
            guard.refresh(_as_guarded(process) if process else None)

    def validate_all(self, call: Call) -> None:
        """Level 0 looks at the parameters only; level 10 at this host as well."""
        self._check(call)
        if call.environment.check_level >= 10:
            try:
                from ocf_agents.actions.validation import check_host
            except ImportError as error:
                raise _missing(error) from None
            check_host(self, call)

    # what they are made of

    def supervisor(self, call: Call, *, is_lenient: bool) -> Supervisor:
        """What runs the service. A lenient one does with what parameters it can read (stop, monitor)."""
        from ocf_agents.guard import names

        environment = call.environment
        get = call.values.lenient if is_lenient else call.values.__getitem__
        pid = get("pid") or os.path.join(
            environment.run_dir, f"{self.agent}-{names.stem(environment.instance)}.pid"
        )
        unit = self.unit(call, is_lenient=is_lenient)
        command = self.command(call, unit, is_lenient=is_lenient)
        run_dir, instance = environment.run_dir, names.stem(environment.instance)
        if unit is None:
            from ocf_agents.service.process import ProcessSupervisor

            return ProcessSupervisor(command, pid, get("log"), run_dir=run_dir, instance=instance)
        from ocf_agents.service.systemd import SystemdSupervisor, UnitProcesses

        processes = UnitProcesses(unit, command, pid, run_dir=run_dir, instance=instance)
        return SystemdSupervisor(unit, processes, call.deadline, units=self.units)

    def unit(self, call: Call, *, is_lenient: bool = False) -> str | None:
        """The unit to run; None: a process of the agent's own. Raises BadParameter unless lenient.

        A masked unit is one that nobody wants systemd to start, so `auto` does not (case 137).
        """
        get = call.values.lenient if is_lenient else call.values.__getitem__
        wanted, given = get("supervisor"), get("unit")
        if wanted == "process" or (wanted == "auto" and not self.units.is_booted()):
            return None
        found = self.units.find([given] if given else self.unit_names)
        is_needed = wanted == "systemd" or given
        return found or (str(given or self.unit_names[0]) if is_needed else None)

    def command(self, call: Call, unit: str | None = None, *, is_lenient: bool = False) -> Command:
        """What to run, as whom; a unit has arguments of its own. Raises BadParameter unless lenient."""
        from ocf_agents.service.command import Command

        get = call.values.lenient if is_lenient else call.values.__getitem__
        arguments: list[str] | None
        try:
            arguments = None if unit else self.arguments(call.values)
        except OcfError:
            if not is_lenient:
                raise
            arguments = None
        environment = {self.host_variable: get("host")} if self.host_variable and get("host") else {}
        binary = get("binary")
        is_known = all(fault.name != "binary" for fault in call.values.faults)
        return Command(binary, arguments, get("user"), self.helpers, environment, is_known=is_known)

    def cloud_host(self, call: Call) -> str:
        """The host's name in the cloud. Raises BadParameter or BadArguments when it cannot be found out."""
        given = call.values["host"]
        return str(given) if given else self.default_host(call)

    def default_host(self, call: Call) -> str:
        """What the service on this node would use by itself. Raises BadParameter or BadArguments."""
        from ocf_agents.openstack.nova_conf import BadConfiguration, default_host

        try:
            return default_host(self.arguments(call.values), self.home(call))
        except BadConfiguration as error:
            raise BadArguments(str(error)) from None

    def home(self, call: Call) -> str | None:
        """The home directory of the service's user, where it looks for its configuration first."""
        from ocf_agents.service.account import entry_of

        entry = entry_of(call.values.lenient("user") or "")
        return entry.pw_dir if entry else None

    def _announce_stop(self, call: Call, *, is_alive: bool) -> tuple[Guard, Stopping] | None:
        """The guard's part before the service ends. It takes a third of the time at most, and cannot fail."""
        seconds = call.deadline.remaining() / 3
        end = time.monotonic() + seconds

        def announce() -> tuple[Guard, Stopping] | None:
            guard = self._wiring(call).lenient()
            left = (end - time.monotonic()) * ANNOUNCING_SHARE  # the rest is for coming back in time
            return (guard, guard.stopping(is_alive=is_alive, seconds=left)) if guard else None

        return self._attempt(call, announce, seconds)

    def _conclude_stop(self, call: Call, announced: tuple[Guard, Stopping] | None) -> None:
        """The guard's part after the service has ended: whatever becomes of it, the stop has succeeded."""
        seconds = call.deadline.remaining()
        if announced:
            guard, stopping = announced
            self._attempt(call, lambda: guard.stopped(stopping, seconds / 2), seconds)
        elif call.values.given("host"):
            self._attempt(call, lambda: self._end_workers(call, seconds / 2), seconds)

    def _end_workers(self, call: Call, seconds: float) -> None:
        """A row that may move gets nothing more from this node, also where the announcement took too long."""
        from ocf_agents.guard.guard import UNANNOUNCED

        guard = self._wiring(call).lenient()
        if guard:
            guard.stopped(UNANNOUNCED, seconds)

    def _attempt(self, call: Call, work: Callable[[], T], seconds: float) -> T | None:
        """Does what must neither fail an action nor hold it up, be it on a dead disk; None if it fails."""
        from ocf_agents.ocf.patience import Impatient, wait_for

        try:
            return wait_for(work, seconds)
        except Impatient:
            call.log.warning(f"the row in the cloud may stay as it is: no way to it within {seconds:.1f} s")
        except Exception as error:
            text = str(error) or type(error).__name__
            call.log.warning(f"the row in the cloud stays as it is: {text}")
        return None

    def _intend(self, call: Call, guard: Guard) -> Starting:
        from ocf_agents.guard.store import StoreError
        from ocf_agents.ocf.patience import Impatient, wait_for

        lasts = call.deadline.remaining()
        seconds = lasts / 2
        try:
            # a held lock has its own reason
            return wait_for(lambda: guard.starting(seconds * 0.75, lasts), seconds)
        except StoreError as error:
            raise GenericError(f"the record cannot be used: {error}") from None
        except Impatient:
            raise GenericError(f"the record in {call.values['state_dir']} does not answer") from None

    def _make_eligible(self, call: Call, guard: Guard, starting: Starting, process: ProcessId) -> None:
        """The second half of start."""
        from ocf_agents.ocf.patience import Impatient, wait_for

        seconds = call.deadline.remaining()
        try:
            conclusion = wait_for(lambda: guard.started(starting, _as_guarded(process), seconds), seconds)
        except Impatient:
            raise GenericError("the timeout ended before it was clear whether the host is enabled") from None
        if not conclusion.is_success:
            raise GenericError(conclusion.text)
        tell = call.log.warning if conclusion.is_warning else call.log.info
        tell(conclusion.text)

    def _check(self, call: Call) -> None:
        """Raises BadParameter or NotConfigured for parameters that contradict themselves."""
        from ocf_agents.openstack.cloud import CloudSettings

        values = call.values
        values.check()
        self.arguments(values)
        problem = CloudSettings.from_values(values).problem()
        if problem and (values["disable_on_stop"] or values["enable_on_start"]):
            raise NotConfigured(problem)

    def _require_running(self, supervisor: Supervisor) -> None:
        status = supervisor.status()
        if status.state != RUNNING:
            raise GenericError(FAILED.get(status.state, f"{self.agent} died right after its start"))

    def _wiring(self, call: Call) -> Wiring:
        """Raises NotInstalled when a library is missing that only the guard needs."""
        libraries.admit()
        try:
            from ocf_agents.actions.wiring import Wiring
        except ImportError as error:
            raise _missing(error) from None
        return Wiring(self, call)

    def _tend(self, call: Call, process: ProcessId) -> None:
        """One stat tells whether there is anything to do; whatever happens, the result stays."""
        from ocf_agents.guard import names

        flag = os.path.join(call.values.lenient("state_dir"), names.flag(call.environment.instance))
        try:
            if 0 <= time.time() - os.stat(flag).st_mtime < TENDED_FOR:
                return
        except OSError:
            return
        try:
            guard = self._wiring(call).lenient()
            if guard and guard.tend(_as_guarded(process)):
                os.utime(flag)
        except Exception as error:
            call.log.debug(f"the record could not be tended: {error}")


def _missing(error: ImportError) -> NotInstalled:
    return NotInstalled(f"the Python module {error.name} is missing: install it for {sys.executable}")


def _as_guarded(process: ProcessId) -> Process:
    from ocf_agents.guard.record import Process

    return Process(process.pid, process.start, process.boot_id)

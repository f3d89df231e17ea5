# SPDX-License-Identifier: Apache-2.0
"""The agent under test: how its actions are run, which state its resource is in, and where its files lie."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ocf_agents.testing.run import EXECUTOR_ENVIRONMENT

from .document import Document, NoDocument
from .rule import NotApplicable, ended, said
from .runner import Call, Process, Ran, Runner
from .workplace import LOCK, workplace

META_DATA = "meta-data"
META_DATA_SECONDS = 30.0
DEFAULT_SECONDS = 60.0
INTERVAL_SECONDS = 10.0
SETTLE_SECONDS = 5.0
"""How long a process that an action left may take to end by itself."""
ACTIVE = (0, 8, 9, 190, 191)
PROMOTED = (8, 9, 191)


@dataclass(frozen=True)
class Settings:
    """What is checked. path: the agent. parameters: without `OCF_RESKEY_`. instance: the resource's name.

    timeouts: seconds by action, over what the meta-data advises; those under "" are for all other actions.
    environment: more variables; one that is None is removed. helpers: texts; a process with one of them in
    its arguments is no part of the resource but a helper of the agent, which may outlive a stop. secrets:
    parameters whose values are for nobody to see, besides those that are named so.
    """

    path: Path
    parameters: Mapping[str, str] = field(default_factory=dict)
    instance: str = ""
    timeouts: Mapping[str, float] = field(default_factory=dict)
    environment: Mapping[str, str | None] = field(default_factory=dict)
    helpers: Sequence[str] = ()
    secrets: Sequence[str] = ()

    @property
    def resource(self) -> str:
        """The resource's name; by default one that no cluster has."""
        return self.instance or f"ocf-check-{os.getpid()}"


class Places:
    """The private directories of a check, below one that all may enter: the agent writes there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.chmod(0o755)
        self.run = self._make("resource-agents", 0o1755)
        self.var_run = self._make("run", 0o755)
        self.home = self._make("home", 0o755)
        self.log, self.debug_log = root / "cluster.log", root / "debug.log"

    def _make(self, name: str, mode: int) -> Path:
        path = self.root / name
        path.mkdir()
        path.chmod(mode)
        return path

    def environ(self) -> dict[str, str]:
        """The variables that name them. Only who may not write to /var/run is given another."""
        variables = {
            "HA_RSCTMP": str(self.run),
            "HA_LOGFILE": str(self.log),
            "HA_DEBUGLOG": str(self.debug_log),
        }
        if os.geteuid() != 0:
            variables["HA_VARRUN"] = str(self.var_run)
        return variables

    @property
    def logs(self) -> tuple[Path, Path]:
        return self.log, self.debug_log

    def files(self) -> set[tuple[str, int, int]]:
        """All that lies there but the logs: path, size, time of change."""
        logs = {str(self.root / LOCK), *map(str, self.logs)}
        found = set()
        for path in self.root.rglob("*"):
            if str(path) not in logs and not path.is_dir():
                status = path.lstat()
                found.add((str(path), status.st_size, status.st_mtime_ns))
        return found

    def logged(self) -> str:
        """What the logs hold."""
        return "".join(path.read_text("utf-8", "surrogateescape") for path in self.logs if path.is_file())


class Subject:
    """An agent and its resource. Rules run its actions through this."""

    def __init__(self, settings: Settings, runner: Runner, places: Places) -> None:
        self.settings, self.runner, self.places = settings, runner, places
        self.path = settings.path
        self.parameters = dict(settings.parameters)

    # The agent's own words

    def meta_data(
        self,
        changes: Mapping[str, str | None] | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        user: tuple[int, int] | None = None,
    ) -> Ran:
        """Run meta-data as Pacemaker does: without parameters. `changes` are to that environment.

        environ: another environment altogether.
        """
        if environ is None:
            environ = self.environ(META_DATA, parameters={}, timeout=META_DATA_SECONDS)
        call = self.call(META_DATA, apply(environ, changes or {}), user=user)
        return self.runner.run([call], META_DATA_SECONDS)[0]

    @cached_property
    def modern(self) -> Ran:
        """Its meta-data for a caller that speaks OCF 1.1, as Pacemaker 2.1 does."""
        return self.meta_data()

    @cached_property
    def old(self) -> Ran:
        """Its meta-data for a caller that says nothing of a version, as ocf-tester."""
        return self.meta_data({"OCF_RA_VERSION_MAJOR": None, "OCF_RA_VERSION_MINOR": None})

    @cached_property
    def document(self) -> Document:
        """The meta-data. Raises NotApplicable: the rules about meta-data say what is wrong."""
        try:
            return Document(self.modern.stdout)
        except NoDocument:
            raise NotApplicable("the meta-data cannot be read") from None

    def advertises(self, action: str) -> bool:
        return action in self.document.action_names

    def needs(self, action: str) -> None:
        """Raise NotApplicable unless the action is advertised."""
        if not self.advertises(action):
            raise NotApplicable(f"{action} is not advertised")

    # Running

    def timeout(self, action: str) -> float:
        """Seconds that an action may take: as was said, else as advised, else a minute."""
        given = self.settings.timeouts
        said = given.get(action, given.get(""))
        if said is not None:
            return said
        try:
            return self.document.timeout(action) or DEFAULT_SECONDS
        except NotApplicable:
            return DEFAULT_SECONDS

    def environ(
        self,
        action: str,
        *,
        parameters: Mapping[str, str] | None = None,
        timeout: float | None = None,
        probe: bool = False,
    ) -> dict[str, str]:
        """The environment that Pacemaker's executor gives to an action of this resource."""
        environ = dict(EXECUTOR_ENVIRONMENT)
        environ["OCF_ROOT"] = os.environ.get("OCF_ROOT", environ["OCF_ROOT"])
        environ["HOME"] = str(self.places.home)
        environ["OCF_RESOURCE_INSTANCE"] = self.settings.resource
        environ["OCF_RESOURCE_TYPE"] = self.path.name
        environ["OCF_RESOURCE_PROVIDER"] = self.path.parent.name
        seconds = self.timeout(action) if timeout is None else timeout
        environ["OCF_RESKEY_CRM_meta_timeout"] = str(int(seconds * 1000))
        if action == "monitor" and not probe:
            environ["OCF_RESKEY_CRM_meta_interval"] = str(int(INTERVAL_SECONDS * 1000))
        environ.update(self.places.environ())
        given = self.parameters if parameters is None else parameters
        environ.update({f"OCF_RESKEY_{name}": value for name, value in given.items()})
        return apply(environ, self.settings.environment)

    def call(
        self,
        action: str,
        environ: Mapping[str, str],
        *more: str,
        user: tuple[int, int] | None = None,
        trace: str = "",
    ) -> Call:
        return Call([str(self.path), action, *more], environ, str(self.places.home), user, trace)

    def run(
        self,
        action: str,
        *more: str,
        parameters: Mapping[str, str] | None = None,
        changes: Mapping[str, str | None] | None = None,
        probe: bool = False,
        kill_after: float | None = None,
        needles: Sequence[str] = (),
        trace: str = "",
    ) -> Ran:
        """Run an action. parameters: instead of the resource's; more: further arguments."""
        environ = apply(self.environ(action, parameters=parameters, probe=probe), changes or {})
        call = self.call(action, environ, *more, trace=trace)
        return self.runner.run([call], self.timeout(action), kill_after=kill_after, needles=needles)[0]

    def run_twice_at_once(self, action: str) -> list[Ran]:
        """Run it twice at the same time."""
        call = self.call(action, self.environ(action))
        return self.runner.run([call, call], self.timeout(action))

    def monitor(self, **more: str | None) -> Ran:
        """A recurring monitor; `more` are changes to its environment."""
        return self.run("monitor", changes=more)

    def probe(self, **more: str | None) -> Ran:
        return self.run("monitor", changes=more, probe=True)

    # The resource's state

    def ensure_started(self) -> None:
        """Bring the resource up, unpromoted. Raises NotApplicable if that does not work."""
        code = self.monitor().code
        if code in PROMOTED:
            self.run("demote")
            code = self.monitor().code
        if code == 0:
            return
        if code != 7:
            self.run("stop")
        ran = self.run("start")
        if ran.code != 0:
            raise NotApplicable(f"the resource does not start: start {ended(ran)}{said(ran)}")
        if self.monitor().code != 0:
            raise NotApplicable("the resource is not seen to run after a start")

    def ensure_stopped(self) -> None:
        """Bring the resource down. Raises NotApplicable if that does not work."""
        self.stop_somehow()
        ran = self.monitor()
        if ran.code != 7:
            raise NotApplicable(f"the resource is not seen to be stopped: monitor {ended(ran)}{said(ran)}")

    def stop_somehow(self) -> Ran:
        """Stop it, after a demote if it is promoted."""
        if self.monitor().code in PROMOTED:
            self.run("demote")
        return self.run("stop")

    def clean(self) -> None:
        """Stop the resource, and end all that lives after that."""
        self.stop_somehow()
        pids = [one.pid for one in self.processes()]
        self.runner.signal(pids, signal.SIGCONT)
        self.runner.signal(pids, signal.SIGKILL)

    def processes(self) -> list[Process]:
        """What lives of all that the agent has started, but its helpers."""
        helpers = self.settings.helpers
        return [one for one in self.runner.processes() if not any(text in one.command for text in helpers)]

    def daemons(self) -> list[Process]:
        """Those of them that are in the background."""
        return [one for one in self.processes() if one.is_root]

    def settle(self, before: Sequence[Process] = (), seconds: float = SETTLE_SECONDS) -> list[Process]:
        """Wait until nothing lives but what lived before; what does all the same when the time is over."""
        known = {one.pid for one in before}
        end = time.monotonic() + seconds
        while True:
            more = [one for one in self.processes() if one.pid not in known]
            if not more or time.monotonic() > end:
                return more
            time.sleep(0.05)

    def await_helpers(self, seconds: float) -> None:
        """Give the agent's helpers time to end by themselves."""
        end = time.monotonic() + seconds
        while self.settings.helpers and self.runner.processes() and time.monotonic() < end:
            time.sleep(0.05)

    def outlives(self, before: Sequence[Process]) -> list[Process]:
        """Those of `before` that live: daemons at once, others after a moment."""
        old = {one.pid for one in before if one.is_root}
        left = [one for one in self.processes() if one.pid in old]
        if left:
            return left
        pids = {one.pid for one in before}
        end = time.monotonic() + SETTLE_SECONDS
        while True:
            left = [one for one in self.processes() if one.pid in pids]
            if not left or time.monotonic() > end:
                return left
            time.sleep(0.05)


def apply(environ: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    """The environment with these changes; None removes."""
    changed = {**environ, **{name: value for name, value in changes.items() if value is not None}}
    return {name: value for name, value in changed.items() if changes.get(name, "") is not None}


@contextmanager
def opened(settings: Settings) -> Iterator[Subject]:
    """A subject with its runner and its private directories, which are gone afterwards."""
    with workplace() as place, Runner([place.lock]) as runner:
        yield Subject(settings, runner, Places(place.path))

# SPDX-License-Identifier: Apache-2.0
"""A nova-compute that Pacemaker runs on one node, and what is seen of it: actions, row, record, requests."""

from __future__ import annotations

import json
import signal
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from labkit.cloud import Cloud, Row
from labkit.cluster import Cluster
from labkit.errors import LabError, wait_for
from labkit.journal import Action, Journal
from labkit.node import Node, Process, started
from labkit.tap import Request, Tap

STATE_DIR = "/var/lib/ocf-agents"
RECOVERY = ("monitor", "stop", "start")


class Resource:
    """The resource `name`, bound to `node`; its Nova host has the node's name."""

    def __init__(
        self,
        name: str,
        node: Node,
        cluster: Cluster,
        cloud: Cloud,
        tap: Tap,
        journal: Journal | None = None,
    ) -> None:
        self.name = name
        self.node = node
        self.host = node.name
        self.cluster = cluster
        self.cloud = cloud
        self.tap = tap
        self.journal = journal or cluster.journal(node)
        self.forget()

    # configuration

    def create(self, parameters: dict[str, str], operations: dict[str, str], meta: str) -> None:
        """Add it to the cluster, stopped. Values have no blanks."""
        ops = " ".join(f"op {name} {options}" for name, options in operations.items())
        primitive = f"primitive {self.name} ocf:heartbeat:nova-compute {ops}"
        self.cluster.configure(
            f"""
            {primitive} meta target-role=Stopped {meta}
            location only-{self.node.name}-{self.name} {self.name} rule -inf: #uname ne {self.node.name}
            """
        )
        self._give(parameters)

    def delete(self) -> None:
        """Stop it, wipe its failures and take it out of the cluster."""
        self.set_role("Stopped")
        wait_for(f"{self.name} to be stopped", lambda: not self.is_active, 120)
        self.cluster.run("crm", "--force", "configure", "delete", self.name)

    def rename(self, name: str) -> None:
        """Another name in the cluster, while it is stopped."""
        self.cluster.run("crm", "--force", "configure", "rename", self.name, name)
        self.name = name
        self.cluster.wait()
        self.forget()

    @property
    def exists(self) -> bool:
        return bool(self.cluster.query(f"//primitive[@id='{self.name}']"))

    # what the administrator does

    def set_role(self, role: str) -> None:
        """Started or Stopped; does not wait."""
        self.cluster.run(
            "crm_resource",
            f"--resource={self.name}",
            "--meta",
            "--set-parameter=target-role",
            f"--parameter-value={role}",
        )

    def start(self, timeout: float = 90) -> Action:
        return self._act("Started", "start", timeout)

    def stop(self, timeout: float = 90) -> Action:
        return self._act("Stopped", "stop", timeout)

    def _act(self, role: str, action: str, timeout: float) -> Action:
        mark = self.journal.mark()
        self.set_role(role)
        return self.wait_for_action(action, mark, timeout)

    def set_managed(self, is_managed: bool) -> None:
        """Whether Pacemaker may act on what its monitors find; does not wait."""
        words = ["--meta", "--set-parameter=is-managed", f"--parameter-value={str(is_managed).lower()}"]
        self.cluster.run("crm_resource", f"--resource={self.name}", *words)

    def check(self) -> int:
        """Pacemaker's agent runner asks the agent once, here and now (monitor); its exit code."""
        return self.force("check")

    def force(self, what: str) -> int:
        """check, start or stop behind the cluster's back (crm_resource --force-...); the exit code."""
        return self.node.run(
            "crm_resource", f"--resource={self.name}", f"--force-{what}", check=False
        ).returncode

    def set_timeout(self, action: str, timeout: str) -> None:
        """Another timeout for one of its operations; restarts nothing."""
        [op] = self.cluster.query(f"//primitive[@id='{self.name}']//op[@name='{action}']")
        change = f'<op id="{op.get("id")}" timeout="{timeout}"/>'
        self.cluster.run("cibadmin", "--modify", f"--xml-text={change}")

    def set_parameters(self, parameters: dict[str, str]) -> Action:
        """Other parameters in the place of all that it has, at once; returns Pacemaker's reload of it."""
        mark = self.journal.mark()
        self.change_parameters(parameters)
        return self.wait_for_action("reload-agent", mark)

    def change_parameters(self, parameters: dict[str, str]) -> None:
        """As `set_parameters`, without waiting: what a probe has found running is restarted, not reloaded."""
        [old] = self.cluster.query(f"//primitive[@id='{self.name}']/instance_attributes")
        new = ET.Element("instance_attributes", id=old.get("id", ""))
        for name, value in parameters.items():
            ET.SubElement(new, "nvpair", id=f"{self.name}-{name}", name=name, value=value)
        self._replace(new)

    def _give(self, parameters: dict[str, str]) -> None:
        """Its first parameters, all at once: crmsh writes its command lines into its log, and Pacemaker's
        controller the value of a parameter that comes alone, and one may be a secret."""
        primitive = self._primitive()
        attributes = ET.SubElement(primitive, "instance_attributes", id=f"{self.name}-instance_attributes")
        for name, value in parameters.items():
            ET.SubElement(attributes, "nvpair", id=f"{self.name}-{name}", name=name, value=value)
        self._replace(primitive)

    def add_monitor(self, name: str, interval: str, level: int) -> None:
        """One more monitor, at that OCF_CHECK_LEVEL."""
        primitive = self._primitive()
        operations = primitive.find("operations")
        assert operations is not None
        op = ET.SubElement(operations, "op", id=name, name="monitor", interval=interval, timeout="20s")
        attributes = ET.SubElement(op, "instance_attributes", id=f"{name}-attributes")
        ET.SubElement(attributes, "nvpair", id=f"{name}-level", name="OCF_CHECK_LEVEL", value=str(level))
        self._replace(primitive)

    def remove_monitor(self, name: str) -> None:
        primitive = self._primitive()
        operations = primitive.find("operations")
        assert operations is not None
        for op in operations.findall(f"op[@id='{name}']"):
            operations.remove(op)
        self._replace(primitive)

    def _primitive(self) -> ET.Element:
        [primitive] = self.cluster.query(f"//primitive[@id='{self.name}']")
        return primitive

    def _replace(self, element: ET.Element) -> None:
        """Through a pipe: a parameter may be a secret."""
        self.cluster.run("cibadmin", "--replace", "--xml-pipe", text=ET.tostring(element, "unicode"))

    def clean_up(self) -> None:
        """Forget its failures; returns once Pacemaker has nothing left to do."""
        self.cluster.run("crm_resource", f"--resource={self.name}", "--cleanup")
        self.cluster.wait()

    def refresh(self) -> None:
        """Have Pacemaker forget all that it knows of it, and look again (probes); does not wait."""
        self.cluster.run("crm_resource", f"--resource={self.name}", "--refresh")

    # what Pacemaker did

    def forget(self) -> None:
        """A new story begins: what was done and asked before does not belong to it."""
        self.mark = self.journal.mark()
        self.since = self.tap.now()

    @property
    def actions(self) -> list[Action]:
        """What happened in this story on its node, good monitors and probes left out."""
        done = self.journal.actions(self.name, self.mark)
        return [a for a in done if a.name in ("start", "stop") or (a.name == "monitor" and a.code != 0)]

    @property
    def told(self) -> list[str]:
        """What its agent wrote into the cluster's log in this story."""
        return self.journal.told(self.name, self.mark)

    def wait_for_action(self, name: str, mark: int, timeout: float = 90) -> Action:
        """The first finished action of that name that was logged after `mark`, whatever its result."""

        def finished() -> Action | None:
            return next((a for a in self.journal.actions(self.name, mark) if a.name == name), None)

        return wait_for(f"{name} of {self.name}", finished, timeout)

    def crash(self, timeout: float = 120) -> tuple[Action, Action, Action]:
        """SIGKILL to nova-compute; returns the failed monitor, and the stop and start that it led to."""
        mark, process = self.journal.mark(), self.process
        if process is None:
            raise LabError(f"{self.host} runs no nova-compute")
        process.signal(signal.SIGKILL)

        def recovered() -> list[Action] | None:
            done = [a for a in self.journal.actions(self.name, mark) if a.name != "monitor" or a.code != 0]
            return done[:3] if len(done) >= 3 and tuple(a.name for a in done[:3]) == RECOVERY else None

        failure, stop, start = wait_for(f"the recovery of {self.name}", recovered, timeout)
        return failure, stop, start

    @property
    def is_active(self) -> bool:
        found = self.cluster.speaker.run("crm_resource", f"--resource={self.name}", "--locate", check=False)
        return "is running on" in found.stdout

    @property
    def process(self) -> Process | None:
        """The nova-compute of the node, found by its command line."""
        for entry in self.node.path("/proc").iterdir():
            if not entry.name.isdigit() or started(int(entry.name), entry.parent) is None:
                continue
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if len(words) > 1 and words[1].endswith(b"/bin/nova-compute"):
                return Process.of(self.node, int(entry.name))
        return None

    # what the cloud says

    @property
    def row(self) -> Row:
        row = self.cloud.row(self.host)
        if row is None:
            raise LabError(f"{self.host} has no row")
        return row

    @property
    def may_be_chosen(self) -> bool:
        """Placement's word, both ways of asking."""
        return not self.cloud.bears_disabled_trait(self.host) and self.cloud.may_be_chosen(self.host)

    @property
    def requests(self) -> list[Request]:
        """What its agent asked in this story."""
        return self.tap.of_agent(self.node.address, self.since)

    # what it remembers

    @property
    def state(self) -> Path:
        """The directory of records as the running node sees it."""
        return self.node.path(STATE_DIR)

    @property
    def record(self) -> dict[str, Any]:
        """The record; empty if there is none."""
        try:
            text = (self.state / f"{self.name}.json").read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}
        content: dict[str, Any] = json.loads(text)
        return content

    @property
    def is_settled(self) -> bool:
        """No request of its agent may still take effect."""
        return not self.record.get("attempts")

    def settle(self, timeout: float) -> None:
        wait_for(f"the record of {self.name} to be settled", lambda: self.is_settled, timeout, every=0.5)

    def wait_until_nobody_works_on_it(self, timeout: float) -> None:
        """Wait until the helper that is on record, if any, has left."""

        def has_left() -> bool:
            helper = (self.record.get("reconciler") or {}).get("process")
            return helper is None or started(helper["pid"], self.node.path("/proc")) is None

        wait_for(f"the helper of {self.name} to leave", has_left, timeout, every=0.2)

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """The history, oldest first."""
        path = self.state / f"{self.name}.history.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]

# SPDX-License-Identifier: Apache-2.0
"""What the stories of the lab share. They run under `tests/lab/run`, which brings the lab up first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from labkit.canary import Watch
from labkit.cloud import Cloud
from labkit.cluster import Cluster
from labkit.compute import CONFIG
from labkit.control import Control
from labkit.errors import wait_for
from labkit.lab import Lab
from labkit.node import Node
from labkit.report import Entry, table
from labkit.resource import STATE_DIR, Resource
from labkit.settings import AGENT_PASSWORD
from labkit.tap import Tap
from words import DEEP, HOLD, LONG, await_answer, bring_to_rest, deep_codes, establish

collect_ignore_glob = [] if os.environ.get("LAB") else ["test_*.py"]

ENTRIES = pytest.StashKey[list[Entry]]()
OUTCOME = pytest.StashKey[str]()


@pytest.fixture(scope="session")
def lab() -> Lab:
    return Lab.of_environment()


@pytest.fixture(scope="session")
def control(lab: Lab) -> Control:
    return lab.control


@pytest.fixture(scope="session")
def cloud(control: Control) -> Cloud:
    return control.cloud


@pytest.fixture(scope="session")
def tap(control: Control) -> Tap:
    return control.tap


@pytest.fixture(scope="session")
def cluster(lab: Lab) -> Cluster:
    return lab.cluster


@pytest.fixture(scope="session")
def node1(lab: Lab) -> Node:
    return lab.node("node1")


@pytest.fixture(scope="session", autouse=True)
def watch(lab: Lab) -> Iterator[Watch]:
    """Looks for the agents' secrets in the nodes' processes, from the first story to the last."""
    watch = Watch(lab.cluster.nodes, [AGENT_PASSWORD.encode()])
    watch.start()
    yield watch
    watch.stop()


@pytest.fixture(scope="session")
def parameters(lab: Lab) -> dict[str, str]:
    """The resource's parameters, unless a story wants others."""
    return {
        "binary": lab.nova_venv.bin("nova-compute"),
        "config": CONFIG,
        "user": lab.compute_user,
        "cloud": "lab",
        "hold": f"{HOLD}s",
        "bus_timeout": "1s",
        "bus_grace": "15s",
    }


@pytest.fixture(scope="session")
def configured(lab: Lab, node1: Node, parameters: dict[str, str]) -> Iterator[Resource]:
    """The resource, made anew for this run and taken away after it."""
    resource = Resource("nova-compute", node1, lab.cluster, lab.control.cloud, lab.control.tap)
    if resource.exists:
        resource.delete()
    node1.run("rm", "-rf", STATE_DIR)
    establish(resource, parameters, lab.control)
    yield resource
    resource.delete()


@pytest.fixture
def compute(configured: Resource, control: Control) -> Resource:
    """nova-compute under Pacemaker: running, enabled, up, nothing under way, no failure on record."""
    return bring_to_rest(configured, control)


@pytest.fixture
def watched(compute: Resource, control: Control) -> Iterator[Resource]:
    """The resource with a second monitor, which asks nova-compute over the message bus."""
    compute.add_monitor("deep", f"{DEEP}s", level=10)
    try:
        wait_for("its first result", lambda: deep_codes(compute), 60)
        await_answer(compute, control, 60)
        compute.forget()
        yield compute
    finally:
        compute.remove_monitor("deep")


@pytest.fixture
def story(request: pytest.FixtureRequest, compute: Resource) -> Iterator[Entry]:
    """This test's entry in the final table; what Pacemaker, agent and cloud did is added by itself."""
    entry = Entry(title=(request.function.__doc__ or request.node.name).splitlines()[0].rstrip("."))
    request.config.stash[ENTRIES].append(entry)
    yield entry
    entry.outcome = request.node.stash.get(OUTCOME, "did not end")
    entry.actions, entry.requests = compute.actions, compute.requests
    chosen = "may be chosen" if compute.may_be_chosen else "not to be chosen"
    entry.row = f"{compute.row}; Placement: {chosen}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    result: pytest.TestReport = yield  # type: ignore[assignment]
    if result.when == "call":
        item.stash[OUTCOME] = result.outcome
        if result.failed:
            result.sections += _evidence(item)
    return result  # type: ignore[return-value]


def _evidence(item: pytest.Item) -> list[tuple[str, str]]:
    """What the agent decided and asked in a story that failed."""
    compute = getattr(item, "funcargs", {}).get("compute")
    if not isinstance(compute, Resource) or not compute.node.is_up:
        return []
    decisions = "\n".join(map(str, compute.decisions[-20:]))
    return [("decisions", decisions), ("requests", "\n".join(map(str, compute.requests)))]


def pytest_configure(config: pytest.Config) -> None:
    config.stash[ENTRIES] = []
    config.addinivalue_line("markers", "long: only with LAB_LONG=1")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without LAB_LONG=1 the long ones are not among the stories at all."""
    if not LONG:
        late = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=late)
        items[:] = [item for item in items if item not in late]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    entries = config.stash[ENTRIES]
    if entries:
        text = table(entries)
        terminalreporter.write_line(f"\n{text}\n")
        report: Path = Lab.of_environment().layout.report
        report.write_text(f"{text}\n", encoding="utf-8")
        terminalreporter.write_line(f"written to {report}")

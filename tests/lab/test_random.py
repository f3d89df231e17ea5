# SPDX-License-Identifier: Apache-2.0
"""Two computes on two nodes of a cluster that fences, and faults by chance. LAB_SEED replays them."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
from labkit import proxy as fates
from labkit.canary import Watch
from labkit.cluster import Cluster
from labkit.control import Control
from labkit.errors import wait_for
from labkit.firewall import silence
from labkit.lab import Lab
from labkit.power import PowerSwitch, fencing
from labkit.proxy import DISABLE, ENABLE, LOGIN, READ, Proxy
from labkit.report import Entry
from labkit.resource import STATE_DIR, Resource
from labkit.settings import RABBIT
from words import LONG, OPERATIONS, bring_to_rest

FAULTS = int(os.environ.get("LAB_FAULTS") or (50 if LONG else 10))
HOLD = 12
"""Seconds: longer than the network keeps any request here."""

SLOWEST = 240
"""Seconds in which the cluster has come to rest. A recovery waits for each other node's action under way."""

BLOCKED = 10
"""Seconds without the message bus."""

PASSING = {"api_timeout": "3s", "hold": f"{HOLD}s"}


@dataclass
class Host:
    """One compute, and what its row must be by its history: `words` of an operator's disable, or enabled.

    `is_blurred`: the last word of the operator fell into the time in which a request of ours was under way,
    where no client can tell which of the two came last (docs/guard.md, the window). `said`: when that was.
    """

    compute: Resource
    words: str | None = None
    is_blurred: bool = False
    said: str = ""

    @property
    def name(self) -> str:
        return self.compute.host

    @property
    def was_heard(self) -> bool:
        """Whether the agent has read somebody's own disable since the operator's last word."""
        later = [decision for decision in self.compute.decisions if decision["time"] > self.said]
        return any(decision["read"] == "foreign" for decision in later)

    @property
    def under_way(self) -> tuple[int, bool]:
        """How many requests it has sent so far, and whether one of them may still take effect."""
        sent = sum(decision["decided"] == "send" for decision in self.compute.decisions)
        return sent, self.compute.is_settled


@dataclass
class World:
    """All that a fault can befall, and what has befallen it."""

    lab: Lab
    hosts: list[Host]
    network: Proxy
    switch: PowerSwitch
    seed: int
    operators: ThreadPoolExecutor
    cut: list[str] = field(default_factory=list)
    chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    @property
    def cluster(self) -> Cluster:
        return self.lab.cluster

    def pause(self, shortest: float, longest: float) -> None:
        time.sleep(self.chance.uniform(shortest, longest))


# Faults


def killed(world: World, host: Host) -> None:
    """SIGKILL."""
    signalled(host, signal.SIGKILL)


def stopped(world: World, host: Host) -> None:
    """SIGSTOP."""
    signalled(host, signal.SIGSTOP)


def signalled(host: Host, number: int) -> None:
    process = host.compute.process
    if process:
        process.signal(number)


def force_stopped(world: World, host: Host) -> None:
    """The agent's stop by hand, behind the cluster's back."""
    assert host.compute.force("stop") == 0


def restarted(world: World, host: Host) -> None:
    """crm_resource --restart."""
    words = [f"--resource={host.compute.name}", "--restart", "--timeout=60s"]
    world.cluster.speaker.run("crm_resource", *words, check=False)
    host.compute.set_role("Started")


def banned(world: World, host: Host) -> None:
    """Banned from its node, and let in again."""
    words = [f"--resource={host.compute.name}", f"--node={host.name}"]
    world.cluster.run("crm_resource", *words, "--ban")
    world.pause(1, 6)
    world.cluster.run("crm_resource", *words, "--clear")


def in_standby(world: World, host: Host) -> None:
    """The node in standby, and back."""
    world.cluster.run("crm_standby", f"--node={host.name}", "--update=on")
    world.pause(1, 6)
    world.cluster.run("crm_standby", f"--node={host.name}", "--delete")


def spoken_for(world: World, host: Host) -> None:
    """An operator disables the host with a reason, or, every other time that it is disabled, enables it."""
    enable, words = world.chance.random() < 0.5, f"ticket {world.chance.randrange(1000, 9999)} (Åsa)"
    before, row = host.under_way, host.compute.row
    if enable and not row.is_enabled:
        world.operators.submit(host.compute.cloud.enable, host.name)
        changed = row.updated_at
        wait_for("the row to change", lambda: host.compute.row.updated_at != changed, 20, every=0.02)
        remember(host, None, before)
    else:
        world.operators.submit(host.compute.cloud.disable, host.name, words)
        wait_for("the operator's words in the row", lambda: was_said(host, words), 20, every=0.02)
        remember(host, words, before)


def was_said(host: Host, words: str) -> bool:
    """In the row, or replaced there already by a disable of ours that was under way."""
    return host.compute.row.reason == words or not host.under_way[1]


def remember(host: Host, words: str | None, before: tuple[int, bool]) -> None:
    host.words, host.said = words, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    host.is_blurred = not before[1] or host.under_way != before


def without_the_bus(world: World, host: Host) -> None:
    """A firewall between the node and the message bus."""
    with silence(host.compute.node, RABBIT):
        time.sleep(BLOCKED)


def with_a_new_bus(world: World, host: Host) -> None:
    """RabbitMQ is restarted."""
    world.lab.control.rabbit.stop()
    world.lab.control.rabbit.start()


def without_the_api(world: World, host: Host) -> None:
    """Connections to the cloud are reset."""
    troubled(world, fates.reset)


def with_a_busy_api(world: World, host: Host) -> None:
    """503 from the cloud."""
    troubled(world, fates.unavailable)


def with_a_slow_api(world: World, host: Host) -> None:
    """The cloud answers after seconds, and does what it was asked for even where nobody waits any more."""
    troubled(world, fates.late)


def troubled(world: World, fate: fates.Fate) -> None:
    """For some seconds, beside what comes next."""
    seconds, delay = world.chance.uniform(3, 12), world.chance.uniform(1, HOLD / 2)
    for kind in (READ, DISABLE, ENABLE, LOGIN):
        world.network.rule(kind, fate, times=1000, seconds=seconds, delay=delay)


def without_power(world: World, host: Host) -> None:
    """The node loses its power; the cluster makes sure of that, and it boots."""
    node, before = host.compute.node, len(world.switch.fenced)
    world.cut.append(host.name)
    node.kill()
    wait_for("the fencing", lambda: len(world.switch.fenced) > before, 60)
    wait_for(f"{node.name} to be online", lambda: node.is_up and node.name in world.cluster.online(), 90)


Fault = Callable[[World, Host], None]
OFTEN: list[Fault] = [killed, stopped, force_stopped, restarted, banned, in_standby, spoken_for, spoken_for]
SELDOM: list[Fault] = [
    without_the_bus,
    with_a_new_bus,
    without_the_api,
    with_a_busy_api,
    with_a_slow_api,
    without_power,
]


@pytest.fixture
def world(
    lab: Lab,
    cluster: Cluster,
    control: Control,
    configured: Resource,
    parameters: dict[str, str],
    watch: Watch,
) -> Iterator[World]:
    """Two computes at rest, behind the proxy, on nodes that can be fenced."""
    seed = int(os.environ.get("LAB_SEED") or time.time())
    proxy = lab.proxy()
    proxy.start()
    login = control.settings.behind(proxy.address).agent_login()
    given = {**{k: v for k, v in parameters.items() if k != "cloud"}, **login, **PASSING}
    other = Resource("other-compute", lab.node("node2"), cluster, control.cloud, control.tap)
    if other.exists:
        other.delete()
    other.node.run("rm", "-rf", STATE_DIR)
    other.create(given, OPERATIONS, "failure-timeout=20s")
    other.start()
    configured.change_parameters(given)
    cluster.wait(SLOWEST)
    wait_for("the first row", lambda: other.cloud.row(other.host), 60)
    control.discover_hosts()
    hosts = [Host(bring_to_rest(compute, control)) for compute in (configured, other)]
    switch = PowerSwitch(lab.layout.power, cluster.nodes, cluster)
    with fencing(switch), control.cloud.elsewhere() as operators:
        yield World(lab, hosts, proxy, switch, seed, operators)
        proxy.clear()
        other.delete()
    configured.change_parameters(parameters)
    cluster.wait(SLOWEST)
    configured.settle(HOLD + 40)
    proxy.stop()
    watch.secrets += sorted({passage.token.encode() for passage in proxy.passages if passage.token})


def test_faults_by_chance(world: World, story: Entry) -> None:
    """Faults by chance on two nodes, then rest: each row is as its history wants, and nobody was fenced."""
    story.notes.append(f"LAB_SEED={world.seed}, {FAULTS} faults")
    for number in range(FAULTS):
        host = world.chance.choice(world.hosts)
        fault = world.chance.choice(world.chance.choices([OFTEN, SELDOM], [2, 1])[0])
        print(f"LAB_SEED={world.seed} fault {number}: {host.name} {fault.__name__}", flush=True)
        fault(world, host)
        world.pause(0, 5)
    begin = time.monotonic()
    world.network.clear()
    world.cluster.wait(SLOWEST)
    for host in world.hosts:
        come_to_rest(host)
        story.notes.append(f"{host.name}: {host.compute.row}{' (blurred)' if host.is_blurred else ''}")
    story.notes.append(f"at rest {time.monotonic() - begin:.0f} s after the last one")
    for host in world.hosts:
        assert_as_its_history_wants(host)
        stops = [action for action in host.compute.actions if action.name == "stop"]
        assert all(action.code == 0 for action in stops), list(map(str, stops))
        assert not any("Traceback" in line for line in host.compute.told)
    assert [fencing.node for fencing in world.switch.fenced] == world.cut, "nobody was fenced for our sake"


def come_to_rest(host: Host) -> None:
    """Running, up, nothing under way, nobody at work on the row. What is in the row stays there."""
    compute = host.compute
    compute.clean_up()
    wait_for(f"{compute.name} to run", lambda: compute.is_active, 180, every=0.5)
    wait_for("the row to be up", lambda: compute.row.is_up, 150, every=0.5)
    compute.settle(HOLD + 100)
    compute.cluster.wait()


def assert_as_its_history_wants(host: Host) -> None:
    """Somebody's own disable stays, with its words; else the host is enabled."""
    compute, row = host.compute, host.compute.row
    remembered = (compute.record.get("foreign") or {}).get("reason")
    if host.is_blurred and remembered is not None and is_ours(row.reason):
        assert any("a late disable of ours" in line for line in compute.told), "left, and told"
    elif host.words is None or (host.is_blurred and not host.was_heard and row.is_enabled):
        wait_for("the host in service", lambda: is_in_service(compute), 70, every=0.5)
    else:
        assert (row.status, row.reason) == ("disabled", host.words)


def is_ours(reason: str | None) -> bool:
    return (reason or "").startswith("ocf-agents disabled: ")


def is_in_service(compute: Resource) -> bool:
    """Nova tells Placement within a minute."""
    return compute.row.is_enabled and compute.may_be_chosen

# SPDX-License-Identifier: Apache-2.0
"""What the cluster's configuration says that would bite. Pure.

The times are the README's: a start waits for a dead API three times api_timeout, and keeps two more for a
last look and a last request; a stop leaves Nova its graceful shutdown of up to 180 s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ocf_agents.actions.advice import GRACEFUL_SHUTDOWN, SPARE
from ocf_agents.guard.guard import BRIEFLY
from ocf_agents.operator.cib import Cluster, Configured, Operation, is_true
from ocf_agents.operator.doctor.finding import Finding, ok, problem, warning
from ocf_agents.operator.resource import Resource
from ocf_agents.service.systemd import BETWEEN_SECONDS

SERVICE_START = 20.0
"""Seconds that nova-compute may take until Nova sees it up: one report interval, and its own start."""

DEFAULT_TIMEOUT = 20.0
"""Pacemaker's, for an operation that says none."""

RARE = 60.0
EVACUATORS: Mapping[str, str] = {
    "fence_compute": "takes a host that is disabled and down for one that is fenced already",
    "fence_evacuate": "takes a host that is disabled and down for one that is fenced already",
    "NovaEvacuate": "works with fence_compute, which takes a host that is disabled and down for fenced",
    "nova-compute-wait": "belongs to fence_compute's evacuation, whose on enables whoever had disabled",
    "nova-evacuate": "works with fence_compute, which takes a host that is disabled and down for fenced",
}
EVACUATION = (
    "see Crash, fencing, evacuation in docs/guide.md: what each does beside this agent, and what to configure"
)


def of_resource(
    resource: Resource, cluster: Cluster, graceful: float = GRACEFUL_SHUTDOWN
) -> Iterator[Finding]:
    """The resource's own operations, meta attributes and clone. `graceful`: seconds of Nova's shutdown."""
    configured = resource.configured
    if configured is None:
        return
    yield from _operations(resource, configured, graceful)
    yield from _meta(configured)
    yield from _clone(resource, configured, cluster)
    if configured.has_rules:
        yield warning(
            "parameters",
            "some are set by a rule, which is not looked into here",
            "give them with -o name=value where they matter",
        )


def of_cluster(cluster: Cluster) -> Iterator[Finding]:
    """What holds for all resources: fencing, and tools that read the row otherwise."""
    if "stonith-enabled" in cluster.options and not is_true(cluster.options["stonith-enabled"]):
        yield problem(
            "fencing",
            "stonith-enabled is false: a stop that fails is never resolved",
            "configure fencing, and set stonith-enabled=true",
        )
    elif not any(one.standard == "stonith" for one in cluster.resources):
        yield problem(
            "fencing",
            "there is no fence device: Pacemaker starts nothing, and a stop that fails is never resolved",
            "pcs stonith create ...",
        )
    if is_true(cluster.options.get("maintenance-mode")):
        text = "maintenance-mode is on: nothing is started, stopped, monitored or recovered"
        yield warning("maintenance", text, "pcs property set maintenance-mode=false, when it is over")
    for one in cluster.resources:
        if one.type in EVACUATORS:
            yield warning("evacuator", f"{one.name} ({one.type}) {EVACUATORS[one.type]}", EVACUATION)


def of_hosts(resources: Mapping[str, str]) -> Iterator[Finding]:
    """`resources`: names with their hosts. Two for one row undo each other's work."""
    by_host: dict[str, list[str]] = {}
    for name, host in resources.items():
        by_host.setdefault(host, []).append(name)
    for host, names in by_host.items():
        if len(names) > 1:
            yield problem(
                "one row",
                f"{' and '.join(sorted(names))} are all for host {host}",
                "leave one of them on this host (a location constraint), or remove the other and its record",
            )


def _operations(resource: Resource, configured: Configured, graceful: float) -> Iterator[Finding]:
    api, head_start = float(resource.get("api_timeout")), float(resource.get("head_start"))
    needed = (BRIEFLY + 2) * api + 2 + SERVICE_START
    yield _start(_timeout(configured, "start"), needed)
    yield _stop(_timeout(configured, "stop"), head_start, graceful)
    monitors = [one for one in configured.operations if one.name == "monitor" and one.interval > 0]
    if not monitors:
        mend = f"pcs resource op add {configured.name} monitor interval=10s timeout=30s"
        yield problem("monitor", "there is no recurring monitor: a crash is never seen", mend)
    yield from _intervals(configured, monitors)
    for monitor in monitors:
        yield _monitor(configured, monitor, float(resource.get("bus_timeout")))
    for operation in configured.operations:
        yield from _on_fail(configured, operation)


def _on_fail(configured: Configured, operation: Operation) -> Iterator[Finding]:
    """What is ignored is not recovered: after a stop two may run, after a start none does."""
    if operation.on_fail != "ignore":
        return
    text = f"on-fail=ignore: a {operation.name} that fails counts as one that succeeded"
    mend = f"take on-fail off that operation (crm configure edit {configured.name}, or pcs resource op)"
    yield problem(operation.name, text, mend)


def _start(timeout: float, needed: float) -> Finding:
    if timeout < needed:
        text = f"its timeout is {timeout:.0f} s; with this api_timeout a start may need {needed:.0f} s"
        return problem("start", text, "set the timeout of start to 240s")
    return ok("start", f"timeout {timeout:.0f} s, needs up to {needed:.0f} s where the API is dead")


def _stop(timeout: float, head_start: float, graceful: float) -> Finding:
    needed = graceful + head_start + 10
    if timeout < needed:
        text = (
            f"its timeout is {timeout:.0f} s; head_start and Nova's graceful shutdown may take {needed:.0f} s"
        )
        tell = problem if timeout < DEFAULT_TIMEOUT + head_start + 10 else warning
        return tell(
            "stop",
            f"{text}, then it is killed",
            f"set the timeout of stop to {max(240, graceful + SPARE):.0f}s",
        )
    return ok("stop", f"timeout {timeout:.0f} s, needs up to {needed:.0f} s")


def _monitor(configured: Configured, monitor: Operation, bus_timeout: float) -> Finding:
    timeout = DEFAULT_TIMEOUT if monitor.timeout is None else monitor.timeout
    needed = BETWEEN_SECONDS + (2 * bus_timeout if monitor.level >= 10 else 2)
    what = f"monitor {monitor.interval:.0f}s"
    if timeout < needed:
        text = (
            f"its timeout is {timeout:.0f} s, it may need {needed:.0f} s: a slow moment restarts the service"
        )
        return problem(what, text, f"set its timeout to {60 if monitor.level >= 10 else 30}s")
    if monitor.level < 10 and monitor.interval > RARE:
        text = f"a crash is seen {monitor.interval:.0f} s later"
        return warning(what, text, "set its interval to 10s")
    return ok(what, f"timeout {timeout:.0f} s, level {monitor.level}")


def _intervals(configured: Configured, monitors: list[Operation]) -> Iterator[Finding]:
    if monitors and not any(one.level < 10 for one in monitors):
        mend = f"pcs resource op add {configured.name} monitor interval=10s timeout=30s"
        yield warning("monitor", "there is none at level 0, which is cheap and quick to see a crash", mend)


def _meta(configured: Configured) -> Iterator[Finding]:
    if not is_true(configured.meta.get("is-managed", "true")) or is_true(configured.meta.get("maintenance")):
        text = "it is not managed: nothing starts, stops or recovers it"
        yield warning(
            "unmanaged", text, f"pcs resource manage {configured.name}, when the maintenance is over"
        )
    if not configured.meta.get("failure-timeout"):
        yield problem(
            "failure-timeout",
            "it is not set: a start that failed bans the host for ever",
            f"pcs resource meta {configured.name} failure-timeout=120s",
        )
    else:
        yield ok("failure-timeout", configured.meta["failure-timeout"])


def _clone(resource: Resource, configured: Configured, cluster: Cluster) -> Iterator[Finding]:
    if configured.clone is None:
        if not resource.get("host"):
            mend = f"pcs resource clone {configured.name} interleave=true"
            yield warning("clone", "it is no clone: it runs on one node of the cluster only", mend)
        return
    others = cluster.followed & {configured.clone, configured.name}
    if others and not is_true(configured.clone_meta.get("interleave")):
        yield warning(
            "interleave",
            "something is ordered or placed by it: without interleave a stop on one host waits for all",
            f"pcs resource meta {configured.clone} interleave=true",
        )
    if configured.is_unique:
        mend = f"pcs resource meta {configured.clone} globally-unique=false"
        yield warning("clone", "it is globally unique: an instance has another name on another host", mend)


def _timeout(configured: Configured, name: str) -> float:
    found = [one.timeout for one in configured.operations if one.name == name]
    return next((timeout for timeout in found if timeout is not None), DEFAULT_TIMEOUT)

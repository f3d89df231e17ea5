# SPDX-License-Identifier: Apache-2.0
"""The network between the agent and the cloud delays, drops and repeats. Nova and Pacemaker are real.

One stop and one start take half a minute with a real nova-compute, so that a story has faults at the stop and
others at the start that follows. The agent has its credentials as parameters here (in the other stories
from clouds.yaml); `test_secrets.py` looks for them.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from labkit import proxy as fates
from labkit.canary import Watch
from labkit.errors import wait_for
from labkit.journal import Action
from labkit.lab import Lab
from labkit.proxy import DISABLE, ENABLE, LOGIN, READ, Arrival, Passage, Proxy, Rule
from labkit.report import Entry
from labkit.resource import Resource
from words import assert_disabled_by_us, assert_in_service, assert_stays_in_service

API_TIMEOUT = 3
HOLD = 6
"""Seconds for which the network may keep a request, but where a story keeps one for longer (LONG_HOLD)."""

LONG_HOLD, CHANCE_HOLD = 60, 30
STOP_WITHIN = 15
"""Seconds: head_start (3 s), what nova-compute takes to end by itself (5 s), and the machine's pace."""

START_WITHIN = 58
"""Seconds: the agent ends by itself within Pacemaker's timeout (60 s), whatever the network does."""

TWO_UNANSWERED = 20
"""Seconds from the first of two enables without an answer to the end of the start: 6 s, and the pauses."""

UNANSWERED = r"INFO: %s sent: unknown after \d\.\d+ s: PUT http\S+: no answer (in time|within 3 s), row \S+$"
LEFT = r"WARNING: a late disable of ours replaced somebody's own \(reason '%s', read \S+\); it is left"
WORDS = "maintenance, ticket 815 (Åsa)"


class Route:
    """How the agent's requests go: through the proxy, with parameters of their own."""

    def __init__(self, proxy: Proxy, resource: Resource, parameters: dict[str, str]) -> None:
        self.proxy, self.resource = proxy, resource
        self.parameters = {name: value for name, value in parameters.items() if name != "cloud"}
        self.hold = 0

    def with_hold(self, seconds: int) -> Proxy:
        """The proxy; the agent takes this time for the longest that the network keeps a request."""
        if self.hold != seconds:
            self.hold = seconds
            self.resource.set_parameters({**self.parameters, "hold": f"{seconds}s"})
        return self.proxy


@pytest.fixture(scope="module")
def route(lab: Lab, configured: Resource, parameters: dict[str, str], watch: Watch) -> Iterator[Route]:
    """From here to the end of this file the agent reaches the cloud through the proxy only."""
    proxy = lab.proxy()
    proxy.start()
    if not configured.is_active:
        configured.start()
    login = lab.control.settings.behind(proxy.address).agent_login()
    yield Route(proxy, configured, {**parameters, **login, "api_timeout": f"{API_TIMEOUT}s"})
    configured.set_parameters(parameters)
    configured.settle(LONG_HOLD)
    proxy.stop()
    watch.secrets += sorted({passage.token.encode() for passage in proxy.passages if passage.token})


@pytest.fixture
def network(route: Route, compute: Resource, request: pytest.FixtureRequest) -> Iterator[Proxy]:
    """The proxy, letting everything through."""
    proxy = route.with_hold(getattr(request, "param", HOLD))
    compute.settle(LONG_HOLD + 40)
    compute.wait_until_nobody_works_on_it(LONG_HOLD + 40)
    compute.forget()
    yield proxy
    proxy.clear()


@pytest.mark.parametrize("network", [LONG_HOLD], indirect=True, ids=["long hold"])
def test_late_disables_land_after_the_enable(
    network: Proxy, route: Route, compute: Resource, story: Entry
) -> None:
    """The first disable is kept until after the enable, the second one applied and repeated after it."""
    kept, repeated = network.rule(DISABLE, fates.late), network.rule(DISABLE, fates.repeated)
    assert_stopped(compute)
    assert_disabled_by_us(compute)
    assert_started(compute)
    assert_in_service(compute)
    for what, rule, times in (("late", kept, 1), ("repeated", repeated, 2)):
        story.notes.append(f"{what} disable {assert_undone(compute, rule, times)}")
    assert [p.kind for p in writes(network, compute)] == [DISABLE, DISABLE, ENABLE, ENABLE, ENABLE]
    first_only = 1  # the start may end the helper before the second one's time is over
    assert_told(compute, (first_only, 2), UNANSWERED % "disable")
    assert_told(compute, 3, r"INFO: enable sent: applied after ")
    route.with_hold(HOLD)  # both have landed: nothing more to wait for
    assert_stays_in_service(compute, HOLD)
    assert_asked(network, compute, story, at_most=55)


def test_answers_and_a_request_are_lost(network: Proxy, compute: Resource, story: Entry) -> None:
    """The disable is applied, its answer lost; the first enable is lost, the second one's answer too."""
    network.rule(DISABLE, fates.answer_lost)
    first = network.rule(ENABLE, fates.lost)
    network.rule(ENABLE, fates.answer_lost)
    assert_stopped(compute)
    assert_disabled_by_us(compute)
    start = assert_started(compute)
    took = start.end - first.caught[0].begin
    story.notes.append(f"the start ends {took:.1f} s after its first enable")
    assert took < TWO_UNANSWERED
    soon_in_service(compute)
    assert_stays_in_service(compute, HOLD)

    assert [p.kind for p in writes(network, compute)] == [DISABLE, ENABLE, ENABLE]
    assert_told(compute, 1, UNANSWERED % "disable")
    assert_told(compute, 2, UNANSWERED % "enable")
    assert_asked(network, compute, story, at_most=40)


def test_api_is_dead_and_tokens_are_revoked(
    network: Proxy, compute: Resource, story: Entry, lab: Lab
) -> None:
    """503 all through the stop; it is back; both writes find their token revoked after the read."""
    dead = network.rule(READ, fates.unavailable, times=1000)
    stop = assert_stopped(compute)
    assert compute.row.is_enabled, "nothing could be sent"
    dead.seconds = 0.0
    back = compute.tap.now()

    def revoke(passage: Passage) -> None:
        lab.control.cloud.revoke(passage.token)

    network.rule(DISABLE, fates.after(revoke))
    network.rule(ENABLE, fates.after(revoke))
    assert_disabled_by_us(compute)
    story.notes.append(f"disabled {compute.tap.now() - back:.1f} s after the API was back")
    start = assert_started(compute)
    assert_in_service(compute)
    assert_stays_in_service(compute, HOLD)

    told = [(p.kind, p.told) for p in writes(network, compute)]
    assert [told[0], *told[-2:]] == [(DISABLE, 401), (ENABLE, 401), (ENABLE, 200)]
    assert_told(compute, 1, r"INFO: disable sent: refused after \S+ s: .*answered 401")
    assert_told(compute, 1, r"INFO: enable sent: refused after \S+ s: .*answered 401")
    assert_told(compute, 1, r"INFO: enable sent: applied after ")
    story.notes.append(f"stop {stop.seconds:.1f} s with the API dead; start {start.seconds:.1f} s")
    assert_asked(network, compute, story, at_most=50)


def test_operator_disables_while_our_disable_is_under_way(
    network: Proxy, compute: Resource, story: Entry
) -> None:
    """Kept back; a person disables for maintenance; ours lands on their words. Left to them, and told."""
    kept = network.rule(DISABLE, fates.late)
    with compute.cloud.elsewhere() as person:  # Nova answers them when the compute is back
        mark = compute.journal.mark()
        compute.set_role("Stopped")
        sent = kept.wait_until_caught()
        person.submit(compute.cloud.disable, compute.host, WORDS)
        stop = compute.wait_for_action("stop", mark)
        assert (stop.code, compute.row.reason) == (0, WORDS)
        assert stop.seconds < STOP_WITHIN
        wait_for("their reason on record", lambda: remembered(compute) == WORDS, 10)
        landed = land_on_their_words(compute, kept)
        story.notes.append(f"ours landed {landed - sent.begin:.1f} s after it was sent")
        assert_started(compute)
    compute.settle(HOLD + 40)
    assert_disabled_by_us(compute, within=0)
    assert remembered(compute) == WORDS
    assert [p.kind for p in writes(network, compute)] == [DISABLE], "nothing of ours enables it"
    assert_told(compute, 2, LEFT % re.escape(WORDS))
    story.notes.append("left, and told by the helper of the stop and by the start, with their words")
    assert_asked(network, compute, story, at_most=25)

    enable_by_hand(compute)


def land_on_their_words(compute: Resource, kept: Rule) -> float:
    """Our disable lands on a person's; returns when, once the helper of the stop has told."""
    kept.let_go()
    landed = kept.landed()
    wait_for("our marker in the row", lambda: compute.row.reason != WORDS, 10)
    wait_for("the helper to tell", lambda: any("a late disable" in line for line in compute.told), 15)
    return landed.at


@pytest.mark.long
@pytest.mark.parametrize("network", [CHANCE_HOLD], indirect=True, ids=["hold"])
def test_whatever_the_network_does(network: Proxy, compute: Resource, story: Entry) -> None:
    """Stop and start under faults by chance, many rounds; LAB_SEED replays them."""
    seed = int(os.environ.get("LAB_SEED") or time.time())
    rounds = int(os.environ.get("LAB_ROUNDS") or 30)
    story.notes.append(f"LAB_SEED={seed}, {rounds} rounds")
    chance, slowest, most = random.Random(seed), 0.0, 0
    for number in range(rounds):
        plan = Round.by(chance)
        print(f"LAB_SEED={seed} round {number}: {plan}", flush=True)
        compute.forget()
        play(plan, network, compute)
        asked = network.of(compute.node.address, compute.since)
        assert len(asked) <= 100, "\n".join(map(str, asked))
        assert_told(compute, 0, "ERROR")
        most, slowest = max(most, len(asked)), max(slowest, *(a.seconds for a in compute.actions))
    story.notes.append(f"at most {most} requests in a round, no action over {slowest:.1f} s")


KINDS = (DISABLE, DISABLE, ENABLE, ENABLE, READ, LOGIN)
FATES: tuple[fates.Fate, ...] = (
    fates.late,
    fates.answer_lost,
    fates.lost,
    fates.repeated,
    fates.reset,
    fates.answer_reset,
    fates.half_an_answer,
    fates.slow_drip,
    fates.unavailable,
    fates.gateway_timeout,
)


class Fault(NamedTuple):
    """What becomes of the next request of a kind; one that is kept back is so for `delay` seconds."""

    kind: str
    fate: fates.Fate
    delay: float

    def __str__(self) -> str:
        return f"{self.kind} {self.fate.__name__} {self.delay:.1f} s"


class Round(NamedTuple):
    """Some faults, the seconds between stop and start, and whether a person disables the host meanwhile."""

    faults: list[Fault]
    pause: float
    is_attended: bool

    @classmethod
    def by(cls, chance: random.Random) -> Round:
        kinds = chance.choices(KINDS, k=4)
        faults = [Fault(kind, chance.choice(FATES), chance.uniform(1, CHANCE_HOLD)) for kind in kinds]
        return cls(faults, chance.uniform(0, 6), chance.random() < 0.2)

    def __str__(self) -> str:
        person = ", a person disables" if self.is_attended else ""
        return f"{', '.join(map(str, self.faults))}; {self.pause:.1f} s{person}"


def play(plan: Round, network: Proxy, compute: Resource) -> None:
    """One round; everything that was kept back has landed at its end."""
    for kind, fate, delay in plan.faults:
        network.rule(kind, fate, delay=delay)
    generation = compute.record["generation"]
    assert_stopped(compute)
    with compute.cloud.elsewhere() as person:
        if plan.is_attended:
            person.submit(compute.cloud.disable, compute.host, WORDS)
            wait_for("their words in the row", lambda: compute.row.reason == WORDS, 10)
        time.sleep(plan.pause)
        assert_started(compute)
    compute.settle(CHANCE_HOLD + 60)
    network.clear()
    if plan.is_attended:
        assert_respected(compute, generation)
        enable_by_hand(compute)
    soon_in_service(compute)


def assert_respected(compute: Resource, generation: int) -> None:
    """The person's disable is in effect, or known, if it was ever read since that generation."""
    if any(d["read"] == "foreign" and d["generation"] > generation for d in compute.decisions):
        row = compute.row
        assert not row.is_enabled
        assert WORDS in (row.reason, remembered(compute))


def enable_by_hand(compute: Resource) -> None:
    """A person enables. Nova believes the last process' report for a minute, and Placement misses an enable
    before the present one's first: wait for that."""
    reported = compute.row.updated_at
    wait_for("nova-compute to report", lambda: compute.row.updated_at != reported, 60, every=0.5)
    compute.cloud.enable(compute.host)
    soon_in_service(compute)


def assert_stopped(compute: Resource) -> Action:
    stop = compute.stop()
    assert stop.code == 0, stop
    assert stop.seconds < STOP_WITHIN
    return stop


def assert_started(compute: Resource) -> Action:
    start = compute.start()
    assert start.code == 0, start
    assert start.seconds < START_WITHIN
    return start


def assert_undone(compute: Resource, rule: Rule, times: int) -> str:
    """Let a disable land on the enabled row; the helper that start left undoes it. Says after how long."""
    rule.let_go()
    landed: Arrival = rule.landed(times)
    wait_for("the late disable in the row", lambda: not compute.row.is_enabled, 10)
    wait_for("the row to be enabled again", lambda: compute.row.is_enabled, LONG_HOLD)
    took = compute.tap.now() - landed.at
    soon_in_service(compute)
    return f"landed {landed.at - rule.caught[0].begin:.1f} s after it was sent, undone after {took:.1f} s"


def soon_in_service(compute: Resource) -> None:
    """Nova saves the row first and tells Placement a moment later."""
    wait_for("Placement to know", lambda: compute.may_be_chosen, 5)
    assert_in_service(compute)


def writes(network: Proxy, compute: Resource) -> list[Passage]:
    return [p for p in network.of(compute.node.address, compute.since) if p.kind in (DISABLE, ENABLE)]


def remembered(compute: Resource) -> str | None:
    """The foreign reason on record."""
    return (compute.record.get("foreign") or {}).get("reason")


def assert_told(compute: Resource, times: int | tuple[int, int], pattern: str) -> None:
    """One clear line for each, and no traceback. `times`: how many, or the fewest and the most."""
    told = compute.told
    fewest, most = times if isinstance(times, tuple) else (times, times)
    count = len([line for line in told if re.match(pattern, line)])
    assert fewest <= count <= most, "\n".join([pattern, *told])
    assert not any("Traceback" in line for line in told)


def assert_asked(network: Proxy, compute: Resource, story: Entry, at_most: int) -> None:
    """All that the agent and its helpers have sent in this story, whatever became of it."""
    compute.wait_until_nobody_works_on_it(LONG_HOLD + 40)
    asked = network.of(compute.node.address, compute.since)
    story.notes.append(f"{len(asked)} requests sent, {at_most} allowed")
    assert len(asked) <= at_most, "\n".join(map(str, asked))

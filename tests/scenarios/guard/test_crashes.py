# SPDX-License-Identifier: Apache-2.0
"""Killed, or without power, at every single point of stop, helper and start; whatever the network does."""

from __future__ import annotations

import pytest

from .story import HOLD, assert_enabled_at_rest
from .world import Actor, Fate, World

NETWORKS = {
    "answered": [],
    "no answer, applied": [Fate.lost(0.01), Fate.lost(0.01)],
    "no answer, applied late": [Fate.lost(100.0), Fate.lost(5.0)],
    "no answer, applied twice": [Fate.lost(0.01, 200.0)],
    "no answer, never applied": [Fate.lost()],
    "answered after a minute": [Fate.slow(60.0)],
}
VICTIMS = ("stop", "helper of stop", "start", "helper of start")


class Assassin:
    """Strikes when a process whose name is `victim` comes to its n-th point."""

    def __init__(self, world: World, victim: str, number: int, *, takes_power: bool) -> None:
        self.world, self.victim, self.left, self.takes_power = world, victim, number, takes_power
        self.has_struck = False
        world.observer = self.see

    def see(self, actor: Actor, what: str) -> None:
        if actor.name != self.victim or self.has_struck:
            return
        self.left -= 1
        if self.left < 0:
            self.has_struck = True
            for each in self.world.actors if self.takes_power else [actor]:
                each.kill()

    def settle(self) -> None:
        """After a power cut the node comes back."""
        if self.has_struck and self.takes_power and self.world.boot_id == "boot-1":
            self.world.crash(down=30.0)


def live_through(network: str, victim: str, number: int, *, takes_power: bool) -> bool:
    """Stop, start, time; the victim ends at its n-th point. False when it has fewer points than that."""
    with World() as world:
        world.at_rest()
        world.cloud.fates.extend(NETWORKS[network])
        assassin = Assassin(world, victim, number, takes_power=takes_power)
        world.stop()
        world.run(20.0)
        assassin.settle()
        if not world.start().is_success:
            assassin.settle()
            world.stop("stop after the failed start")
            assert world.start("start again").is_success
        world.run(5.0)
        if assassin.has_struck and takes_power and world.boot_id == "boot-1":
            assassin.settle()
            assert world.start("start after the power cut").is_success
        world.keep_running(3 * HOLD)
        assert world.violations == []
        assert world.exempt == []
        if world.service is None:  # the power went while a helper watched
            assassin.settle()
            assert world.start("start after the power cut").is_success
            world.keep_running(3 * HOLD)
        assert_enabled_at_rest(world)
        return assassin.has_struck


@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("network", NETWORKS)
def test_whoever_is_killed_wherever_the_row_is_enabled_in_the_end(network: str, victim: str) -> None:
    points = 0
    while points < 40 and live_through(network, victim, points, takes_power=False):
        points += 1
    assert points >= 3 or (victim == "helper of start" and network in ("answered", "answered after a minute"))


@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("network", NETWORKS)
def test_wherever_the_power_goes_the_row_is_enabled_in_the_end(network: str, victim: str) -> None:
    points = 0
    while points < 40 and live_through(network, victim, points, takes_power=True):
        points += 1
    assert points >= 3 or (victim == "helper of start" and network in ("answered", "answered after a minute"))


@pytest.mark.parametrize("victim", ["stop", "helper of stop"])
def test_a_stop_or_its_helper_killed_anywhere_leaves_a_row_that_the_next_stop_disables(victim: str) -> None:
    for number in range(12):
        with World() as world:
            world.at_rest()
            Assassin(world, victim, number, takes_power=False)
            world.stop()
            world.run(30.0)
            world.stop("second stop")
            world.run(30.0)
            assert world.cloud.is_ours
            assert world.violations == []

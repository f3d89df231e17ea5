# SPDX-License-Identifier: Apache-2.0
"""Random walks: anybody does anything at any time.

`python -m tests.scenarios.guard.walk SEED` replays one, `... FIRST LAST` searches many.
"""

from __future__ import annotations

import random
import sys

from ocf_agents.guard.record import DISABLED
from ocf_agents.guard.row import Unreadable

from .story import HOLD
from .world import Actor, Fate, World

LONGEST_IN_THE_NETWORK = 280.0


class Walk:
    """One walk. `story` is what happened; `faults` what must not have."""

    def __init__(self, seed: int, steps: int = 8) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.steps = steps
        self.story: list[str] = []
        self.faults: list[str] = []

    def run(self) -> Walk:
        with World(seed=self.seed) as world:
            world.at_rest()
            self.world = world
            for _ in range(self.steps):
                self.step()
            self.calm_down()
            self.finish()
            self.faults += world.violations
        return self

    def tell(self, text: str) -> None:
        self.story.append(f"{self.world.now:9.1f} {text}")

    def step(self) -> None:
        acts = (
            self.stop,
            self.start,
            self.people,
            self.network,
            self.network,
            self.kill,
            self.time,
            self.trouble,
        )
        self.random.choice(acts)()

    def stop(self) -> None:
        actor = self.world.begin_stop(takes=self.random.choice([0.0, 1.0, 10.0]))
        self.let(actor, "stop")

    def start(self) -> None:
        actor = self.world.begin_start(seconds=self.random.choice([20.0, 60.0, 240.0]))
        self.let(actor, "start")

    def let(self, actor: Actor, name: str) -> None:
        """Most actions end by themselves, as Pacemaker waits for them; some are killed on the way."""
        if self.random.random() < 0.2:
            self.world.run(self.random.choice([0.01, 0.3, 2.0, 15.0, 40.0]), lambda: actor.has_ended)
            actor.kill()
        self.world.run(900.0, lambda: actor.has_ended)
        self.tell(f"{name}: {getattr(actor.result, 'text', actor.result and 'done') or 'killed'}")

    def people(self) -> None:
        disabled = self.random.random() < 0.6
        reason = self.random.choice(["RAM swap", None, "", "AUTO: x", "disk swap"])
        delay = self.random.choice([0.0, 0.0, 0.015, 1.5, 4.0, 12.0])

        def act() -> None:
            self.tell(f"somebody {'disables: ' + repr(reason) if disabled else 'enables'}")
            self.world.cloud.operator(disabled=disabled, reason=reason)

        self.world.later(delay, act)

    def network(self) -> None:
        latest = self.random.choice([0.01, 5.0, 30.0, LONGEST_IN_THE_NETWORK])
        commits = sorted(self.random.uniform(0.0, latest) for _ in range(self.random.choice([0, 1, 1, 1, 2])))
        fate = self.random.choice(
            [
                Fate(),
                Fate.lost(*commits),
                Fate.lost(*commits),
                Fate.slow(60.0),
                Fate.refused(),
                Fate((0.01, *commits), 45.0),
            ]
        )
        self.tell(f"a next write: {fate.commits} {fate.answer_after}")
        self.world.cloud.fates.append(fate)

    def kill(self) -> None:
        helpers = self.world.helpers()
        if helpers:
            self.tell(f"kills {helpers[0].name}")
            helpers[0].kill()
        elif self.random.random() < 0.3:
            self.tell("power is lost")
            self.world.crash(down=self.random.choice([5.0, 100.0]))

    def time(self) -> None:
        self.world.keep_running(self.random.choice([0.0, 1.0, 10.0, 60.0, 400.0]))

    def trouble(self) -> None:
        world = self.world
        seconds = self.random.choice([1.0, 20.0, 200.0])
        kind = self.random.choice(["api", "lock", "freeze", "by hand"])
        self.tell(f"trouble: {kind}")
        if kind == "api":
            world.cloud.trouble = Unreadable("503")
            world.later(seconds, self.mend)
        elif kind == "lock":
            world.disk.locked_until = world.now + seconds / 4
        elif kind == "freeze":
            point = self.random.choice(["send", "was read", "update", "answered"])
            world.on("helper", point, lambda helper: helper.sleep(seconds * 3))
        elif world.service is None:
            world.run_service()

    def mend(self) -> None:
        self.world.cloud.trouble = None

    def calm_down(self) -> None:
        """No further trouble: people have finished, and of the network only what is under way goes on."""
        world = self.world
        self.mend()
        world.disk.locked_until = 0.0
        world.cloud.fates.clear()
        world._hooks.clear()
        world.run(20.0)

    def finish(self) -> None:
        if self.random.random() < 0.7:
            self.finish_with_a_start()
        else:
            self.finish_with_a_stop()

    def finish_with_a_start(self) -> None:
        world = self.world
        conclusion = world.start("last start")
        self.tell(f"last start: {conclusion.text}")
        if not conclusion.is_success:
            self.faults.append(f"the last start fails: {conclusion.text}")
            return
        world.keep_running(4 * HOLD)
        record = world.disk.record()
        if not record.is_quiet or world.helpers():
            self.faults.append("the guard does not come to rest")
        if world.cloud.is_ours and record.foreign is None:
            self.faults.append("our disable is left behind")

    def finish_with_a_stop(self) -> None:
        world = self.world
        world.stop("last stop")
        world.run(4 * HOLD)
        assert world.cloud.row is not None
        if not world.cloud.row.disabled:
            self.faults.append("a stopped host is enabled")
        if world.disk.record().want != DISABLED or world.helpers():
            self.faults.append("the stop does not come to rest")


def main(first: int, last: int) -> None:
    for seed in range(first, last):
        walk = Walk(seed).run()
        if walk.faults:
            print(seed, walk.faults, *walk.story, sep="\n    ")


if __name__ == "__main__":
    main(int(sys.argv[1]), int((sys.argv[2:] or [int(sys.argv[1]) + 1])[0]))

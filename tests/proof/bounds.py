# SPDX-License-Identifier: Apache-2.0
"""What may happen in a world, and how often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

RESOURCE, HOST, MACHINE = "nova-compute", "c1", "machine"
BIRTH_TICKS = 100
"""Of a process's start time, in a second."""


@dataclass(frozen=True)
class Bounds:
    """What may happen in a world. Numbers bound how often; times are in seconds.

    `script`: what the cluster does, in order: `stop`, `start`, `overlap` (do not wait for the
    action before). A failed or killed action is followed by what Pacemaker would do, `recoveries`
    times.

    The network: `lost` clients get no answer, or a late one; `repeats` requests are applied twice;
    `stuck`: of those without an answer, so many whose process may still send for a while;
    `refused`: 4xx; `unread`: reads that fail.

    The node: `kills` of any process of the kinds in `victims`, at any point; `power` losses;
    `losses`: of those, so many lose the record too; `freezes`: a process stops for as long as you
    like; `forever`: a helper stops and never wakes up; `no_spawns`: helpers that cannot be started.
    The service: `deaths`, `failures` to start, and `by_hand`: somebody else starts it. Others: `acts`
    on the row, of the kinds in `others`; `ticks`: monitors that come at a bad moment.

    `is_fine`: processes can be interrupted inside the locked section as well. `is_real`: a service
    needs its time to be up. `is_quick`: the store's verbs are one step each (see `QuickStore`), for
    worlds in which nothing can happen inside of them. `backoff`: of the guard's reads (its own is
    1 s). `is_reduced`: orders that nobody can tell apart are tried once.
    `is_open`: it begins after a stop whose disable has got no answer and is under way.
    """

    name: str
    script: tuple[str, ...] = ("stop", "start")
    lost: int = 0
    repeats: int = 0
    stuck: int = 0
    refused: int = 0
    unread: int = 0
    kills: int = 0
    power: int = 0
    losses: int = 0
    freezes: int = 0
    forever: int = 0
    acts: int = 0
    others: tuple[str, ...] = ("disable", "disable silently", "enable", "edit")
    ticks: int = 0
    by_hand: int = 0
    deaths: int = 0
    failures: int = 0
    no_spawns: int = 0
    recoveries: int = 2
    victims: tuple[str, ...] = ("stop", "start", "helper", "monitor")
    is_fine: bool = False
    is_real: bool = False
    is_quick: bool = False
    hold: float = 40.0
    api_timeout: float = 10.0
    start_timeout: float = 60.0
    disable_deadline: float = 100.0
    policy: tuple[tuple[str, Any], ...] = ()
    forced_down: bool = False
    backoff: float = 8.0
    is_reduced: bool = True
    is_open: bool = False

    def budget(self) -> dict[str, int]:
        hard = "lost repeats stuck refused unread kills power losses freezes forever acts ticks by_hand"
        soft = "deaths failures no_spawns recoveries"
        return {one: getattr(self, one) for one in (*hard.split(), *soft.split())}

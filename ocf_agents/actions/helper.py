# SPDX-License-Identifier: Apache-2.0
"""The helper that outlives an action: `python3 -I .../actions/helper.py MODULE ORDER`.

Started by `host.HelperSpawner`, and run as a program of its own. It reads the row, sends what the
action wanted, and watches until nothing may land any more, or its time is over.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":  # an isolated interpreter finds the package by where this file lies
    _root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    if _root not in sys.path:
        sys.path.insert(0, _root)

import contextlib
import importlib
import json
import signal
import socket
from types import FrameType
from typing import Any


class Dismissed(BaseException):
    """Another action has asked this helper to leave while it slept."""


def main(module_name: str, order: str) -> None:
    """Runs one errand for the agent that a module declares. `order` is HelperSpawner's, as JSON."""
    facts: dict[str, Any] = json.loads(order)
    line = socket.socket(fileno=facts["line"])
    if facts["is_held"]:
        line.recv(1)  # until our parent has handed over, or is gone
    _run(importlib.import_module(module_name), facts, line)


def _run(module: Any, facts: dict[str, Any], line: socket.socket) -> None:  # noqa: ANN401 (an agent's module)
    from ocf_agents.actions.host import HostClock
    from ocf_agents.actions.wiring import Wiring
    from ocf_agents.guard.ports import Errand
    from ocf_agents.guard.record import Process
    from ocf_agents.ocf.agent import Action, Call

    call = Call(module.AGENT, Action("helper", module.SERVICE.stop, 0), os.environ)
    errand = Errand(**facts["errand"])
    if errand.service:
        errand = errand._replace(service=Process(*errand.service))
    clock = HostClock()
    signal.signal(signal.SIGTERM, lambda number, frame: _leave(clock, frame))
    try:
        guard = Wiring(module.SERVICE, call, clock=clock).for_helper(
            facts["host"], is_moving=facts["moves"], is_quiet=facts["is_quiet"]
        )
        guard.run_errand(errand, lambda: _say_word(line))
    except Dismissed:
        return
    except Exception as error:
        tell = call.log.debug if facts["is_quiet"] else call.log.error
        tell(f"the helper gives up: {type(error).__name__}: {error}")
        raise SystemExit(1) from None


def _leave(clock: Any, frame: FrameType | None) -> None:  # noqa: ANN401
    """Leave at once while asleep; with a request under way stay to see its answer."""
    if clock.is_pausing:
        raise Dismissed


def _say_word(line: socket.socket) -> None:
    with contextlib.suppress(OSError):
        line.send(b"\n")


if __name__ == "__main__":
    main(*sys.argv[1:3])

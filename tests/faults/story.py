# SPDX-License-Identifier: Apache-2.0
"""What one trouble of the cloud does to each action, from a running service to an enabled row."""

from __future__ import annotations

import re
import secrets as random
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

from ocf_agents.testing.compute.certificates import Authority
from ocf_agents.testing.compute.faults import Fault
from ocf_agents.testing.compute_api import ComputeApi

from . import stage
from .stage import Stage
from .watch import Watch

AT_ONCE = 3
ROUNDS = 20
STOPPED, FAILED = 7, 1


@dataclass(frozen=True)
class Trouble:
    """One thing that goes wrong, from `strike` to `heal`.

    `says`: what the reason of a start names that cannot undo our own disable. `start`: the codes it may have,
    and `seconds` its timeout.
    `most`: how many requests a stop or a start may send. `authority`: whose certificates the cloud and the
    node believe in, where there is TLS.
    """

    name: str
    says: str
    strike: Callable[[Stage], object]
    heal: Callable[[Stage], object] = lambda stage: stage.api.heal()
    start: tuple[int, ...] = (FAILED,)
    seconds: float = stage.START_TIMEOUT
    most: int = 24
    authority: Authority | None = None
    parameters: dict[str, Any] = field(default_factory=dict)


def on(fault: Fault, service: str = "compute", method: str | None = None) -> Callable[[Stage], object]:
    """Strike with a fault of the embedded API, for all requests from now on."""
    return lambda stage: stage.api.fail(fault, service=service, method=method, times=None)


def one_after_another(*troubles: Fault, service: str = "compute") -> Callable[[Stage], object]:
    """Strike with another fault each time, and begin again after the last."""

    def strike(stage: Stage) -> None:
        for fault in troubles * ROUNDS:
            stage.api.fail(fault, service=service)

    return strike


def play_all(
    troubles: Sequence[Trouble], folder: Path, story: Callable[[Trouble, Stage], None] | None = None
) -> None:
    """Play the story of each (`play`, or another), some at a time; tell of all that went wrong."""
    mark = f"canary{random.token_hex(4)}"
    with Watch(mark) as watch, ThreadPoolExecutor(AT_ONCE) as pool:
        played = [
            pool.submit(attempt, story or play, trouble, folder / str(number), mark, watch)
            for number, trouble in enumerate(troubles)
        ]
        told = [text for text in (one.result() for one in played) if text]
    assert not told, "\n\n".join(told)
    assert watch.seen, "the watch has seen who may have the secrets"
    assert not watch.findings, "\n".join(watch.findings)


def attempt(
    story: Callable[[Trouble, Stage], None], trouble: Trouble, folder: Path, mark: str, watch: Watch
) -> str:
    """Play one story; what went wrong, or nothing."""
    account = stage.secrets(mark)
    authority = trouble.authority
    tls = authority.server_context() if authority else None
    trust = {"cacert": str(authority.ca_file)} if authority else {}
    with ComputeApi(report_interval=1.0, account=account, tls=tls) as api:
        here = Stage(folder, api, watch, **trust, **trouble.parameters)
        try:
            story(trouble, here)
        except Exception:
            return f"{trouble.name}: {traceback.format_exc()}\n{here.history()}\n" + "\n".join(
                here.requests()
            )
        finally:
            here.close()
    return ""


def play(trouble: Trouble, here: Stage) -> None:
    """Run, look on, look at the row, stop, heal; strike again, start, heal, start."""
    here.run_service()
    trouble.strike(here)
    here.look_on()
    here.look_at_row()
    here.stop()
    with here.silent():
        assert here.run("monitor").code == STOPPED
        assert here.run("monitor", interval=0.0).code == STOPPED, "a probe"
    trouble.heal(here)
    here.come_to_rest()
    assert here.is_ours(), "the helper of the stop has disabled the row"
    assert here.api.count() <= trouble.most, here.requests()

    here.api.forget()
    trouble.strike(here)
    result = here.start(trouble.seconds)
    assert result.code in trouble.start, result
    assert re.search(trouble.says, result.reason or here.log()), result
    assert here.api.count() <= trouble.most, here.requests()
    trouble.heal(here)
    assert here.start(60.0).code == 0
    assert not here.row.disabled
    here.come_to_rest()
    assert not here.row.disabled, "nothing of ours comes late"
    assert here.running() == [here.node.pid], "nothing but the service"

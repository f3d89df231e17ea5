# SPDX-License-Identifier: Apache-2.0
"""Running one action of an agent as Pacemaker's executor would."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ocf_agents.ocf import codes
from ocf_agents.operator import installed
from ocf_agents.operator.texts import clean
from ocf_agents.operator.trouble import BadInput, NotFound
from ocf_agents.testing.run import Pacemaker, Result

TIMED_OUT = 124
BY_SIGNAL = 128
KEPT = ("HA_RSCTMP", "HA_LOGFILE")
NAMES = {
    value: name.removeprefix("OCF_").removeprefix("ERR_").lower().replace("_", " ")
    for name, value in vars(codes).items()
    if name.startswith("OCF_")
}


def agent_path(name: str) -> str:
    """The agent's file: a path, an installed agent's, or the source tree's. Raises NotFound."""
    if "/" in name:
        if not os.path.isfile(name):
            raise NotFound(f"there is no agent {clean(name)}")
        return os.path.abspath(name)
    base = name.rpartition(":")[2]
    for one in installed.of_agent(base):
        return one.path
    path = installed.in_source_tree(base)
    if path is None:
        raise NotFound(f"no agent {clean(base)!r} is installed here: ocf-agents list, or give its path")
    return path


def run(
    path: str,
    action: str,
    parameters: Mapping[str, str],
    instance: str,
    *,
    level: int | None,
    interval: float | None,
    timeout: float,
) -> Result:
    """The action's result. Its environment is Pacemaker's, with nothing of ours but where logs go.

    Raises BadInput for a file that is no program.
    """
    kept: dict[str, str | None] = {name: os.environ[name] for name in KEPT if name in os.environ}
    resource = Pacemaker(path, parameters, instance, kept)
    try:
        return resource.run(action, interval=interval, timeout=timeout, level=level)
    except OSError as error:
        raise BadInput(f"{clean(path)} cannot be run: {error.strerror}") from None


def exit_code(result: Result) -> int:
    """The action's own code; 124 when it was out of time, 128 and the signal when one ended it."""
    if result.timed_out:
        return TIMED_OUT
    return result.code if result.code >= 0 else BY_SIGNAL - result.code


def summary(action: str, result: Result) -> str:
    """How it ended, in one line."""
    took = f"in {result.seconds:.1f} s"
    if result.timed_out:
        return f"{action}: killed, its timeout was over {took}"
    name = NAMES.get(result.code, "no code of OCF") if result.code >= 0 else "ended by a signal"
    reason = f": {clean(result.reason)}" if result.reason else ""
    return f"{action}: {result.code} ({name}) {took}{reason}"


def as_json(action: str, result: Result) -> dict[str, Any]:
    return {
        "action": action,
        "code": result.code,
        "name": NAMES.get(result.code),
        "reason": result.reason,
        "timed_out": result.timed_out,
        "seconds": round(result.seconds, 3),
        "stdout": result.stdout,
        "stderr": result.stderr,
    }

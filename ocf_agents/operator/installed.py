# SPDX-License-Identifier: Apache-2.0
"""Where this host has agents installed, and which interpreter and libraries they run with."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import ocf_agents

ROOTS = ("/usr/lib/ocf/resource.d", "/usr/local/lib/ocf/resource.d")
VARIABLE = "OCF_ROOT"
LARGEST = 65536
PATIENCE = 20.0
ASK = """\
import importlib.util, json, sys
print(json.dumps([name for name in sys.argv[1:] if importlib.util.find_spec(name) is None]))
"""


class Installation(NamedTuple):
    """An agent's file: its provider, its path, and where that leads."""

    provider: str
    path: str
    target: str


class CannotAsk(Exception):
    """The agent's interpreter does not answer; one line says why."""


def in_source_tree(name: str) -> str | None:
    """The agent's file beside this package, where the package is not installed but checked out."""
    path = Path(ocf_agents.__file__).parents[1] / "heartbeat" / name
    return str(path) if name and path.is_file() else None


def of_agent(name: str, roots: Sequence[str] | None = None) -> list[Installation]:
    """All files of this name that speak of this package."""
    folders = [folder for root in roots or _roots() for folder in _folders(root)]
    paths = [os.path.join(folder, name) for folder in folders]
    return [
        Installation(os.path.basename(os.path.dirname(path)), path, os.path.realpath(path))
        for path in paths
        if _is_ours(path)
    ]


def missing(path: str, modules: Sequence[str]) -> list[str]:
    """Which modules the agent's own interpreter does not find. Raises CannotAsk."""
    return missing_for(_interpreter(path), modules)


def missing_for(interpreter: str, modules: Sequence[str]) -> list[str]:
    """Which modules an interpreter does not find when it runs as an agent's does. Raises CannotAsk."""
    try:
        done = subprocess.run(
            [interpreter, "-I", "-c", ASK, *modules],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C"},
            cwd="/",
        )
        return [str(name) for name in json.loads(done.stdout)]
    except subprocess.TimeoutExpired:
        raise CannotAsk(f"{interpreter} does not answer") from None
    except OSError as error:
        raise CannotAsk(f"{interpreter}: {error.strerror}") from None
    except (ValueError, TypeError):
        raise CannotAsk(f"{interpreter} fails") from None


def _interpreter(path: str) -> str:
    """The program in the first line."""
    try:
        with open(path, "rb") as file:
            first = file.readline(300)
    except OSError as error:
        raise CannotAsk(f"{path}: {error.strerror}") from None
    words = first[2:].split() if first.startswith(b"#!") else []
    if not words:
        raise CannotAsk(f"{path} names no interpreter in its first line")
    return os.fsdecode(words[0])


def _roots() -> list[str]:
    said = os.environ.get(VARIABLE)
    return [os.path.join(said, "resource.d")] if said else list(ROOTS)


def _folders(root: str) -> list[str]:
    try:
        return sorted(entry.path for entry in os.scandir(root) if entry.is_dir())
    except OSError:
        return []


def _is_ours(path: str) -> bool:
    try:
        with Path(path).open("rb") as file:
            return b"ocf_agents" in file.read(LARGEST)
    except OSError:
        return False

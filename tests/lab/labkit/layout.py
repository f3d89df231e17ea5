# SPDX-License-Identifier: Apache-2.0
"""Where the lab keeps its things. Nothing of it is tracked by git."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from labkit.errors import LabError

LAB = Path(__file__).resolve().parent.parent
REPO = LAB.parent.parent

# Private to each node (see `node`): an overlay over such a directory cannot have its upper layer inside it.
PRIVATE = ("/etc", "/var/lib", "/var/log")


@dataclass(frozen=True)
class Layout:
    """Directories: `state` may be thrown away at any time, `cache` is what is dear to build again."""

    repo: Path
    state: Path
    cache: Path

    @classmethod
    def of_environment(cls, environ: Mapping[str, str] = os.environ) -> Layout:
        """LAB_STATE and LAB_CACHE, by default both `.lab` in the checkout."""
        state = Path(environ.get("LAB_STATE") or REPO / ".lab").absolute()
        cache = Path(environ.get("LAB_CACHE") or REPO / ".lab").absolute()
        for private in PRIVATE:
            if Path(private) in (state, *state.parents):
                raise LabError(
                    f"LAB_STATE={state} lies in {private}, which is private to each node: choose another"
                )
        return cls(REPO, state, cache)

    @property
    def prefix(self) -> str:
        """The beginning of our namespaces' names; two labs with different state do not meet."""
        return "lab" + hashlib.sha256(str(self.state).encode()).hexdigest()[:5]

    def home(self, node: str) -> Path:
        """The directory of one node: its disk, its identity, its logs."""
        return self.state / "nodes" / node

    @property
    def layer(self) -> Path:
        """What is laid over /usr/lib/ocf/resource.d in each node."""
        return self.state / "agents" / "layer"

    @property
    def offered(self) -> Path:
        """The agents that the layer leads to."""
        return self.state / "agents" / "offered"

    @property
    def tools(self) -> Path:
        """What is laid over /usr/sbin in each node: the lab's fence agent."""
        return self.state / "tools"

    @property
    def unpacked(self) -> Path:
        """The files of packages that cannot be installed here."""
        return self.state / "packages"

    @property
    def power(self) -> Path:
        """The socket of the power switch, while a story has one."""
        return self.state / "power"

    @property
    def report(self) -> Path:
        return self.state / "report.txt"


def is_open(path: Path) -> bool:
    """Can every user of this machine get to the directory?"""
    return all(part.stat().st_mode & 0o001 for part in (path, *path.parents))

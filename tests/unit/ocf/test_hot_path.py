# SPDX-License-Identifier: Apache-2.0
"""What a monitor and a meta-data run load: nothing but the package beyond a bare interpreter."""

from __future__ import annotations

import subprocess
import sys

import pytest

BARE = "import os, sys; print(*sorted(sys.modules))"
LOADED = """\
import os, sys
os._exit = lambda code: print(*sorted(sys.modules), file=sys.__stderr__)
sys.argv = sys.argv[1:]
exec(compile(open(sys.argv[0], "rb").read(), sys.argv[0], "exec"), {"__name__": "__main__"})
"""


def modules(*arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", *arguments], capture_output=True, text=True, timeout=20, check=True
    )
    return set((done.stderr or done.stdout).split())


@pytest.mark.parametrize("action", ["monitor", "meta-data"])
def test_nothing_is_imported_but_the_package(sample_path: str, action: str) -> None:
    extra = modules(LOADED, sample_path, action) - modules(BARE)
    ours = {name for name in extra if name.split(".")[0] == "ocf_agents"}
    assert "ocf_agents.ocf.agent" in ours
    assert extra - ours <= {"__future__"}
    assert ("ocf_agents.ocf.metadata" in ours) is (action == "meta-data")

# SPDX-License-Identifier: Apache-2.0
"""Cluster people's commands, on a configuration in a file and with this checkout's agents in their place."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

AGENTS = Path("/usr/lib/ocf/resource.d/heartbeat")
NEEDED = ("crm", "pcs", "crm_resource", "cibadmin")
LAY_OVER = """\
set -e
scratch=$1; agents=$2; ours=$3; shift 3
mount -t tmpfs -o mode=0755 none "$scratch"
mkdir "$scratch/upper" "$scratch/work"
mount -t overlay -o "lowerdir=$agents,upperdir=$scratch/upper,workdir=$scratch/work" none "$agents"
for agent in "$ours"/*; do ln -sf "$agent" "$agents/"; done
exec "$@"
"""
"""In a mount namespace of its own, so that the host keeps the agents that it has."""

PROPERTIES = """\
<crm_config><cluster_property_set id="options">
<nvpair id="fencing" name="stonith-enabled" value="false"/>
<nvpair id="quorum" name="no-quorum-policy" value="ignore"/>
</cluster_property_set></crm_config>"""
"""A file has neither nodes nor fencing: without this the commands speak of nothing else."""


@dataclass
class Tools:
    """Runs a command as root with no cluster running: CIB_file is the configuration."""

    cib: Path
    scratch: Path

    def run(self, *command: str, code: int = 0) -> str:
        """What the command prints, errors too; it must end with `code`."""
        ours = Path(__file__).parents[2] / "heartbeat"
        lay_over = ["sh", "-c", LAY_OVER, "sh", str(self.scratch), str(AGENTS), str(ours)]
        environ = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(self.cib.parent),
            "LC_ALL": "C.UTF-8",
            "CIB_file": str(self.cib),
        }
        done = subprocess.run(
            ["unshare", "--mount", "--propagation", "private", *lay_over, *command],
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == code, done.stdout
        return done.stdout


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.fail(f"this needs root, and the packages of tests/tools/packages.txt ({', '.join(missing)})")
    cib = tmp_path / "cib.xml"
    empty = subprocess.run(
        ["cibadmin", "--empty"], capture_output=True, text=True, check=True, timeout=30
    ).stdout
    assert "<crm_config/>" in empty
    cib.write_text(empty.replace("<crm_config/>", PROPERTIES))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return Tools(cib, scratch)

# SPDX-License-Identifier: Apache-2.0
"""The agent as a package installs it: with a library that has bytecode and a bundle."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = "usr/lib/python3/dist-packages"
AGENT = "usr/lib/ocf/resource.d/heartbeat/nova-compute"


def install(root: Path, python: str) -> Path:
    """Put the package and its agent into the directory `root`, for this interpreter; the agent's path."""
    library, agent = root / LIBRARY, root / AGENT
    made = shutil.ignore_patterns("__pycache__", "bundle.*-*")
    shutil.copytree(ROOT / "ocf_agents", library / "ocf_agents", ignore=made)
    agent.parent.mkdir(parents=True)
    text = (ROOT / "heartbeat" / "nova-compute").read_text(encoding="utf-8")
    agent.write_text(re.sub("(?m)^LIBRARY = .*", f'LIBRARY = "{library}"', text), encoding="utf-8")
    agent.chmod(0o755)
    bundle = [python, "-I", str(ROOT / "packaging" / "bundle"), str(root), LIBRARY]
    subprocess.run(bundle, check=True, timeout=120)
    return agent


def compile_all(root: Path, python: str) -> None:
    """Make the bytecode of the library in `root`, as a package's installation does."""
    subprocess.run([python, "-I", "-m", "compileall", "-q", str(root / LIBRARY)], check=True, timeout=120)

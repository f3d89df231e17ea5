# SPDX-License-Identifier: Apache-2.0
"""An agent of a source tree, run by this interpreter instead of the one in its first line."""

from __future__ import annotations

import os
import sys
from pathlib import Path

LONGEST_SHEBANG = 120


def pin(agent: Path, directory: Path) -> Path:
    """An executable in `directory` that runs the agent with the present interpreter, isolated as it is.

    For tests and demonstrations in a virtual environment: it has the libraries that the system may
    lack. Raises ValueError when the interpreter's path is none that the kernel takes in a first line.
    """
    if len(sys.executable) > LONGEST_SHEBANG or len(sys.executable.split()) != 1:
        raise ValueError(f"{sys.executable!r} cannot stand in a first line: use a short path without blanks")
    path = directory / agent.name
    path.write_text(
        f"#!{sys.executable} -IS\nimport runpy\nrunpy.run_path({str(agent)!r}, run_name='__main__')\n"
    )
    os.chmod(path, 0o755)  # noqa: S103 (an agent is executable for all)
    return path

# SPDX-License-Identifier: Apache-2.0
"""Put an agent where Pacemaker looks for it: for an installation from a wheel, without a package.

A wheel holds no system files (case 179). So the file that Pacemaker runs is written here, with the
interpreter in it that has this package: one that Pacemaker runs with -I, as root, without an
environment. A file that was not written here is left alone.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from ocf_agents import __version__
from ocf_agents.ocf.lines import one_line

OCF_ROOT = "/usr/lib/ocf"
PROVIDER = "heartbeat"
MARK = "# Written by ocf-agents "
"""Begins the third line of a file that is ours, and of no file of a package."""

LONGEST_INTERPRETER = 120
"""Bytes: kernels before 5.1 read 127 of the first line."""

TRIAL_SECONDS = 30.0

SCRIPT = """\
#!{interpreter} -IS
# SPDX-License-Identifier: Apache-2.0
{mark}{version} for this interpreter; install writes it again, remove takes it away.

import os
import sys

LIBRARY = {library}

if os.path.exists(os.path.join(LIBRARY, "ocf_agents", "__init__.py")):
    sys.path.append(LIBRARY)  # spares each monitor the search for it
else:
    import site

    site.main()

from {module} import AGENT

AGENT.main()
"""

TRIAL = """\
from {module} import AGENT
import ocf_agents, os
print(ascii(os.path.dirname(os.path.dirname(os.path.abspath(ocf_agents.__file__)))))
"""


class InstallationError(Exception):
    """Nothing was changed; `text` is one line that says why and what to do."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Installed(NamedTuple):
    """What was written, with which interpreter in it, and what the operator ought to know (lines)."""

    path: Path
    interpreter: str
    warnings: tuple[str, ...]


def install(
    agent: str,
    module: str,
    ocf_root: str = OCF_ROOT,
    provider: str = PROVIDER,
    interpreter: str = sys.executable,
) -> Installed:
    """Write OCF_ROOT/resource.d/PROVIDER/AGENT. `module` declares the agent as AGENT.

    `interpreter`: an absolute path, by default that of the running one; it is tried first, as
    Pacemaker will run it. The file appears whole, 0755, or not at all. Raises InstallationError.
    """
    path = _place(agent, ocf_root, provider)
    _require_ours(path)
    _check_interpreter(interpreter)
    library = _try(interpreter, module)
    text = SCRIPT.format(
        interpreter=interpreter, mark=MARK, version=__version__, module=module, library=library
    )
    try:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        _write(path, text)
    except OSError as error:
        raise InstallationError(f"{error.filename or path}: {error.strerror}") from error
    return Installed(path, interpreter, tuple(_warnings(interpreter)))


def remove(agent: str, ocf_root: str = OCF_ROOT, provider: str = PROVIDER) -> bool:
    """Take the file away if it is ours; whether there was one. Raises InstallationError."""
    path = _place(agent, ocf_root, provider)
    _require_ours(path)
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise InstallationError(f"{path}: {error.strerror}") from error
    return True


def _place(agent: str, ocf_root: str, provider: str) -> Path:
    for what, name in (("agent", agent), ("provider", provider)):
        if not name or name.startswith(".") or "/" in name or "\0" in name:
            raise InstallationError(f"{name!a} is no name of an {what}: give the name of one file")
    if not os.path.isabs(ocf_root):
        raise InstallationError(f"{ocf_root!a}: give the OCF root as an absolute path, {OCF_ROOT} say")
    return Path(ocf_root, "resource.d", provider, agent)


def _require_ours(path: Path) -> None:
    """A missing file is fine. A link is not ours, wherever it leads to."""
    try:
        if stat.S_ISREG(path.lstat().st_mode) and _is_marked(path):
            return
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise InstallationError(f"{path}: {error.strerror}") from error
    raise InstallationError(
        f"{path} was not written by ocf-agents (a package's, or a link):"
        " remove it first, or choose another provider"
    )


def _is_marked(path: Path) -> bool:
    with path.open("rb") as file:
        lines = file.read(4096).split(b"\n")
    return len(lines) > 2 and lines[2].startswith(MARK.encode())


def _check_interpreter(interpreter: str) -> None:
    """What a first line can hold: an absolute path without blanks, not too long."""
    if not os.path.isabs(interpreter) or interpreter.split() != [interpreter]:
        raise InstallationError(f"{interpreter!a}: an interpreter is an absolute path without blanks")
    if len(os.fsencode(interpreter)) > LONGEST_INTERPRETER:
        raise InstallationError(
            f"{interpreter}: longer than {LONGEST_INTERPRETER} bytes; put the environment in a shorter path"
        )


def _try(interpreter: str, module: str) -> str:
    """Runs it as Pacemaker will, with nothing inherited: where it finds the package, as a literal."""
    command = [interpreter, "-I", "-c", TRIAL.format(module=module)]
    try:
        done = subprocess.run(
            command,
            cwd="/",
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TRIAL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InstallationError(f"{interpreter} does not answer") from None
    except OSError as error:
        raise InstallationError(f"{interpreter}: {error.strerror}") from error
    if done.returncode:
        last = done.stderr.decode("utf-8", "backslashreplace").strip().rpartition("\n")[2]
        said = one_line(last, 200).decode()
        raise InstallationError(
            f"{interpreter} -I does not find {module} ({said}): install ocf-agents for this interpreter,"
            " into a virtual environment of root's or system-wide"
        )
    return done.stdout.decode("ascii").strip()


def _write(path: Path, text: str) -> None:
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
            file.flush()
            os.fchmod(file.fileno(), 0o755)
            os.fsync(file.fileno())
        os.rename(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _warnings(interpreter: str) -> list[str]:
    """Who could change what root will run, and who cannot read the meta-data."""
    found = []
    for path in dict.fromkeys(_ways(interpreter)):
        status = path.stat()
        if status.st_uid not in (0, os.geteuid()) or (status.st_mode & 0o022 and not status.st_mode & 0o1000):
            found.append(f"{path} can be changed by others than root, and root will run what is in it")
        if path.is_dir() and not status.st_mode & 0o001:
            found.append(
                f"{path} is closed to others: Pacemaker reads the meta-data as hacluster, and will not see it"
            )
    return found


def _ways(interpreter: str) -> list[Path]:
    """The interpreter, as it is named and as it is, with all folders above."""
    places = [Path(interpreter), Path(os.path.realpath(interpreter)), Path(__file__).resolve()]
    return [way for place in places for way in (place, *place.parents)]

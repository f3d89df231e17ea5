# SPDX-License-Identifier: Apache-2.0
"""The Debian packages of the lab, installed without letting their daemons start."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labkit.errors import LabError
from labkit.layout import LAB

POLICY = Path("/usr/sbin/policy-rc.d")


def wanted() -> list[str]:
    lines = (LAB / "packages.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def missing(names: list[str]) -> list[str]:
    """Those of `names` that dpkg does not hold as installed."""
    query = ["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\n", *names]
    known = subprocess.run(query, check=False, capture_output=True, text=True).stdout.splitlines()
    installed = {line.split()[0] for line in known if line.endswith(" installed")}
    return [name for name in names if name not in installed]


@contextmanager
def no_daemon_starts() -> Iterator[None]:
    """Forbid invoke-rc.d to start anything (policy-rc.d, exit 101), unless the machine has a policy."""
    if POLICY.exists():
        yield
        return
    POLICY.write_text("#!/bin/sh\nexit 101\n", encoding="ascii")
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        POLICY.unlink()


def install(log: Path) -> list[str]:
    """Install what is missing; returns its names."""
    names = missing(wanted())
    if names:
        log.parent.mkdir(parents=True, exist_ok=True)
        with no_daemon_starts(), open(log, "ab") as output:
            _apt(output.fileno(), log, "update", "-qq")
            _apt(output.fileno(), log, "install", "-qq", "--yes", "--no-install-recommends", *names)
    return names


def _apt(output: int, log: Path, *words: str, folder: Path | None = None) -> None:
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        ["apt-get", *words],
        check=False,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        env=environ,
    )
    if done.returncode != 0:
        raise LabError(f"apt-get {words[0]} failed: see {log}")


def unpack(name: str, like: str, folder: Path, log: Path) -> None:
    """Put the files of a package that cannot be installed here below `folder`, in the version of `like`."""
    query = ["dpkg-query", "--show", "--showformat=${Version}", like]
    version = subprocess.run(query, check=True, capture_output=True, text=True).stdout
    done = folder / f"{name}-{version}"
    if done.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    with open(log, "ab") as output:
        _apt(output.fileno(), log, "update", "-qq")
        _apt(output.fileno(), log, "download", "-qq", f"{name}={version}", folder=folder)
    [package] = folder.glob(f"{name}_*.deb")
    subprocess.run(["dpkg-deb", "--extract", str(package), str(folder)], check=True)
    package.unlink()
    done.touch()

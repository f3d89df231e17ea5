# SPDX-License-Identifier: Apache-2.0
"""Builds of the present source, and of the same with another version."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.packages.place import run

SOURCE = Path(__file__).parents[2]
OLDER = "0.0.9.dev1"


class Release:
    """What one run of packaging/build has made."""

    def __init__(self, output: Path, version: str) -> None:
        self.output = output
        self.version = version

    @property
    def debs(self) -> list[Path]:
        return sorted(self.output.glob("*.deb"))

    @property
    def rpms(self) -> list[Path]:
        return sorted(self.output.glob("*.noarch.rpm"))

    def deb(self, name: str) -> Path:
        (path,) = self.output.glob(f"{name}_*.deb")
        return path

    def rpm(self, name: str) -> Path:
        (path,) = self.output.glob(f"{name}-[0-9]*.noarch.rpm")
        return path


class Builder:
    """Checkouts of the present source, and packaging/build in them, all of the same time."""

    def __init__(self, place: Path) -> None:
        self.place = place
        last = run("git", "-c", f"safe.directory={SOURCE}", "-C", SOURCE, "log", "-1", "--format=%ct")
        self.epoch = last.stdout.strip()

    def checkout(self, name: str, version: str = "") -> Path:
        """The files that git knows or would take, and nothing else. `version`: another one."""
        tree = self.place / name
        command = ["git", "-c", f"safe.directory={SOURCE}", "-C", str(SOURCE), "ls-files", "-z"]
        listed = run(*command, "--cached", "--others", "--exclude-standard").stdout
        for file in filter(None, listed.split("\0")):
            if (SOURCE / file).exists():
                (tree / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(SOURCE / file, tree / file)
        if version:
            path = tree / "ocf_agents" / "__init__.py"
            path.write_text(re.sub('__version__ = ".*"', f'__version__ = "{version}"', path.read_text()))
        return tree

    def start(self, tree: Path, *kinds: str) -> subprocess.Popen[str]:
        """Without a network, nor any variable of ours."""
        environ = {"PATH": os.environ["PATH"], "SOURCE_DATE_EPOCH": self.epoch}
        command = ["unshare", "--net", str(tree / "packaging" / "build"), *kinds]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=environ, text=True, stdout=pipe, stderr=subprocess.STDOUT)

    def finish(self, process: subprocess.Popen[str]) -> None:
        said = process.communicate(timeout=300)[0]
        assert process.returncode == 0, said

    def both(
        self, of_the_present: Sequence[str] = (), of_the_older: Sequence[str] = ()
    ) -> tuple[Release, Release]:
        """The present source and a lower version of it, built at once; of each the kinds named, else all."""
        new, old = self.checkout("new"), self.checkout("old", OLDER)
        for process in [self.start(new, *of_the_present), self.start(old, *of_the_older)]:
            self.finish(process)
        version = run("python3", new / "packaging" / "build", "--version").stdout.strip()
        return Release(new / "build" / "release", version), Release(old / "build" / "release", OLDER)

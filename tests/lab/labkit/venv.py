# SPDX-License-Identifier: Apache-2.0
"""Virtual environments from lock files; one directory for each content of a lock file, built once."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from labkit.errors import LabError
from labkit.layout import LAB

PYTHON = "/usr/bin/python3"
RECIPE = "1"  # grows when the way of building changes


class Venv:
    """`name` is nova (the cloud) or test (pytest, and the SDK of the test process)."""

    def __init__(self, cache: Path, name: str) -> None:
        self.lock = LAB / f"requirements-{name}.lock"
        version = subprocess.run([PYTHON, "--version"], capture_output=True, check=True).stdout
        content = self.lock.read_bytes() + version + RECIPE.encode()
        self.path = cache / f"venv-{name}-{hashlib.sha256(content).hexdigest()[:12]}"

    def bin(self, name: str) -> str:
        return str(self.path / "bin" / name)

    @property
    def is_ready(self) -> bool:
        return (self.path / "ready").exists()

    def build(self) -> None:
        """Make it, unless it is there."""
        if self.is_ready:
            return
        shutil.rmtree(self.path, ignore_errors=True)
        self._do(PYTHON, "-m", "venv", str(self.path))
        pip = [self.bin("pip"), "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        self._do(*pip, "--only-binary", ":all:", "--requirement", str(self.lock))
        self._answer_quickly()
        (self.path / "ready").touch()

    def _do(self, *argv: str) -> None:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        done = subprocess.run(
            argv, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environ
        )
        if done.returncode != 0:
            raise LabError(f"{' '.join(argv[:3])}: {done.stderr[-2000:]}")

    def _answer_quickly(self) -> None:
        """oslo.messaging 17.1.0 looks for RPC replies every 0.5 s (LP 2035113), older and newer ones at once.

        Our copy looks every 10 ms, so that what the scenarios measure is Nova's time and not this defect's.
        """
        for driver in self.path.glob("lib/python3*/site-packages/oslo_messaging/_drivers/amqpdriver.py"):
            text = driver.read_text(encoding="utf-8")
            driver.write_text(text.replace("time.sleep(0.5)", "time.sleep(0.01)"), encoding="utf-8")

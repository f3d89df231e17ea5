# SPDX-License-Identifier: Apache-2.0
"""A node that has the agents from their packages, and nothing of the checkout: dpkg works on its own /usr."""

from __future__ import annotations

import shutil

from labkit.layout import PRIVATE
from labkit.node import Node

OF_PACKAGES = ("/usr", "/var/cache")
FORGOTTEN = (*OF_PACKAGES, "/var/lib/dpkg", "/var/lib/ocf-agents", "/var/lib/pacemaker")


class InstalledNode(Node):
    """`renew` takes away all that was installed on it, and its part of a cluster."""

    private = (*PRIVATE, *OF_PACKAGES)

    def _lent(self) -> list[list[str]]:
        return []

    def _laid_over(self) -> list[list[str]]:
        return []

    def renew(self) -> None:
        """Nova's own identity of the host stays: Nova does not let a known host come without it."""
        self.kill()
        for path in FORGOTTEN:
            shutil.rmtree(self.disk(path), ignore_errors=True)

    def dpkg(self, *words: str) -> str:
        """dpkg of its own; what it says."""
        done = self.run("dpkg", *words, environ={"DEBIAN_FRONTEND": "noninteractive"})
        return done.stdout + done.stderr

# SPDX-License-Identifier: Apache-2.0
"""Reading the cluster's configuration from wherever this host has it."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import NamedTuple

from ocf_agents.operator import cib
from ocf_agents.operator.texts import clean
from ocf_agents.operator.trouble import Unusable

ON_DISK = "/var/lib/pacemaker/cib/cib.xml"
"""Where a full member keeps it, also while the cluster is stopped."""

VARIABLE = "CIB_file"
"""Pacemaker's own: work on this file instead of the running cluster."""

SECRETS = "/var/lib/pacemaker/lrm/secrets"
REFERENCE = "lrm://"
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
PATIENCE = 15.0
LARGEST = 64 << 20
LARGEST_SECRET = 8192


class Source(NamedTuple):
    """A configuration, where it came from in words, and whether the cluster runs."""

    cluster: cib.Cluster | None
    text: str
    is_running: bool = False


def read(environ: dict[str, str] | None = None, *, on_disk: str = ON_DISK) -> Source:
    """The configuration; `cluster` is None where this host has none. Raises Unusable for one that is none."""
    environ = dict(os.environ) if environ is None else environ
    path = environ.get(VARIABLE)
    if path:
        return Source(_parsed(_file(path), path), f"{path} ({VARIABLE})")
    text, why = _asked()
    if text is not None:
        return Source(_parsed(text, "the running cluster"), "the running cluster", is_running=True)
    if os.access(on_disk, os.R_OK):
        return Source(_parsed(_file(on_disk), on_disk), f"{on_disk} ({why})")
    return Source(None, why)


def with_secrets(configured: cib.Configured, folder: str = SECRETS) -> dict[str, str]:
    """The parameters; a value that Pacemaker keeps out of the CIB (`lrm://`) comes from this host's file."""
    return {
        name: value if value != REFERENCE else _secret(os.path.join(folder, configured.name, name))
        for name, value in configured.parameters.items()
    }


def _secret(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read(LARGEST_SECRET).rstrip()
    except OSError:
        return ""


def _asked() -> tuple[str | None, str]:
    """What the running cluster says; else None, and why."""
    program = shutil.which("cibadmin", path=PATH)
    if program is None:
        return None, "there is no cibadmin here"
    try:
        done = subprocess.run(
            [program, "--query", f"--timeout={PATIENCE:.0f}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE + 2,
            check=False,
            env={"PATH": PATH, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired:
        return None, f"the cluster did not answer within {PATIENCE:.0f} s"
    except OSError as error:
        return None, f"{program}: {error.strerror}"
    if done.returncode != 0:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        return (
            None,
            f"the cluster does not run here: {clean(last[0])[:120]}" if last else "no cluster runs here",
        )
    return done.stdout.decode("utf-8", "replace"), ""


def _file(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(LARGEST)
    except OSError as error:
        raise Unusable(f"cannot read {path}: {error.strerror}") from None


def _parsed(text: str, where: str) -> cib.Cluster:
    try:
        return cib.parse(text)
    except cib.NotACib as error:
        raise Unusable(f"{where} is no cluster configuration: {error}") from None

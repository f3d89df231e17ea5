# SPDX-License-Identifier: Apache-2.0
"""What Pacemaker, another tool or a shell told the agent through the environment."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_RUN_DIR = "/run/resource-agents"
DEFAULT_REASON_PREFIX = "ocf-exit-reason:"
CHECK_LEVELS = (20, 10, 0)
LONGEST_TIMEOUT_MS = 10**10


class Environment:
    """The OCF environment of one action, read once. Nothing in it can be bad enough to raise.

    instance: the resource's name; a clone instance is `name:0`; without one, the agent's name.
    check_level: 0, 10 or 20; another number falls to the next lower one, a word to 0 (case 100).
    is_probe: a monitor without an interval, or with interval 0.
    ocf_version: (major, minor) as the caller says; (1, 0) when it says nothing.
    run_dir: where volatile files go; may not exist.
    timeout: seconds until Pacemaker kills the action, or None when nobody said (case 95).
    warnings: what was odd, one line each.
    """

    __slots__ = (
        "action",
        "check_level",
        "exit_reason_prefix",
        "instance",
        "is_probe",
        "ocf_version",
        "run_dir",
        "timeout",
        "warnings",
    )

    def __init__(self, environ: Mapping[str, str], action: str, agent_name: str = "") -> None:
        self.warnings: list[str] = []
        self.action = action
        self.instance = environ.get("OCF_RESOURCE_INSTANCE") or agent_name
        self.check_level = self._read_check_level(environ)
        self.is_probe = action == "monitor" and read_number(environ, "OCF_RESKEY_CRM_meta_interval", 0) == 0
        self.ocf_version = _version(environ)
        self.run_dir = _absolute(environ.get("HA_RSCTMP")) or DEFAULT_RUN_DIR
        self.timeout = _seconds(read_number(environ, "OCF_RESKEY_CRM_meta_timeout", None))
        self.exit_reason_prefix = environ.get("OCF_EXIT_REASON_PREFIX") or DEFAULT_REASON_PREFIX

    def _read_check_level(self, environ: Mapping[str, str]) -> int:
        text = environ.get("OCF_CHECK_LEVEL") or environ.get("OCF_RESKEY_OCF_CHECK_LEVEL") or "0"
        number = _digits(text)
        if number is None:
            self.warnings.append(f"OCF_CHECK_LEVEL is {text[:40]!a}, not a number: taken as 0")
            return 0
        return next(level for level in CHECK_LEVELS if level <= number)


def _digits(text: str) -> int | None:
    """A number that is not negative, else None. int() alone is too generous, and slow on long ones."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None


def read_number(environ: Mapping[str, str], name: str, default: int | None) -> int | None:
    """The variable as a number that is not negative; `default` when it is absent, or anything else."""
    number = _digits(environ.get(name, ""))
    return default if number is None else number


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else min(milliseconds, LONGEST_TIMEOUT_MS) / 1000.0


def _version(environ: Mapping[str, str]) -> tuple[int, int]:
    """The OCF version of the caller. A major number that is none is told apart as 0."""
    major = environ.get("OCF_RA_VERSION_MAJOR", "").strip()
    if not major:
        return (1, 0)
    return (_digits(major) or 0, read_number(environ, "OCF_RA_VERSION_MINOR", 0) or 0)


def _absolute(path: str | None) -> str | None:
    return path if path and path.startswith("/") else None

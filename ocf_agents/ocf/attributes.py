# SPDX-License-Identifier: Apache-2.0
"""Node attributes and promotion scores, through Pacemaker's own `crm_attribute`.

Nothing here waits longer than the action may: the cluster daemon behind the tool can be the trouble.
A name or a value is one word of its command line, whatever is in it.
"""

from __future__ import annotations

import os
import subprocess

from .errors import GenericError, NotInstalled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .deadline import Deadline

SBIN = "/usr/sbin"
TOOL = "crm_attribute"
MOST_SECONDS = 20.0
NOT_FOUND = (6, 105)
"""crm_attribute's exit code for an attribute that is not there: CRM_EX_NOSUCH is 105, before 2.0 ENXIO."""


class NodeAttributes:
    """Transient attributes of this node: they last until it leaves the cluster.

    Each method raises GenericError when the tool fails or takes longer than the action may, and
    NotInstalled when this host has none.
    """

    def __init__(self, environ: Mapping[str, str], instance: str, deadline: Deadline) -> None:
        self._environ, self._instance, self._deadline = environ, instance, deadline

    def get(self, name: str) -> str | None:
        """The value; None when it is not set."""
        code, text, words = self._try(["--name", name, "--query", "--quiet"])
        if code in NOT_FOUND:
            return None
        _check(code, words)
        return text.strip()

    def set(self, name: str, value: str) -> None:
        """Sets it at once."""
        code, _, words = self._try(["--name", name, "--update", value])
        _check(code, words)

    def delete(self, name: str) -> None:
        """Deletes it; one that is not there is deleted already."""
        code, _, words = self._try(["--name", name, "--delete"])
        _check(0 if code in NOT_FOUND else code, words)

    def promotion_score(self) -> int | None:
        """How much this instance wants to be promoted; None when it has said nothing."""
        text = self.get(self._score)
        try:
            return None if text is None else int(text.replace("INFINITY", "1000000"))
        except ValueError:
            raise GenericError(f"the promotion score of {self._instance} is {text!a}: no number") from None

    def set_promotion_score(self, score: int) -> None:
        """Higher is promoted first; below zero never (OCF 1.1, promotable resources)."""
        self.set(self._score, str(score))

    def delete_promotion_score(self) -> None:
        """This instance cannot be promoted any more.

        In a stop, catch OcfError and warn: a stop must not fail because the cluster's daemon is away.
        """
        self.delete(self._score)

    @property
    def _score(self) -> str:
        # The name that crm_master (until 2.1) and crm_attribute --promotion make of the instance.
        return f"master-{self._instance}"

    def _try(self, arguments: Sequence[str]) -> tuple[int, str, str]:
        """Exit code, output and error output of crm_attribute."""
        path = os.path.join(self._environ.get("HA_SBIN_DIR") or SBIN, TOOL)
        seconds = self._deadline.bound(MOST_SECONDS)
        try:
            done = subprocess.run(
                [path, "--lifetime", "reboot", *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=seconds,
                env=dict(self._environ),
                check=False,
            )
        except FileNotFoundError:
            raise NotInstalled(f"{path} is missing: it belongs to Pacemaker") from None
        except subprocess.TimeoutExpired:
            raise GenericError(f"{TOOL} did not answer within {seconds:.0f} s") from None
        except OSError as error:
            raise GenericError(f"{path}: {error.strerror}") from None
        return done.returncode, done.stdout, " ".join(done.stderr.split()) or "it said nothing"


def _check(code: int, words: str) -> None:
    if code:
        raise GenericError(f"{TOOL} failed ({code}): {words}")

# SPDX-License-Identifier: Apache-2.0
"""What the monitors of one resource remember from one run to the next, in the run directory.

    ocf-agents-notes 1 0f6c...
    progress 4321 987654 1405/230 5512.3 2

Each line is a subject and words. Notes of another boot, torn or planted ones are none: then there is
no sample yet, and nothing fails for it.
"""

from __future__ import annotations

from . import runfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TITLE = "ocf-agents-notes 1"


class Notes:
    """Lines of words by subject. Subjects and words hold no blanks."""

    __slots__ = ("_before", "_boot_id", "_lines", "path")

    def __init__(self, path: str, boot_id: str) -> None:
        """What the file says; nothing if it is missing, torn, planted, or of another boot."""
        self.path = path
        self._boot_id = boot_id
        self._before = runfile.read(path) or b""
        self._lines = _parse(self._before, boot_id)

    def get(self, subject: str) -> list[list[str]]:
        """The lines of a subject, each as its words."""
        return [words for name, words in self._lines if name == subject]

    def put(self, subject: str, lines: Iterable[Sequence[str]]) -> None:
        """Replace the lines of a subject."""
        kept = [line for line in self._lines if line[0] != subject]
        self._lines = kept + [(subject, list(words)) for words in lines]

    def save(self) -> None:
        """Write the file if something has changed. Who may not write it goes without (a monitor by hand)."""
        texts = [f"{TITLE} {self._boot_id}", *(" ".join([name, *words]) for name, words in self._lines)]
        data = ("\n".join(texts) + "\n").encode("utf-8", "surrogateescape")
        if data == self._before:
            return
        try:  # noqa: SIM105 (contextlib is too heavy for a module that monitors load)
            runfile.replace(self.path, data, 0o600, is_synced=False)
        except OSError:
            pass


def _parse(data: bytes, boot_id: str) -> list[tuple[str, list[str]]]:
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    if lines[0] != f"{TITLE} {boot_id}" or lines[-1] != "":
        return []
    return [(words[0], words[1:]) for words in (line.split(" ") for line in lines[1:-1])]

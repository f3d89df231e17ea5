# SPDX-License-Identifier: Apache-2.0
"""The package's modules from one file that a build has made: half of a monitor's time is opening files.

Python asks for a dozen system calls and runs some hundred lines of its own for each module. A bundle
has the code of all that the agents load, without docstrings. It is an accelerator and nothing else:
a module whose source has another size or time than the build saw is loaded as ever, so an edited
file counts at once; without a bundle for this Python all are. `packaging/bundle` makes it.

A bundle is the index's length in `HEAD` bytes, little-endian, the index, and the code. The index is a
marshalled dictionary: name -> (source relative to the package's parent, is it a package, mtime,
size, offset of the code after the index, its length).
"""

from __future__ import annotations

import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    Part = tuple[str, bool, int, int, int, int]
    Index = dict[str, Part]

HEAD = 4
PACKAGE = os.path.dirname(os.path.abspath(__file__))
Spec: Any = type(__spec__)
"""ModuleSpec, which costs too much to import by its public name."""


def path_of(package: str) -> str:
    """Where the bundle of this Python is, or would be."""
    return os.path.join(package, f"bundle.{sys.implementation.cache_tag}")


def use(package: str = PACKAGE) -> None:
    """Load the package's modules from its bundle from now on, if there is one that can be read.

    A damaged index raises anything, MemoryError too.
    """
    try:  # noqa: SIM105 (contextlib costs more than what is saved here)
        sys.meta_path.insert(0, Bundle(package))
    except Exception:  # noqa: S110
        pass


class Bundle:
    """A finder and loader of modules (PEP 451). Raises OSError, and whatever comes of a damaged index."""

    def __init__(self, package: str) -> None:
        self._root = os.path.dirname(package)
        self._file = os.open(path_of(package), os.O_RDONLY | os.O_CLOEXEC)
        length = int.from_bytes(os.read(self._file, HEAD), "little")
        self._index: Index = dict(marshal.loads(os.read(self._file, length)))  # noqa: S302 (as with a .pyc)
        self._base = HEAD + length
        size = self._base + sum(part[5] for part in self._index.values())
        if os.fstat(self._file).st_size != size:
            raise ValueError("cut short")

    @property
    def names(self) -> list[str]:
        """Of the modules in it."""
        return list(self._index)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        part = self._index.get(name)
        if part is None:
            return None
        source = os.path.join(self._root, part[0])
        if not _is_as_built(source, part):
            return None
        spec: ModuleSpec = Spec(name, self, origin=source, is_package=part[1])
        spec.has_location = True
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(os.path.dirname(source))
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Python's own."""

    def exec_module(self, module: ModuleType) -> None:
        *_, offset, length = self._index[module.__name__]
        exec(marshal.loads(os.pread(self._file, length, self._base + offset)), module.__dict__)  # noqa: S102, S302


def _is_as_built(source: str, part: Part) -> bool:
    try:
        found = os.stat(source)
    except (OSError, ValueError):  # ValueError: a damaged name, with a zero in it
        return False
    return (int(found.st_mtime), found.st_size) == part[2:4]

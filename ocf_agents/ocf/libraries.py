# SPDX-License-Identifier: Apache-2.0
"""Other people's libraries, for an interpreter that was started without them.

The search for them (`site`) is a third of the start of a bare interpreter, and a monitor needs
none of them. An agent whose first line says `python3 -IS` leaves it out; it is made up for here.
"""

from __future__ import annotations

import sys

_admitted: list[bool] = []


def admit() -> None:
    """Puts the interpreter's site-packages on the module path, unless its start has done so."""
    if sys.flags.no_site and not _admitted:
        import site

        site.main()
        _admitted.append(True)

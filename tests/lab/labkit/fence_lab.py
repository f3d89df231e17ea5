#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
"""The lab's fence agent: asks the power switch (see `power`) at the socket that it is given.

Pacemaker gives the parameters as lines NAME=VALUE: action, plug (the node), socket.
"""

import socket
import sys

METADATA = """\
<?xml version="1.0"?>
<resource-agent name="fence_lab" shortdesc="The power switch of the lab">
<longdesc>Turns off a node of the lab.</longdesc>
<vendor-url>none</vendor-url>
<parameters>
<parameter name="action" required="1">
<content type="string" default="reboot"/><shortdesc lang="en">What to do</shortdesc>
</parameter>
<parameter name="plug" required="1">
<content type="string"/><shortdesc lang="en">The node</shortdesc>
</parameter>
<parameter name="socket" required="1">
<content type="string"/><shortdesc lang="en">Where the switch listens</shortdesc>
</parameter>
</parameters>
<actions>
<action name="on" automatic="0"/><action name="off"/><action name="reboot"/><action name="status"/>
<action name="monitor"/><action name="metadata"/><action name="validate-all"/>
</actions>
</resource-agent>
"""


def main() -> int:
    given = dict(line.rstrip("\n").split("=", 1) for line in sys.stdin if "=" in line)
    action = given.get("action", "reboot")
    if action in ("metadata", "meta-data"):
        print(METADATA)
        return 0
    if action == "validate-all":
        return 0
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(given["socket"])
        line.sendall(f"{action} {given.get('plug', '-')}\n".encode())
        return int(line.makefile().readline() or 1)


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""A systemd that is a directory and a script: it answers as told, and runs one unit for good.

    systemd = FakeSystemd(directory)
    systemd.add("nova-compute.service", "/usr/bin/nova-compute")
    supervisor = SystemdSupervisor(..., units=systemd.units)

`state` is what it says of each unit; `answers` are lines for the next calls: the text goes to standard error
and the call fails, `hang` never ends, `ok` works as always.
"""

from __future__ import annotations

import os
from pathlib import Path

from ocf_agents.service.unit import Units

SCRIPT = """\
#!/bin/sh
cd "{here}" || exit 9
echo "$@" >>calls
answer=$(head -n 1 answers 2>/dev/null)
[ "$(cat always 2>/dev/null)" ] && answer=$(cat always)
sed -i 1d answers 2>/dev/null
case $answer in
    ""|ok) ;;
    hang) exec sleep 60 ;;
    *) echo "$answer" >&2; exit 1 ;;
esac
for unit; do :; done
case $unit in *.service) [ -e "$unit/state" ] || mkdir -p "$unit" ;; esac
say() {{ printf '%s\\n' "Id=$unit" LoadState=loaded "$@" >"$unit/state"; }}
alive() {{ [ -d "/proc/$1" ] && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }}
case "$*" in
    *daemon-reload*) ;;
    *" show "*)
        if [ -s "$unit/next" ]; then
            echo "Id=$unit LoadState=loaded $(head -n 1 "$unit/next")" | tr ' ' '\\n'
            sed -i 1d "$unit/next"
        else
            cat "$unit/state"
        fi ;;
    *" start "*)
        setsid $(cat "$unit/command") </dev/null >/dev/null 2>&1 &
        id=$(tr -d - </proc/sys/kernel/random/uuid)
        ln -sfn "$id" "root/run/systemd/units/invocation:$unit"
        say ActiveState=active "MainPID=$!" "InvocationID=$id" Restart=no Result=success ;;
    *" stop "*)
        grep -q ActiveState=failed "$unit/state" && exit 0
        pid=$(sed -n 's/^MainPID=//p' "$unit/state")
        if [ "${{pid:-0}}" -gt 1 ]; then
            kill "$pid"
            while alive "$pid"; do sleep 0.02; done
        fi
        rm -f "root/run/systemd/units/invocation:$unit"
        say ActiveState=inactive MainPID=0 Result=success ;;
esac
"""


class FakeSystemd:
    def __init__(self, directory: Path) -> None:
        self.directory = directory / "systemd"
        self.root = self.directory / "root"
        for folder in ("run/systemd/system", "run/systemd/units", "etc/systemd/system"):
            (self.root / folder).mkdir(parents=True)
        self.program = self.directory / "systemctl"
        self.program.write_text(SCRIPT.format(here=self.directory))
        self.program.chmod(0o755)
        self.units = Units(str(self.root), (str(self.program),))

    def add(self, name: str, *command: str, **properties: str) -> None:
        """A unit that runs this command; inactive."""
        (self.root / "etc/systemd/system" / name).write_text("[Service]\n")
        (self.directory / name).mkdir()
        (self.directory / name / "command").write_text(" ".join(command))
        self.say(name, ActiveState="inactive", MainPID="0", **properties)

    def say(self, name: str, **properties: str) -> None:
        """What it says of the unit from now on."""
        (self.directory / name).mkdir(exist_ok=True)
        said = {"Id": name, "LoadState": "loaded", **properties}
        lines = "".join(f"{key}={value}\n" for key, value in said.items())
        (self.directory / name / "state").write_text(lines)

    def say_next(self, name: str, *lines: str) -> None:
        """What it says of the unit the next few times, properties with blanks between them."""
        (self.directory / name / "next").write_text("".join(f"{line}\n" for line in lines))

    def answer(self, *lines: str) -> None:
        (self.directory / "answers").write_text("".join(f"{line}\n" for line in lines))

    def answer_always(self, line: str) -> None:
        (self.directory / "always").write_text(line)

    def mask(self, name: str) -> None:
        path = self.root / "etc/systemd/system" / name
        path.unlink()
        path.symlink_to("/dev/null")
        self.say(name, LoadState="masked", ActiveState="inactive", MainPID="0")

    def run_id(self, name: str, value: str | None) -> None:
        """systemd's link for the unit's run."""
        path = self.root / "run/systemd/units" / f"invocation:{name}"
        path.unlink(missing_ok=True)
        if value is not None:
            path.symlink_to(value)

    def main_pid(self, name: str) -> int:
        said = (self.directory / name / "state").read_text()
        return int(dict(line.split("=", 1) for line in said.splitlines())["MainPID"])

    @property
    def calls(self) -> list[str]:
        """The verbs that it was called with, in order."""
        path = self.directory / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [next(word for word in line.split() if not word.startswith("-")) for line in lines]

    def forget_calls(self) -> None:
        (self.directory / "calls").unlink(missing_ok=True)

    def drop_in(self, name: str) -> Path:
        return self.root / "run/systemd/system" / f"{name}.d" / "90-ocf-agents.conf"

    def hide(self) -> None:
        """systemd is not PID 1 here."""
        os.rename(self.root / "run/systemd/system", self.root / "run/systemd/gone")

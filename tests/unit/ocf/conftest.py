# SPDX-License-Identifier: Apache-2.0
"""A small agent of its own, as an executable file."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import ocf_agents
from ocf_agents.testing.run import Pacemaker

PACKAGE_ROOT = Path(ocf_agents.__file__).parents[1]

SAMPLE = """\
#!{python} -I
# SPDX-License-Identifier: Apache-2.0
import sys
sys.path.insert(0, {root!r})
from ocf_agents.ocf import errors
from ocf_agents.ocf.agent import Action, Agent
from ocf_agents.ocf.parameters import Boolean, Duration, Parameter, Path, Select, String

def raising(name):
    def handler(call):
        text = call.values.lenient("text")
        raise getattr(errors, name)(text) if hasattr(errors, name) else ValueError(text)
    return handler

def start(call):
    call.values.check()
    print("started", call.environment.instance, round(call.deadline.remaining(), 1))

def stop(call):
    call.log.info("stopping")

def monitor(call):
    kind = call.values["fails"]
    if kind:
        raising(kind)(call)
    print("level", call.environment.check_level, "probe", call.environment.is_probe)

AGENT = Agent(
    "sample-agent", "7.1", 'A sample of & < > " text', "It does\\n\\nnothing \u2014 at all, <b> & more.",
    [
        Parameter("text", String, 'a "quoted" & <default>', shortdesc="A text", longdesc="Any \u00fcnicode"),
        Parameter("fails", String, shortdesc="What monitor raises"),
        Parameter("secret", Boolean, False, shortdesc="A secret", private=True),
        Parameter("wait", Duration, "10s", shortdesc="A time", minimum=1, reloadable=True),
        Parameter("mode", Select, "auto", shortdesc="A choice", choices=("auto", "on&off")),
        Parameter("pid", Path, shortdesc="A file", unique_group="pid"),
        Parameter("old", Path, shortdesc="Formerly pid", replaced_by="pid"),
    ],
    [
        Action("start", start, 90),
        Action("stop", stop, 100),
        Action("monitor", monitor, 20, 10, 0),
        Action("monitor", monitor, 30, 61, 10),
        Action("validate-all", start, 20),
        Action("reload-agent", start, 20),
    ],
)
if __name__ == "__main__":
    AGENT.main()
"""


@pytest.fixture(scope="session")
def sample_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("agent") / "sample-agent"
    path.write_text(SAMPLE.format(python=sys.executable, root=str(PACKAGE_ROOT)))
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def sample(sample_path: str) -> Pacemaker:
    """The sample under Pacemaker; coverage and other tools' variables do not reach it."""
    return Pacemaker(sample_path, environment={"HOME": os.environ.get("HOME", "/")})

# SPDX-License-Identifier: Apache-2.0
"""The bundle of a build: an installed agent loads from it, and never needs it."""

from __future__ import annotations

import marshal
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.installed import LIBRARY, install

ROOT = Path(__file__).parents[2]
SOURCE_AGENT = ROOT / "heartbeat" / "nova-compute"
SHOW = """\
import os, sys
os._exit = lambda code: print("FROM", *(
    f"{name}={type(module.__spec__.loader).__name__}" for name, module in sys.modules.items()
    if name.startswith("ocf_agents.")
), file=sys.__stderr__)
sys.argv = sys.argv[1:]
code = compile(open(sys.argv[0], "rb").read(), sys.argv[0], "exec")
exec(code, {"__name__": "__main__", "__file__": sys.argv[0]})
"""


SHORT = marshal.dumps({"ocf_agents.ocf": ("ocf_agents/ocf/__init__.py", True)})


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    return install(tmp_path, sys.executable)


def package(agent: Path) -> Path:
    return agent.parents[5] / LIBRARY / "ocf_agents"


def bundle(agent: Path) -> Path:
    (found,) = package(agent).glob("bundle.*-*")
    return found


def meta_data(agent: Path) -> str:
    command = [sys.executable, "-IS", str(agent), "meta-data"]
    done = subprocess.run(command, capture_output=True, text=True, env={}, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def loaders(agent: Path) -> dict[str, str]:
    """The name of each loaded module of the package, and its loader's class."""
    command = [sys.executable, "-IS", "-c", SHOW, str(agent), "meta-data"]
    done = subprocess.run(command, capture_output=True, text=True, env={}, timeout=30, check=True)
    told = done.stderr.rpartition("FROM")[2]
    return dict(re.findall(r"ocf_agents\.(\S+)=(\S+)", told))


def test_an_installed_agent_loads_from_the_bundle_and_says_the_same(agent: Path) -> None:
    found = loaders(agent)
    assert found.pop("bundle") == "SourceFileLoader"
    assert set(found.values()) == {"Bundle"}
    assert "ocf.metadata" in found
    assert meta_data(agent) == meta_data(SOURCE_AGENT)


def test_a_bundle_holds_all_that_an_agent_may_load(agent: Path) -> None:
    names = "import sys, os; sys.path.insert(0, sys.argv[1]); from ocf_agents.bundle import Bundle"
    show = "print(*Bundle(os.path.join(sys.argv[1], 'ocf_agents')).names)"
    command = [sys.executable, "-IS", "-c", f"{names}; {show}", str(package(agent).parent)]
    listed = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout.split()
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for room in ("actions", "agents", "guard", "ocf", "openstack", "service")
        for path in (ROOT / "ocf_agents" / room).rglob("*.py")
    }
    assert set(listed) == modules


@pytest.mark.parametrize("is_same_size", [True, False], ids=["of the same size", "of another size"])
def test_an_edit_counts_at_once(agent: Path, is_same_size: bool) -> None:
    edited = package(agent) / "ocf" / "metadata.py"
    text = edited.read_text(encoding="utf-8")
    new = "<actionz>" if is_same_size else "<actions >"
    edited.write_text(text.replace("<actions>", new), encoding="utf-8")
    later = edited.stat().st_mtime + 2
    os.utime(edited, (later, later))
    assert new in meta_data(agent)
    assert loaders(agent)["ocf.metadata"] == "SourceFileLoader"
    assert loaders(agent)["ocf.agent"] == "Bundle"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0\0\0\0",
        b"\xff\xff\xff\xff",
        b"not a bundle at all",
        b"\x02\0\0\0N.",
        len(SHORT).to_bytes(4, "little") + SHORT,
    ],
    ids=["empty", "no index", "a long index", "text", "no dictionary", "a short part"],
)
def test_a_file_that_is_no_bundle_is_ignored(agent: Path, content: bytes) -> None:
    bundle(agent).write_bytes(content)
    assert meta_data(agent) == meta_data(SOURCE_AGENT)
    assert "Bundle" not in loaders(agent).values()


def test_a_bundle_with_a_damaged_name_is_passed_over(agent: Path) -> None:
    content = bundle(agent).read_bytes()
    name = b"ocf_agents/ocf/metadata.py"
    assert content.count(name) == 2, "in the index, and in the code"
    bundle(agent).write_bytes(content.replace(name, name[:-1] + b"\0", 1))
    assert meta_data(agent) == meta_data(SOURCE_AGENT)
    assert loaders(agent)["ocf.metadata"] == "SourceFileLoader"


def test_a_bundle_that_is_cut_short_is_ignored(agent: Path) -> None:
    bundle(agent).write_bytes(bundle(agent).read_bytes()[:-1])
    assert meta_data(agent) == meta_data(SOURCE_AGENT)
    assert "Bundle" not in loaders(agent).values()


def test_without_a_bundle_for_this_python_all_is_loaded_as_ever(agent: Path) -> None:
    bundle(agent).rename(package(agent) / "bundle.cpython-27")
    assert meta_data(agent) == meta_data(SOURCE_AGENT)


def test_a_traceback_names_the_file_and_the_line_of_the_source(agent: Path) -> None:
    code = (
        "import sys; sys.path.append(sys.argv[1]); from ocf_agents import bundle; bundle.use()\n"
        "from ocf_agents.ocf.parameters import Duration\n"
        "Duration.read(None, None)\n"
    )
    command = [sys.executable, "-IS", "-c", code, str(package(agent).parent)]
    done = subprocess.run(command, capture_output=True, text=True, env={}, timeout=30, check=False)
    told = re.search(rf'File "/{LIBRARY}/ocf_agents/(ocf/parameters\.py)", line (\d+), in read', done.stderr)
    assert told is not None
    lines = (ROOT / "ocf_agents" / told[1]).read_text(encoding="utf-8").splitlines()
    assert ".strip()" in lines[int(told[2]) - 1]


def test_sources_newer_than_the_release_get_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """dpkg and rpm clamp the files of a package: the bundle must know the clamped time."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1600000000")
    agent = install(tmp_path, sys.executable)
    assert int((package(agent) / "ocf" / "agent.py").stat().st_mtime) == 1600000000
    assert loaders(agent)["ocf.agent"] == "Bundle"

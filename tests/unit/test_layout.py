# SPDX-License-Identifier: Apache-2.0
"""The house's rules: who may import whom, what a monitor loads, and what each file begins with."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "ocf_agents"
AGENT = ROOT / "heartbeat" / "nova-compute"
ROOMS = (
    ("ocf", "testing"),
    ("guard", "openstack", "service"),
    ("actions",),
    ("agents",),
    ("operator",),
    ("cli",),
)
FLOORS = {room: floor for floor, rooms in enumerate(ROOMS) for room in rooms}
PORTS = {("openstack", "ocf_agents.guard.row")}
LIBRARIES = {
    "openstack": "openstack",
    "keystoneauth1": "openstack",
    "amqp": "openstack",
    "filelock": "guard",
    "click": "cli",
    "pytest": "testing",
}
HEADER = "# SPDX-License-Identifier: Apache-2.0"
FOLDERS = ("ocf_agents", "tests", "heartbeat", "benchmarks", "docs", "packaging", ".ci")
STRANGE_PLACES = ("/".join(["", place, ""]) for place in ("work", "tmp/venv", "tmp/plan", "opt/wheels"))

BARE = "import os, sys; print(*sorted(sys.modules))"
LOADED = """\
import os, sys
os._exit = lambda code: print("MODULES", *sorted(sys.modules), file=sys.__stderr__)
sys.argv = sys.argv[1:]
code = compile(open(sys.argv[0], "rb").read(), sys.argv[0], "exec")
exec(code, {"__name__": "__main__", "__file__": sys.argv[0]})
"""


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0]


def modules_of_rooms() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path.parent != PACKAGE]


def imported(path: Path) -> Iterator[str]:
    """The full names that a module imports, anywhere in it, also for types only."""
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1]] if node.level else []
            base += [node.module] if node.module else []
            yield from (".".join([*base, alias.name]) for alias in node.names)


def is_allowed(room: str, name: str) -> bool:
    other = name.split(".")[1]
    if other == room or other not in FLOORS:  # the package itself: its version
        return True
    is_port = any(room == user and f"{name}.".startswith(f"{port}.") for user, port in PORTS)
    return is_port or FLOORS[other] < FLOORS[room]


def test_each_room_has_a_floor() -> None:
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert rooms <= set(FLOORS)
    assert {"ocf", "guard", "service", "openstack", "actions", "agents", "testing", "cli"} <= rooms


@pytest.mark.parametrize("path", modules_of_rooms(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_room_imports_only_from_floors_below_it(path: Path) -> None:
    ours = [name for name in imported(path) if name.startswith("ocf_agents.")]
    assert [name for name in ours if not is_allowed(room_of(path), name)] == []


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_is_used_in_one_room_only(library: str) -> None:
    users = {
        room_of(path)
        for path in modules_of_rooms()
        if any(name.split(".")[0] == library for name in imported(path))
    }
    assert users <= {LIBRARIES[library]}


def test_the_guard_knows_no_nova() -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in (PACKAGE / "guard").glob("*.py")}
    assert len(texts) > 5
    code = {name: without_texts(text) for name, text in texts.items()}
    assert [name for name, text in code.items() if re.search("nova|keystone|os-services", text, re.I)] == []


def without_texts(source: str) -> str:
    """The names in a module's code: no comments, no strings."""
    names = [
        getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "name", None)
        for node in ast.walk(ast.parse(source))
    ]
    return " ".join(name for name in names if isinstance(name, str))


def loaded(action: str, directory: Path, **more: str) -> set[str]:
    environ = {
        "OCF_ROOT": "/usr/lib/ocf",
        "OCF_RESOURCE_INSTANCE": "nova-compute",
        "HA_RSCTMP": str(directory),
        "OCF_RESKEY_state_dir": str(directory / "state"),
        "OCF_RESKEY_binary": str(directory / "nova-compute"),
        "OCF_RESKEY_user": str(os.geteuid()),
        **more,
    }
    command = [sys.executable, "-I", "-S", "-c", LOADED, str(AGENT), action]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True, env=environ)
    return set(done.stderr.rpartition("MODULES")[2].split())


def bare() -> set[str]:
    command = [sys.executable, "-I", "-S", "-c", BARE]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize(
    ("action", "more"),
    [("monitor", {}), ("monitor", {"OCF_RESKEY_CRM_meta_interval": "10000"}), ("meta-data", {})],
    ids=["probe", "monitor", "meta-data"],
)
def test_the_hot_path_loads_nothing_but_the_package(
    action: str, more: dict[str, str], tmp_path: Path
) -> None:
    extra = loaded(action, tmp_path, **more) - bare()
    ours = {name for name in extra if name.split(".")[0] == "ocf_agents"}
    assert "ocf_agents.agents.nova_compute" in ours
    assert extra - ours <= {"__future__"}
    heavy = {"ocf_agents.guard.guard", "ocf_agents.openstack.cloud", "ocf_agents.service.process_start"}
    assert not ours & heavy


DECLARATION = """
actions actions.guarded agents agents.nova_compute guard guard.parameters openstack openstack.parameters
ocf ocf.agent ocf.codes ocf.deadline ocf.environment ocf.errors ocf.libraries ocf.lines ocf.log
ocf.parameters service service.parameters service.supervisor service.unit
"""
PROCESS = """
guard.names service.command service.host service.pidfile service.proc service.process service.runfile
"""


@pytest.mark.parametrize(
    ("action", "interval", "expected"),
    [
        ("meta-data", "0", DECLARATION + "ocf.metadata"),
        ("monitor", "0", DECLARATION + PROCESS),
        ("monitor", "10000", DECLARATION + PROCESS),
    ],
    ids=["meta-data", "probe", "monitor of a service that is gone"],
)
def test_what_the_hot_path_loads_of_the_package(
    action: str, interval: str, expected: str, tmp_path: Path
) -> None:
    extra = loaded(action, tmp_path, OCF_RESKEY_CRM_meta_interval=interval) - bare()
    ours = {name.partition(".")[2] for name in extra if name.startswith("ocf_agents.")}
    assert sorted(ours - set(expected.split())) == []
    assert "actions.monitoring" not in ours


def committed() -> list[Path]:
    files = [path for path in ROOT.iterdir() if path.is_file()]
    files += [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    return [path for path in files if not is_made(path.relative_to(ROOT))]


def is_made(path: Path) -> bool:
    """Whether a tool made it: a cache, say."""
    is_hidden = any(part.startswith(".") for part in path.parts[1:])
    return is_hidden or "__pycache__" in path.parts or path.name.startswith(".coverage")


def is_code(path: Path) -> bool:
    is_source = path.suffix == ".py" or path.name == "Makefile" or path.read_bytes()[:2] == b"#!"
    return is_source and path.stat().st_size > 0


def test_each_source_file_begins_with_its_licence() -> None:
    sources = [path for path in committed() if is_code(path)]
    assert AGENT in sources
    bad = [path for path in sources if HEADER not in path.read_text(encoding="utf-8").splitlines()[:2]]
    assert [str(path.relative_to(ROOT)) for path in bad] == []


def test_no_file_names_a_path_of_the_machine_that_it_was_written_on() -> None:
    strange = re.compile("|".join(re.escape(place) for place in STRANGE_PLACES).encode())
    bad = [str(path.relative_to(ROOT)) for path in committed() if strange.search(path.read_bytes())]
    assert bad == []


def test_an_agent_is_executable_with_an_absolute_interpreter() -> None:
    for path in AGENT.parent.iterdir():
        assert path.stat().st_mode & 0o777 == 0o755, path.name
        assert path.read_text(encoding="utf-8").startswith("#!/usr/bin/python3 -IS\n"), path.name


def test_each_case_that_is_named_has_its_line_in_the_list() -> None:
    listed = set(re.findall(r"^\| (\d+) \|", (ROOT / "docs" / "cases.md").read_text(encoding="utf-8"), re.M))
    named = {
        number
        for path in committed()
        if path.suffix == ".py"
        for match in re.findall(
            r"\b[Cc]ases? (\d+(?:(?:, | and | to )\d+)*)", path.read_text(encoding="utf-8")
        )
        for number in re.findall(r"\d+", match)
    }
    assert len(named) > 30
    assert sorted(named - listed, key=int) == []

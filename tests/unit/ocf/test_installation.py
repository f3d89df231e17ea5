# SPDX-License-Identifier: Apache-2.0
"""An agent's file from a wheel: whole or not at all, its interpreter works, nobody else's file is lost."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from ocf_agents import __version__
from ocf_agents.ocf import installation
from ocf_agents.ocf.installation import InstallationError, install, remove

ROOT = Path(__file__).parents[3]
MODULE = "ocf_agents.agents.nova_compute"


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One of an environment that has this package, as pip would leave it."""
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, with_pip=False)
    (site,) = place.glob("lib/python*/site-packages")
    (site / "ocf_agents.pth").write_text(f"{ROOT}\n")
    return str(place / "bin" / "python")


def put(tmp_path: Path, interpreter: str) -> installation.Installed:
    return install("nova-compute", MODULE, ocf_root=str(tmp_path / "ocf"), interpreter=interpreter)


def test_the_file_runs_with_the_interpreter_that_it_names(tmp_path: Path, interpreter: str) -> None:
    installed = put(tmp_path, interpreter)
    assert installed.path == tmp_path / "ocf" / "resource.d" / "heartbeat" / "nova-compute"
    assert installed.interpreter == interpreter
    assert installed.path.read_text().startswith(f"#!{interpreter} -IS\n")
    done = subprocess.run([installed.path, "meta-data"], capture_output=True, text=True, check=True, env={})
    assert f'<resource-agent name="nova-compute" version="{__version__}">' in done.stdout


def test_the_file_knows_where_the_package_is_and_finds_it_when_it_has_moved(
    tmp_path: Path, interpreter: str
) -> None:
    path = put(tmp_path, interpreter).path
    assert f"LIBRARY = {str(ROOT)!a}\n" in path.read_text()
    path.write_text(path.read_text().replace(str(ROOT), "/moved/away"))
    done = subprocess.run([path, "meta-data"], capture_output=True, text=True, check=True, env={})
    assert '<resource-agent name="nova-compute"' in done.stdout


def test_it_is_for_all_to_run_and_nothing_is_left_beside_it(tmp_path: Path, interpreter: str) -> None:
    before = os.umask(0o077)
    try:
        path = put(tmp_path, interpreter).path
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o755
    assert os.listdir(path.parent) == ["nova-compute"]


def test_the_default_is_the_running_interpreter() -> None:
    assert install.__defaults__ is not None
    assert sys.executable in install.__defaults__


def test_a_file_of_ours_is_written_again(tmp_path: Path, interpreter: str) -> None:
    path = put(tmp_path, interpreter).path
    path.write_text(path.read_text().replace(interpreter, "/gone/python"))
    put(tmp_path, interpreter)
    assert path.read_text().startswith(f"#!{interpreter} -IS\n")


@pytest.mark.parametrize("how", ["file", "link to ours", "dangling link", "directory"])
def test_what_is_not_ours_is_left(how: str, tmp_path: Path, interpreter: str) -> None:
    path = tmp_path / "ocf" / "resource.d" / "heartbeat" / "nova-compute"
    path.parent.mkdir(parents=True)
    if how == "file":
        path.write_bytes((ROOT / "heartbeat" / "nova-compute").read_bytes())
    elif how == "directory":
        path.mkdir()
    else:
        other = install("nova-compute", MODULE, str(tmp_path / "other"), interpreter=interpreter).path
        path.symlink_to(other if how == "link to ours" else tmp_path / "nowhere")
    before = path.lstat()
    for action in (lambda: put(tmp_path, interpreter), lambda: remove("nova-compute", str(tmp_path / "ocf"))):
        with pytest.raises(InstallationError, match="was not written by ocf-agents"):
            action()
    assert path.lstat() == before or path.lstat().st_mtime == before.st_mtime


def test_an_interpreter_without_the_package_is_refused_by_name(tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", with_pip=False)
    bare = str(tmp_path / "bare" / "bin" / "python")
    with pytest.raises(
        InstallationError, match=r"bare/bin/python -I does not find ocf_agents.*No module named"
    ):
        put(tmp_path, bare)
    assert not (tmp_path / "ocf").exists()


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("python3", "absolute path"),
        ("/opt/my env/python", "without blanks"),
        ("/" + "x" * 130, "longer than 120 bytes"),
        ("/nowhere/python", "No such file"),
    ],
)
def test_an_interpreter_that_a_first_line_cannot_name_is_refused(bad: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InstallationError, match=said):
        put(tmp_path, bad)
    assert not (tmp_path / "ocf").exists()


@pytest.mark.parametrize(
    ("agent", "root", "provider"),
    [
        ("../x", "/ocf", "heartbeat"),
        ("x", "/ocf", ".."),
        ("", "/ocf", "heartbeat"),
        ("x", "ocf", "heartbeat"),
    ],
)
def test_names_that_lead_elsewhere_are_refused(agent: str, root: str, provider: str) -> None:
    with pytest.raises(InstallationError, match="give the"):
        install(agent, MODULE, root, provider)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, interpreter: str) -> None:
    (tmp_path / "ocf").write_text("no directory")
    with pytest.raises(InstallationError, match=r"ocf.*(Not a directory|File exists)"):
        put(tmp_path, interpreter)


def test_it_warns_of_a_place_that_others_can_change_or_cannot_read(tmp_path: Path, interpreter: str) -> None:
    closed, open_to_all = tmp_path / "closed", tmp_path / "open"
    for place, mode in ((closed, 0o700), (open_to_all, 0o777)):
        place.mkdir()
        (place / "python").symlink_to(interpreter)
        place.chmod(mode)
        said = "\n".join(installation._warnings(str(place / "python")))
        assert (f"{place} is closed to others" in said) == (place is closed)
        assert (f"{place} can be changed by others than root" in said) == (place is open_to_all)


def test_remove_takes_ours_away_once(tmp_path: Path, interpreter: str) -> None:
    path = put(tmp_path, interpreter).path
    assert remove("nova-compute", str(tmp_path / "ocf"))
    assert not path.exists()
    assert not remove("nova-compute", str(tmp_path / "ocf"))

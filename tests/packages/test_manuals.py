# SPDX-License-Identifier: Apache-2.0
"""The manual pages: nothing that a formatter warns of, every parameter in them, text that can be copied."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

from ocf_agents import __version__
from ocf_agents.agents.nova_compute import AGENT
from ocf_agents.ocf.agent import Action, Agent
from ocf_agents.ocf.parameters import Parameter, Select, String
from tests.packages.builder import SOURCE
from tests.packages.place import run

DATE = "2026-11-30"


@pytest.fixture(autouse=True)
def _packaging_is_found(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(SOURCE / "packaging"))
    yield
    for name in ("roff", "agent_manual", "command_manual"):
        sys.modules.pop(name, None)


def module(name: str) -> ModuleType:
    return importlib.import_module(name)


def read(page: str, place: Path) -> str:
    """The page as a reader sees it; a failure if any formatter has something to say."""
    path = place / f"page.{page.splitlines()[1].split()[2][1]}"  # the section, of .TH "NAME" "7"
    path.write_text(page)
    assert run("mandoc", "-T", "lint", "-W", "warning", path).stdout == ""
    assert run("groff", "-man", "-ww", "-Tutf8", "-Z", path).stdout.startswith("x T utf8")
    environ = {"MANWIDTH": "80", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"}
    return run("man", "--warnings", "--no-hyphenation", "--no-justification", "-l", path, env=environ).stdout


def words(text: str) -> str:
    return " ".join(text.split())


def test_the_agents_page_says_what_its_meta_data_says(tmp_path: Path) -> None:
    run(SOURCE / "packaging" / "install", "--root", tmp_path)
    page = (tmp_path / "usr/share/man/man7/ocf_heartbeat_nova-compute.7").read_text()
    shown = words(read(page, tmp_path))
    assert "warning" not in shown.split("NAME")[0]
    for parameter in AGENT.parameters:
        assert f" {parameter.name} (" in shown
        # lines also end at a hyphen
        assert "".join((parameter.longdesc or parameter.shortdesc).split()) in shown.replace(" ", "")
        assert not parameter.default or f"default {parameter.default}" in shown
    for action in AGENT.actions:
        assert f" {action.name} (timeout {action.timeout:g}s" in shown
    assert f"ocf-agents {__version__}" in shown


@pytest.mark.parametrize("suffix", [".pcs", ".crmsh"])
def test_the_examples_are_in_the_page_to_be_copied(suffix: str, tmp_path: Path) -> None:
    run(SOURCE / "packaging" / "install", "--root", tmp_path)
    shown = read((tmp_path / "usr/share/man/man7/ocf_heartbeat_nova-compute.7").read_text(), tmp_path)
    lines = (SOURCE / "packaging" / "examples" / f"nova-compute{suffix}").read_text().splitlines()
    copied = [line for line in lines if line and not line.startswith(("#", "set -e"))]
    assert len(copied) > 5
    assert [line for line in copied if line not in shown] == []
    assert "set -e" not in shown


def test_the_same_day_makes_the_same_page(tmp_path: Path) -> None:
    for name in ("a", "b"):
        run(SOURCE / "packaging" / "install", "--root", tmp_path / name, env={"SOURCE_DATE_EPOCH": "86400"})
    page = "usr/share/man/man7/ocf_heartbeat_nova-compute.7"
    assert (tmp_path / "a" / page).read_bytes() == (tmp_path / "b" / page).read_bytes()
    assert '"1970-01-02"' in (tmp_path / "a" / page).read_text()


def handle(call: object) -> None:
    """Nothing."""


def test_texts_that_look_like_roff_stay_texts(tmp_path: Path) -> None:
    nasty = '.so /etc/passwd\n\'\\fBbold\\fR & <xml> -- caf\u00e9 "quoted" `x` ~ ^ %s'
    agent = Agent(
        "an-agent",
        "1.0-rc~1",
        "short & \\sweet",
        nasty,
        [
            Parameter("odd", String, ".dot \\n", nasty, nasty),
            Parameter("one", Select, "b", "One", choices=("a", "b"), deprecated=True, replaced_by="odd"),
        ],
        [Action("start", handle, 20), Action("monitor", handle, 20, 10, 0), Action("own", handle, 5)],
    )
    page = module("agent_manual").render(agent, "test", DATE, {"pcs": ".so x\n'quoted' \\n"})
    shown = read(page, tmp_path)
    assert words(nasty) in words(shown)
    assert ".so x" in shown
    assert "'quoted' \\n" in shown
    assert "default .dot \\n" in shown
    assert "Deprecated: use odd." in shown


@click.group()
@click.option("--verbose", "-v", is_flag=True, help="Say more.")
def tree(verbose: bool) -> None:
    """Look after agents.

    The second paragraph has a \\backslash.

    \b
    as it is
      .so kept
    """


@tree.command()
@click.option("--ocf-root", default="/usr/lib/ocf", show_default=True, help="Where agents are.")
@click.option("--bare")
@click.argument("name")
def plant(ocf_root: str, bare: str, name: str) -> None:
    """Plant one."""


@tree.group()
def branch() -> None:
    """Branches."""


@branch.command()
def leaf() -> None:
    """.A leaf."""


@tree.command(hidden=True)
def root() -> None:
    """Not to be seen."""


def test_a_commands_page_is_its_help_once_for_all(tmp_path: Path) -> None:
    shown = read(module("command_manual").render(tree, "look-after", "1.0", DATE), tmp_path)
    text = words(shown)
    assert "look-after - Look after agents" in text
    assert "look-after [OPTIONS] COMMAND [ARGS]..." in text
    assert "The second paragraph has a \\backslash." in text
    assert "  .so kept" in shown
    assert "-v, --verbose Say more." in text
    assert "look-after plant [OPTIONS] NAME Plant one. --ocf-root TEXT Where agents are." in text
    assert "/usr/lib/ocf" in text
    assert "--bare TEXT Not described." in text
    assert "look-after branch leaf [OPTIONS] .A leaf." in text
    assert "Not to be seen" not in text


def test_both_pages_lead_to_the_documents_and_the_commands_names_variables_and_files(tmp_path: Path) -> None:
    run(SOURCE / "packaging" / "install", "--root", tmp_path)
    man = tmp_path / "usr/share/man"
    command = words(read((man / "man8/ocf-agents.8").read_text(), tmp_path))
    agent = words(read((man / "man7/ocf_heartbeat_nova-compute.7").read_text(), tmp_path))
    reference = (SOURCE / "docs" / "operating.md").read_text(encoding="utf-8")
    for variable, text in module("command_manual").ENVIRONMENT.items():
        assert f"{variable} {text}" in command
        assert variable in reference
    assert "FILES /etc/openstack/clouds.yaml" in command
    for page in (command, agent):
        assert all(
            (SOURCE / path).exists() and f"/usr/share/doc/ocf-agents/{path}" in page
            for path in ("docs/guide.md", "docs/operating.md")
        )
    assert "70 a fault of the command itself 130 interrupted" in command
    assert agent.count("monitor interval=60s timeout=60s OCF_CHECK_LEVEL=10") == 2, "with pcs and with crmsh"


def test_a_command_without_subcommands_has_a_page_as_well(tmp_path: Path) -> None:
    shown = read(module("command_manual").render(plant, "plant", "1.0", DATE), tmp_path)
    assert "COMMANDS" not in shown
    assert "plant [OPTIONS] NAME" in words(shown)

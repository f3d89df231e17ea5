# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path

import pytest
from lxml import etree

from ocf_agents.testing.run import Pacemaker, execute

SCHEMAS = Path(__file__).parents[2] / "schemas"
SAID_1_1 = {"OCF_RA_VERSION_MAJOR": "1", "OCF_RA_VERSION_MINOR": "1"}
# Removes whatever would end in another file or process.
STRICT = """\
import sys
def refuse(event, arguments):
    if event.startswith(("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork")):
        raise SystemExit(f"meta-data did {event}")
sys.addaudithook(refuse)
sys.argv = [sys.argv[1], "meta-data"]
exec(compile(open(sys.argv[0]).read(), sys.argv[0], "exec"), {"__name__": "__main__"})
"""


def document(path: str, environ: dict[str, str]) -> etree._Element:
    result = execute([path, "meta-data"], environ, 20)
    assert (result.code, result.stderr) == (0, "")
    return etree.fromstring(result.stdout.encode("ascii"))


@pytest.fixture(scope="module")
def modern(sample_path: str) -> etree._Element:
    return document(sample_path, SAID_1_1)


@pytest.fixture(scope="module")
def old(sample_path: str) -> etree._Element:
    return document(sample_path, {})


def relaxng(name: str) -> etree.RelaxNG:
    return etree.RelaxNG(etree.parse(str(SCHEMAS / name)))


def test_who_says_1_1_gets_what_the_1_1_schema_allows(modern: etree._Element) -> None:
    relaxng("ocf-ra-1.1.rng").assertValid(modern)
    assert modern.findtext("version") == "1.1"
    assert modern.get("version") == "7.1"


def test_who_says_nothing_gets_what_the_dtd_of_ocf_tester_allows(old: etree._Element) -> None:
    with (SCHEMAS / "ra-api-1.dtd").open("rb") as file:
        dtd = etree.DTD(file)
    assert dtd.validate(old), dtd.error_log
    assert old.findtext("version") == "1.0"
    assert "ra-api-1.dtd" in (old.getroottree().docinfo.doctype or "")


def test_the_old_dialect_pleases_the_schema_of_resource_agents_too(old: etree._Element) -> None:
    relaxng("resource-agents-metadata.rng").assertValid(old)


def test_the_parameters_of_the_old_dialect_please_the_1_0_schema(old: etree._Element) -> None:
    """The whole cannot: the schema as published knows no monitor and no description of the agent."""
    parameters = copy.deepcopy(old.find("parameters"))
    for parameter in parameters:
        del parameter.attrib["required"]
    whole = etree.fromstring(
        '<resource-agent name="x"><version>1.0</version><actions>'
        '<action name="start" timeout="20s"/></actions><special tag="x"/></resource-agent>'
    )
    whole.insert(1, parameters)
    relaxng("ocf-ra-1.0.rng").assertValid(whole)


def test_texts_come_back_as_they_were_said(modern: etree._Element) -> None:
    assert modern.findtext("shortdesc") == 'A sample of & < > " text'
    assert (modern.findtext("longdesc") or "").strip() == "It does\n\nnothing \u2014 at all, <b> & more."
    text = modern.find("parameters/parameter[@name='text']")
    assert text.find("content").get("default") == 'a "quoted" & <default>'
    assert (text.findtext("longdesc") or "").strip() == "Any \u00fcnicode"


def test_each_parameter_has_both_descriptions_in_order(modern: etree._Element, old: etree._Element) -> None:
    for element in (*modern.iter("parameter"), *old.iter("parameter"), modern, old):
        tags = [child.tag for child in element if child.tag.endswith("desc")]
        assert tags == ["longdesc", "shortdesc"]
        assert all(child.get("lang") == "en" for child in element if child.tag.endswith("desc"))
        assert "\n" not in (element.findtext("shortdesc") or "")


def test_what_1_1_brought_is_said_in_1_1_only(modern: etree._Element, old: etree._Element) -> None:
    def find(tree: etree._Element, name: str) -> etree._Element:
        return tree.find(f"parameters/parameter[@name='{name}']")

    assert [o.get("value") for o in find(modern, "mode").iter("option")] == ["auto", "on&off"]
    assert find(modern, "wait").get("reloadable") == "1"
    assert find(modern, "text").get("reloadable") == "0"
    assert find(modern, "pid").get("unique-group") == "pid"
    assert find(modern, "old").find("deprecated/replaced-with").get("name") == "pid"
    assert find(old, "mode").find("content").get("type") == "string"
    assert "One of: auto, on&off." in (find(old, "mode").findtext("longdesc") or "")
    assert find(old, "pid").get("unique") == "1"
    assert "Deprecated: use pid." in (find(old, "old").findtext("longdesc") or "")


def test_actions_are_advertised_with_units_and_depths(modern: etree._Element, old: etree._Element) -> None:
    def actions(tree: etree._Element) -> list[tuple[str, ...]]:
        keys = ("name", "timeout", "interval", "depth")
        return [tuple(a.get(key, "-") for key in keys) for a in tree.iter("action")]

    assert actions(modern) == [
        ("start", "90s", "-", "-"),
        ("stop", "100s", "-", "-"),
        ("monitor", "20s", "10s", "0"),
        ("monitor", "30s", "61s", "10"),
        ("validate-all", "20s", "-", "-"),
        ("reload-agent", "20s", "-", "-"),
        ("meta-data", "5s", "-", "-"),
    ]
    assert "reload-agent" not in [name for name, *_ in actions(old)]


def test_each_advertised_action_exists(modern: etree._Element, sample: Pacemaker) -> None:
    for name in {action.get("name") for action in modern.iter("action")}:
        assert sample.run(name).code != 3


def test_an_optional_parameter_has_a_default_or_accepts_an_empty_text(
    modern: etree._Element, sample: Pacemaker
) -> None:
    optional = [p for p in modern.iter("parameter") if p.get("required") == "0"]
    assert len(optional) == 7
    empty = {p.get("name"): "" for p in optional}
    assert sample.run("start", parameters=empty).code == 0


@pytest.mark.parametrize("locale", ["C", "xx_BAD", "de_DE.ISO-8859-1", ""])
@pytest.mark.parametrize("style", ["xml", "text", "html", "\udcff"])
def test_it_is_the_same_pure_ascii_in_any_locale_and_output_format(
    sample: Pacemaker, locale: str, style: str
) -> None:
    plain = sample.run("meta-data").stdout
    extra = {"LC_ALL": locale, "LANG": locale, "OCF_OUTPUT_FORMAT": style, "HA_LOGFILE": "/no/dir/x"}
    result = sample.run("meta-data", env_extra=extra)
    assert (result.code, result.stderr) == (0, "")
    assert result.stdout == plain
    assert plain.isascii()


def test_it_starts_nothing_and_connects_to_nothing(sample_path: str) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-c", STRICT, sample_path],
        env={"PATH": "/nonexistent"},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("<?xml")


def test_characters_that_xml_cannot_hold_do_not_break_it() -> None:
    from ocf_agents.ocf.agent import Agent
    from ocf_agents.ocf.metadata import render

    agent = Agent("x", "1", "bell \a \ud800 \ufffe end", "two\nlines", [], [])
    for version in ((1, 0), (1, 1)):
        tree = etree.fromstring(render(agent, version).encode("ascii"))
        assert tree.findtext("shortdesc") == "bell ? ? ? end"
        assert tree.find("parameters") is None


def test_a_line_break_in_a_default_survives() -> None:
    from ocf_agents.ocf.agent import Agent
    from ocf_agents.ocf.metadata import render
    from ocf_agents.ocf.parameters import Parameter, String

    agent = Agent("x", "1", "s", "l", [Parameter("p", String, "a\n\tb", "s")], [])
    tree = etree.fromstring(render(agent, (1, 1)).encode("ascii"))
    assert tree.find("parameters/parameter/content").get("default") == "a\n\tb"


def test_roles_have_their_new_names_in_1_1_and_their_old_ones_in_1_0() -> None:
    from ocf_agents.ocf.agent import Action, Agent
    from ocf_agents.ocf.metadata import render

    roles = ("Promoted", "Unpromoted")
    actions = [Action("monitor", print, 20, 10 + n, role=role) for n, role in enumerate(roles)]
    agent = Agent("x", "1", "s", "l", [], actions)
    for version, expected in (((1, 1), roles), ((1, 0), ("Master", "Slave"))):
        tree = etree.fromstring(render(agent, version).encode("ascii"))
        assert tuple(one.get("role") for one in tree.iter("action") if one.get("role")) == expected

# SPDX-License-Identifier: Apache-2.0
"""The checker's own idea of the schemas, beside the schemas as published."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import etree

from ocf_agents.testing.conformance.document import Document, NoDocument, Parameter, parse, seconds, structure

from .mutants import TEXT

SCHEMAS = Path(__file__).parents[3] / "schemas"
GOOD = TEXT.partition("cat <<END\n")[2].partition("END\n")[0]
SELECT = '<content type="select" default="auto"><option value="auto"/><option value="off"/></content>'
OLD = (
    GOOD.replace("<version>1.1", "<version>1.0")
    .replace(' unique-group="pid"', ' unique="1"')
    .replace(SELECT, '<content type="string" default="auto"/>')
    .replace(' reloadable="1"', "")
    .replace('<action name="reload-agent" timeout="20s"/>\n', "")
)
BROKEN = (
    ("<version>", '<version lang="en">'),
    ('<resource-agent name="good-agent"', "<resource-agent"),
    ('name="port"', ""),
    (' name="port"', ' name="port" reloadable="maybe"'),
    (' name="port"', ' name="port" color="red"'),
    ('type="integer"', ""),
    ('type="integer"', 'type="number"'),
    ('type="integer" default="7"/>', 'type="integer"><option value="1"/></content>'),
    ('<content type="integer" default="7"/>', ""),
    ('<longdesc lang="en">Any number.</longdesc>', ""),
    ('<shortdesc lang="en">A number</shortdesc>', ""),
    ('<longdesc lang="en">Any number.</longdesc>', "<longdesc>Any number.</longdesc>"),
    ('<action name="start" timeout="20s"/>', '<action name="start"/>'),
    ('<action name="start" timeout="20s"/>', '<action timeout="20s"/>'),
    ('<action name="start" timeout="20s"/>', '<action name="start" timeout="20s" color="red"/>'),
    ("</actions>", "<extra/></actions>"),
    ("<actions>", "<extra/><actions>"),
    ("</resource-agent>", "<parameters/></resource-agent>"),
)


def is_valid_1_1(text: str) -> bool:
    schema = etree.RelaxNG(etree.parse(str(SCHEMAS / "ocf-ra-1.1.rng")))
    return bool(schema.validate(etree.fromstring(text.encode())))


def is_valid_1_0(text: str) -> bool:
    """As the DTD or the RNG of resource-agents has it."""
    tree = etree.fromstring(text.encode())
    with (SCHEMAS / "ra-api-1.dtd").open("rb") as file:
        dtd = etree.DTD(file)
    schema = etree.RelaxNG(etree.parse(str(SCHEMAS / "resource-agents-metadata.rng")))
    return bool(dtd.validate(tree)) or bool(schema.validate(tree))


def faults(text: str) -> list[str]:
    return list(structure(parse(text)))


def test_both_agree_on_good_documents() -> None:
    assert is_valid_1_1(GOOD)
    assert faults(GOOD) == []
    assert is_valid_1_0(OLD)
    assert faults(OLD) == []


@pytest.mark.parametrize(("old", "new"), BROKEN)
def test_both_agree_on_a_broken_document_of_1_1(old: str, new: str) -> None:
    text = GOOD.replace(old, new, 1)
    assert text != GOOD
    assert bool(faults(text)) is not is_valid_1_1(text)


@pytest.mark.parametrize(("old", "new"), BROKEN)
def test_both_agree_on_a_broken_document_of_1_0(old: str, new: str) -> None:
    text = OLD.replace(old, new, 1)
    assert text != OLD
    assert bool(faults(text)) is not is_valid_1_0(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("20", 20.0),
        ("20s", 20.0),
        (" 20 s ", 20.0),
        ("20000ms", 20.0),
        ("1m", 60.0),
        ("2.5", 2.5),
        ("1h", 3600.0),
        ("", None),
        ("soon", None),
        ("-1", None),
        ("20x", None),
        ("\u0662", None),
    ],
)
def test_a_duration_is_read_as_pacemaker_does(text: str, value: float | None) -> None:
    assert seconds(text) == value


@pytest.mark.parametrize("text", ["", "  \n", "words", "<a>", "<html/>", GOOD + GOOD])
def test_what_is_no_document_says_why(text: str) -> None:
    with pytest.raises(NoDocument, match=r"."):
        Document(text)


def test_a_document_knows_its_parameters_and_actions() -> None:
    document = Document(GOOD)
    assert (document.name, document.version, document.is_1_1) == ("good-agent", "1.1", True)
    by_name = {one.name: one for one in document.parameters}
    assert by_name["target"].is_required
    assert by_name["mode"].options == ("auto", "off")
    assert [one.name for one in document.parameters if one.is_secret] == ["password"]
    assert (document.timeout("monitor"), document.timeout("nothing")) == (30.0, None)


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        ("password", True),
        ("passwd", True),
        ("admin_pwd", True),
        ("rpc_pass", True),
        ("api_key", True),
        ("auth_token", True),
        ("community", True),
        ("pass_through", True),
        ("bypass", False),
        ("password_file", False),
        ("token_ttl", False),
        ("credentials_path", False),
        ("key", False),
    ],
)
def test_a_secret_is_known_by_the_name_of_its_parameter(name: str, is_secret: bool) -> None:
    assert Parameter(name, "string", None, False, ()).is_secret is is_secret
    assert not Parameter(name, "integer", None, False, ()).is_secret

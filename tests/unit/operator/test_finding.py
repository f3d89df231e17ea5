# SPDX-License-Identifier: Apache-2.0
"""Which resources a command is about."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from ocf_agents.guard.record import Record, encode
from ocf_agents.guard.store import machine_id
from ocf_agents.operator import cib, finding
from ocf_agents.operator.cluster import Source
from ocf_agents.operator.finding import Wanted
from ocf_agents.operator.trouble import BadInput, NotFound, Unusable

NOWHERE = Source(None, "nothing")


def record(directory: Path, name: str, host: str) -> None:
    directory.mkdir(mode=0o700, exist_ok=True)
    text = encode(Record(1, name, machine_id(), host, generation=3))
    (directory / f"{name.replace(':', '%3A')}.json").write_text(text)


def source(state: Path, *names: str, clone: str = "", unique: bool = False) -> Source:
    primitives = "".join(
        f'<primitive id="{name}" class="ocf" provider="heartbeat" type="nova-compute">'
        f'<instance_attributes id="i{name}"><nvpair id="s{name}" name="state_dir" value="{state}"/>'
        f'<nvpair id="h{name}" name="host" value="of-{name}"/></instance_attributes></primitive>'
        for name in names
    )
    meta = '<meta_attributes id="m"><nvpair id="u" name="globally-unique" value="true"/></meta_attributes>'
    if clone:
        primitives = f'<clone id="{clone}">{meta * unique}{primitives}</clone>'
    other = '<primitive id="ip" class="ocf" provider="heartbeat" type="IPaddr2"/>'
    text = f"<cib><configuration><resources>{primitives}{other}</resources></configuration></cib>"
    return Source(cib.parse(text), "the test", True)


def names(wanted: Wanted, found: Source) -> list[tuple[str, str]]:
    return [(one.name, one.host) for one in finding.targets(wanted, found)]


def test_all_guarded_resources_of_the_cluster_and_no_others(tmp_path: Path) -> None:
    assert names(Wanted(), source(tmp_path, "a", "b")) == [("a", "of-a"), ("b", "of-b")]


@pytest.mark.parametrize("name", ["a", "a-clone"])
def test_a_resource_by_its_name_or_its_clones(tmp_path: Path, name: str) -> None:
    assert names(Wanted(name), source(tmp_path, "a", clone="a-clone")) == [("a", "of-a")]


def test_a_name_that_nobody_has_is_answered_with_those_that_are_here(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="here are a, b"):
        names(Wanted("c"), source(tmp_path, "a", "b"))


def test_one_whose_host_cannot_be_found_out_hides_no_other(tmp_path: Path) -> None:
    """Without the parameter host, and with a nova.conf that is none."""
    (tmp_path / "nova.conf").write_text("[DEFAULT\n")
    text = (
        "<cib><configuration><resources>"
        '<primitive id="lost" class="ocf" provider="heartbeat" type="nova-compute">'
        f'<instance_attributes id="i"><nvpair id="c" name="config" value="{tmp_path}/nova.conf"/>'
        f'<nvpair id="s" name="state_dir" value="{tmp_path}"/></instance_attributes></primitive>'
        '<primitive id="found" class="ocf" provider="heartbeat" type="nova-compute">'
        '<instance_attributes id="j"><nvpair id="h" name="host" value="cmp-7"/>'
        f'<nvpair id="t" name="state_dir" value="{tmp_path}"/></instance_attributes></primitive>'
        "</resources></configuration></cib>"
    )
    both = Source(cib.parse(text), "the test", True)
    found, lost = finding.all_targets(Wanted(), both)
    assert [(one.name, one.host) for one in found] == [("found", "cmp-7")]
    assert [(one.resource.name, "nova.conf" in one.text) for one in lost] == [("lost", True)]
    with pytest.raises(Unusable, match=r"nova\.conf"):
        finding.targets(Wanted(), both)
    with pytest.raises(Unusable, match=r"nova\.conf"):
        finding.all_targets(Wanted("lost"), both)


def one_host(found: Source) -> Source:
    """The same cluster, where every primitive says nothing of a host but the same name."""
    assert found.cluster is not None
    resources = [
        replace(one, parameters={**one.parameters, "host": "cmp-7"}) for one in found.cluster.resources
    ]
    return found._replace(cluster=replace(found.cluster, resources=tuple(resources)))


def test_of_a_primitive_for_each_host_those_that_have_worked_here(tmp_path: Path) -> None:
    every = one_host(source(tmp_path / "state", "for-cmp-6", "for-cmp-7", "for-cmp-8"))
    assert [name for name, _ in names(Wanted(), every)] == ["for-cmp-6", "for-cmp-7", "for-cmp-8"]
    record(tmp_path / "state", "for-cmp-7", "cmp-7")
    assert names(Wanted(), every) == [("for-cmp-7", "cmp-7")]
    with pytest.raises(NotFound, match="here are for-cmp-7"):
        names(Wanted("for-cmp-8"), every)


def test_two_that_have_worked_here_for_one_host_are_both_told_of(tmp_path: Path) -> None:
    for name in ("a", "b"):
        record(tmp_path / "state", name, "cmp-7")
    assert len(names(Wanted(), one_host(source(tmp_path / "state", "a", "b")))) == 2


def test_a_clone_is_here_before_it_has_worked(tmp_path: Path) -> None:
    record(tmp_path / "state", "a", "cmp-7")
    assert len(names(Wanted(), one_host(source(tmp_path / "state", "a", "b", clone="c")))) == 2


def test_an_instance_of_a_unique_clone_is_known_by_its_record(tmp_path: Path) -> None:
    record(tmp_path, "a:3", "cmp-7")
    assert names(Wanted("a"), source(tmp_path, "a", clone="c", unique=True)) == [("a:3", "cmp-7")]


def test_the_host_of_the_record_comes_first_as_in_a_stop(tmp_path: Path) -> None:
    record(tmp_path, "a", "cmp-7")
    assert names(Wanted("a"), source(tmp_path, "a")) == [("a", "cmp-7")]


def test_a_record_that_the_cluster_has_forgotten_is_found_too(tmp_path: Path) -> None:
    record(tmp_path, "old", "cmp-7")
    assert names(Wanted(), source(tmp_path, "a")) == [("a", "of-a"), ("old", "cmp-7")]


def test_without_a_cluster_the_records_tell(tmp_path: Path) -> None:
    record(tmp_path, "nova-compute", "cmp-7")
    wanted = Wanted(parameters={"state_dir": str(tmp_path)})
    assert names(wanted, NOWHERE) == [("nova-compute", "cmp-7")]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"resource": 1}', '{"resource": "b", "host": "h"}'])
def test_a_file_that_is_no_record_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    assert finding.records(str(tmp_path)) == []


def test_a_record_of_a_name_that_no_file_can_have_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / "nc.json").write_text('{"resource": "\\ud800", "host": "cmp-7"}')
    assert finding.records(str(tmp_path)) == []


def test_a_host_of_this_machine_is_looked_at_with_all_that_is_known(tmp_path: Path) -> None:
    (target,) = finding.targets(Wanted(host="of-b"), source(tmp_path, "a", "b"))
    assert target.resource is not None
    assert target.resource.name == "b"


def test_another_host_is_asked_about_with_the_credentials_of_a_resource_here(tmp_path: Path) -> None:
    (target,) = finding.targets(Wanted(host="cmp-9"), source(tmp_path, "a"))
    assert (target.resource, target.via.name) == (None, "a")


def test_several_where_one_is_needed(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="name one of the resources: a, b"):
        finding.one_target(Wanted(), source(tmp_path, "a", "b"))


def test_nothing_at_all_says_where_it_has_looked(tmp_path: Path) -> None:
    wanted = Wanted(parameters={"state_dir": str(tmp_path / "none")}, hint="--this does that")
    with pytest.raises(NotFound, match="--this does that, -o state_dir=PATH looks elsewhere"):
        names(wanted, NOWHERE)
    with pytest.raises(NotFound, match="--this does that"):
        names(replace(wanted, name="a"), NOWHERE)


def test_whose_a_record_is_under_any_name(tmp_path: Path) -> None:
    record(tmp_path / "state", "a", "cmp-7")
    path = tmp_path / "state" / "a.json"
    assert finding.whose(str(path)) == ("a", machine_id(), "cmp-7")
    link = tmp_path / "link"
    link.symlink_to(path)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    large = tmp_path / "large"
    large.write_text(path.read_text() + " " * finding.LARGEST + "x")
    torn = tmp_path / "torn"
    torn.write_text(path.read_text()[:40])
    assert [finding.whose(str(one)) for one in (link, pipe, large, torn, tmp_path)] == [None] * 5


def test_parameters_of_the_command_line_come_over_the_clusters(tmp_path: Path) -> None:
    (target,) = finding.targets(Wanted("a", parameters={"host": "cmp-9"}), source(tmp_path, "a"))
    assert target.host == "cmp-9"


def test_no_secret_is_in_what_a_fault_would_show(tmp_path: Path) -> None:
    wanted = Wanted("a", parameters={"password": "geheim"})
    (target,) = finding.targets(wanted, source(tmp_path, "a"))
    assert "geheim" not in repr(target) + repr(wanted)


def test_who_may_not_read_the_records_may_still_ask_about_a_host(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.write_text("no directory: it cannot be listed")
    wanted = Wanted(host="cmp-9", parameters={"state_dir": str(path)})
    assert [target.host for target in finding.targets(wanted, NOWHERE)] == ["cmp-9"]

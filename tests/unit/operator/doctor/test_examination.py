# SPDX-License-Identifier: Apache-2.0
"""The whole examination, from the cluster's configuration to its exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from ocf_agents.guard.record import Record, encode
from ocf_agents.guard.store import machine_id
from ocf_agents.operator import cib
from ocf_agents.operator.cluster import Source
from ocf_agents.operator.doctor import examination
from ocf_agents.operator.doctor.examination import Chapter
from ocf_agents.operator.doctor.finding import Finding, ok, problem, warning
from ocf_agents.operator.finding import Wanted
from ocf_agents.operator.trouble import NotFound
from ocf_agents.testing.compute_api import ComputeApi


def source(state: Path, *clones: str) -> Source:
    resources = "".join(
        f'<clone id="{name}-c"><primitive id="{name}" class="ocf" provider="heartbeat" type="nova-compute">'
        f'<instance_attributes id="i{name}"><nvpair id="s{name}" name="state_dir" value="{state}"/>'
        f'<nvpair id="h{name}" name="host" value="cmp-7"/></instance_attributes></primitive></clone>'
        for name in clones
    )
    fence = '<primitive id="fence" class="stonith" type="fence_ipmilan"/>'
    text = f"<cib><configuration><resources>{resources}{fence}</resources></configuration></cib>"
    return Source(cib.parse(text), "the test", True)


def record(state: Path, name: str) -> None:
    state.mkdir(mode=0o700, exist_ok=True)
    (state / f"{name}.json").write_text(encode(Record(1, name, machine_id(), "cmp-7", generation=3)))


def of_host(found: Source) -> list[tuple[str, str]]:
    chapters = examination.examine(Wanted(), found)
    return [(one.level, one.what) for one in chapters[0].findings if one.what not in ("root", "evacuator")]


def test_two_clones_for_one_host_are_a_problem(tmp_path: Path) -> None:
    assert of_host(source(tmp_path / "state", "a")) == []
    assert of_host(source(tmp_path / "state", "a", "b")) == [("problem", "one row")]


def test_a_record_of_a_resource_that_is_gone_is_told_of(tmp_path: Path) -> None:
    record(tmp_path / "state", "a")
    record(tmp_path / "state", "old")
    assert of_host(source(tmp_path / "state", "a")) == [("warning", "record")]


def test_each_resource_has_a_chapter_and_none_of_them_ends_the_examination(tmp_path: Path) -> None:
    chapters = examination.examine(Wanted(), source(tmp_path, "a", "b"))
    assert [one.title for one in chapters] == ["this host", "a", "b"]
    assert all(
        ("problem", "credentials") in [(f.level, f.what) for f in one.findings] for one in chapters[1:]
    )


def test_nothing_to_examine_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        examination.examine(Wanted("a"), source(tmp_path))


@pytest.mark.parametrize(
    ("findings", "code"),
    [
        ([], 0),
        ([ok("a", "b")], 0),
        ([warning("a", "b", "c")], 0),
        ([warning("a", "b", "c"), problem("a", "b", "c")], 1),
    ],
)
def test_a_problem_is_the_exit_code(findings: list[Finding], code: int) -> None:
    assert examination.code_of([Chapter("t", tuple(findings))]) == code


def test_a_record_for_another_host_than_the_next_start_is_told_of(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    (state / "a.json").write_text(encode(Record(1, "a", machine_id(), "cmp-6", generation=3)))
    (chapter,) = examination.examine(Wanted("a"), source(state, "a"))[1:]
    (found,) = [one for one in chapter.findings if one.what == "host"]
    assert (found.level, "cmp-6" in found.text, "cmp-7" in found.text) == ("warning", True, True)


def test_a_record_that_is_none_is_told_of_also_without_a_cloud(tmp_path: Path) -> None:
    record(tmp_path / "state", "a")
    (tmp_path / "state" / "a.json").write_text("{")
    (_, chapter) = examination.examine(Wanted(), source(tmp_path / "state", "a"))
    (found,) = [one for one in chapter.findings if one.what == "record"]
    assert found.level == "warning"
    assert "a.json: not a usable record" in found.text
    assert "sets it aside" in found.mend


def recorded_for(state: Path, host: str) -> None:
    state.mkdir(mode=0o700)
    (state / "a.json").write_text(encode(Record(1, "a", machine_id(), host, generation=3)))


def findings(state: Path, found: Source, *hosts: str) -> dict[str, Finding]:
    """The last chapter's, by what they are about; the cloud has these hosts."""
    with ComputeApi() as api:
        for one in hosts:
            api.add(one)
        wanted = Wanted(parameters={**api.credentials(), "state_dir": str(state), "api_timeout": "5s"})
        return {one.what: one for one in examination.examine(wanted, found)[-1].findings}


def test_the_row_of_the_next_start_is_looked_for_and_not_the_records(tmp_path: Path) -> None:
    recorded_for(tmp_path / "state", "cmp-7.example.org")
    found = findings(tmp_path / "state", source(tmp_path / "state", "a"), "cmp-7")
    assert (found["row"].level, found["row"].text) == ("ok", "nova-compute on cmp-7 is there")
    assert found["host"].level == "warning"


def test_a_next_start_under_an_unknown_name_is_a_problem_where_the_records_is_known(tmp_path: Path) -> None:
    recorded_for(tmp_path / "state", "cmp-6")
    found = findings(tmp_path / "state", source(tmp_path / "state", "a"), "cmp-6")
    assert (found["row"].level, "under another name" in found["row"].text) == ("problem", True)


def test_of_a_resource_that_is_gone_its_record_and_its_row_are_told_alone(tmp_path: Path) -> None:
    recorded_for(tmp_path / "state", "cmp-7")
    gone = source(tmp_path / "state")
    assert list(findings(tmp_path / "state", gone, "cmp-7")) == ["state_dir", "row"]
    host, chapter = examination.examine(Wanted(parameters={"state_dir": str(tmp_path / "state")}), gone)
    assert [one.what for one in chapter.findings] == ["state_dir"]
    (told,) = [one.text for one in host.findings if one.what == "record"]
    assert "the cluster has no resource a" in told


def test_where_no_cluster_can_be_read_a_record_alone_is_examined_in_full(tmp_path: Path) -> None:
    recorded_for(tmp_path / "state", "cmp-7")
    assert "login" in findings(tmp_path / "state", Source(None, "the test"), "cmp-7")


def test_a_resource_of_the_command_line_alone_is_not_one_that_is_gone(tmp_path: Path) -> None:
    assert "login" in findings(tmp_path / "none", source(tmp_path / "none"), "cmp-7")

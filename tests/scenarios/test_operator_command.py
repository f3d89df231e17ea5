# SPDX-License-Identifier: Apache-2.0
"""An operator's night with `ocf-agents`: the real command beside the real agent, over real HTTP."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest

from ocf_agents.guard import marker
from ocf_agents.operator import hold
from ocf_agents.testing.compute import faults
from ocf_agents.testing.compute_api import ComputeApi
from ocf_agents.testing.node import Node, wait_for

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "operating.md"
PROGRAM = "from ocf_agents.cli.main import main; main()"
WORDS = "RAM swap, ticket 4711"
PATIENT = {"head_start": "30s"}

CIB = """<cib><configuration><resources><clone id="nova-compute-clone">
<primitive id="nova-compute" class="ocf" provider="heartbeat" type="nova-compute">
<instance_attributes id="parameters">{parameters}</instance_attributes>
<meta_attributes id="meta"><nvpair id="ft" name="failure-timeout" value="120s"/></meta_attributes>
<operations><op id="start" name="start" interval="0" timeout="240s"/>
<op id="stop" name="stop" interval="0" timeout="60s"/>
<op id="monitor" name="monitor" interval="10s" timeout="30s"/></operations>
</primitive></clone></resources></configuration></cib>"""

CLOUDS = """clouds:
  lab:
    auth: {{auth_url: {auth_url}, username: {username}, password: {password}, project_name: {project_name},
           user_domain_name: Default, project_domain_name: Default}}
"""


class Operator:
    """Whoever types `ocf-agents` on the node, or on a machine that has nothing but credentials."""

    def __init__(self, node: Node, cloud: ComputeApi, place: Path) -> None:
        self.node, self.cloud = node, cloud
        self.told: list[str] = []
        texts = (
            f"<nvpair id={quoteattr('p-' + name)} name={quoteattr(name)} value={quoteattr(str(value))}/>"
            for name, value in node.pacemaker.parameters.items()
        )
        self.cib = place / "cib.xml"
        self.cib.write_text(CIB.format(parameters="".join(texts)))
        self.home = place / "home"
        (self.home / ".config" / "openstack").mkdir(parents=True)
        personal = self.home / ".config" / "openstack" / "clouds.yaml"
        personal.write_text(CLOUDS.format(**cloud.credentials()))
        personal.chmod(0o600)

    def types(self, *words: str, code: int = 0, away: bool = False) -> str:
        """What the command answers; `away`: on another machine."""
        environ = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": str(self.home), "LOGNAME": "zoe"}
        here = {"CIB_file": str(self.cib), "HA_RSCTMP": str(self.node.run_dir)}
        nowhere = {"CIB_file": str(self.cib.parent / "empty.xml")}
        if away:
            Path(nowhere["CIB_file"]).write_text("<cib><configuration/></cib>")
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", PROGRAM, *words],
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
            env={**environ, **(nowhere if away else here)},
        )
        self.told.append(done.stdout + done.stderr)
        assert "Traceback" not in done.stderr
        assert done.returncode == code, done
        return done.stdout + done.stderr

    def gets(self, *words: str, code: int = 0) -> dict:
        """The same as JSON."""
        found = json.loads(self.types(*words, "--json", code=code))
        assert isinstance(found, dict)
        return found

    def status(self) -> dict:
        (found,) = self.gets("status")["resources"]
        assert isinstance(found, dict)
        return found


@pytest.fixture
def operator(node: Node, cloud: ComputeApi, tmp_path: Path) -> Iterator[Operator]:
    operator = Operator(node, cloud, tmp_path)
    yield operator
    assert operator.told, "a story in which nobody types anything"
    assert not [text for text in operator.told if cloud.account.password in text], "a secret was printed"


def started(node: Node) -> None:
    assert node.run("start").code == 0


def stopped(node: Node) -> None:
    assert node.run("stop", parameters=PATIENT).code == 0


def quiet(node: Node) -> None:
    assert wait_for(lambda: not node.helpers(), 30.0)


def put_down(node: Node) -> None:
    """Started and stopped; the row is disabled in our words, and nobody works on it any more."""
    started(node)
    stopped(node)
    quiet(node)


def shape(text: str) -> list[str]:
    """The lines without what differs from night to night: times, numbers, tokens."""
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\dZ?", "TIME", text)
    text = re.sub(r"http://[^/\s]+", "URL", text)
    text = re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{16}\b", "ID", text)
    text = re.sub(r"\d+(\.\d+)? (s|min|hours|days)\b|\d{3,}", "N", text)
    return [re.sub(r" {2,}", "  ", line).rstrip() for line in text.strip().splitlines()]


def shown(command: str) -> list[str]:
    """What the reference shows of a command, as a shape."""
    blocks = re.findall(
        r"(?m)^    \$ (.*)\n((?:    .*\n|\n(?=    (?!\$)))*)", PAGE.read_text(encoding="utf-8")
    )
    found = [text for typed, text in blocks if typed == command]
    assert len(found) == 1, f"docs/operating.md shows {command!r} {len(found)} times"
    return shape(re.sub(r"(?m)^    ", "", found[0]))


def test_why_is_cmp_7_disabled_in_one_command_on_the_node(operator: Operator, node: Node) -> None:
    started(node)
    quiet(node)
    stopped(node)
    quiet(node)
    assert shape(operator.types("status")) == shown("ocf-agents status")


def test_why_is_cmp_7_disabled_from_any_machine(operator: Operator, node: Node) -> None:
    started(node)
    stopped(node)
    text = operator.types("status", "--host", "cmp-7", "--cloud", "lab", away=True)
    assert shape(text) == shown("ocf-agents status --host cmp-7 --cloud lab")
    assert "no nova-compute" in operator.types(
        "hold", "--host", "cmp-77", "--cloud", "lab", "--reason", "x", code=3, away=True
    )
    text = operator.types("status", "--host", "CMP-7.example.org", "--cloud", "lab", code=3, away=True)
    assert "none for host CMP-7.example.org, but for cmp-7" in text


def test_a_maintenance_lives_through_stop_start_and_crash_and_ends_with_its_release(
    operator: Operator, node: Node, cloud: ComputeApi
) -> None:
    row = cloud.row("cmp-7")
    started(node)
    quiet(node)
    text = operator.types("hold", "nova-compute", "--reason", WORDS)
    assert shape(text) == shown(f"ocf-agents hold nova-compute --reason '{WORDS}'")
    words = row.reason
    held = hold.parse(words)
    assert held is not None
    assert (held.by, held.words) == ("zoe", WORDS)

    stopped(node)
    assert "an evacuator may act on it" in operator.types("release", code=6)
    assert (row.disabled, row.reason) == (True, words)
    started(node)
    node.crash()
    node.run("monitor")
    stopped(node)
    started(node)
    assert (row.disabled, row.reason) == (True, words)
    assert operator.status()["disabled_by"]["kind"] == "hold"

    assert wait_for(
        lambda: row.alive and cloud.services.show(row, uuid_ids=True, with_forced_down=True)["state"] == "up"
    )
    assert shape(operator.types("release", "nova-compute")) == shown("ocf-agents release nova-compute")
    assert not row.disabled
    assert "enabled already" in operator.types("release")


def test_a_hold_on_a_stopped_host_keeps_it_disabled_through_its_start(
    operator: Operator, node: Node, cloud: ComputeApi
) -> None:
    row = cloud.row("cmp-7")
    put_down(node)
    operator.types("hold", "--reason", WORDS)
    started(node)
    assert row.disabled
    assert hold.parse(row.reason)


def test_a_late_disable_of_the_agents_that_falls_on_a_hold_does_not_end_it(
    operator: Operator, node: Node, cloud: ComputeApi
) -> None:
    row = cloud.row("cmp-7")
    started(node)
    quiet(node)
    kept = cloud.fail(faults.never_apply(), method="PUT")
    node.run("stop", parameters={"head_start": "1s", "hold": "60s"})
    assert wait_for(lambda: bool(kept.used))
    node.end_helpers()

    text = operator.types("hold", "--reason", WORDS, "-o", "hold=60s")
    assert "is left disabled all the same" in text
    cloud.compute.answer(kept.used[0])
    assert marker.parse(row.reason), "the late disable has taken the words away"

    assert node.run("start", parameters={"hold": "60s"}).code == 0
    assert row.disabled
    assert operator.status()["disabled_by"]["words"].endswith(WORDS)

    assert wait_for(lambda: row.alive)
    time.sleep(0.5)
    operator.types("release", "--force")
    assert not row.disabled
    assert node.run("start", parameters={"hold": "60s"}).code == 0
    assert not row.disabled


@pytest.mark.parametrize("reason", ["RAM (Zoë, 配置)", "", None, "AUTO: Connection to libvirt lost: 1"])
def test_what_somebody_else_disabled_is_theirs(
    operator: Operator, node: Node, cloud: ComputeApi, reason: str | None
) -> None:
    row = cloud.row("cmp-7")
    started(node)
    row.disabled, row.reason = True, reason
    operator.types("release", "--force", code=6)
    operator.types("hold", "--reason", WORDS, code=6)
    assert (row.disabled, row.reason) == (True, reason)
    if reason:
        assert reason in operator.types("hold", "--reason", WORDS, "--force"), (
            "the words that are lost are shown"
        )
        assert hold.parse(row.reason)


def test_a_write_without_an_answer_is_no_success_and_has_a_code_of_its_own(
    operator: Operator, node: Node, cloud: ComputeApi
) -> None:
    started(node)
    quiet(node)
    kept = cloud.fail(faults.never_apply(), method="PUT")
    text = operator.types("hold", "--reason", WORDS, "--timeout", "8", code=5)
    assert "look again" in text
    assert not cloud.row("cmp-7").disabled
    cloud.compute.answer(kept.used[0])
    assert operator.status()["disabled_by"]["kind"] == "hold", "it has landed after all"


def test_a_write_whose_answer_is_lost_is_found_by_reading_back(
    operator: Operator, node: Node, cloud: ComputeApi
) -> None:
    started(node)
    quiet(node)
    cloud.fail(faults.commit_and_never_answer(), method="PUT")
    assert "was not answered" in operator.types("hold", "--reason", WORDS)
    assert cloud.row("cmp-7").disabled


def test_a_cloud_that_refuses_is_quoted_and_nothing_is_believed(
    operator: Operator, node: Node, cloud: ComputeApi
) -> None:
    started(node)
    quiet(node)
    cloud.fail(faults.status(403), method="PUT")
    assert "nothing has changed" in operator.types("hold", "--reason", WORDS, code=4)
    cloud.fail(faults.status(403), method="GET", path="os-services")
    operator.types("hold", "--reason", WORDS, code=4)
    assert not cloud.row("cmp-7").disabled


def snapshot(node: Node) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(node.state_dir.iterdir())}


@pytest.mark.parametrize("command", ["status", "explain"])
def test_looking_changes_neither_the_cloud_nor_the_record(
    operator: Operator, node: Node, cloud: ComputeApi, command: str
) -> None:
    put_down(node)
    before = snapshot(node)
    cloud.forget()
    operator.types(command)
    assert {one.method for one in cloud.requests if one.service == "compute"} == {"GET"}
    assert snapshot(node) == before


def test_explain_says_what_the_guard_then_does(operator: Operator, node: Node, cloud: ComputeApi) -> None:
    started(node)
    quiet(node)
    stopped(node)
    quiet(node)
    assert shape(operator.types("explain")) == shown("ocf-agents explain")
    (found,) = operator.gets("explain")["resources"]
    decisions = {one["when"]: one["verdict"] for one in found["decisions"]}
    assert decisions == {"now": "leave", "next start": "enable", "next stop": "leave"}
    started(node)
    assert not cloud.row("cmp-7").disabled, "as it was foretold"


def test_the_history_is_told_in_full_and_as_it_is(operator: Operator, node: Node) -> None:
    put_down(node)
    lines = operator.types("history", "--json").splitlines()
    file = node.state_dir / "nova-compute.history.jsonl"
    events = [json.loads(line) for line in file.read_text().splitlines()]
    assert [json.loads(line) for line in lines] == events
    assert "the row is enabled and the service stops" in [event["why"] for event in events]
    last = operator.types("history", "-n", "2")
    assert [event["why"] in last for event in events[-2:]] == [True, True]


def test_with_a_dead_api_it_says_what_a_start_would_do(
    operator: Operator, node: Node, cloud: ComputeApi
) -> None:
    put_down(node)
    cloud.identity.stop()
    text = operator.types("status", code=4)
    assert "cannot be read" in text
    assert "fails as long as the row cannot be read" in text
    cloud.identity.start()


def test_without_a_cluster_the_record_is_enough(operator: Operator, node: Node, cloud: ComputeApi) -> None:
    started(node)
    stopped(node)
    options = [f"{name}={value}" for name, value in cloud.credentials().items() if name != "password"]
    words = [word for option in (*options, f"state_dir={node.state_dir}") for word in ("-o", option)]
    text = operator.types("status", *words, "-o", f"password={cloud.account.password}", away=True)
    assert "the agent of resource nova-compute" in text
    assert "record" in text


def test_a_renamed_resource_adopts_its_old_marker_only_when_that_is_named(
    operator: Operator, node: Node, cloud: ComputeApi
) -> None:
    row = cloud.row("cmp-7")
    put_down(node)
    row.reason = old = str(marker.make("compute", "cmp-7", "2026-11-30T11:23:23Z", "5b964e4f5116da1e"))
    assert "another resource" in operator.types("status")
    assert "by resource compute" in operator.types("adopt")
    operator.types("adopt", "--yes", code=2)
    operator.types("adopt", "--yes", "--from-resource", "other", code=2)
    assert row.reason == old
    operator.types("adopt", "--yes", "--from-resource", "compute")
    started(node)
    assert not row.disabled


def test_the_marker_of_another_host_is_adopted_only_when_that_is_named(
    operator: Operator, node: Node, cloud: ComputeApi
) -> None:
    row = cloud.row("cmp-7")
    put_down(node)
    row.reason = old = str(marker.make("nova-compute", "cmp-9", "2026-11-30T11:23:23Z", "5b964e4f5116da1e"))
    assert "on host cmp-9" in operator.types("adopt")
    text = operator.types("adopt", "--yes", "--from-resource", "nova-compute", code=2)
    assert "--from-host cmp-9" in text
    assert row.reason == old
    operator.types("adopt", "--yes", "--from-resource", "nova-compute", "--from-host", "cmp-9")
    started(node)
    assert not row.disabled


@pytest.mark.parametrize("command", ["status", "explain"])
def test_a_resource_whose_host_is_not_known_does_not_hide_the_others(
    operator: Operator, node: Node, tmp_path: Path, command: str
) -> None:
    started(node)
    bad = tmp_path / "bad.conf"
    bad.write_text("[DEFAULT\n")
    other = (
        '<primitive id="other" class="ocf" provider="heartbeat" type="nova-compute">'
        f'<instance_attributes id="o"><nvpair id="oc" name="config" value="{bad}"/></instance_attributes>'
        "</primitive></resources>"
    )
    operator.cib.write_text(operator.cib.read_text().replace("</resources>", other))
    text = operator.types(command, code=4)
    assert "nova-compute on cmp-7" in text
    assert text.splitlines()[-2] == "other"
    assert str(bad) in text.splitlines()[-1]
    seen, lost = operator.gets(command, code=4)["resources"]
    assert (seen["resource"], seen["host"]) == ("nova-compute", "cmp-7")
    assert (lost["resource"], lost["host"], lost["row"]) == ("other", None, None)
    assert str(bad) in lost["trouble"]


def test_the_record_of_the_old_name_hinders_no_adoption(
    operator: Operator, node: Node, cloud: ComputeApi
) -> None:
    row = cloud.row("cmp-7")
    put_down(node)
    operator.cib.write_text(operator.cib.read_text().replace('id="nova-compute"', 'id="compute"'))
    assert "the cluster has no resource nova-compute" in operator.types("doctor", code=1)
    assert "by resource nova-compute on host cmp-7" in operator.types("adopt")
    operator.types("adopt", "--yes", "--from-resource", "nova-compute")
    assert row.reason is not None
    assert row.reason.startswith("ocf-agents disabled: resource=compute host=cmp-7 ")


def test_the_doctor_finds_what_was_prepared(operator: Operator, node: Node, cloud: ComputeApi) -> None:
    started(node)
    cloud.row("cmp-7").forced_down = True
    found = operator.gets("doctor", code=1)
    every = [one for chapter in found["chapters"] for one in chapter["findings"]]
    levels = {(one["what"], one["level"]) for one in every}
    assert {
        ("stop", "warning"),
        ("start", "ok"),
        ("failure-timeout", "ok"),
        ("role", "ok"),
        ("now", "warning"),
    } <= levels
    assert all(one["mend"] for one in every if one["level"] != "ok")


@pytest.mark.parametrize("command", ["status", "explain", "doctor", "hold"])
def test_a_wrong_password_is_never_shown(operator: Operator, node: Node, command: str) -> None:
    started(node)
    more = ["--reason", "x"] if command == "hold" else []
    code = 1 if command == "doctor" else 4
    for form in ([], ["--json"]):
        text = operator.types(command, *more, *form, "-o", "password=xyzzy-geheim-42", code=code)
        assert "geheim" not in text
        assert "check the credentials" in text

# SPDX-License-Identifier: Apache-2.0
"""Node attributes, through a program in the place of crm_attribute that keeps them in files."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ocf_agents.ocf.attributes import NodeAttributes
from ocf_agents.ocf.deadline import Deadline
from ocf_agents.ocf.errors import GenericError, NotInstalled

STAND_IN = """\
#!/bin/sh
echo "$@" >>"$STORE/calls"
[ "$1 $2 $3" = "--lifetime reboot --name" ] || exit 64
case "$5" in
--query) cat "$STORE/$4" 2>/dev/null || { echo "no such $4" >&2; exit 105; } ;;
--update) printf '%s\\n' "$6" >"$STORE/$4" ;;
--delete) rm "$STORE/$4" 2>/dev/null || exit 105 ;;
esac
"""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    store = tmp_path / "store"
    store.mkdir()
    return store


def attributes(tmp_path: Path, script: str = STAND_IN, seconds: float = 20.0) -> NodeAttributes:
    tool = tmp_path / "crm_attribute"
    tool.write_text(script)
    tool.chmod(0o755)
    environ = {"HA_SBIN_DIR": str(tmp_path), "STORE": str(tmp_path / "store"), "PATH": "/usr/bin:/bin"}
    return NodeAttributes(environ, "db", Deadline(seconds))


def test_an_attribute_is_set_read_and_deleted(tmp_path: Path, store: Path) -> None:
    there = attributes(tmp_path)
    assert there.get("colour") is None
    there.set("colour", "blue; $(touch x) 'y'")
    assert there.get("colour") == "blue; $(touch x) 'y'"
    there.delete("colour")
    assert there.get("colour") is None


def test_what_is_not_there_is_deleted_already(tmp_path: Path, store: Path) -> None:
    attributes(tmp_path).delete("colour")
    assert (store / "calls").read_text() == "--lifetime reboot --name colour --delete\n"


def test_the_promotion_score_is_the_attribute_that_pacemaker_looks_at(tmp_path: Path, store: Path) -> None:
    there = attributes(tmp_path)
    assert there.promotion_score() is None
    there.set_promotion_score(-5)
    assert (store / "master-db").read_text() == "-5\n"
    assert there.promotion_score() == -5
    there.delete_promotion_score()
    there.delete_promotion_score()
    assert not (store / "master-db").exists()


def test_infinity_is_a_number_and_a_word_is_not(tmp_path: Path, store: Path) -> None:
    there = attributes(tmp_path)
    (store / "master-db").write_text("-INFINITY\n")
    assert there.promotion_score() == -1000000
    (store / "master-db").write_text("much\n")
    with pytest.raises(GenericError, match="promotion score of db is 'much'"):
        there.promotion_score()


def test_a_tool_that_fails_is_quoted(tmp_path: Path, store: Path) -> None:
    there = attributes(tmp_path, "#!/bin/sh\necho 'no connection to\n the cluster' >&2\nexit 102\n")
    for call in (lambda: there.get("a"), lambda: there.set("a", "b"), lambda: there.delete("a")):
        with pytest.raises(GenericError, match=r"crm_attribute failed \(102\): no connection to the cluster"):
            call()


def test_a_host_without_pacemaker_is_told_so(tmp_path: Path) -> None:
    there = NodeAttributes({"HA_SBIN_DIR": str(tmp_path)}, "db", Deadline(20))
    with pytest.raises(NotInstalled, match="crm_attribute is missing"):
        there.get("colour")


def test_a_tool_that_hangs_is_waited_for_no_longer_than_the_action_may_take(
    tmp_path: Path, store: Path
) -> None:
    there = attributes(tmp_path, "#!/bin/sh\nexec sleep 60\n", seconds=0.5)
    begin = time.monotonic()
    with pytest.raises(GenericError, match="did not answer"):
        there.get("colour")
    assert time.monotonic() - begin < 20

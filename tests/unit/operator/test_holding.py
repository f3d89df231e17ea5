# SPDX-License-Identifier: Apache-2.0
"""Setting and releasing a hold beside a record with requests under way."""

from __future__ import annotations

import fcntl
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ocf_agents.agents.nova_compute import AGENT, SERVICE
from ocf_agents.guard import marker
from ocf_agents.guard.record import DISABLE, ENABLE, ENABLED, Attempt, Foreign, Instant, Record, encode
from ocf_agents.guard.row import APPLIED, REFUSED, UNKNOWN, Answer, Row, Unreadable
from ocf_agents.guard.store import machine_id
from ocf_agents.operator import hold, holding, past
from ocf_agents.operator.finding import Target
from ocf_agents.operator.holding import Desk
from ocf_agents.operator.resource import Resource
from ocf_agents.operator.trouble import INTERRUPTED, InDoubt, NotFound, Trouble, Unusable
from ocf_agents.service.host import boot_id, boottime

MARKER = str(marker.make("nc", "cmp-7", "2026-11-30T11:23:23Z", "5b964e4f5116da1e"))


@dataclass
class FakeRows:
    """A row in memory; `outcome` is what each write is answered, `applies` whether it happens."""

    row: Row | None = field(default_factory=lambda: Row("id", False, up=True))
    outcome: str = APPLIED
    applies: bool = True
    reads: int = 0
    breaks_after: int = 1000

    def read(self) -> Row | None:
        self.reads += 1
        if self.reads > self.breaks_after:
            raise Unreadable("the API is away")
        return self.row

    def disable(self, row_id: str, reason: str) -> Answer:
        return self._write(Row(row_id, True, reason, True))

    def enable(self, row_id: str) -> Answer:
        return self._write(Row(row_id, False, None, True))

    def busy(self) -> bool:
        return False

    def _write(self, row: Row) -> Answer:
        if self.applies:
            self.row = row
        return Answer(self.outcome, "said so")


def desk(tmp_path: Path, rows: FakeRows, record: Record | None = None, *, forced: bool = False) -> Desk:
    state = tmp_path / "state"
    if record:
        state.mkdir(mode=0o700)
        (state / "nc.json").write_text(encode(record))
    resource = Resource("nc", AGENT, SERVICE, {"state_dir": str(state), "host": "cmp-7"})
    return Desk(Target("cmp-7", resource, resource), rows, time.monotonic() + 1.2, forced)


def record(*kinds: str, foreign: Foreign | None = None) -> Record:
    now = Instant(boot_id(), boottime())
    attempts = tuple(
        Attempt(f"{number:016x}", kind, "id", now, let_go=now) for number, kind in enumerate(kinds)
    )
    return Record(
        1, "nc", machine_id(), "cmp-7", "id", ENABLED, generation=4, attempts=attempts, foreign=foreign
    )


def remembered(one: Desk) -> str | None:
    assert one.target.resource is not None
    known = one.target.resource.store("cmp-7", lambda text: None).load()
    return known.foreign.reason if known.foreign else None


def test_a_hold_beside_a_quiet_record_changes_the_row_and_not_the_record(tmp_path: Path) -> None:
    rows = FakeRows()
    one = desk(tmp_path, rows, record())
    before = (tmp_path / "state" / "nc.json").read_bytes()
    outcome = holding.set_hold(one, "RAM", "zoe")
    assert rows.row is not None
    assert hold.parse(rows.row.reason) == outcome.hold
    assert not outcome.is_in_doubt
    assert outcome.notes == ()
    assert (tmp_path / "state" / "nc.json").read_bytes() == before
    assert sorted(path.name for path in (tmp_path / "state").iterdir()) == ["nc.history.jsonl", "nc.json"]


def test_without_a_record_none_is_made(tmp_path: Path) -> None:
    holding.set_hold(desk(tmp_path, FakeRows()), "RAM", "zoe")
    assert not (tmp_path / "state").exists()


def test_an_unsettled_disable_makes_the_record_remember_the_hold(tmp_path: Path) -> None:
    rows = FakeRows()
    one = desk(tmp_path, rows, record(DISABLE))
    outcome = holding.set_hold(one, "RAM", "zoe")
    assert remembered(one) == str(outcome.hold)
    assert not outcome.is_in_doubt

    rows.row = Row("id", True, MARKER, True)  # it lands
    holding.release(one, "zoe")
    assert rows.row == Row("id", False, None, True)
    assert remembered(one) is None


def test_a_record_that_somebody_keeps_locked_is_waited_for_within_the_time_alone(tmp_path: Path) -> None:
    one = desk(tmp_path, FakeRows(), record(DISABLE))
    with (tmp_path / "state" / "nc.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        begun = time.monotonic()
        outcome = holding.set_hold(one, "RAM", "zoe")
    assert time.monotonic() - begun < 3.0
    assert "could not be noted" in " ".join(outcome.notes)
    assert outcome.is_in_doubt


def test_an_unsettled_enable_leaves_the_hold_in_doubt(tmp_path: Path) -> None:
    outcome = holding.set_hold(desk(tmp_path, FakeRows(), record(ENABLE)), "RAM", "zoe")
    assert outcome.is_in_doubt
    assert "may undo the hold" in " ".join(outcome.notes)


def test_a_memory_of_another_person_is_kept(tmp_path: Path) -> None:
    rows = FakeRows(Row("id", True, str(hold.make("zoe", "2026-11-30T11:23:23Z", "RAM")), True))
    one = desk(tmp_path, rows, record(DISABLE, foreign=Foreign("theirs", "2026-11-30T11:23:23Z")))
    holding.release(one, "zoe")
    assert remembered(one) == "theirs"


def test_a_refusal_is_no_success(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="nothing has changed: said so"):
        holding.set_hold(desk(tmp_path, FakeRows(outcome=REFUSED, applies=False)), "RAM", "zoe")


@pytest.mark.parametrize("outcome", [UNKNOWN, APPLIED])
def test_what_cannot_be_read_back_is_in_doubt_whatever_the_answer_was(tmp_path: Path, outcome: str) -> None:
    with pytest.raises(InDoubt, match="the row is now enabled: look"):
        holding.set_hold(desk(tmp_path, FakeRows(outcome=outcome, applies=False)), "RAM", "zoe")
    with pytest.raises(InDoubt, match="cannot be read now: the API is away"):
        holding.set_hold(desk(tmp_path, FakeRows(outcome=outcome, breaks_after=1)), "RAM", "zoe")


def test_a_lost_answer_is_made_up_for_by_reading_back(tmp_path: Path) -> None:
    outcome = holding.set_hold(desk(tmp_path, FakeRows(outcome=UNKNOWN)), "RAM", "zoe")
    assert "was not answered" in outcome.notes[0]


def test_what_is_undone_at_once_is_in_doubt(tmp_path: Path) -> None:
    class Undone(FakeRows):
        def read(self) -> Row | None:
            found = super().read()
            return Row("id", False, None, True) if self.reads == 3 else found

    with pytest.raises(InDoubt, match="enabled since"):
        holding.set_hold(desk(tmp_path, Undone(), record()), "RAM", "zoe")


def test_an_api_that_goes_away_once_the_hold_is_set_does_not_say_that_nothing_was_done(
    tmp_path: Path,
) -> None:
    with pytest.raises(InDoubt, match="the hold was set, and then the row cannot be read: the API is away"):
        holding.set_hold(desk(tmp_path, FakeRows(breaks_after=2)), "RAM", "zoe")


def test_who_interrupts_a_write_is_told_to_look_again(tmp_path: Path) -> None:
    class Interrupted(FakeRows):
        def _write(self, row: Row) -> Answer:
            super()._write(row)
            raise KeyboardInterrupt

    rows = Interrupted()
    with pytest.raises(Trouble, match="may have been done: look again") as told:
        holding.set_hold(desk(tmp_path, rows), "RAM", "zoe")
    assert told.value.code == INTERRUPTED
    with pytest.raises(Trouble, match="may have been done: look again"):
        holding.release(desk(tmp_path, rows), "zoe")
    with pytest.raises(KeyboardInterrupt):
        holding.set_hold(desk(tmp_path, Impatient()), "RAM", "zoe")


class Impatient(FakeRows):
    """Interrupted before anything is written."""

    def read(self) -> Row | None:
        raise KeyboardInterrupt


def test_no_row_and_no_reading(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no nova-compute on host cmp-7"):
        holding.set_hold(desk(tmp_path, FakeRows(None)), "RAM", "zoe")
    with pytest.raises(Unusable, match="the API is away"):
        holding.release(desk(tmp_path, FakeRows(breaks_after=0)), "zoe")


def test_a_record_that_cannot_be_read_stops_a_hold_unless_it_is_forced(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o777)
    (tmp_path / "state").chmod(0o777)
    rows = FakeRows()
    with pytest.raises(Unusable, match="the record cannot be read"):
        holding.set_hold(desk(tmp_path, rows), "RAM", "zoe")
    assert rows.row == Row("id", False, None, True)
    holding.set_hold(desk(tmp_path, rows, forced=True), "RAM", "zoe")
    assert rows.row is not None
    assert rows.row.disabled


def test_the_history_has_both_with_who_and_how_it_was_answered(tmp_path: Path) -> None:
    rows = FakeRows()
    one = desk(tmp_path, rows, record())
    holding.set_hold(one, "RAM swap", "zoe")
    rows.outcome = UNKNOWN
    holding.release(one, "adam")
    lines = past.lines(str(tmp_path / "state"), "nc")
    assert [(one["action"], one["generation"], one["decided"], one["why"]) for one in lines] == [
        ("hold", 4, "disable applied", "held by zoe: RAM swap"),
        ("release", 4, "enable unknown", "released by adam, was held by zoe"),
    ]
    assert past.read_since(lines, "RAM swap") == "", "neither is a reading of the row"


def test_without_a_directory_for_records_there_is_no_history_and_no_fault(tmp_path: Path) -> None:
    holding.set_hold(desk(tmp_path, FakeRows()), "RAM swap", "zoe")
    assert not (tmp_path / "state").exists()

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ocf_agents.guard.reading import DONE, TO_SEND, TO_WAIT, TO_WAIT_FOR_UP, TO_WATCH, Decision, Seen, Trouble
from ocf_agents.guard.record import (
    DISABLE,
    ENABLE,
    ENABLED,
    OURS,
    UNKNOWN,
    Attempt,
    Instant,
    Known,
    Process,
    Record,
)
from ocf_agents.guard.row import APPLIED, REFUSED, Answer, Row
from ocf_agents.guard.row import UNKNOWN as IN_DOUBT
from ocf_agents.guard.step import (
    AS_WANTED,
    BLOCKED,
    DIED,
    HOPELESS,
    OVERTAKEN,
    POLL_FOR_UP,
    TOO_LATE,
    Answered,
    Begun,
    Blocked,
    Consider,
    Considered,
    Died,
    Finish,
    Look,
    Looked,
    Overtaken,
    Pause,
    Send,
    Settle,
    Settled,
    State,
    Woken,
    step,
)
from ocf_agents.guard.verdict import LEAVE, NONE, Policy, Verdict

POLICY = Policy("nova-compute", "c1", hold=300.0)
NOW = Instant("boot-1", 1000.0)
START = State(POLICY, is_foreground=True, hurry=1100.0, last_look=1110.0, seasoned_at=1080.0)
HELPER = replace(START, is_foreground=False)
RECORD = replace(Record.empty("nova-compute", "machine", "c1"), generation=5, known=Known(ENABLED, 5, True))
ATTEMPT = Attempt("a", ENABLE, "row-1", NOW, Process(1, 2, "boot-1"))
OUR_ROW = Row("row-1", disabled=True, reason="ours", up=True, beat="1")


def seen(result: Row | Trouble | None, seconds: float = 1000.0) -> Looked:
    return Looked(Seen(result, Instant("boot-1", seconds), "2026-11-30T11:23:23Z"))


def considered(do: str, *, record: Record = RECORD, now: Instant = NOW, **more: Any) -> Considered:
    verdict = Verdict(LEAVE, "why")
    return Considered(
        record, Decision(do, verdict, more.pop("status", ENABLED), more.pop("attempt", None)), now
    )


@pytest.mark.parametrize("event", [Begun(NOW), Woken(NOW)])
def test_it_begins_and_goes_on_with_a_look(event: Any) -> None:
    assert step(START, event) == (START, Look())


def test_every_look_is_considered() -> None:
    for result in (OUR_ROW, None, Trouble("503")):
        event = seen(result)
        assert step(HELPER, event)[1] == Consider(event.seen, result is None or result is not OUR_ROW)


def test_an_attempt_on_record_is_sent() -> None:
    assert step(HELPER, considered(TO_SEND, attempt=ATTEMPT))[1] == Send(ATTEMPT)


@pytest.mark.parametrize("state", [START, HELPER])
def test_nothing_to_do_and_nothing_unsettled_is_the_end(state: State) -> None:
    _, effect = step(state, considered(DONE))
    assert isinstance(effect, Finish)
    assert (effect.ending, effect.status) == (AS_WANTED, ENABLED)


def test_a_start_leaves_the_watch_to_its_helper() -> None:
    _, effect = step(START, considered(TO_WATCH))
    assert isinstance(effect, Finish)
    assert effect.ending == AS_WANTED
    assert isinstance(step(HELPER, considered(TO_WATCH))[1], Pause)


@pytest.mark.parametrize(("age", "pause"), [(299.5, 0.6), (400.0, 0.1)])
def test_a_watch_looks_right_after_the_window_ends(age: float, pause: float) -> None:
    attempt = replace(ATTEMPT, let_go=Instant("boot-1", 1000.0 - age))
    state = replace(HELPER, failures=9, last_look=1e6)
    _, effect = step(state, considered(TO_WATCH, record=replace(RECORD, attempts=(attempt,))))
    assert isinstance(effect, Pause)
    assert effect.floor == pytest.approx(pause)
    assert 0 < effect.spread <= 30.0, "not in step with others whose windows end now"


def test_the_overtaken_and_the_widowed_leave() -> None:
    assert step(START, Overtaken())[1] == Finish(OVERTAKEN, UNKNOWN)
    assert step(START, Died())[1] == Finish(DIED, UNKNOWN)


# answers


def test_an_answer_is_settled() -> None:
    event = Answered(ATTEMPT, Answer(APPLIED), 0.1)
    assert step(START, event)[1] == Settle(ATTEMPT, Answer(APPLIED), 0.1)


@pytest.mark.parametrize("state", [START, HELPER])
def test_the_wanted_success_ends_it_when_nothing_is_unsettled(state: State) -> None:
    _, effect = step(state, Settled(RECORD, Answer(APPLIED), NOW))
    assert isinstance(effect, Finish)
    assert (effect.ending, effect.status) == (AS_WANTED, ENABLED)


def test_a_helper_watches_on_while_something_is_unsettled() -> None:
    record = replace(RECORD, attempts=(ATTEMPT,))
    assert isinstance(step(HELPER, Settled(record, Answer(APPLIED), NOW))[1], Pause)


@pytest.mark.parametrize(
    ("answer", "known"),
    [
        (Answer(IN_DOUBT, "timeout"), Known(OURS, 5, False)),
        (Answer(REFUSED, "409"), Known(OURS, 5, False)),
        (Answer(APPLIED), Known(OURS, 5, False)),
        (Answer(IN_DOUBT, "timeout"), Known(ENABLED, 5, True)),
    ],
)
@pytest.mark.parametrize("state", [START, HELPER])
def test_anything_else_is_looked_at_again(state: State, answer: Answer, known: Known) -> None:
    assert isinstance(step(state, Settled(replace(RECORD, known=known), answer, NOW))[1], Pause)


def test_a_refusal_for_good_ends_a_start_and_not_a_helper() -> None:
    record = replace(RECORD, known=Known(OURS, 5))
    event = Settled(record, Answer(REFUSED, "403", permanent=True), NOW)
    _, effect = step(START, event)
    assert isinstance(effect, Finish)
    assert (effect.ending, effect.text) == (HOPELESS, "403")
    assert isinstance(step(HELPER, event)[1], Pause)


# trouble


def after_trouble(state: State, trouble: Trouble, now: Instant = NOW) -> Any:
    state, _ = step(state, seen(trouble, now.seconds))
    return step(state, considered(TO_WAIT, status=UNKNOWN, now=now))[1]


def test_trouble_for_good_ends_a_start_and_not_a_helper() -> None:
    effect = after_trouble(START, Trouble("401", is_permanent=True))
    assert isinstance(effect, Finish)
    assert (effect.ending, effect.text) == (HOPELESS, "401")
    assert isinstance(after_trouble(HELPER, Trouble("401", is_permanent=True)), Pause)


def test_retry_after_is_heeded() -> None:
    effect = after_trouble(HELPER, Trouble("503", retry_after=20.0))
    assert isinstance(effect, Pause)
    assert effect.floor == 20.0
    assert effect.spread == 20.0, "all who were told the same do not come at the same moment"


def test_the_time_is_over_with_the_last_look() -> None:
    effect = after_trouble(START, Trouble("503"), Instant("boot-1", 1110.0))
    assert effect == Finish(TOO_LATE, UNKNOWN, text="503")


@pytest.mark.parametrize("retry_after", [None, 1.0, 2.0, 1e6])
def test_the_last_look_is_one_and_not_at_the_very_end_where_all_others_are(retry_after: float | None) -> None:
    state, _ = step(replace(START, failures=9), seen(Trouble("503", retry_after=retry_after), 1107.0))
    late = considered(TO_WAIT, status=UNKNOWN, now=Instant("boot-1", 1107.0))
    state, pause = step(state, late)
    assert isinstance(pause, Pause)
    assert pause.spread >= 1.0
    assert pause.floor + pause.spread == pytest.approx(3.0)
    state, _ = step(state, seen(Trouble("503"), 1107.0 + pause.floor))
    _, effect = step(state, late._replace(now=Instant("boot-1", 1107.0 + pause.floor)))
    assert isinstance(effect, Finish)
    assert effect.ending == TOO_LATE


def test_a_start_that_waits_for_what_it_has_sent_says_what_became_of_it() -> None:
    """A look in between shows our own disable still, which alone would be no reason to fail."""
    state, _ = step(START, Settled(replace(RECORD, known=Known(OURS, 5)), Answer(IN_DOUBT, "502"), NOW))
    state, _ = step(state, seen(OUR_ROW))
    due = Decision(TO_WAIT, Verdict("enable", "the disable is ours"), OURS)
    _, effect = step(state, Considered(RECORD, due, Instant("boot-1", 1110.0)))
    assert isinstance(effect, Finish)
    assert effect.text == "502"


@pytest.mark.parametrize("retry_after", [None, 1.0, 1e6])
def test_no_pause_goes_past_the_last_look(retry_after: float | None) -> None:
    now = Instant("boot-1", 1107.0)
    effect = after_trouble(replace(START, failures=9), Trouble("503", retry_after=retry_after), now)
    assert isinstance(effect, Pause)
    assert effect.floor + effect.spread <= 3.0
    assert effect.floor >= 0.0
    assert effect.spread >= 0.0


def test_backoff_grows_with_full_jitter_up_to_a_bound() -> None:
    state, spreads = replace(HELPER, last_look=1e9), []
    for _ in range(12):
        state, _ = step(state, seen(Trouble("503")))
        state, effect = step(state, considered(TO_WAIT, status=UNKNOWN))
        assert isinstance(effect, Pause)
        assert effect.floor == 0.0
        spreads.append(effect.spread)
    assert spreads == sorted(spreads)
    assert spreads[0] <= 2.0
    assert spreads[-1] == 60.0


def test_an_api_that_is_silent_is_left_alone_for_longer() -> None:
    """It may be busy with requests whose clients have gone: asked each minute by a thousand, it stays so."""
    state, _ = step(replace(HELPER, last_look=1e9, failures=9), seen(Trouble("no answer"), 1000.0))
    late = considered(TO_WAIT, status=UNKNOWN, now=Instant("boot-1", 1010.2))
    state, effect = step(state, late)
    assert effect == Pause(0.0, 300.0)
    state, _ = step(state, seen(Trouble("503"), 1100.0))
    _, effect = step(state, late._replace(now=Instant("boot-1", 1100.1)))
    assert effect == Pause(0.0, 60.0)


def test_a_start_that_has_little_time_left_comes_back_sooner() -> None:
    tired = replace(START, failures=9)
    caps = {1000.0: 27.5, 1050.0: 15.0, 1080.0: 7.5, 1100.0: 5.0}  # a quarter of what is left until 1110
    for now, cap in caps.items():
        pause = after_trouble(tired, Trouble("503"), Instant("boot-1", now))
        assert pause == Pause(0.0, cap)


def test_a_row_that_is_as_wanted_is_looked_at_each_minute_while_a_request_may_still_land() -> None:
    attempt = replace(ATTEMPT, let_go=NOW)
    state = replace(HELPER, failures=9, last_look=1e6)
    _, effect = step(state, considered(TO_WATCH, record=replace(RECORD, attempts=(attempt,))))
    assert effect == Pause(30.0, 30.0)


def test_a_blocked_record_is_tried_again_until_the_end() -> None:
    assert isinstance(step(START, Blocked("locked", NOW))[1], Pause)
    _, effect = step(START, Blocked("locked", Instant("boot-1", 1110.0)))
    assert isinstance(effect, Finish)
    assert (effect.ending, effect.text) == (BLOCKED, "locked")


def test_a_start_polls_for_a_row_that_is_not_there_yet() -> None:
    state, _ = step(START, seen(None))
    assert step(state, considered(TO_WAIT, status=NONE))[1] == Pause(POLL_FOR_UP / 2, POLL_FOR_UP)


# when a host can be chosen


def may_enable(state: State, row: Row, seconds: float = 1000.0) -> bool:
    _, effect = step(state, seen(row, seconds))
    assert isinstance(effect, Consider)
    return effect.may_enable


def test_an_up_of_before_is_not_believed_until_its_beat_moves() -> None:
    state, effect = step(START, seen(OUR_ROW))
    assert isinstance(effect, Consider)
    assert not effect.may_enable
    assert not may_enable(state, OUR_ROW)
    assert may_enable(state, replace(OUR_ROW, beat="2"))
    assert not may_enable(state, replace(OUR_ROW, beat="2", up=False))
    assert not may_enable(state, replace(OUR_ROW, beat="2", up=None))


def test_an_up_is_believed_when_no_predecessor_can_have_caused_it() -> None:
    assert not may_enable(START, OUR_ROW, 1079.0)
    assert may_enable(START, OUR_ROW, 1080.0)
    assert not may_enable(START, replace(OUR_ROW, up=False), 1080.0)


def test_a_start_in_a_hurry_does_not_wait_for_up() -> None:
    row = replace(OUR_ROW, up=False)
    assert not may_enable(START, row, 1099.0)
    assert may_enable(START, row, 1100.0)


def test_a_row_that_was_forced_down_is_not_waited_for() -> None:
    assert may_enable(START, replace(OUR_ROW, up=False, forced_down=True))


def test_a_start_polls_for_up_and_looks_once_more_at_the_end() -> None:
    assert step(START, considered(TO_WAIT_FOR_UP, status=OURS))[1] == Pause(POLL_FOR_UP / 2, POLL_FOR_UP)
    late = considered(TO_WAIT_FOR_UP, status=OURS, now=Instant("boot-1", 1110.0))
    assert step(START, late)[1] == Look()


def test_polls_for_up_become_rarer_up_to_a_bound() -> None:
    state, means = replace(START, hurry=1e6, last_look=1e6), []
    for _ in range(8):
        state, pause = step(state, considered(TO_WAIT_FOR_UP, status=OURS))
        assert isinstance(pause, Pause)
        means.append(pause.floor + pause.spread / 2)
    assert means[:3] == [2.0, 3.0, 4.5]
    assert means[-1] == 10.0


def test_no_poll_goes_past_the_last_look() -> None:
    event = considered(TO_WAIT_FOR_UP, status=OURS, now=Instant("boot-1", 1108.0))
    assert step(START, event)[1] == Pause(1.0, 1.0)


@pytest.mark.parametrize(
    ("row", "seconds", "words"),
    [
        (replace(OUR_ROW, forced_down=True), 1000.0, "forced down"),
        (replace(OUR_ROW, disabled=False, forced_down=True), 1000.0, "forced down"),
        (replace(OUR_ROW, up=False), 1100.0, "before the cloud saw it up"),
    ],
)
def test_a_success_that_is_not_the_whole_story_says_so(row: Row, seconds: float, words: str) -> None:
    state, _ = step(START, seen(row, seconds))
    _, effect = step(state, Settled(RECORD, Answer(APPLIED), NOW))
    assert isinstance(effect, Finish)
    assert words in effect.text


def test_an_unknown_event_is_an_error_of_ours() -> None:
    with pytest.raises(TypeError):
        step(START, "event")  # type: ignore[arg-type]


def test_an_attempt_of_the_other_kind_is_sent_too() -> None:
    assert step(HELPER, considered(TO_SEND, attempt=replace(ATTEMPT, kind=DISABLE)))[1] == Send(
        replace(ATTEMPT, kind=DISABLE)
    )

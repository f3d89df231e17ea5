# SPDX-License-Identifier: Apache-2.0
"""Whether a service does anything at all: its tasks are switched, or use CPU time.

A healthy service of OpenStack is switched dozens of times in five seconds, however idle it is (its
timers and heartbeats); one that hangs is not switched at all, and looks alive to everything that
only asks for its pid. A parent of workers only waits for them, so it hangs when its workers do. A
child that only waits, as helpers of the interpreter do, cannot be told from a worker that hangs: one
that stands still beside others that move is no proof.
"""

from __future__ import annotations

from .proc import ProcessId

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .proc import ProcTable

FEWEST_SAMPLES = 3
MOST_DIGITS = 18


class Sample:
    """How far one process has come: `value` changes with each switch of a task and each tick of CPU time."""

    __slots__ = ("process", "value")

    def __init__(self, process: ProcessId, value: str) -> None:
        self.process = process
        self.value = value


class Track:
    """A process's value as last seen, since when (seconds, monotonic) it is the same, and how often seen."""

    __slots__ = ("count", "process", "since", "value")

    def __init__(self, process: ProcessId, value: str, since: float, count: int) -> None:
        self.process = process
        self.value = value
        self.since = since
        self.count = count

    def words(self) -> list[str]:
        """As words for the notes."""
        return [str(self.process.pid), str(self.process.start), self.value, repr(self.since), str(self.count)]


def measure(table: ProcTable, main: ProcessId) -> list[Sample]:
    """The main process and its workers: children that run the same program. Traced ones are left out.

    Nothing where this kernel does not tell a process's children: then a parent could not be told
    from a process that hangs.
    """
    children = table.children(main.pid)
    if children is None:
        return []
    executable = table.executable(main.pid)
    workers = [pid for pid in children if executable and table.executable(pid) == executable]
    samples = [_sample(table, pid) for pid in (main.pid, *workers)]
    return [sample for sample in samples if sample is not None]


def follow(before: Iterable[Track], samples: Iterable[Sample], now: float) -> list[Track]:
    """The tracks with one more sample each; `now` in seconds of a clock that stands still in suspension."""
    known = {track.process: track for track in before}
    return [_follow(known.get(sample.process), sample, now) for sample in samples]


def has_moved(before: Iterable[Track], samples: Iterable[Sample]) -> bool:
    """Whether any process has come further than when it was last seen."""
    known = {track.process: track.value for track in before}
    return any(known.get(sample.process, sample.value) != sample.value for sample in samples)


def hung(tracks: Sequence[Track], now: float, timeout: float) -> list[ProcessId]:
    """The processes, if all of them have stood still for `timeout` seconds and three samples; else none."""
    is_hung = [track.count >= FEWEST_SAMPLES and now - track.since >= timeout > 0 for track in tracks]
    return [track.process for track in tracks] if is_hung and all(is_hung) else []


def parse(lines: Iterable[Sequence[str]], boot_id: str) -> list[Track]:
    """The tracks that notes hold; what is no track is left out."""
    return [track for track in (_parse(words, boot_id) for words in lines) if track is not None]


def _sample(table: ProcTable, pid: int) -> Sample | None:
    stat = table.stat(pid)
    if stat is None or stat.is_dead() or stat.state == "t":
        return None
    switches = table.switches(pid)
    if switches is None:
        return None
    process = ProcessId(pid, stat.start, table.boot_id())
    return Sample(process, f"{switches}/{stat.ticks}")


def _follow(track: Track | None, sample: Sample, now: float) -> Track:
    if track is None or track.value != sample.value or track.since > now:
        return Track(sample.process, sample.value, now, 1)
    return Track(sample.process, sample.value, track.since, track.count + 1)


def _parse(words: Sequence[str], boot_id: str) -> Track | None:
    try:
        pid, start, value, since, count = words
        return Track(ProcessId(int(pid), int(start), boot_id), value, float(since), int(count))
    except ValueError:
        return None

# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from ocf_agents.ocf.errors import BadParameter
from ocf_agents.ocf.parameters import (
    Boolean,
    Duration,
    Integer,
    Parameter,
    Path,
    Port,
    Select,
    String,
    Values,
)


def values(parameters: list[Parameter], **given: str) -> Values:
    return Values(parameters, {f"OCF_RESKEY_{name}": text for name, text in given.items()})


# What Pacemaker 2.1.5 makes of the same texts, in milliseconds: 20000 for the first three, 60000, ...
@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("20", 20.0),
        ("20s", 20.0),
        ("20000ms", 20.0),
        ("1m", 60.0),
        (" 20 ", 20.0),
        ("2.5", 2.0),
        ("1.5m", 60.0),
        ("3M", 180.0),
        ("10S", 10.0),
        ("5 s", 5.0),
        ("10 ms", 0.01),
        ("10msec", 0.01),
        ("5000us", 0.005),
        ("1min", 60.0),
        ("1h", 3600.0),
        ("1hr", 3600.0),
        ("0", 0.0),
    ],
)
def test_a_duration_is_read_as_pacemaker_reads_it(text: str, seconds: float) -> None:
    assert Parameter("t", Duration).parse(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text",
    ["-1", "abc", "+5", "1d", "P1D", "0x10", "s", ".", ".5s", "1ss", "5 ms x", "9" * 20, "9" * 5000, "٣"],
)
def test_negative_times_and_words_are_refused(text: str) -> None:
    with pytest.raises(BadParameter, match="a time such as 20, 20s, 20000ms or 1m") as caught:
        Parameter("t", Duration).parse(text)
    assert caught.value.code == 6
    assert len(caught.value.reason) < 128


@pytest.mark.parametrize("text", ["true", "True", "TRUE", "YES", "yes", "y", "Y", "on", "On", "1", " true "])
def test_true_in_any_case(text: str) -> None:
    assert Parameter("b", Boolean).parse(text) is True


@pytest.mark.parametrize("text", ["false", "False", "No", "no", "n", "off", "OFF", "0"])
def test_false_in_any_case(text: str) -> None:
    assert Parameter("b", Boolean).parse(text) is False


@pytest.mark.parametrize("text", ["enabled", "2", "tru", "none", "01", "yes no"])
def test_an_unknown_word_is_never_silently_false(text: str) -> None:
    with pytest.raises(BadParameter, match="give true or false"):
        Parameter("b", Boolean).parse(text)


@pytest.mark.parametrize(("text", "port"), [("15671", 15671), ("05672", 5672), ("1", 1), ("65535", 65535)])
def test_a_port_has_any_number_of_digits(text: str, port: int) -> None:
    assert Parameter("p", Port).parse(text) == port


@pytest.mark.parametrize("text", ["0", "65536", "abc", "-5672", "5672.0", "5_672", "5672,5671"])
def test_what_is_no_port_is_refused(text: str) -> None:
    with pytest.raises(BadParameter, match="from 1 to 65535"):
        Parameter("p", Port).parse(text)


def test_an_integer_keeps_to_its_range() -> None:
    parameter = Parameter("n", Integer, minimum=-1, maximum=10)
    assert [parameter.parse(text) for text in ("-1", "10", " 3 ")] == [-1, 10, 3]
    for text in ("-2", "11", "1e1", "1_0", ""):
        with pytest.raises(BadParameter, match="a whole number from -1 to 10"):
            parameter.parse(text)


def test_a_duration_keeps_to_its_range_in_seconds() -> None:
    parameter = Parameter("t", Duration, minimum=1, maximum=3600)
    assert parameter.parse("1h") == 3600
    for text in ("999ms", "61m"):
        with pytest.raises(BadParameter, match="from 1s to 3600s"):
            parameter.parse(text)


def test_a_selection_is_exact() -> None:
    parameter = Parameter("s", Select, choices=("auto", "process"))
    assert parameter.parse(" process ") == "process"
    with pytest.raises(BadParameter, match="give one of auto, process"):
        parameter.parse("Process")


@pytest.mark.parametrize("text", ["etc/nova", "~/x", "./x", "/a\nb", "/a\0b"])
def test_a_path_is_absolute_and_one_line(text: str) -> None:
    with pytest.raises(BadParameter, match="an absolute path"):
        Parameter("p", Path).parse(text)


def test_a_string_is_kept_as_it_is() -> None:
    text = " a'b\"$(x)`%s# \udcff "
    assert Parameter("s", String).parse(text) == text


def test_the_message_names_parameter_value_and_remedy() -> None:
    with pytest.raises(BadParameter) as caught:
        Parameter("api_timeout", Duration).parse("soon\n\udcff%s")
    assert caught.value.reason == (
        "parameter api_timeout is 'soon\\n\\udcff%s': give a time such as 20, 20s, 20000ms or 1m"
    )


def test_a_long_value_is_cut_in_the_message() -> None:
    with pytest.raises(BadParameter) as caught:
        Parameter("b", Boolean).parse("x" * 5000)
    assert len(caught.value.reason) < 100


def test_a_private_value_is_never_shown() -> None:
    with pytest.raises(BadParameter) as caught:
        Parameter("password", Integer, private=True).parse("s3cret")
    assert "s3cret" not in repr(caught.value) + caught.value.reason + str(caught.value.__dict__)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_the_default_serves_when_nothing_or_an_empty_text_is_given() -> None:
    parameters = [Parameter("t", Duration, "10s"), Parameter("b", Boolean, True), Parameter("n", Integer, 5)]
    for empty in (values(parameters), values(parameters, t="", b="", n="")):
        assert [empty["t"], empty["b"], empty["n"]] == [10.0, True, 5]
        assert not empty.given("t")
    assert values(parameters, t="3")["t"] == 3.0
    assert values(parameters, t="3").given("t")


def test_without_a_default_the_value_is_none() -> None:
    assert values([Parameter("p", Path)])["p"] is None
    assert values([Parameter("n", Integer, "")])["n"] is None


def test_a_lenient_look_gives_the_default_and_remembers_the_fault_once() -> None:
    seen = values([Parameter("t", Duration, "10s"), Parameter("b", Boolean, False)], t="abc", b="maybe")
    assert [seen.lenient("t"), seen.lenient("t"), seen.lenient("b")] == [10.0, 10.0, False]
    assert [fault.name for fault in seen.faults] == ["t", "b"]
    with pytest.raises(BadParameter):
        seen["t"]


def test_check_finds_the_first_bad_value_and_the_required_one_that_is_missing() -> None:
    parameters = [Parameter("host", String, required=True), Parameter("t", Duration, "10s")]
    values(parameters, host="c1").check()
    with pytest.raises(BadParameter, match="parameter host is required: give a text"):
        values(parameters, host="").check()
    with pytest.raises(BadParameter, match="parameter t is 'abc'"):
        values(parameters, host="c1", t="abc").check()


def test_a_deprecated_parameter_serves_its_replacement() -> None:
    parameters = [Parameter("log", Path, "/new"), Parameter("logfile", Path, replaced_by="log")]
    old = values(parameters, logfile="/old")
    assert old["log"] == "/old"
    assert old.given("log")
    assert [parameter.name for parameter in old.deprecated()] == ["logfile"]
    old.check()
    with pytest.raises(BadParameter, match="parameter logfile is '/old': give log only"):
        values(parameters, logfile="/old", log="/x").check()
    assert values(parameters)["log"] == "/new"

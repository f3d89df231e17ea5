# SPDX-License-Identifier: Apache-2.0
"""What a CIB says of its resources, however it spells it."""

from __future__ import annotations

import pytest

from ocf_agents.operator.cib import Cluster, Configured, NotACib, Operation, parse


def cluster(resources: str, more: str = "") -> Cluster:
    return parse(f"<cib><configuration><resources>{resources}</resources>{more}</configuration></cib>")


def only(resources: str, more: str = "") -> Configured:
    (one,) = cluster(resources, more).resources
    return one


def pairs(tag: str, name: str, **values: str) -> str:
    inside = "".join(
        f'<nvpair id="{name}-{key}" name="{key}" value="{value}"/>' for key, value in values.items()
    )
    return f'<{tag} id="{name}">{inside}</{tag}>'


HEAD = 'class="ocf" provider="heartbeat" type="nova-compute"'


@pytest.mark.parametrize("idle", ['enabled="false"', 'role="Stopped"'])
def test_a_monitor_that_never_looks_at_a_running_resource_is_none(idle: str) -> None:
    op = '<op id="m{0}" name="monitor" interval="{0}s" timeout="30s" {1}/>'
    inside = op.format(10, idle) + op.format(11, 'enabled="true" role="Started"')
    one = only(f'<primitive id="nc" {HEAD}><operations>{inside}</operations></primitive>')
    assert [(found.name, found.interval) for found in one.operations] == [("monitor", 11.0)]


def test_a_monitor_that_is_switched_off_hides_its_templates() -> None:
    op = '<operations><op id="{}" name="monitor" interval="10s" {}/></operations>'
    template = f'<template id="t" {HEAD}>{op.format("a", "")}</template>'
    off = op.format("b", 'enabled="off"')
    assert only(f'{template}<primitive id="nc" template="t">{off}</primitive>').operations == ()


def test_a_plain_primitive() -> None:
    one = only(
        f'<primitive id="nc" {HEAD}>{pairs("instance_attributes", "ia", cloud="ha", hold="2m")}</primitive>'
    )
    assert (one.name, one.standard, one.provider, one.type) == ("nc", "ocf", "heartbeat", "nova-compute")
    assert one.parameters == {"cloud": "ha", "hold": "2m"}
    assert one.clone is None


def test_a_primitive_of_a_template_has_what_the_template_says_unless_it_says_it_itself() -> None:
    template = (
        f'<template id="t" {HEAD}>{pairs("instance_attributes", "ti", cloud="ha", hold="2m")}'
        '<operations><op id="a" name="start" interval="0" timeout="100s"/>'
        '<op id="b" name="stop" interval="0" timeout="200s"/></operations></template>'
    )
    own = (
        f'<primitive id="nc" template="t">{pairs("instance_attributes", "pi", hold="9m")}'
        '<operations><op id="c" name="start" interval="0" timeout="2min"/></operations></primitive>'
    )
    one = only(template + own)
    assert one.type == "nova-compute"
    assert one.parameters == {"cloud": "ha", "hold": "9m"}
    assert {op.name: op.timeout for op in one.operations} == {"start": 120.0, "stop": 200.0}


def test_a_primitive_in_a_cloned_group_knows_its_clone_and_what_that_and_the_group_say() -> None:
    inner = f'<primitive id="nc" {HEAD}>{pairs("meta_attributes", "pm", migration="1")}</primitive>'
    group = f'<group id="g">{pairs("meta_attributes", "gm", migration="2", priority="5")}{inner}</group>'
    one = only(
        f'<clone id="c">{pairs("meta_attributes", "cm", interleave="true", priority="7")}{group}</clone>'
    )
    assert one.clone == "c"
    assert one.clone_meta["interleave"] == "true"
    assert one.meta == {"migration": "1", "priority": "5", "interleave": "true"}


def test_defaults_of_the_cluster_hold_where_nobody_says_anything_else() -> None:
    operation = '<operations><op id="m" name="monitor" interval="10s"/></operations>'
    defaults = (
        f"<rsc_defaults>{pairs('meta_attributes', 'rd', **{'failure-timeout': '2m'})}</rsc_defaults>"
        f"<op_defaults>{pairs('meta_attributes', 'od', timeout='55s')}</op_defaults>"
    )
    one = only(f'<primitive id="nc" {HEAD}>{operation}</primitive>', defaults)
    assert one.meta["failure-timeout"] == "2m"
    assert one.operations == (Operation("monitor", 10.0, 55.0, 0),)


def test_what_a_failure_leads_to_is_said_by_the_operation_or_for_all() -> None:
    operations = (
        '<operations><op id="m" name="monitor" interval="10s" on-fail="Restart"/>'
        '<op id="s" name="stop" interval="0"/></operations>'
    )
    defaults = f"<op_defaults>{pairs('meta_attributes', 'od', **{'on-fail': 'ignore'})}</op_defaults>"
    one = only(f'<primitive id="nc" {HEAD}>{operations}</primitive>', defaults)
    assert [operation.on_fail for operation in one.operations] == ["restart", "ignore"]


def test_the_level_of_a_monitor_is_an_attribute_of_its_operation() -> None:
    inner = pairs("instance_attributes", "l", OCF_CHECK_LEVEL="10")
    operation = (
        f'<operations><op id="m" name="monitor" interval="60s" timeout="60s">{inner}</op></operations>'
    )
    one = only(f'<primitive id="nc" {HEAD}>{operation}</primitive>')
    assert one.operations == (Operation("monitor", 60.0, 60.0, 10),)


def test_references_are_followed() -> None:
    first = f'<primitive id="a" {HEAD}>{pairs("instance_attributes", "shared", cloud="ha")}</primitive>'
    second = f'<primitive id="b" {HEAD}><instance_attributes id-ref="shared"/></primitive>'
    found = {one.name: one.parameters for one in cluster(first + second).resources}
    assert found == {"a": {"cloud": "ha"}, "b": {"cloud": "ha"}}


def test_parameters_with_a_rule_are_left_out_and_told_of() -> None:
    inner = '<rule id="x"/><nvpair id="y" name="hold" value="1s"/>'
    ruled = f'<instance_attributes id="r" score="9">{inner}</instance_attributes>'
    one = only(f'<primitive id="nc" {HEAD}>{ruled}{pairs("instance_attributes", "i", hold="5m")}</primitive>')
    assert one.parameters == {"hold": "5m"}
    assert one.has_rules


@pytest.mark.parametrize(("scores", "expected"), [((1, 2), "b"), ((2, 1), "a"), ((1, 1), "a")])
def test_of_two_sets_the_higher_score_wins_and_of_equals_the_first(
    scores: tuple[int, int], expected: str
) -> None:
    sets = "".join(
        f'<instance_attributes id="{name}" score="{score}"><nvpair id="{name}1" name="hold" value="{name}"/>'
        "</instance_attributes>"
        for name, score in zip("ab", scores)
    )
    assert only(f'<primitive id="nc" {HEAD}>{sets}</primitive>').parameters == {"hold": expected}


def test_what_orders_and_colocations_speak_of() -> None:
    constraints = (
        '<constraints><rsc_order id="o" first="nc-clone" then="vm"/><rsc_colocation id="c">'
        '<resource_set id="s"><resource_ref id="x"/></resource_set></rsc_colocation>'
        '<rsc_location id="l" rsc="y"/></constraints>'
    )
    assert cluster("", constraints).followed == {"nc-clone", "vm", "x"}


@pytest.mark.parametrize("text", ["", "no xml", "<html/>", "<cib/>", "<cib><status/></cib>"])
def test_what_is_no_cib_is_said_to_be_none(text: str) -> None:
    with pytest.raises(NotACib) as caught:
        parse(text)
    assert "\n" not in str(caught.value)


def test_a_time_that_is_none_counts_as_not_given() -> None:
    operation = '<operations><op id="m" name="monitor" interval="soon" timeout="later"/></operations>'
    one = only(f'<primitive id="nc" {HEAD}>{operation}</primitive>')
    assert one.operations == (Operation("monitor", 0.0, None, 0),)

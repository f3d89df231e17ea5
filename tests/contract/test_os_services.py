# SPDX-License-Identifier: Apache-2.0
"""What the guard relies on in Nova's os-services, held against the embedded API and the real one."""

from __future__ import annotations

import re
import time
import uuid

import pytest

from tests.contract.cloud import COMPUTE, Client, exchange

FIELDS = {
    "binary",
    "disabled_reason",
    "forced_down",
    "host",
    "id",
    "state",
    "status",
    "updated_at",
    "zone",
}


# Listing


def test_a_row_has_these_fields_and_no_others(nova: Client) -> None:
    assert set(nova.row()) == FIELDS


def test_an_enabled_row_that_reports_is_up_without_reason(nova: Client) -> None:
    row = nova.row()
    assert (row["status"], row["state"], row["disabled_reason"]) == ("enabled", "up", None)
    assert row["forced_down"] is False


def test_the_id_is_a_uuid_from_2_53_on_and_a_number_before(nova: Client) -> None:
    assert str(uuid.UUID(nova.row()["id"])) == nova.row()["id"]
    (old,) = nova.list(version="2.52", host=nova.access.host, binary=COMPUTE)
    assert isinstance(old["id"], int)


def test_forced_down_is_shown_from_2_11_on(nova: Client) -> None:
    query = {"host": nova.access.host, "binary": COMPUTE}
    assert "forced_down" not in nova.list(version="2.10", **query)[0]
    assert "forced_down" in nova.list(version="2.11", **query)[0]


def test_the_host_filter_is_exact_and_case_sensitive(nova: Client) -> None:
    host = nova.access.host
    assert [row["host"] for row in nova.list(host=host, binary=COMPUTE)] == [host]
    assert nova.list(host=host.upper(), binary=COMPUTE) == []
    assert nova.list(host=host[:-1], binary=COMPUTE) == []


def test_an_unknown_host_gives_200_and_an_empty_list(nova: Client) -> None:
    reply = nova.send("GET", "/os-services?host=no-such-host")
    assert (reply.status, reply.body) == (200, {"services": []})


def test_the_binary_filter_is_exact(nova: Client) -> None:
    assert {row["binary"] for row in nova.list(binary="nova-conductor")} == {"nova-conductor"}
    assert nova.list(binary="nova") == []


def test_empty_filters_do_not_filter(nova: Client) -> None:
    assert len(nova.list(host="", binary="")) == len(nova.list()) > 1


def test_unknown_query_parameters_are_ignored_before_2_75_and_refused_from_then_on(nova: Client) -> None:
    query = f"/os-services?host={nova.access.host}&colour=red"
    assert len(nova.send("GET", query).body["services"]) == 1
    assert nova.send("GET", query, version="2.75").status == 400


def test_a_row_looks_the_same_in_2_69(nova: Client) -> None:
    (row,) = nova.list(version="2.69", host=nova.access.host, binary=COMPUTE)
    assert set(row) == FIELDS
    assert row["id"] == nova.row()["id"]


def test_a_row_has_no_etag(nova: Client) -> None:
    reply = nova.send("GET", f"/os-services?host={nova.access.host}")
    assert "etag" not in reply.headers


def test_updated_at_is_whole_seconds_without_a_zone(nova: Client) -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000000", nova.row()["updated_at"])


# Disabling and enabling


def test_disabling_with_a_reason_shows_the_whole_row(nova: Client) -> None:
    reply = nova.put({"status": "disabled", "disabled_reason": "RAM swap"})
    assert reply.status == 200
    assert set(reply.body["service"]) == FIELDS
    shown = (reply.body["service"]["status"], reply.body["service"]["disabled_reason"])
    assert shown == ("disabled", "RAM swap") == (nova.row()["status"], nova.row()["disabled_reason"])


def test_a_new_reason_overwrites_an_older_one(nova: Client) -> None:
    nova.put({"status": "disabled", "disabled_reason": "RAM swap"})
    nova.put({"status": "disabled", "disabled_reason": "disk swap"})
    assert nova.row()["disabled_reason"] == "disk swap"


def test_disabling_without_a_reason_erases_one(nova: Client) -> None:
    nova.put({"status": "disabled", "disabled_reason": "RAM swap"})
    assert nova.put({"status": "disabled"}).status == 200
    assert (nova.row()["status"], nova.row()["disabled_reason"]) == ("disabled", None)


def test_enabling_clears_the_reason(nova: Client) -> None:
    nova.put({"status": "disabled", "disabled_reason": "RAM swap"})
    reply = nova.put({"status": "enabled"})
    assert (reply.status, reply.body["service"]["status"]) == (200, "enabled")
    assert nova.row()["disabled_reason"] is None


def test_enabling_an_enabled_row_is_no_error(nova: Client) -> None:
    assert nova.put({"status": "enabled"}).status == 200


def test_any_write_moves_updated_at(nova: Client) -> None:
    seen = [nova.row()["updated_at"]]
    for body in (
        {"status": "disabled", "disabled_reason": "x"},
        {"status": "disabled"},
        {"status": "enabled"},
    ):
        time.sleep(1.1)
        nova.put(body)
        seen.append(nova.row()["updated_at"])
    assert seen == sorted(set(seen))


def test_if_match_is_ignored(nova: Client) -> None:
    headers = {"X-Auth-Token": nova.token, "OpenStack-API-Version": "compute 2.53", "If-Match": '"never"'}
    url = f"{nova.endpoint}/os-services/{nova.row()['id']}"
    assert exchange("PUT", url, headers, {"status": "disabled"}).status == 200


@pytest.mark.parametrize(
    "reason", ["x", "x" * 255, "é" * 255, "計算ノード保守", "a\nb", "\t", " ", "a\x00b", "\x7f"]
)
def test_reasons_that_pass_come_back_as_they_were(nova: Client, reason: str) -> None:
    assert nova.put({"status": "disabled", "disabled_reason": reason}).status == 200
    assert nova.row()["disabled_reason"] == reason


@pytest.mark.parametrize("reason", ["", "x" * 256, None, 5, ["x"]])
def test_reasons_that_are_no_text_of_1_to_255_characters_are_refused(nova: Client, reason: object) -> None:
    assert nova.put({"status": "disabled", "disabled_reason": reason}).status == 400
    assert nova.row()["status"] == "enabled"


def test_a_reason_with_a_four_byte_character_gives_500_and_changes_nothing(nova: Client) -> None:
    assert nova.put({"status": "disabled", "disabled_reason": "swap \U0001f600"}).status == 500
    assert nova.row()["status"] == "enabled"


def test_a_reason_with_enabled_is_refused(nova: Client) -> None:
    nova.put({"status": "disabled", "disabled_reason": "RAM swap"})
    assert nova.put({"status": "enabled", "disabled_reason": "x"}).status == 400
    assert nova.row()["disabled_reason"] == "RAM swap"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"disabled_reason": "x"},
        {"status": "Disabled"},
        {"status": "down"},
        {"status": None},
        {"status": "disabled", "host": "fake1"},
        {"status": "disabled", "state": "up"},
        {"forced_down": "perhaps"},
        [],
        "disabled",
    ],
)
def test_bodies_that_are_refused(nova: Client, body: object) -> None:
    assert nova.put(body).status == 400
    assert nova.row()["status"] == "enabled"


def test_an_unknown_id_gives_404(nova: Client) -> None:
    assert nova.put({"status": "disabled"}, row_id=str(uuid.uuid4())).status == 404


def test_an_id_that_is_no_uuid_is_refused(nova: Client) -> None:
    assert nova.put({"status": "disabled"}, row_id="1").status == 400
    assert nova.put({"status": "disabled"}, row_id="disable").status == 400


def test_an_id_is_taken_in_capitals_too(nova: Client) -> None:
    assert nova.put({"status": "disabled"}, row_id=nova.row()["id"].upper()).status == 200
    assert nova.row()["status"] == "disabled"


def test_only_compute_services_can_be_updated(nova: Client) -> None:
    conductor = nova.list(binary="nova-conductor")[0]
    reply = nova.put({"status": "disabled"}, row_id=conductor["id"])
    assert reply.status == 400
    assert "Only nova-compute services can be updated" in reply.message


# Forced down


def test_forced_down_touches_the_state_and_nothing_else(nova: Client) -> None:
    nova.put({"status": "disabled", "disabled_reason": "RAM swap"})
    assert nova.put({"forced_down": True}).status == 200
    row = nova.row()
    assert (row["forced_down"], row["state"]) == (True, "down")
    assert (row["status"], row["disabled_reason"]) == ("disabled", "RAM swap")
    assert nova.put({"forced_down": False}).status == 200
    assert (nova.row()["forced_down"], nova.row()["state"]) == (False, "up")


def test_forced_down_takes_words_for_booleans(nova: Client) -> None:
    assert nova.put({"forced_down": "yes"}).status == 200
    assert nova.row()["forced_down"] is True


def test_a_row_that_is_forced_down_can_be_enabled_and_stays_down(nova: Client) -> None:
    nova.put({"status": "disabled", "disabled_reason": "x", "forced_down": True})
    assert nova.put({"status": "enabled"}).status == 200
    assert (nova.row()["status"], nova.row()["forced_down"]) == ("enabled", True)


# The old style


def test_before_2_53_host_and_binary_are_in_the_body(nova: Client) -> None:
    body = {"host": nova.access.host, "binary": COMPUTE, "disabled_reason": "old"}
    reply = nova.send("PUT", "/os-services/disable-log-reason", body, version="2.52")
    assert reply.status == 200
    assert nova.row()["disabled_reason"] == "old"
    del body["disabled_reason"]
    assert nova.send("PUT", "/os-services/disable", body, version="2.1").status == 200
    assert (nova.row()["status"], nova.row()["disabled_reason"]) == ("disabled", None)
    assert nova.send("PUT", "/os-services/enable", body, version="2.1").status == 200
    assert nova.row()["status"] == "enabled"


def test_the_old_style_refuses_what_it_does_not_know(nova: Client) -> None:
    known = {"host": nova.access.host, "binary": COMPUTE}
    assert nova.send("PUT", "/os-services/explode", known, version="2.52").status == 404
    assert nova.send("PUT", "/os-services/disable", {"host": "x"}, version="2.52").status == 400
    unknown = {"host": "no-such-host", "binary": COMPUTE}
    assert nova.send("PUT", "/os-services/disable", unknown, version="2.52").status == 404
    wrong = {"host": nova.access.host, "binary": "nova-none"}
    assert nova.send("PUT", "/os-services/disable", wrong, version="2.52").status == 400
    conductor = nova.list(binary="nova-conductor")[0]
    other = {"host": conductor["host"], "binary": "nova-conductor"}
    assert nova.send("PUT", "/os-services/disable", other, version="2.52").status == 400


def test_the_old_style_is_refused_without_host_and_binary(nova: Client) -> None:
    reply = nova.send("PUT", f"/os-services/{nova.row()['id']}", {"status": "disabled"}, version="2.52")
    assert reply.status == 400


# Versions and access


def test_the_root_lists_versions(nova: Client) -> None:
    root = nova.endpoint[: nova.endpoint.index("/v2.1")]
    reply = exchange("GET", root + "/", {}, None)
    assert reply.status == 200
    assert {version["id"] for version in reply.body["versions"]} == {"v2.0", "v2.1"}


@pytest.mark.parametrize("path", ["", "/"])
def test_the_version_tells_its_microversions_without_a_token(nova: Client, path: str) -> None:
    reply = exchange("GET", nova.endpoint + path, {}, None)
    version = reply.body["version"]
    assert (reply.status, version["id"], version["status"]) == (200, "v2.1", "CURRENT")
    assert version["min_version"] == "2.1"
    assert tuple(map(int, version["version"].split("."))) >= (2, 79)


def test_the_answer_names_its_microversion(nova: Client) -> None:
    reply = nova.send("GET", "/os-services", version="2.53")
    assert reply.headers["openstack-api-version"] == "compute 2.53"
    assert nova.send("GET", "/os-services", version=None).headers["openstack-api-version"] == "compute 2.1"


def test_a_microversion_of_the_future_gives_406(nova: Client) -> None:
    assert nova.send("GET", "/os-services", version="2.9999").status == 406


def test_a_microversion_that_is_none_gives_400(nova: Client) -> None:
    assert nova.send("GET", "/os-services", version="two").status == 400


def test_a_wrong_token_gives_401(nova: Client) -> None:
    reply = nova.send("GET", "/os-services", token="nonsense")
    assert reply.status == 401
    assert reply.headers["www-authenticate"].startswith("Keystone uri=")


def test_a_write_with_a_wrong_token_gives_401_and_changes_nothing(nova: Client) -> None:
    body = {"status": "disabled", "disabled_reason": "x"}
    reply = nova.send("PUT", f"/os-services/{nova.row()['id']}", body, token="nonsense")
    assert reply.status == 401
    assert reply.headers["www-authenticate"].startswith("Keystone uri=")
    assert nova.row()["status"] == "enabled"


def test_the_catalog_names_the_interface_and_the_region_of_each_endpoint(nova: Client) -> None:
    reply = nova.authenticate(nova.access.password)
    catalog = reply.body["token"]["catalog"]
    (compute,) = [service for service in catalog if service["type"] == "compute"]
    assert "public" in {endpoint["interface"] for endpoint in compute["endpoints"]}
    for endpoint in compute["endpoints"]:
        assert endpoint["interface"] in ("public", "internal", "admin")
        assert endpoint["region"] == endpoint["region_id"] != ""
        assert endpoint["url"].startswith("http")


def test_a_wrong_password_gives_401(nova: Client) -> None:
    reply = nova.authenticate("not the password")
    assert reply.status == 401
    assert reply.message == "The request you have made requires authentication."


@pytest.mark.parametrize("path", ["", "/"])
def test_keystone_tells_its_version(nova: Client, path: str) -> None:
    reply = exchange("GET", nova.access.auth_url + path, {}, None)
    assert (reply.status, reply.body["version"]["id"][:2]) == (200, "v3")
    root = exchange("GET", nova.access.auth_url.removesuffix("/v3") + path, {}, None)
    assert root.status == 300
    assert [one["id"][:2] for one in root.body["versions"]["values"]] == ["v3"]

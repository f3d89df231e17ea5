# SPDX-License-Identifier: Apache-2.0
"""Which cloud, as whom, over what: every way to say it, against the real openstacksdk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ocf_agents.guard.row import Unreadable
from ocf_agents.ocf.errors import BadParameter
from ocf_agents.ocf.parameters import Values
from ocf_agents.openstack.cloud import CloudSettings, as_pair, compute_regions
from ocf_agents.openstack.parameters import CLOUD_PARAMETERS
from ocf_agents.openstack.rows import ComputeRows
from ocf_agents.testing.compute.certificates import Authority
from ocf_agents.testing.compute_api import Account, ComputeApi
from tests.unit.openstack.conftest import HOST, MakeRows

ODD = 'it\'s "quoted" $HOME %s #no {x} \\ ü'


def settings(api: ComputeApi, **more: Any) -> CloudSettings:
    given: dict[str, Any] = {**api.credentials(), **more}
    return CloudSettings(**given)


def reason(rows: ComputeRows) -> str:
    """Why a read is refused for good."""
    with pytest.raises(Unreadable) as caught:
        rows.read()
    assert caught.value.permanent, caught.value
    assert "\n" not in caught.value.text
    return caught.value.text


def write_clouds(folder: Path, api: ComputeApi, **entry: Any) -> str:
    """A clouds.yaml (JSON is YAML) with one cloud of this name, with the API's credentials."""
    import json

    auth = {
        "auth_url": api.auth_url,
        "username": api.account.username,
        "password": api.account.password,
        "project_name": api.account.project,
        "user_domain_name": "Default",
        "project_domain_name": "Default",
    }
    path = folder / "clouds.yaml"
    path.write_text(json.dumps({"clouds": {"mine": {"auth": auth, **entry}}}), encoding="utf-8")
    return str(path)


# Parameters


def test_parameters_become_settings() -> None:
    environ = {
        "OCF_RESKEY_auth_url": "http://keystone/v3",
        "OCF_RESKEY_username": "ocf",
        "OCF_RESKEY_password": ODD,
        "OCF_RESKEY_project_name": "admin",
        "OCF_RESKEY_interface": "internalURL",
        "OCF_RESKEY_insecure": "Yes",
    }
    made = CloudSettings.from_values(Values(CLOUD_PARAMETERS, environ))
    assert (made.auth_url, made.username, made.password) == ("http://keystone/v3", "ocf", ODD)
    assert (made.user_domain_name, made.project_domain_name) == ("Default", "Default")
    assert (made.insecure, made.cloud, made.region_name) == (True, None, None)
    assert made.overrides() == {"interface": "internal", "verify": False, "insecure": True}
    assert made.problem() is None


@pytest.mark.parametrize("text", ["61", "2m", "99999999999", "999999999999h"])
def test_a_call_may_last_for_a_minute_and_no_longer(text: str) -> None:
    assert Values(CLOUD_PARAMETERS, {"OCF_RESKEY_api_timeout": "1m"})["api_timeout"] == 60.0
    with pytest.raises(BadParameter, match=r"parameter api_timeout .* from 1s to 60s"):
        Values(CLOUD_PARAMETERS, {"OCF_RESKEY_api_timeout": text}).check()


def test_parameters_that_are_not_given_override_nothing() -> None:
    made = CloudSettings.from_values(Values(CLOUD_PARAMETERS, {"OCF_RESKEY_cloud": "mine"}))
    assert (made.insecure, made.overrides()) == (None, {})
    assert made.clouds_file == "/etc/openstack/clouds.yaml"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "give cloud (and clouds_file), or auth_url, username, password and project_name"),
        ({"auth_url": "http://k", "username": "u"}, "give password, project_name too"),
        ({"cloud": "mine", "password": "canary"}, "give either cloud or password"),
    ],
)
def test_what_is_missing_is_named(given: dict[str, Any], said: str) -> None:
    made = CloudSettings(**given)
    assert said in (made.problem() or "")
    assert said in reason(ComputeRows(made, HOST))


def test_the_password_is_not_in_the_representation() -> None:
    assert "canary" not in repr(CloudSettings(password="canary"))


def test_monitor_and_meta_data_load_no_heavy_module_for_the_parameters() -> None:
    code = "import sys; old = set(sys.modules); import ocf_agents.openstack.parameters as p; "
    code += "print(set(sys.modules) - old)"
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    shown = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    loaded = {name.strip("{}' \n").partition(".")[0] for name in shown.stdout.split(",")}
    assert loaded <= {"__future__", "ocf_agents"}


# Logging in


@pytest.mark.parametrize("prefix", ["", "/identity"])
@pytest.mark.parametrize("ending", ["", "/", "/v3", "/v3/"])
def test_any_spelling_of_the_auth_url_works(prefix: str, ending: str) -> None:
    with ComputeApi(prefix=prefix) as api:  # case 43
        api.add(HOST)
        rows = ComputeRows(settings(api, auth_url=api.identity.origin + prefix + ending), HOST)
        assert rows.read() is not None


def test_odd_passwords_work_as_parameters(api: ComputeApi, make_rows: MakeRows) -> None:
    api.account.password = ODD  # case 41
    assert make_rows(password=ODD).read() is not None


def test_odd_passwords_work_in_clouds_yaml(api: ComputeApi, tmp_path: Path) -> None:
    api.account.password = ODD
    path = write_clouds(tmp_path, api)
    assert ComputeRows(CloudSettings(cloud="mine", clouds_file=path), HOST).read() is not None


@pytest.mark.parametrize("by_name", [False, True])
def test_application_credentials_work(api: ComputeApi, tmp_path: Path, by_name: bool) -> None:
    account = api.account
    auth: dict[str, Any] = {
        "auth_url": api.auth_url,
        "application_credential_secret": account.credential_secret,
    }
    if by_name:
        named = {"application_credential_name": account.credential_name, "username": account.username}
        auth.update(named, user_domain_name="Default")
    else:
        auth["application_credential_id"] = account.credential_id
    path = write_clouds(tmp_path, api, auth=auth, auth_type="v3applicationcredential")
    rows = ComputeRows(CloudSettings(cloud="mine", clouds_file=path), HOST)
    assert rows.read() is not None
    account.credential_secret = "rotated"
    api.keystone.expire_tokens()
    assert "401" in reason(rows)


def test_a_secure_yaml_beside_the_clouds_file_is_merged(api: ComputeApi, tmp_path: Path) -> None:
    right, api.account.password = api.account.password, "dummy"
    path = write_clouds(tmp_path, api)
    api.account.password = right
    secret = f"clouds: {{mine: {{auth: {{password: {right}}}}}}}\n"
    (tmp_path / "secure.yaml").write_text(secret, encoding="utf-8")
    assert ComputeRows(CloudSettings(cloud="mine", clouds_file=path), HOST).read() is not None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file or directory"),
        ("clouds: {other: {}}", "no cloud 'mine'"),
        ("clouds: {mine: canary}", "no cloud 'mine'"),
        ("clouds:\n  mine:\n    auth: {password: 'canary\n", "is no YAML: see line"),
        ("clouds: {mine: {since: 2001-99-99}}", "is no YAML"),
        pytest.param("[" * 500, "is no YAML", id="deep"),
        ("clouds: [canary]", "has no section 'clouds'"),
        ("canary", "has no section 'clouds'"),
        ("", "has no section 'clouds'"),
        ("clouds: {mine: {auth: {password: canary}}}", "openstacksdk refuses it (MissingRequiredOptions"),
        ("clouds: {mine: {auth: {}}}", "auth_url"),
        ("clouds: {mine: {auth_type: other, auth: {auth_url: 'http://k'}}}", "NoMatchingPlugin"),
        ("clouds: {mine: {auth: &a {auth_url: 'http://k', me: *a}}}", "openstacksdk refuses it"),
    ],
)
def test_a_clouds_file_that_cannot_be_right_is_named(tmp_path: Path, content: str | None, said: str) -> None:
    path = tmp_path / "clouds.yaml"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    text = reason(ComputeRows(CloudSettings(cloud="mine", clouds_file=str(path)), HOST))
    assert said in text
    assert f"{path} (clouds_file)" in text
    assert "canary" not in text


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"networks": 3}, "TypeError"),
        ({"external_network": "x"}, "KeyError"),
        ({"auth_type": "password", "regions": [{"name": "canary-1", "password": "canary-2"}]}, "***"),
        ({"region_name": "{x}"}, "KeyError: 'x'"),
    ],
)
def test_whatever_openstacksdk_stumbles_over_names_the_file_and_no_secret(
    api: ComputeApi, tmp_path: Path, entry: dict[str, Any], said: str
) -> None:
    path = write_clouds(tmp_path, api, **entry)
    made = CloudSettings(cloud="mine", clouds_file=path)
    text = reason(ComputeRows(made, HOST))
    assert text.startswith(f"{path} (clouds_file): openstacksdk refuses it (")
    assert said in text
    assert "canary-2" not in text
    assert api.count() == 0


def test_whatever_openstacksdk_stumbles_over_in_parameters_is_permanent(make_rows: MakeRows) -> None:
    text = reason(make_rows(region_name="{x}"))
    assert text == "the parameters of the cloud: openstacksdk refuses it (KeyError: 'x')"


@pytest.mark.parametrize("url", ["keystone", "ftp://k", "http://", "http://[", "http://a b", "http://k:x"])
def test_an_auth_url_that_is_none_is_named(make_rows: MakeRows, url: str) -> None:
    assert reason(make_rows(auth_url=url)).startswith(f"auth_url is {url!r}: give a URL such as https://")


@pytest.mark.parametrize("name", ["cert", "key"])
def test_a_client_certificate_that_cannot_be_read_is_named(
    api: ComputeApi, tmp_path: Path, name: str
) -> None:
    path = write_clouds(tmp_path, api, **{name: "/none.pem"})
    text = reason(ComputeRows(CloudSettings(cloud="mine", clouds_file=path), HOST))
    assert text == f"cannot read /none.pem ({name}): No such file or directory"


def test_a_clouds_file_that_is_a_directory_or_no_utf8_is_named(tmp_path: Path) -> None:
    assert "Is a directory" in reason(ComputeRows(CloudSettings(cloud="m", clouds_file=str(tmp_path)), HOST))
    path = tmp_path / "clouds.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    assert "is no YAML" in reason(ComputeRows(CloudSettings(cloud="m", clouds_file=str(path)), HOST))


@pytest.mark.parametrize("name", ["clouds.yaml", "secure.yaml"])
def test_a_pipe_or_a_device_in_place_of_a_clouds_file_is_named_and_not_read(
    api: ComputeApi, tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    rows = ComputeRows(CloudSettings(cloud="mine", clouds_file=write_clouds(tmp_path, api)), HOST)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    assert reason(rows) == f"cannot read {path} (clouds_file): it is no regular file"
    path.unlink()
    path.symlink_to("/dev/zero")
    assert reason(rows) == f"cannot read {path} (clouds_file): it is no regular file"


def test_a_clouds_file_without_end_is_named(tmp_path: Path) -> None:
    path = tmp_path / "clouds.yaml"
    path.write_bytes(b"#" * ((1 << 20) + 1))
    text = reason(ComputeRows(CloudSettings(cloud="m", clouds_file=str(path)), HOST))
    assert text == f"cannot read {path} (clouds_file): it is larger than 1 MiB"


def test_a_pipe_or_a_device_in_place_of_a_ca_file_is_named_and_not_read(
    api: ComputeApi, make_rows: MakeRows, tmp_path: Path
) -> None:
    pipe = str(tmp_path / "pipe.pem")
    os.mkfifo(pipe)
    for path in (pipe, "/dev/zero"):
        assert reason(make_rows(cacert=path)) == f"cannot read {path} (cacert): it is no regular file"
    assert api.count() == 0


def test_a_clouds_file_that_was_mended_is_read_again(api: ComputeApi, tmp_path: Path) -> None:
    path = tmp_path / "clouds.yaml"
    rows = ComputeRows(CloudSettings(cloud="mine", clouds_file=str(path)), HOST)
    assert "clouds_file" in reason(rows)
    write_clouds(tmp_path, api)
    assert rows.read() is not None


def test_the_environment_names_no_cloud_no_proxy_and_no_ca(
    api: ComputeApi, make_rows: MakeRows, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    black_hole = "http://127.0.0.1:1"  # case 48
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, black_hole)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    for name in ("OS_AUTH_URL", "OS_CLOUD", "OS_REGION_NAME", "OS_CLIENT_CONFIG_FILE", "OS_PASSWORD"):
        monkeypatch.setenv(name, "nonsense")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/nonexistent")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clouds.yaml").write_text("clouds: {defaults: {auth: {password: planted}}}", encoding="utf-8")
    assert make_rows().read() is not None


@pytest.mark.parametrize("version", [None, (2,), (), (float("inf"),), (2, float("inf"))])
def test_a_microversion_that_is_no_pair_of_numbers_is_unknown(version: tuple[float, ...] | None) -> None:
    assert as_pair(version) is None
    assert as_pair((2, 96)) == (2, 96)


# Regions and interfaces


def test_several_regions_and_none_named_is_refused_without_a_request_to_any() -> None:
    with ComputeApi(regions=("RegionOne", "RegionTwo")) as api:  # case 37
        api.add(HOST)
        api.add(HOST, region="RegionTwo")
        text = reason(ComputeRows(settings(api), HOST))
        assert text == "set region_name (RegionOne, RegionTwo): the compute service is in several regions"
        assert all(request.service == "identity" for request in api.requests)


def test_the_named_region_is_the_only_one_called() -> None:
    with ComputeApi(regions=("RegionOne", "RegionTwo")) as api:  # case 36
        api.add(HOST)
        row = api.add(HOST, region="RegionTwo")
        rows = ComputeRows(settings(api, region_name="RegionTwo"), HOST)
        read = rows.read()
        assert read is not None
        assert read.id == row.id
        rows.disable(row.id, "x")
        assert (api.row(HOST).disabled, row.disabled) == (False, True)


def test_a_region_that_does_not_exist_is_named(api: ComputeApi, make_rows: MakeRows) -> None:
    text = reason(make_rows(region_name="regionone"))
    assert text == "set region_name (RegionOne): no compute service in region regionone"


@pytest.mark.parametrize("key", ["regions", "region_name"])
def test_several_regions_in_clouds_yaml_are_not_the_first_of_them(
    api: ComputeApi, tmp_path: Path, key: str
) -> None:
    path = write_clouds(tmp_path, api, **{key: ["RegionOne", "RegionTwo"]})
    made = CloudSettings(cloud="mine", clouds_file=path)
    assert "several regions" in reason(ComputeRows(made, HOST))
    chosen = CloudSettings(cloud="mine", clouds_file=path, region_name="RegionOne")
    assert ComputeRows(chosen, HOST).read() is not None


def test_a_catalog_without_nova_is_refused(api: ComputeApi, rows: ComputeRows) -> None:
    api.keystone.endpoints = [one for one in api.keystone.endpoints if one.kind != "compute"]
    assert "no compute service" in reason(rows)


@pytest.mark.parametrize("interface", ["public", "publicURL", "internal", "internalURL", "admin", "adminURL"])
def test_both_spellings_of_the_interface_work(make_rows: MakeRows, interface: str) -> None:
    assert make_rows(interface=interface).read() is not None


def test_regions_count_for_the_interface_only() -> None:
    endpoints = [
        {"interface": "public", "region_name": "B"},
        {"interface": "publicURL", "region_id": "A"},
        {"interface": "internal", "region_name": "C"},
    ]
    catalog = [{"type": "compute", "endpoints": endpoints}, {"type": "volume", "endpoints": endpoints}]
    assert compute_regions(catalog, "public") == compute_regions(catalog, "publicURL") == ["A", "B"]
    assert compute_regions(catalog, "internalURL") == ["C"]


# TLS


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


def tls_api(authority: Authority) -> ComputeApi:
    return ComputeApi(tls=authority.server_context(), account=Account(password="canary"))


def test_one_private_ca_serves_keystone_and_nova(authority: Authority) -> None:
    with tls_api(authority) as api:  # case 39
        row = api.add(HOST)
        rows = ComputeRows(settings(api, cacert=str(authority.ca_file)), HOST)
        assert rows.read() is not None
        assert rows.disable(row.id, "x").outcome == "applied"


@pytest.mark.parametrize("insecure", [None, False])
def test_an_unknown_ca_is_refused_for_good_before_a_password_is_sent(
    authority: Authority, insecure: bool | None
) -> None:
    with tls_api(authority) as api:  # case 35
        text = reason(ComputeRows(settings(api, insecure=insecure), HOST))
        assert text.startswith(f"set cacert: the TLS certificate of {api.auth_url}")
        assert "is not trusted (unable to get local issuer certificate)" in text
        assert api.count() == 0


def test_insecure_skips_the_check_without_a_word_on_stderr(
    authority: Authority, capfd: pytest.CaptureFixture[str]
) -> None:
    with tls_api(authority) as api:
        row = api.add(HOST)
        rows = ComputeRows(settings(api, insecure=True), HOST)
        assert rows.read() is not None
        assert rows.disable(row.id, "x").outcome == "applied"
    assert capfd.readouterr().err == ""


def test_insecure_wins_over_a_missing_cacert(authority: Authority) -> None:
    with tls_api(authority) as api:
        api.add(HOST)
        made = settings(api, insecure=True, cacert="/nonexistent/ca.pem")
        assert ComputeRows(made, HOST).read() is not None


def test_tls_settings_of_clouds_yaml_hold_unless_a_parameter_says_otherwise(
    authority: Authority, tmp_path: Path
) -> None:
    with tls_api(authority) as api:
        api.add(HOST)
        path = write_clouds(tmp_path, api, cacert=str(authority.ca_file))
        assert ComputeRows(CloudSettings(cloud="mine", clouds_file=path), HOST).read() is not None
        path = write_clouds(tmp_path, api, verify=False)
        assert ComputeRows(CloudSettings(cloud="mine", clouds_file=path), HOST).read() is not None
        strict = CloudSettings(cloud="mine", clouds_file=path, insecure=False)
        assert "set cacert" in reason(ComputeRows(strict, HOST))


def test_a_ca_file_that_is_missing_or_none_is_named(
    api: ComputeApi, make_rows: MakeRows, tmp_path: Path
) -> None:
    missing = str(tmp_path / "ca.pem")
    assert f"{missing} (cacert)" in reason(make_rows(cacert=missing))
    (tmp_path / "ca.pem").write_text("no certificate", encoding="utf-8")
    assert f"{missing} (cacert)" in reason(make_rows(cacert=missing))
    assert api.count() == 0


def test_a_wrong_ca_is_refused(authority: Authority, tmp_path: Path) -> None:
    other = Authority(tmp_path)
    with tls_api(authority) as api:
        rows = ComputeRows(settings(api, cacert=str(other.ca_file)), HOST)
        assert "set cacert" in reason(rows)


def test_plain_http_on_a_tls_port_and_the_other_way_round_say_so(
    api: ComputeApi, authority: Authority
) -> None:
    with pytest.raises(Unreadable, match="TLS failed"):
        ComputeRows(settings(api, auth_url=api.auth_url.replace("http:", "https:")), HOST).read()
    with tls_api(authority) as secure, pytest.raises(Unreadable, match="the connection broke"):
        ComputeRows(settings(secure, auth_url=secure.auth_url.replace("https:", "http:")), HOST).read()

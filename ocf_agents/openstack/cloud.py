# SPDX-License-Identifier: Apache-2.0
"""Which cloud, as whom, and the connection to it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ocf_agents.openstack.clouds_file import CloudsFile, is_url, secrets_in
from ocf_agents.openstack.failure import Failure, Redactor
from ocf_agents.openstack.parameters import CLOUDS_FILE
from ocf_agents.openstack.text_file import read_bytes

if TYPE_CHECKING:
    from ocf_agents.ocf.parameters import Values

LARGEST_CERTIFICATES = 16 << 20  # the system's own bundle has a quarter of one
DIRECT = ("auth_url", "username", "password", "project_name")


@dataclass(frozen=True)
class CloudSettings:
    """Where the cloud is and who we are there; either `cloud` or the fields from `auth_url` on.

    None in `interface`, `cacert` and `insecure` leaves them to clouds.yaml, or to the defaults.
    """

    cloud: str | None = None
    clouds_file: str = CLOUDS_FILE
    auth_url: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    user_domain_name: str = "Default"
    project_name: str | None = None
    project_domain_name: str = "Default"
    region_name: str | None = None
    interface: str | None = None
    cacert: str | None = None
    insecure: bool | None = None

    @classmethod
    def from_values(cls, values: Values) -> CloudSettings:
        """From the parameters of `CLOUD_PARAMETERS`. Raises BadParameter."""
        names = [name for name in cls.__dataclass_fields__ if name != "insecure"]
        insecure = values["insecure"] if values.given("insecure") else None
        return cls(**{name: values[name] for name in names}, insecure=insecure)

    def problem(self) -> str | None:
        """What is missing or contradicts itself, in one line; None if nothing does."""
        given = [name for name in DIRECT if getattr(self, name)]
        if self.cloud:
            return f"give either cloud or {given[0]}, not both" if given else None
        missing = [name for name in DIRECT if not getattr(self, name)]
        if len(missing) == len(DIRECT):
            return "give cloud (and clouds_file), or auth_url, username, password and project_name"
        return f"give {', '.join(missing)} too, or cloud instead" if missing else None

    @property
    def file(self) -> CloudsFile | None:
        """clouds.yaml, where the cloud is in it."""
        return CloudsFile(self.clouds_file, self.cloud) if self.cloud else None

    def auth(self) -> dict[str, str]:
        """What a password login needs, as openstacksdk names it. A dictionary of its own: texts in
        it are taken as they are, where openstacksdk would expand braces elsewhere (case 41)."""
        return {
            "auth_url": self.auth_url or "",
            "username": self.username or "",
            "password": self.password or "",
            "user_domain_name": self.user_domain_name,
            "project_name": self.project_name or "",
            "project_domain_name": self.project_domain_name,
        }

    def overrides(self) -> dict[str, Any]:
        """What the parameters say besides who we are, and whatever clouds.yaml says of it."""
        given: dict[str, Any] = {}
        if self.region_name:
            given["region_name"] = self.region_name
        if self.interface:
            given["interface"] = self.interface.removesuffix("URL")
        if self.cacert:
            given["cacert"] = self.cacert
        if self.insecure is not None:
            given.update(verify=not self.insecure, insecure=self.insecure)
        return given


class Cloud:
    """A connection to the cloud. Making it sends nothing; its first use sends what it takes."""

    def __init__(self, settings: CloudSettings, timeout: float) -> None:
        self.settings, self.timeout = settings, timeout
        self.redact = Redactor([settings.password or ""])
        self._connection: Any = None
        self._compute: Compute | None = None

    @property
    def is_open(self) -> bool:
        """True when the configuration has been read."""
        return self._connection is not None

    def open(self) -> None:
        """Read the configuration. Raises Failure; ImportError without openstacksdk."""
        if self._connection is not None:
            return
        problem = self.settings.problem()
        if problem:
            raise Failure(problem, permanent=True)
        hush()
        contents = self.settings.file.contents() if self.settings.file else []
        self.redact = Redactor([self.settings.password or "", *secrets_in(contents)])
        try:
            region = cloud_region(self.settings, self.timeout)
            self.redact = Redactor(secrets_in([region.config]))
            self._connection = connect(region)
        except (Failure, ImportError):
            raise
        except Exception as error:  # openstacksdk has no error of its own for most slips
            raise refused(self.settings, error) from None

    @property
    def auth_url(self) -> str:
        """Keystone's URL as configured."""
        return str(self._connection.config.config["auth"].get("auth_url", ""))

    def login(self) -> None:
        """Have a token: two requests (Keystone's version, a token), none while one is good."""
        session = self._connection.session
        self.redact.hide(session.auth.get_access(session).auth_token or "")

    def compute(self) -> Compute:
        """The compute service: one request (Nova's version) until Nova has told its version."""
        if self._compute is None:
            self._check_region()
        if self._compute is None or self._compute.newest is None:
            self._compute = find_compute(self._connection)
        return self._compute

    def hang_up(self) -> None:
        """Close what connections are kept, so that the next request has a new one: one that the peer has
        dropped meanwhile would leave a write in doubt for nothing."""
        if self._connection is not None:
            self._connection.session.session.close()

    def forget_token(self) -> None:
        """Get a new token for the next request."""
        self._connection.session.invalidate()

    def access(self) -> Any:  # noqa: ANN401 (keystoneauth's AccessInfo)
        """What Keystone says of us: roles, catalog, when the token was made."""
        session = self._connection.session
        return session.auth.get_access(session)

    @property
    def region(self) -> str | None:
        """The region that is asked for, by a parameter or by clouds.yaml."""
        name = self._connection.config.get_region_name("compute")
        return str(name) if name else None

    def regions(self) -> list[str]:
        """Where the catalog has the compute service, with the interface that is used."""
        return compute_regions(self.access().service_catalog.normalize_catalog(), self._interface)

    @property
    def _interface(self) -> str:
        return str(self._connection.config.get_interface("compute") or "public")

    def _check_region(self) -> None:
        """The compute service must be in one region, or in the one asked for (cases 36 and 37)."""
        choose_region(self.regions(), self.region, self._interface)


@dataclass(frozen=True)
class Compute:
    """The compute service of one region: openstacksdk's adapter, its URL, the newest microversion it told."""

    adapter: Any
    url: str
    newest: tuple[int, int] | None


def find_compute(connection: Any) -> Compute:  # noqa: ANN401 - openstacksdk has no types before 4
    """Let openstacksdk discover the service, once; later requests go straight to the URL it found."""
    adapter = connection.compute
    data = adapter.get_endpoint_data()
    url = (data.url if data else adapter.get_endpoint()) or ""
    return Compute(adapter, str(url).rstrip("/"), as_pair(data.max_microversion if data else None))


def as_pair(version: Sequence[float] | None) -> tuple[int, int] | None:
    """A microversion as openstacksdk gives it; None for a strange one: "latest" is infinite there."""
    try:
        return None if version is None else (int(version[0]), int(version[1]))
    except (IndexError, OverflowError):
        return None


def choose_region(regions: list[str], wanted: str | None, interface: str) -> None:
    """Refuse to guess. Raises Failure unless one region is the only one, or is the one that is wanted."""
    choice = ", ".join(regions)
    if not regions:
        raise Failure(f"the catalog has no compute service with interface {interface}", permanent=True)
    if wanted and wanted not in regions:
        raise Failure(f"set region_name ({choice}): no compute service in region {wanted}", permanent=True)
    if not wanted and len(regions) > 1:
        raise Failure(
            f"set region_name ({choice}): the compute service is in several regions", permanent=True
        )


def compute_regions(catalog: list[dict[str, Any]], interface: str) -> list[str]:
    """The regions in which a normalized catalog has the compute service, sorted."""
    return sorted(
        {
            str(endpoint.get("region_name") or endpoint.get("region_id") or endpoint.get("region"))
            for service in catalog
            if service["type"] == "compute"
            for endpoint in service["endpoints"]
            if str(endpoint.get("interface", "")).removesuffix("URL") == interface.removesuffix("URL")
        }
    )


def connect(region: Any) -> Any:  # noqa: ANN401
    """openstacksdk's connection to a region. Sends nothing."""
    from openstack.connection import Connection

    connection = Connection(config=region)
    session = connection.session
    session.session.trust_env = False  # neither proxies nor CA bundles nor .netrc (case 48)
    session.redirect = False  # keystoneauth would take password or token along to wherever it is sent
    return connection


def refused(settings: CloudSettings, error: Exception) -> Failure:
    """What openstacksdk has stumbled over while it read the configuration."""
    where = f"{settings.clouds_file} (clouds_file)" if settings.cloud else "the parameters of the cloud"
    return Failure(f"{where}: openstacksdk refuses it ({type(error).__name__}: {error})", permanent=True)


def cloud_region(settings: CloudSettings, timeout: float) -> Any:  # noqa: ANN401
    """openstacksdk's CloudRegion, from no environment and no vendor's file. Raises Failure."""
    region = load_region(settings, timeout)
    config = region.config
    check_cacert(config.get("cacert"), needed=config.get("verify", True))
    for name in ("cert", "key"):
        if config.get(name):
            check_readable(config[name], name)
    return region


def load_region(settings: CloudSettings, timeout: float) -> Any:  # noqa: ANN401
    """The region as openstacksdk reads it. `timeout` is for each request, in seconds."""
    from openstack.config.loader import OpenStackConfig

    common = {"load_envvars": False, "vendor_files": [], "app_name": "ocf-agents"}
    options = {"api_timeout": timeout, **settings.overrides()}
    file = settings.file
    if file is None:
        check_auth_url(settings.auth_url)
        loader = OpenStackConfig(load_yaml_config=False, **common)
        return loader.get_one(auth_type="password", auth=settings.auth(), **options)
    loader = OpenStackConfig(config_files=[file.path], secure_files=[file.secure], **common)
    file.check(loader.cloud_config["clouds"], settings.region_name)
    return loader.get_one(cloud=settings.cloud, **options)


def check_auth_url(url: str | None) -> None:
    """Refuse what no request can be sent to."""
    if not is_url(url):
        raise Failure(f"auth_url is {url!r}: give a URL such as https://keystone:5000/v3", permanent=True)


def check_readable(path: str, name: str) -> None:
    """Refuse a file of certificates or keys that cannot be read."""
    try:
        read_bytes(os.path.expanduser(path), LARGEST_CERTIFICATES)
    except OSError as error:
        raise Failure(f"cannot read {path} ({name}): {error.strerror}", permanent=True) from None


def check_cacert(path: str | None, *, needed: bool) -> None:
    """Refuse a CA file that is missing or no certificate, by its name (case 39)."""
    if not path or not needed:
        return
    import ssl

    expanded = os.path.expanduser(path)
    is_folder = os.path.isdir(expanded)
    if not is_folder:
        check_readable(path, "cacert")
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(**{"capath" if is_folder else "cafile": expanded})
    except ssl.SSLError:
        raise Failure(f"{path} (cacert) holds no certificate", permanent=True) from None
    except OSError as error:
        raise Failure(f"cannot read {path} (cacert): {error.strerror}", permanent=True) from None


def hush() -> None:
    """No warnings and no log lines of the libraries on stderr: what matters is in our own texts.

    Certificates that nobody verifies (case 35), discovery that failed, and whatever some future version
    is going to remove.
    """
    import logging
    import warnings

    libraries = (
        "openstack",
        "keystoneauth",
        "keystoneauth1",
        "urllib3",
        "requests",
        "requestsexceptions",
        "stevedore",
    )
    for name in libraries:
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
    others = (
        *libraries,
        "dogpile",
        "os_service_types",
        "pkg_resources",
        "iso8601",
        "jsonpatch",
        "cryptography",
        "pbr",
    )
    warnings.filterwarnings("ignore", module=rf"({'|'.join(others)})(\.|$)")

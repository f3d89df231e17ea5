# SPDX-License-Identifier: Apache-2.0
"""What the cloud says of us, and of this host's row, that would bite. Pure but for `asked`."""

from __future__ import annotations

from collections.abc import Iterator

from ocf_agents.openstack import near
from ocf_agents.openstack.failure import Failure
from ocf_agents.openstack.rows import UUID_IDS
from ocf_agents.openstack.survey import Survey, survey
from ocf_agents.operator.doctor.finding import Finding, ok, problem, warning
from ocf_agents.operator.resource import Resource, settings_of
from ocf_agents.operator.texts import clean, lasting
from ocf_agents.operator.trouble import BadInput

SKEW = 30.0
"""Seconds between this host's clock and Keystone's from which times in markers mislead."""
RENAMED = (
    "mend the name if it is wrong (host in nova.conf, or the parameter host): Nova 2023.1 and later"
    " does not start under another name (Possible rename detected, refusing to start)"
)


def asked(resource: Resource) -> Survey | Finding:
    """The cloud, tried for real; the finding if it cannot be."""
    try:
        return survey(settings_of(resource), resource.service.row, float(resource.get("api_timeout")))
    except BadInput as error:
        return problem(
            "credentials", clean(error.text), "give the resource cloud, or auth_url and the others"
        )
    except Failure as failure:
        return problem("cloud", clean(failure.text), _mend(failure))


def of_survey(found: Survey) -> Iterator[Finding]:
    """Who we are there, what we may, and whether the clocks agree."""
    yield ok("login", f"{clean(found.auth_url)}, roles {clean(', '.join(found.roles)) or 'unknown'}")
    if found.refusal:
        yield problem(
            "role",
            f"rows can be read and not changed: {clean(found.refusal)}",
            "grant the user the role admin on its project, or mend the access rules (README)",
        )
    else:
        yield ok("role", "rows can be read and changed")
    yield _microversion(found.newest)
    yield _region(found)
    if found.issued is not None:
        yield _clock(found.asked - found.issued)


def of_row(found: Survey, host: str, binary: str, recorded: str = "") -> Finding:
    """Whether the host of the next start has a row, else which one was probably meant.

    `recorded`: the record's host; empty without one.
    """
    names = {one.host: one.row for one in found.rows}
    if host in names:
        if names[host] is None:
            mend = "nova-conductor or the cell's database is away: mend that"
            return problem("row", f"Nova does not know the state of {binary} on {clean(host)} now", mend)
        return ok("row", f"{binary} on {clean(host)} is there")
    if recorded in names:
        text = f"the next start is under another name: Nova has no {binary} on {clean(host)!r},"
        return problem("row", f"{text} and has the record's, on {clean(recorded)!r}", RENAMED)
    alike = near.misses(host, names)
    if alike:
        return problem(
            "row",
            f"there is no {binary} on {clean(host)!r}, but on {clean(', '.join(alike))}",
            "the parameter host must be the name exactly as Nova has it; or mend host in nova.conf",
        )
    return warning(
        "row",
        f"there is no {binary} on {clean(host)!r} among {len(names)} hosts",
        "a new host has none before the cluster's first start of it: go on; else the name is wrong",
    )


def _mend(failure: Failure) -> str:
    if failure.permanent:
        return "mend it: until then the agent changes nothing in the cloud"
    return "mend it, or wait: a start with something to undo fails until then"


def _microversion(newest: tuple[int, int] | None) -> Finding:
    if newest is None:
        return warning("microversion", "Nova does not tell its newest", "check that the URL is Nova's own")
    if newest < UUID_IDS:
        return problem(
            "microversion", f"Nova's newest is {_dotted(newest)}", "2.53 (Pike) or later is needed"
        )
    return ok("microversion", f"Nova's newest is {_dotted(newest)}, {_dotted(UUID_IDS)} is needed")


def _region(found: Survey) -> Finding:
    regions = clean(", ".join(found.regions))
    if len(found.regions) > 1:
        return ok("region", f"{clean(found.region or '')} of {regions}")
    if found.region is None:
        return ok("region", f"{regions}, the only one; region_name will be needed when there is another")
    return ok("region", regions)


def _clock(ahead: float) -> Finding:
    """Keystone makes the token within a second of our asking; its times are whole seconds."""
    if abs(ahead) > SKEW:
        where = "ahead of" if ahead > 0 else "behind"
        text = f"this host's clock is {lasting(abs(ahead))} {where} Keystone's: times in reasons mislead"
        return warning("clock", text, "run chrony or another time service here")
    return ok("clock", "as Keystone's")


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"

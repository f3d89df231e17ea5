# SPDX-License-Identifier: Apache-2.0
"""ocf:heartbeat:nova-compute: OpenStack's hypervisor agent, and its row in the compute API."""

from __future__ import annotations

from ocf_agents import __version__
from ocf_agents.actions.guarded import GuardedService
from ocf_agents.guard import parameters as guard
from ocf_agents.ocf.agent import Agent
from ocf_agents.ocf.parameters import Parameter, Path, Select, String
from ocf_agents.openstack import parameters as openstack
from ocf_agents.service import parameters as service
from ocf_agents.service.unit import UnitName

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ocf_agents.ocf.parameters import Values

PARAMETERS = (
    Parameter(
        "supervisor",
        Select,
        "auto",
        "What runs the service",
        "How the service is run on this host. systemd: as its unit, which the agent starts and stops"
        " through systemd. process: by this agent, with a pid file of its own. auto: systemd, where systemd"
        " runs and has the unit and it is not masked, or where the parameter unit is given; else process.",
        choices=("auto", "systemd", "process"),
    ),
    Parameter(
        "unit",
        UnitName,
        None,
        "The unit of systemd",
        "The unit that runs nova-compute, with or without .service. By default nova-compute.service or"
        " openstack-nova-compute.service, whichever exists. While the cluster runs it, a drop-in in"
        " /run/systemd/system switches Restart= off and orders the unit before Pacemaker, so that at a"
        " shutdown of the host the cluster stops it and not systemd. Disable the unit at boot; do not mask"
        " it. Program, arguments, user and output are the unit's own. binary and user then say how a"
        " nova-compute looks that somebody has started beside it, and config where the host's name is.",
        unique_group="unit",
    ),
    Parameter("binary", Path, "/usr/bin/nova-compute", "The program", "Path of the nova-compute program."),
    Parameter(
        "config",
        Path,
        None,
        "Its configuration file",
        "The configuration file that is given to nova-compute. Without it nova-compute looks for its"
        " files by itself (nova.conf, nova-compute.conf and their .d directories).",
    ),
    Parameter("user", String, "nova", "The user it runs as", "The user that nova-compute runs as."),
    Parameter(
        "log",
        Path,
        "/var/log/nova/nova-compute.out",
        "Where its output goes",
        "The file that receives what nova-compute writes to standard output and error. Nova's own log"
        " is configured in Nova.",
    ),
    Parameter(
        "pid",
        Path,
        None,
        "The pid file",
        "The agent's own pid file. By default nova-compute-RESOURCE.pid in the cluster's run directory"
        " (HA_RSCTMP, else /run/resource-agents).",
        unique_group="pid",
    ),
    Parameter(
        "additional_parameters",
        String,
        "",
        "Further arguments",
        "Further arguments for nova-compute, quoted as for a shell.",
    ),
    Parameter(
        "host",
        String,
        None,
        "The host's name in Nova",
        "The name of this host in the compute API. By default what Nova on this host uses: host in the"
        " DEFAULT section of its configuration, else the host name. Set it for a service that moves"
        " from node to node under one name; nova-compute is then started with it.",
        unique_group="host",
    ),
    *service.PARAMETERS,
    *openstack.BUS_PARAMETERS,
    *openstack.ROW_PARAMETERS,
    *openstack.CLOUD_PARAMETERS,
    *guard.PARAMETERS,
)


def arguments(values: Values) -> list[str]:
    """The command line of nova-compute after the program's name. Raises BadParameter."""
    config = values["config"]
    return [*([f"--config-file={config}"] if config else []), *split(values, "additional_parameters")]


def split(values: Values, name: str) -> list[str]:
    """The words of a parameter, as a shell would see them. Raises BadParameter."""
    text = values[name] or ""
    if not any(character in text for character in "\"'\\"):
        return list(text.split())
    import shlex

    from ocf_agents.ocf.errors import BadParameter

    try:
        return shlex.split(text)
    except ValueError:
        raise BadParameter(name, text, "arguments with closed quotes") from None


# oslo.config reads an option of [DEFAULT] from this environment variable before any file.
HOST_VARIABLE = "OS_DEFAULT__HOST"

SERVICE = GuardedService(
    agent="nova-compute",
    module=__name__,
    row="nova-compute",
    arguments=arguments,
    helpers=("privsep-helper",),
    host_variable=HOST_VARIABLE,
    topic="compute",
    unit_names=("nova-compute.service", "openstack-nova-compute.service"),
)

AGENT = Agent(
    "nova-compute",
    __version__,
    "OpenStack Nova compute service, guarded",
    "Runs nova-compute on a hypervisor. When it stops, the host is disabled in the compute API, so that"
    " the scheduler stops choosing it. When it starts, a disable of this resource's own is undone, and"
    " the start waits for that. A record on the host says who disabled it: what an operator disabled for"
    " maintenance stays disabled, in the operator's words. Set the meta attribute failure-timeout: a"
    " start fails as long as the API cannot undo a disable of this resource's own.",
    PARAMETERS,
    SERVICE.actions(),
)

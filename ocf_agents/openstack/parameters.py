# SPDX-License-Identifier: Apache-2.0
"""The parameters that every OpenStack agent shares: which cloud, as whom, how.

Loaded by monitor and meta-data too, so nothing heavy is imported.
"""

from __future__ import annotations

from ocf_agents.ocf.parameters import Boolean, Duration, Integer, Parameter, Path, Select, String

INTERFACES = ("public", "publicURL", "internal", "internalURL", "admin", "adminURL")
LONGEST_CALL = 60  # seconds; within the start timeout there must be room for several
CLOUDS_FILE = "/etc/openstack/clouds.yaml"

CLOUD_PARAMETERS = (
    Parameter(
        "cloud",
        String,
        shortdesc="Cloud in clouds.yaml",
        longdesc="Give either this, or auth_url, username, password and project_name. "
        "Name of the cloud in clouds_file. Application credentials work. "
        "Not together with auth_url, username, password and the names of project and domains.",
        reloadable=True,
    ),
    Parameter(
        "clouds_file",
        Path,
        CLOUDS_FILE,
        shortdesc="Path of clouds.yaml",
        longdesc="The file that describes the cloud. A secure.yaml beside it is merged into it. "
        "It holds a secret: let nobody but root read it.",
        reloadable=True,
    ),
    Parameter(
        "auth_url",
        String,
        shortdesc="Keystone's URL",
        longdesc="Keystone's address, with or without /v3. Needed if cloud is not given.",
        reloadable=True,
    ),
    Parameter(
        "username",
        String,
        shortdesc="User of the cloud",
        longdesc="Needed with auth_url. Has the role admin on its project: Nova lets nobody else list or "
        "change services.",
        reloadable=True,
    ),
    Parameter(
        "password",
        String,
        shortdesc="Password of the user",
        longdesc="Needed with auth_url. It is kept in the cluster's configuration; cloud with clouds_file "
        "keeps it out of there.",
        reloadable=True,
        private=True,
    ),
    Parameter(
        "user_domain_name",
        String,
        "Default",
        shortdesc="Domain of the user",
        longdesc="Used with auth_url only.",
        reloadable=True,
    ),
    Parameter(
        "project_name",
        String,
        shortdesc="Project of the user",
        longdesc="Needed with auth_url: the project on which the user has the role admin.",
        reloadable=True,
    ),
    Parameter(
        "project_domain_name",
        String,
        "Default",
        shortdesc="Domain of the project",
        longdesc="Used with auth_url only.",
        reloadable=True,
    ),
    Parameter(
        "region_name",
        String,
        shortdesc="Region of this host",
        longdesc="Needed where the catalog has the compute service in more than one region: without it "
        "nothing is sent there.",
        reloadable=True,
    ),
    Parameter(
        "interface",
        Select,
        choices=INTERFACES,
        shortdesc="Endpoint to use: public, internal or admin",
        longdesc="Both spellings are taken (internal, internalURL). "
        "Default: what clouds_file says, else public.",
        reloadable=True,
    ),
    Parameter(
        "cacert",
        Path,
        shortdesc="CA certificates to trust",
        longdesc="A PEM file, for Keystone and Nova alike. "
        "Default: what clouds_file says, else the system's.",
        reloadable=True,
    ),
    Parameter(
        "insecure",
        Boolean,
        False,
        shortdesc="Do not verify TLS certificates",
        longdesc="For tests. Anybody in between can then read the password.",
        reloadable=True,
    ),
    Parameter(
        "api_timeout",
        Duration,
        "10s",
        shortdesc="Longest time for one call of the API",
        longdesc="Includes finding the endpoint and getting a token. A time such as 10, 10s or 5000ms; "
        "from 1s to 60s.",
        minimum=1,
        maximum=LONGEST_CALL,
        reloadable=True,
    ),
)

BUS_PARAMETERS = (
    Parameter(
        "bus_timeout",
        Duration,
        "5s",
        shortdesc="How long a service may take to answer over the message bus",
        longdesc="A monitor at OCF_CHECK_LEVEL 10 asks the service over its own message bus (baseapi.ping;"
        " transport_url of its configuration) and waits this long. A time such as 5s or 500ms; from 100ms to"
        " 60s.",
        minimum=0.1,
        maximum=LONGEST_CALL,
        reloadable=True,
    ),
    Parameter(
        "bus_misses",
        Integer,
        3,
        shortdesc="How many questions in a row may stay without an answer",
        longdesc="A monitor at OCF_CHECK_LEVEL 10 fails at this many questions in a row that the service did"
        " not answer. If it is the bus that cannot be reached from this host, the service is degraded, and"
        " not failed: a restart would not help.",
        minimum=1,
        maximum=1000,
        reloadable=True,
    ),
    Parameter(
        "bus_grace",
        Duration,
        "1m",
        shortdesc="How long a service is given to find the message bus",
        longdesc="For this long after its start, and after the message bus was away, a service is not"
        " judged by its answers. A time such as 60s or 2m.",
        minimum=0,
        reloadable=True,
    ),
)

ROW_PARAMETERS = (
    Parameter(
        "row_misses",
        Integer,
        3,
        shortdesc="How many looks in a row may find the service down in the cloud",
        longdesc="A monitor at OCF_CHECK_LEVEL 20 reads the service's row in the cloud. It fails at this"
        " many looks in a row that find it down with one and the same last report, over at least three times"
        " report_interval of its configuration. If it is not this service alone (half or more are down, or"
        " another one fell silent within the same minute), or if the API cannot be asked, the service is"
        " degraded, and not failed: a restart would not help.",
        minimum=1,
        maximum=1000,
        reloadable=True,
    ),
    Parameter(
        "row_grace",
        Duration,
        "2m",
        shortdesc="How long a service is given to be up in the cloud",
        longdesc="For this long after its start, and after many services were down at once, a service is not"
        " judged by its row. A time such as 60s or 2m.",
        minimum=0,
        reloadable=True,
    ),
)

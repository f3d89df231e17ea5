# SPDX-License-Identifier: Apache-2.0
"""The cloud: MariaDB, RabbitMQ, keystone, placement and Nova on one node of the lab."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from labkit import catalog
from labkit.cloud import Cloud
from labkit.errors import wait_for
from labkit.layout import LAB, REPO
from labkit.node import Node
from labkit.service import Service
from labkit.settings import KEYSTONE, MYSQL, NOVA, PASSWORD, PLACEMENT, RABBIT, REGION, Settings
from labkit.tap import Tap
from labkit.venv import Venv

PING = """\
import sys
sys.path.insert(0, sys.argv[1])
from ocf_agents.openstack import bus, transport
print(bus.ping(transport.parse(sys.argv[2]), "nova", "compute", sys.argv[3], 3.0).outcome)
"""

DATABASES = ("keystone", "placement", "nova_api", "nova_cell0", "nova_cell1")


class Control:
    """What runs on the node, and how it is set up for the first time. `proxy`: the address of the proxy."""

    def __init__(self, node: Node, venv: Venv, proxy: str) -> None:
        self.node = node
        self.proxy = proxy
        self.venv = venv
        self.home = node.home
        self.settings = Settings(node.address, str(self.home))
        self.cloud = self._log_in()
        self.tap = Tap(self.home / "log")
        self.mysql = self._mysql()
        self.rabbit = self._rabbit()
        self.keystone = self._wsgi("keystone", "keystone.wsgi.api", KEYSTONE, "OS_KEYSTONE_CONFIG_DIR")
        self.placement = self._wsgi("placement", "placement.wsgi.api", PLACEMENT, "OS_PLACEMENT_CONFIG_DIR")
        self.api = self._wsgi("nova-api", "nova.wsgi.osapi_compute", NOVA, "OS_NOVA_CONFIG_DIR")
        self.conductor = self._daemon("nova-conductor")
        self.scheduler = self._daemon("nova-scheduler", OS_NOVA_DISABLE_EVENTLET_PATCHING="1")

    def _log_in(self) -> Cloud:
        return Cloud(self.settings.auth_url, "admin", PASSWORD, "admin")

    # its services

    def _mysql(self) -> Service:
        data = self.home / "mysql"
        argv = [
            "/usr/sbin/mariadbd",
            "--no-defaults",
            "--user=root",
            f"--datadir={data}",
            f"--socket={data}/socket",
        ]
        argv += [
            "--bind-address=127.0.0.1",
            f"--port={MYSQL}",
            f"--pid-file={data}/pid",
            "--skip-name-resolve",
        ]
        argv += [
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-buffer-pool-size=48M",
            "--max-connections=300",
        ]
        return Service(self.node, "mysql", argv, is_ready=lambda: self.node.listens(MYSQL))

    def _rabbit(self) -> Service:
        data = self.home / "rabbit"
        environ = {
            "HOME": str(data),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": "lab@localhost",
            "RABBITMQ_BASE": str(data),
            "RABBITMQ_MNESIA_BASE": str(data / "mnesia"),
            "RABBITMQ_LOG_BASE": str(data / "log"),
            "RABBITMQ_PID_FILE": str(data / "pid"),
            "RABBITMQ_CONFIG_FILE": str(self.home / "etc" / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(data / "plugins"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        }
        argv = ["/usr/lib/rabbitmq/bin/rabbitmq-server"]
        return Service(self.node, "rabbit", argv, environ, is_ready=lambda: self.node.listens(RABBIT))

    def _wsgi(self, name: str, module: str, port: int, config_variable: str) -> Service:
        log = self.home / "log" / f"requests-{name}.jsonl"
        script = str(LAB / "labkit" / "wsgi.py")
        argv = [self.venv.bin("python"), "-I", script, module, self.node.address, str(port), str(log)]
        environ = {config_variable: str(self.home / "etc"), "OS_NOVA_DISABLE_EVENTLET_PATCHING": "1"}
        return Service(self.node, name, argv, environ, is_ready=lambda: self.node.listens(port))

    def _daemon(self, name: str, **environ: str) -> Service:
        argv = [self.venv.bin(name), "--config-file", str(self.home / "etc" / "nova.conf")]
        return Service(self.node, name, argv, environ)

    # up and down

    def up(self) -> None:
        """Start what is down, and set up what is new. The caller is in the node's network."""
        self.node.start()
        self._configure()
        with ThreadPoolExecutor() as pool:
            rabbit = pool.submit(self.rabbit.start)
            self._start_mysql()
            self.placement.start(wait=False)
            nova = pool.submit(self._set_up_nova)
            self._set_up_keystone()
            self.keystone.start()
            self._once("catalog-2", lambda: catalog.fill(self._log_in(), self.settings, self.proxy))
            nova.result()
            rabbit.result()
        self.api.start(wait=False)
        self.placement.wait()  # conductor and scheduler give up at once without it
        self.conductor.start()
        self.scheduler.start()
        self.api.wait()

    def down(self) -> None:
        """End in order what keeps data; the rest goes with the power."""
        if self.node.is_up:
            with ThreadPoolExecutor() as pool:
                list(pool.map(Service.stop, (self.mysql, self.rabbit)))
            self.node.kill()

    def wait_until_up(self) -> None:
        """Wait until conductor and scheduler report."""
        wait_for("conductor and scheduler to report", self._reports, 90, every=0.2)

    def _reports(self) -> bool:
        rows = self.cloud.rows()
        up = {row.binary for row in rows if row.is_up}
        return {"nova-conductor", "nova-scheduler"} <= up

    def answers(self, host: str) -> bool:
        """Does the nova-compute of that host answer over the message bus?

        A monitor at level 10 that succeeds does not tell: after an outage it judges nobody for a while.
        """
        words = [self.venv.bin("python"), "-c", PING, str(REPO), self.settings.transport_url, host]
        return self.node.run(*words, check=False).stdout.strip() == "answered"

    def discover_hosts(self) -> None:
        """Map computes that have registered to their cell: without it the scheduler does not know them."""
        self._manage("nova", "cell_v2", "discover_hosts")

    # the first time

    def _configure(self) -> None:
        for folder in ("etc", "log", "rabbit", "state"):
            (self.home / folder).mkdir(parents=True, exist_ok=True)
        etc = self.home / "etc"
        texts = {
            "keystone.conf": self.settings.keystone(),
            "placement.conf": self.settings.placement(),
            "nova.conf": self.settings.nova(),
            "rabbitmq.conf": self.settings.rabbit(),
        }
        for name, text in texts.items():
            (etc / name).write_text(text, encoding="utf-8")
        (self.home / "rabbit" / "plugins").write_text("[].\n", encoding="ascii")
        shutil.copy(self.venv.path / "etc" / "nova" / "api-paste.ini", etc)

    def _once(self, name: str, work: Callable[[], None]) -> None:
        done = self.home / "done" / name
        if not done.exists():
            work()
            done.parent.mkdir(exist_ok=True)
            done.touch()

    def _start_mysql(self) -> None:
        self._once("mysql", self._install_mysql)
        self.mysql.start()
        self._once("databases", self._create_databases)

    def _install_mysql(self) -> None:
        data = self.home / "mysql"
        shutil.rmtree(data, ignore_errors=True)
        data.mkdir()
        words = ["--no-defaults", "--user=root", f"--datadir={data}", "--skip-test-db"]
        self.node.run("mariadb-install-db", *words, "--auth-root-authentication-method=socket")

    def _create_databases(self) -> None:
        statements = [f"CREATE USER IF NOT EXISTS lab@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'"]
        statements.append("GRANT ALL ON *.* TO lab@'127.0.0.1'")
        statements += [f"CREATE DATABASE IF NOT EXISTS {name} CHARACTER SET utf8mb3" for name in DATABASES]
        client = ["mariadb", "--no-defaults", f"--socket={self.home}/mysql/socket"]
        self.node.run(*client, "--execute", "; ".join(statements))

    def _manage(self, what: str, *words: str) -> None:
        config = str(self.home / "etc" / f"{what}.conf")
        self.node.run(self.venv.bin(f"{what}-manage"), "--config-file", config, *words, timeout=300)

    def _set_up_keystone(self) -> None:
        self._once("keystone", self._create_keystone)

    def _create_keystone(self) -> None:
        self._manage("keystone", "db_sync")
        for keys in ("fernet_setup", "credential_setup"):
            self._manage("keystone", keys, "--keystone-user", "root", "--keystone-group", "root")
        urls = [
            f"--bootstrap-{interface}-url={self.settings.auth_url}"
            for interface in ("public", "internal", "admin")
        ]
        self._manage(
            "keystone",
            "bootstrap",
            f"--bootstrap-password={PASSWORD}",
            f"--bootstrap-region-id={REGION}",
            *urls,
        )

    def _set_up_nova(self) -> None:
        self._once("nova", self._create_nova)

    def _create_nova(self) -> None:
        self._manage("nova", "api_db", "sync")
        self._manage(
            "nova", "cell_v2", "map_cell0", "--database_connection", self.settings.database("nova_cell0")
        )
        self._manage("nova", "db", "sync")
        self._manage("nova", "cell_v2", "create_cell", "--name", "cell1")

# SPDX-License-Identifier: Apache-2.0
"""Peers that send back all that they were sent, credentials in a URL; and whether the watch sees a leak."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from ocf_agents.testing.compute.exchange import Request, Response
from ocf_agents.testing.node import wait_for

from . import stage
from .stage import Stage
from .story import Trouble, play_all
from .watch import Watch


def echo(request: Request) -> Response:
    """All of the request as the words of an error, as a careless debugging proxy gives it."""
    said = (
        f"{request.method} {request.target} {dict(request.headers)} {request.body} {json.dumps(request.body)}"
    )
    token = request.headers.get("x-auth-token", "")
    return Response(400, {"badRequest": {"code": 400, "message": f"{token} {said} {quote(token)}"}})


def echo_at(name: str) -> Trouble:
    """A listener of the cloud that says nothing else."""

    def strike(here: Stage) -> None:
        getattr(here.api, name).answer = echo

    def heal(here: Stage) -> None:
        here.api.identity.answer, here.api.compute.answer = here.api.keystone.answer, here.api.nova.answer

    return Trouble(name, "answered 400", strike, heal)


def at_url(here: Stage) -> None:
    """Credentials in the URL as well, of which the peer then sees a header."""
    here.api.identity.answer = echo
    address = here.api.auth_url.removeprefix("http://")
    user = f"admin:{quote(here.api.account.password, safe='')}"
    here.node.pacemaker.parameters = {
        **here.node.pacemaker.parameters,
        "auth_url": f"http://{user}@{address}",
    }


def from_url(here: Stage) -> None:
    here.api.identity.answer = here.api.keystone.answer


def test_what_a_peer_sends_back_reveals_nothing(tmp_path: Path) -> None:
    in_url = Trouble("in the URL", r"logging in at http://\*\*\*@.*answered 400", at_url, from_url)
    play_all([echo_at("compute"), echo_at("identity"), in_url], tmp_path)


def leak(where: str, secret: str, folder: Path) -> subprocess.Popen[bytes] | None:
    """Show a secret there."""
    sleep = [sys.executable, "-c", "import time; time.sleep(30)"]
    if where == "arguments":
        return subprocess.Popen([*sleep, secret])
    if where == "environment":
        return subprocess.Popen(sleep, env={"X": secret})
    if where == "base64":
        return subprocess.Popen([*sleep, base64.b64encode(f"user:{secret}".encode()).decode()])
    (folder / "some.log").write_text(f"password={secret}")
    return None


@pytest.mark.parametrize("where", ["arguments", "environment", "base64", "file"])
def test_the_watch_sees_a_leak(where: str, mark: str, tmp_path: Path) -> None:
    with Watch(mark) as watch:
        process = leak(where, stage.secrets(mark).password, tmp_path)
        try:
            assert process is None or wait_for(lambda: bool(watch.findings), 20)
        finally:
            if process:
                process.kill()
                process.wait()
        watch.check_files(tmp_path)
    assert len(set(watch.findings)) == 1, watch.findings

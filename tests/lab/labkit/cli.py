# SPDX-License-Identifier: Apache-2.0
"""tests/lab/run: the lab's command."""

from __future__ import annotations

import argparse
import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from labkit.errors import LabError
from labkit.lab import CONTRACT_HOST, CONTROL, Lab
from labkit.layout import LAB, REPO
from labkit.settings import PASSWORD


def main(argv: Sequence[str] | None = None) -> int:
    parser = _parser()
    options, others = parser.parse_known_args(argv)
    options.pytest = others
    if options.pytest and options.do is not test_:
        parser.error(f"unknown: {' '.join(options.pytest)}")
    if os.geteuid() != 0:
        print("the lab makes namespaces and mounts: run it as root", file=sys.stderr)
        return 1
    lab = Lab.of_environment()
    try:
        with _alone(lab) if options.do in ALONE else nullcontext():
            return int(options.do(lab, options) or 0)
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="run", description="A real Nova and a real Pacemaker in namespaces."
    )
    parser.set_defaults(do=all_of_it, keep=False, files=[])
    commands = parser.add_subparsers(
        metavar="COMMAND", title="commands (none: all, that is up, test, contract, down)"
    )
    whole = commands.add_parser("all", help="bring it up, run everything, take it down")
    whole.add_argument("--keep", action="store_true", help="leave it up")
    whole.set_defaults(do=all_of_it)
    for function, text in (
        (install, "packages and virtual environments only"),
        (up, "bring up what is down"),
        (contract, "the contract suite on the real Nova"),
        (status, "what is up"),
        (down, "end every process of the lab"),
        (wipe, "down, and forget the nodes' disks"),
    ):
        commands.add_parser(function.__name__, help=text).set_defaults(do=function)
    test = commands.add_parser("test", help="the scenarios; files and options go to pytest")
    test.add_argument("files", nargs="*")
    test.set_defaults(do=test_, files=[])
    enter = commands.add_parser("exec", help="a command in a node, or in the control node's network for `-`")
    enter.add_argument("node")
    enter.add_argument("command", nargs=argparse.REMAINDER)
    enter.set_defaults(do=execute)
    return parser


def all_of_it(lab: Lab, options: argparse.Namespace) -> int:
    try:
        up(lab, options)
        stories = test_(lab, options)
        return contract(lab, options) or stories
    finally:
        if not options.keep:
            down(lab, options)


def install(lab: Lab, _: argparse.Namespace) -> None:
    lab.install()


def up(lab: Lab, _: argparse.Namespace) -> None:
    began = time.monotonic()
    lab.up()
    print(f"lab: up after {time.monotonic() - began:.1f} s", flush=True)


def test_(lab: Lab, options: argparse.Namespace) -> int:
    """Run the scenarios in the control node's network."""
    lab.up()
    environ = {"LAB": "1", "PYTHONPATH": str(REPO)}  # packages are built by what tests/packages builds with
    return _pytest(lab, LAB, [*options.files, *options.pytest], environ)


def contract(lab: Lab, _: argparse.Namespace) -> int:
    """Run tests/contract on this Nova."""
    suite = REPO / "tests" / "contract"
    if not suite.is_dir():
        print("lab: there is no contract suite")
        return 0
    lab.up()
    compute = lab.contract_compute()
    try:
        environ = {
            "CONTRACT_AUTH_URL": lab.control.settings.auth_url,
            "CONTRACT_USERNAME": "admin",
            "CONTRACT_PASSWORD": PASSWORD,
            "CONTRACT_PROJECT": "admin",
            "CONTRACT_HOST": CONTRACT_HOST,
        }
        return _pytest(lab, REPO, [str(suite)], environ)
    finally:
        compute.kill()


@contextmanager
def _alone(lab: Lab) -> Iterator[None]:
    """Only one at a time may change this lab."""
    lab.layout.state.mkdir(parents=True, exist_ok=True)
    with open(lab.layout.state / "lock", "wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LabError(f"another run works on the lab in {lab.layout.state}") from None
        yield


def _pytest(lab: Lab, folder: Path, words: list[str], environ: dict[str, str]) -> int:
    command = [lab.test_venv.bin("python"), "-m", "pytest", *words]
    return subprocess.run(command, check=False, cwd=folder, env={**os.environ, **environ}).returncode


def status(lab: Lab, _: argparse.Namespace) -> None:
    for node in lab.nodes:
        print(f"{node.name:8} {node.address:12} {f'PID 1 is {node.pid}' if node.is_up else 'down'}")


def down(lab: Lab, _: argparse.Namespace) -> None:
    lab.down()


def wipe(lab: Lab, _: argparse.Namespace) -> None:
    lab.wipe()


def execute(lab: Lab, options: argparse.Namespace) -> None:
    if options.node == "-":
        lab.network.enter(CONTROL)
        command = options.command
    else:
        command = lab.node(options.node).entering(*options.command)
    os.execvp(command[0], command)


ALONE = (all_of_it, install, up, test_, contract, down, wipe)

# SPDX-License-Identifier: Apache-2.0
"""The host as nova-compute itself would find it; the expectations were taken from oslo.config."""

from __future__ import annotations

import os
import random
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from ocf_agents.openstack import nova_conf
from ocf_agents.openstack.nova_conf import BadConfiguration, default_host

NAME = os.uname().nodename


class Tree:
    """A root and a home with configuration files in them."""

    def __init__(self, folder: Path) -> None:
        self.root, self.home = folder / "root", folder / "home"
        self.root.mkdir()
        self.home.mkdir()

    def write(self, path: str, content: str | bytes) -> str:
        """A file under the root, or under the home with `~/`."""
        place = self.home / path[2:] if path.startswith("~/") else self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(place)

    def host(self, *arguments: str) -> str:
        return default_host(arguments, str(self.home), root=str(self.root))


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_without_any_file_it_is_the_kernels_host_name(tree: Tree) -> None:
    assert tree.host() == NAME


def test_without_a_home_the_system_files_count(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.write("etc/nova/nova.conf", "[DEFAULT]\nhost = c1\n")
    assert default_host((), None, root=str(tree.root)) == "c1"


def test_the_resolver_is_never_asked(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("asked the resolver")  # cases 51, 52

    for name in ("getfqdn", "gethostbyname", "getaddrinfo", "gethostname"):
        monkeypatch.setattr(f"socket.{name}", fail)
    assert tree.host() == NAME


def test_a_file_that_does_not_say_it_leaves_the_host_name(tree: Tree) -> None:
    tree.write("etc/nova/nova.conf", "[DEFAULT]\nmy_ip = 1.2.3.4\n[libvirt]\nhost = no\n# host = no\n")
    assert tree.host() == NAME


@pytest.mark.parametrize(
    ("weaker", "stronger"),
    [
        ("etc/nova.conf", "etc/nova/nova.conf"),
        ("etc/nova/nova.conf", "~/nova.conf"),
        ("~/nova.conf", "~/.nova/nova.conf"),
        ("~/.nova/nova.conf", "etc/nova-compute.conf"),
        ("etc/nova/nova-compute.conf", "~/.nova/nova-compute.conf"),
        ("etc/nova/nova-compute.conf", "etc/nova/nova.conf.d/a.conf"),
        ("etc/nova/nova.conf.d/10.conf", "etc/nova/nova.conf.d/2.conf"),
        ("etc/nova.conf.d/z.conf", "etc/nova/nova.conf.d/a.conf"),
        ("etc/nova/nova.conf.d/z.conf", "etc/nova-compute.conf.d/a.conf"),
    ],
)
def test_of_two_default_files_this_one_wins(tree: Tree, weaker: str, stronger: str) -> None:
    for path in (stronger, weaker):
        tree.write(path, f"[DEFAULT]\nhost = {path.replace('/', '-')}\n")
    assert tree.host() == stronger.replace("/", "-")


@pytest.mark.parametrize("name", [".hidden.conf", "50.conf.rpmsave", "README", "conf"])
def test_other_files_in_a_directory_do_not_count(tree: Tree, name: str) -> None:
    tree.write(f"etc/nova/nova.conf.d/{name}", "[DEFAULT]\nhost = no\n")
    assert tree.host() == NAME


def test_named_files_replace_the_default_files_but_not_the_default_directories(tree: Tree) -> None:
    tree.write("etc/nova/nova.conf", "[DEFAULT]\nhost = default\n")
    tree.write("etc/nova/nova.conf.d/a.conf", "[DEFAULT]\nhost = folder\n")
    quiet = tree.write("quiet.conf", "[DEFAULT]\nmy_ip = 1.2.3.4\n")
    loud = tree.write("loud.conf", "[DEFAULT]\nhost = loud\n")
    assert tree.host("--config-file", quiet) == "folder"
    assert tree.host("--config-file", loud) == "loud"


def test_a_named_directory_replaces_the_default_ones_but_not_the_default_files(tree: Tree) -> None:
    tree.write("etc/nova/nova.conf", "[DEFAULT]\nhost = file\n")
    tree.write("etc/nova/nova.conf.d/a.conf", "[DEFAULT]\nhost = folder\n")
    tree.write("mine/readme.txt", "no")
    assert tree.host("--config-dir", str(tree.root / "mine")) == "file"


def test_of_several_named_places_the_last_wins(tree: Tree) -> None:
    one = tree.write("one.conf", "[DEFAULT]\nhost = one\n")
    two = tree.write("two.conf", "[DEFAULT]\nhost = two\n")
    tree.write("three/x.conf", "[DEFAULT]\nhost = three\n")
    three = str(tree.root / "three")
    assert tree.host("--config-file", one, f"--config-file={two}") == "two"
    assert tree.host(f"--config-file={two}", "--debug", "--config-file", one) == "one"
    assert tree.host(f"--config-dir={three}", "--config-file", one) == "one"
    assert tree.host("--config-file", one, "--config-dir", three, "--log-file", "/x") == "three"


def test_a_tilde_is_the_home_of_the_daemons_user(tree: Tree) -> None:
    tree.write("~/mine.conf", "[DEFAULT]\nhost = home\n")
    assert tree.host("--config-file", "~/mine.conf") == "home"


@pytest.mark.parametrize(
    ("content", "host"),
    [
        ("[DEFAULT]\nhost=c1", "c1"),
        ("[DEFAULT]\nhost : c1\n", "c1"),
        ("[DEFAULT]\r\nhost\t=\tc1  \r\n", "c1"),
        ('[DEFAULT]\nhost = "c1"\n', "c1"),
        ("[DEFAULT]\nhost = 'c 1'\n", "c 1"),
        ("[DEFAULT]\nhost = 'c1\"\n", "'c1\""),
        ("[DEFAULT]\nhost = a=b:c\n", "a=b:c"),
        ("[DEFAULT]\nhost = c1 # not a comment\n", "c1 # not a comment"),
        ("[DEFAULT]\nhost = 50%\n", "50%"),
        ("[DEFAULT]\nhost = c1\nhost = c2\n", "c2"),
        ("[DEFAULT]\nhost = c1\n[libvirt]\nx = y\n[DEFAULT]\nhost = c2\n", "c2"),
        ("[DEFAULT]\nhost = c1\n[default]\nhost = c2\n[ DEFAULT ]\nhost = c3\n", "c1"),
        ("[DEFAULT]\nhost = c1\nHost = c2\n", "c1"),
        ("[DEFAULT]\nhost = c1\n  more\n", "c1\nmore"),
        ("[DEFAULT]\nx = y\n host = no\nhost = c1\n", "c1"),
        ("\n; a comment\n# another\n[DEFAULT]\n\nhost = c1\n", "c1"),
        ("[DEFAULT]\nhost = knoten-ü\n", "knoten-ü"),
        ("[DEFAULT]\nhost = $my_ip\nmy_ip = 1.2.3.4\n", "1.2.3.4"),
        ("[DEFAULT]\nhost = n-${my_ip}.x\nmy_ip = $a\na = 9\n", "n-9.x"),
        ("[DEFAULT]\nhost = $$my_ip\n", "$my_ip"),
        ("[DEFAULT]\nhost = \\$my_ip\n", "$my_ip"),
        ("[DEFAULT]\nhost = cost$\n", "cost$"),
        ("[DEFAULT]\nhost = x$1\n", "x$1"),
    ],
)
def test_a_value_is_read_as_nova_reads_it(tree: Tree, content: str, host: str) -> None:
    tree.write("etc/nova/nova.conf", content)
    assert tree.host() == host


def test_a_reference_reaches_into_other_files(tree: Tree) -> None:
    tree.write("etc/nova/nova.conf", "[DEFAULT]\nhost = $my_ip\nmy_ip = 1.1.1.1\n")
    tree.write("etc/nova/nova-compute.conf", "[DEFAULT]\nmy_ip = 2.2.2.2\n")
    assert tree.host() == "2.2.2.2"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[DEFAULT]\nhost = $my_ip\n", r"refers to \$my_ip"),
        ("[DEFAULT]\nhost = ${libvirt.x}\n[libvirt]\nx = y\n", r"refers to \$libvirt.x"),
        ("[DEFAULT]\nhost = $a\na = $b\nb = $a\n", "refers to itself"),
        ("[DEFAULT]\nhost =\n", "is empty"),
        ("[DEFAULT]\nconfig_source = remote\n", "config_source"),
        ("host = c1\n", "line 1 of .* before any section"),
        ("[DEFAULT]\nhost\n", "line 2 of .* is no assignment"),
        ("[DEFAULT]\n\n= c1\n", "line 3 of .* is no assignment"),
        ("[DEFAULT\nhost = c1\n", "line 1 of .* is no section header"),
        ("[]\n", "line 1 of .* is no section header"),
        ("[DEFAULT]\n host = c1\n", "line 2 of .* continues nothing"),
        (b"\xef\xbb\xbf[DEFAULT]\nhost = c1\n", "line 1 of .* is no assignment"),
        (b"[DEFAULT]\n# \xff\nhost = c1\n", "is not UTF-8"),
    ],
)
def test_what_is_not_certain_asks_for_the_parameter(tree: Tree, content: str | bytes, said: str) -> None:
    tree.write("etc/nova/nova.conf", content)
    with pytest.raises(BadConfiguration, match=said) as caught:
        tree.host()
    assert str(caught.value).endswith("set the parameter host")
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tree: Tree) -> None:
    with pytest.raises(BadConfiguration, match=r"cannot read /none\.conf: No such file"):
        tree.host("--config-file", "/none.conf")
    with pytest.raises(BadConfiguration, match="no directory /none"):
        tree.host("--config-dir", "/none")
    (tree.root / "folder.conf").mkdir()
    with pytest.raises(BadConfiguration, match="Is a directory"):
        tree.host("--config-file", str(tree.root / "folder.conf"))


def test_a_pipe_or_a_device_in_place_of_a_file_is_named_and_not_read(tree: Tree) -> None:
    pipe = str(tree.root / "pipe.conf")
    os.mkfifo(pipe)
    for path in (pipe, "/dev/zero"):
        with pytest.raises(BadConfiguration, match=f"cannot read {path}: it is no regular file: mend it"):
            tree.host("--config-file", path)


def test_a_file_that_is_too_large_is_named(tree: Tree) -> None:
    path = tree.write("large.conf", b"#" * ((1 << 20) + 1))
    with pytest.raises(BadConfiguration, match=f"cannot read {path}: it is larger than 1 MiB"):
        tree.host("--config-file", path)


def test_a_file_system_that_does_not_answer_is_left_and_named(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tree.write("dead/nova.conf", "[DEFAULT]\nhost = c1\n")
    release = threading.Event()

    def hang(_: str) -> str:
        release.wait(20)
        return ""

    monkeypatch.setattr(nova_conf, "read_text", hang)
    monkeypatch.setattr(nova_conf, "LONGEST", 0.2)
    with pytest.raises(BadConfiguration, match=f"cannot read {path} within 0.2 s: mend it, or set") as caught:
        tree.host("--config-file", path)
    release.set()
    assert "\n" not in str(caught.value)


# Against oslo.config itself, where it is installed

LINES = """
[DEFAULT]|[DEFAULT]|[DEFAULT]|[default]|[libvirt]|[ DEFAULT ]|[DEFAULT] |[DEFAULT]]|[x|[]
host=h1|host = h2|host: h3|host=|host="q4"|host='q5|host=h6 # c|host=a=b:c|Host=H|host=50%|host=x$1|host="
 cont|\tcont||# host=no|host|=x|my_ip=1.2.3.4|domain=d
host = $my_ip|host=${my_ip}-x|host=$$my_ip|host=\\$my_ip|host=n.$domain
"""


def test_random_files_give_what_oslo_config_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cfg = pytest.importorskip("oslo_config.cfg")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    dice = random.Random(1)
    compared = sum(compare(Tree(make(tmp_path / str(turn))), cfg, dice, monkeypatch) for turn in range(300))
    assert compared > 100


def make(folder: Path) -> Path:
    folder.mkdir()
    return folder


def compare(tree: Tree, cfg: Any, dice: random.Random, monkeypatch: pytest.MonkeyPatch) -> bool:
    """One throw: both agree, or both refuse. True when there was a host to compare."""
    monkeypatch.setenv("HOME", str(tree.home))
    for path in ("nova.conf", ".nova/nova.conf", ".nova/nova-compute.conf", ".nova/nova.conf.d/b.conf"):
        if dice.random() < 0.4:
            tree.write(f"~/{path}", throw(dice))
    arguments = []
    for number in range(dice.choice((0, 0, 1, 2))):
        arguments += ["--config-file", tree.write(f"{number}.conf", throw(dice))]
    expected = ask_oslo(cfg, arguments)
    found, refusal = ask_ours(tree, arguments)
    if found is None:
        assert expected is None or re.search("refers to|is empty", refusal), (expected, refusal)
        return False
    assert found == expected
    return True


def ask_ours(tree: Tree, arguments: list[str]) -> tuple[str | None, str]:
    try:
        return tree.host(*arguments), ""
    except BadConfiguration as refusal:
        return None, str(refusal)


def throw(dice: random.Random) -> str:
    lines = re.split(r"[|\n]", LINES)
    return "\n".join(["[DEFAULT]", *(dice.choice(lines) for _ in range(dice.randrange(4)))])


def ask_oslo(cfg: Any, arguments: list[str]) -> str | None:
    conf = cfg.ConfigOpts()
    options = [
        cfg.StrOpt("host", default=NAME),
        cfg.StrOpt("my_ip", default="10.9.9.9"),
        cfg.StrOpt("domain"),
    ]
    conf.register_opts(options)
    try:
        conf(arguments, project="nova", prog="nova-compute")
        return str(conf.host)
    except Exception:
        return None

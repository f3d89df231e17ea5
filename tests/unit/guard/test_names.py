# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import random

import pytest

from ocf_agents.guard import names

ODD = [
    ".",
    "..",
    "...",
    "",
    "name:0",
    "name:1",
    "name%3A0",
    "a/b",
    "../a",
    "/",
    "A",
    "a",
    ".a",
    "%2Ea",
    "a~b",
    "é",
    "e\u0301",
    "\udcff",
    "x" * 300,
    "x" * 301,
    "a.json",
    "a.lock",
    "a.json.new",
    "-",
    "nul\0",
    "n\nl",
]


def files(instance: str) -> set[str]:
    made = {names.record(instance), names.lock(instance), names.flag(instance), names.history(instance)}
    return made | {names.history(instance) + ".1", names.record(instance) + ".new"}


@pytest.mark.parametrize("instance", ODD)
def test_every_name_is_a_legal_file_name_in_the_directory_itself(instance: str) -> None:
    for name in files(instance):
        assert name == os.path.basename(name)
        assert name not in ("", ".", "..")
        assert not name.startswith(".")
        assert name.isascii()
        assert name.isprintable()
        assert len(name + ".bad-20261130T112323Z-abcdef") <= 255


def test_no_two_instances_share_a_file() -> None:
    generator = random.Random(2)
    alphabet = "aA.%:~/_-0é"
    instances = {"".join(generator.choices(alphabet, k=generator.randint(0, 7))) for _ in range(4000)}
    instances |= {"".join(generator.choices("aé:", k=generator.randint(150, 260))) for _ in range(500)}
    instances |= set(ODD)
    instances |= {names.stem(instance) for instance in instances}
    taken: dict[str, str] = {}
    for instance in instances:
        for name in files(instance):
            assert taken.setdefault(name, instance) == instance


def test_a_plain_name_stays_readable() -> None:
    assert names.record("nova-compute") == "nova-compute.json"
    assert names.record("nova-compute:0") == "nova-compute%3A0.json"

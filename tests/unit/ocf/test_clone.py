# SPDX-License-Identifier: Apache-2.0
"""What Pacemaker says of a clone."""

from __future__ import annotations

import pytest

from ocf_agents.ocf.clone import Clone

M = "OCF_RESKEY_CRM_meta_"


def test_a_resource_that_is_no_clone_has_no_number() -> None:
    clone = Clone({})
    assert clone.number is None
    assert (clone.is_promotable, clone.is_unique, clone.notifies, clone.most) == (False, False, False, 0)


def test_an_instance_knows_its_number_and_its_siblings() -> None:
    told = {
        "clone": "2",
        "clone_max": "3",
        "clone_node_max": "1",
        "globally_unique": "true",
        "notify": "true",
    }
    clone = Clone({M + name: value for name, value in told.items()})
    assert (clone.number, clone.most, clone.most_on_node) == (2, 3, 1)
    assert clone.is_unique
    assert clone.notifies
    assert not clone.is_promotable


@pytest.mark.parametrize("word", ["promoted", "master"])
def test_promotable_is_understood_in_new_words_and_old(word: str) -> None:
    clone = Clone({M + "clone": "0", M + f"{word}_max": "2", M + f"{word}_node_max": "1"})
    assert clone.is_promotable
    assert (clone.most_promoted, clone.most_promoted_on_node) == (2, 1)


@pytest.mark.parametrize("word", ["true", "yes", "on", "y", "Y", "1"])
def test_a_flag_is_read_as_pacemaker_reads_its_own(word: str) -> None:
    assert Clone({M + "notify": word}).notifies


def test_nonsense_is_no_clone() -> None:
    clone = Clone({M + "clone": "-1", M + "clone_max": "many", M + "notify": "perhaps"})
    assert (clone.number, clone.most, clone.notifies) == (None, 0, False)

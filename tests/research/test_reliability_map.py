"""What `reliability` states is what was learnt, from the corpora that were to be used for it and from no others."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import reliability as checked
import reliability_map as script
from private_topics.audit import reliability as module

PAGE = Path(__file__).parents[2] / "research" / "results" / "reliability_map.md"


@pytest.mark.parametrize("name", ["WORD_MAP", "TOPIC_MAP"])
def test_the_map_is_the_one_that_was_learnt(name: str) -> None:
    found = re.search(rf"^    {name} = (.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    assert tuple(map(float, found[1].split(","))) == getattr(module, name)


def test_nothing_was_learnt_on_what_it_is_checked_on() -> None:
    assert {case.corpus for case in script.CASES}.isdisjoint({case.corpus for case in checked.CASES})
    assert set(script.SEEDS).isdisjoint(range(checked.FITS))


def test_a_map_that_made_the_shares_is_found_again() -> None:
    features = np.random.default_rng(0).normal(size=(400, 2))
    wanted = -0.3, 0.8, 1.5
    shares = 1.0 / (1.0 + np.exp(-(wanted[0] + features @ np.array(wanted[1:]))))
    np.testing.assert_allclose(script.learnt(features, shares), wanted, atol=0.02)
    stated = module.chances(features, wanted)
    assert (stated <= shares).all(), "rounded down"
    assert (shares - stated < 0.01 + 1e-9).all()

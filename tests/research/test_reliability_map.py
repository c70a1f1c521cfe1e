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


def made_up(corpus: str, seed: int, harder: float) -> script.Seen:
    """A model whose topics and words come again as a map says, that of its corpus being harder than another."""
    random = np.random.default_rng(seed)
    topics, words = random.normal(1.0, 2.0, (60, 3)), random.normal(1.0, 2.0, (600, 5))
    topics_again = 1.0 / (1.0 + np.exp(-(topics @ [1.0, 0.5, 0.5] - harder)))
    words_again = 1.0 / (1.0 + np.exp(-(words @ [1.0, 0.5, 0.0, 0.5, 0.5] - harder)))
    case = checked.Case(corpus, "train", 1_000, 1.0)
    return script.Seen(case, topics, topics_again, words, words_again, True, topics_again, 0.9)


@pytest.mark.slow
def test_a_harder_corpus_makes_it_cautious() -> None:
    alike = [made_up(name, seed, 0.0) for seed, name in enumerate("abc")]
    mixed = [*alike[:2], made_up("c", 2, 3.0)]
    for what in script.KINDS:
        assert script.caution_for(alike, what) == 0.0
        caution = script.caution_for(mixed, what)
        assert caution > 0.0
        assert script.called(mixed, mixed[2:], what, caution)[0].mean() >= module.RELIABLE
        assert script.called(mixed, mixed[2:], what, caution - 0.25)[0].mean() < module.RELIABLE
    easier = made_up("c", 3, -3.0)  # more of the same corpus must not hide that case
    easier = easier._replace(case=easier.case._replace(documents=5_000))
    assert script.caution_for([*mixed, easier], "words") > 0.0
    page = script.page(mixed, [["a", "1", "1", "1", "none", "1%", "1%", "1%", "1%"]])
    assert f"{script.caution_for(mixed, 'words'):g} for words" in page

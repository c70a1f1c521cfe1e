"""`sampler="exact"`: the law of OpenDP's integers, as a run releases them, and the versions that have another law.

No seed can be fixed. Each law is judged by three statistics at a false-alarm rate of 1e-8 each, so the three tests
of laws together fail by chance in fewer than one of ten million runs. OpenDP 0.12.0 and 0.14.1, whose rational
division is wrong, were judged by the same functions: p < 1e-90 over the cells and p < 1e-20 for neighbours.
"""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest, chi2

from private_topics import BudgetLedger, PrivateSpectralLDA, make_lda_corpus
from private_topics.errors import PrivacyError
from private_topics.privacy import randomness
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.mechanisms import PrivateRun, Query
from private_topics.privacy.randomness import FIRST_OPENDP, discrete_gaussian, discrete_laplace

FALSE_ALARM = 1e-8
FEWEST = 100
"""Draws that a cell is expected to hold; all cells beyond those are one tail."""


def gaussian_release(count: int, ratio: float) -> np.ndarray:
    """Integers that a run with the exact sampler adds to zeros, where its noise is `ratio` steps wide."""
    run = PrivateRun(PrivacyBudget(1.0, 1e-6), sampler="exact")
    step = run.sigma(Query("coarse", "vector", 1.0, 1.0, "page"), 1.0) / ratio
    released = run.release(Query("coarse", "vector", 1.0, step, "page"), np.zeros(count, np.int64), 1.0)
    return np.rint(released.value / step).astype(np.int64)


def p_values(sample: np.ndarray, weights: np.ndarray) -> dict[str, float]:
    """P-values of a sample, where the integer k from -m to m has the probability weights[k + m]: by name, the least.

    "cells": chi-squared over all cells, the two tails among them. "tails": each tail's number of draws, which is
    binomial. "neighbours": how the draws in two cells next to each other are divided between them, which is binomial
    too; times the number of such pairs (Bonferroni).
    """
    law = weights / weights.sum()
    reach = len(law) // 2
    common = np.flatnonzero(sample.size * law >= FEWEST)
    first, last = common[0], common[-1]
    inside = law[first : last + 1]
    seen = np.bincount(np.clip(sample + reach, first - 1, last + 1) - first + 1, minlength=len(inside) + 2)
    expected = sample.size * np.array([law[:first].sum(), *inside, law[last + 1 :].sum()])
    statistic = float(np.sum((seen - expected) ** 2 / expected))
    tails = [binomtest(int(seen[end]), sample.size, expected[end] / sample.size).pvalue for end in (0, -1)]
    neighbours = [
        binomtest(int(seen[k]), int(seen[k] + seen[k + 1]), expected[k] / (expected[k] + expected[k + 1])).pvalue
        for k in range(1, len(inside))
    ]
    return {
        "cells": float(chi2.sf(statistic, len(expected) - 1)),
        "tails": 2 * min(tails),
        "neighbours": len(neighbours) * min(neighbours),
    }


def gaussian_weights(ratio: float) -> np.ndarray:
    return np.exp(-0.5 * (np.arange(-math.ceil(30 * ratio), math.ceil(30 * ratio) + 1) / ratio) ** 2)


def laplace_weights(ratio: float) -> np.ndarray:
    return np.exp(-np.abs(np.arange(-math.ceil(200 * ratio), math.ceil(200 * ratio) + 1)) / ratio)


@pytest.mark.statistical
@pytest.mark.parametrize("ratio", [5.3, 8.5])
def test_a_run_with_the_exact_sampler_adds_the_discrete_gaussian(ratio: float) -> None:
    found = p_values(gaussian_release(200_000, ratio), gaussian_weights(ratio))
    assert min(found.values()) > FALSE_ALARM, found


@pytest.mark.statistical
def test_a_draw_of_the_exact_sampler_is_the_discrete_laplace() -> None:
    found = p_values(discrete_laplace(200_000, 3.0), laplace_weights(3.0))
    assert min(found.values()) > FALSE_ALARM, found


@pytest.mark.statistical
@pytest.mark.parametrize("wrong", [{"cells", "neighbours"}, {"tails"}], ids=["one cell", "a tail"])
def test_the_statistics_see_a_wrong_law(wrong: set[str]) -> None:
    """Of the draws in one cell a tenth moves to the next one; of those in the upper tail half are cut off."""
    ratio, count = 5.3, 200_000
    weights = gaussian_weights(ratio)
    support = np.arange(len(weights)) - len(weights) // 2
    sample = np.random.default_rng(0).choice(support, count, p=weights / weights.sum())
    assert min(p_values(sample, weights).values()) > 1e-4
    if "tails" in wrong:
        (far,) = np.nonzero(sample > 3.2 * ratio)
        sample[far[::2]] = 0
    else:
        (cell,) = np.nonzero(sample == 6)
        sample[cell[::10]] = 7
    found = p_values(sample, weights)
    assert max(found[name] for name in wrong) < FALSE_ALARM


# -- versions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("installed", ["0.9.0", "0.12.1", "0.14.1", "0.14"])
def test_a_version_with_a_wrong_law_is_refused_before_anything_is_charged(
    installed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(randomness, "version", lambda name: installed)
    ledger = BudgetLedger(10.0, 1e-3)
    X, _, _ = make_lda_corpus(100, 20, 2, random_state=0)
    with pytest.raises(PrivacyError, match=rf"needs OpenDP 0\.14\.2 or later, and {installed} is installed"):
        PrivateSpectralLDA(2, delta=1e-4, sampler="exact", ledger=ledger).fit(X)
    assert ledger.spent == ()
    for draw in (discrete_gaussian, discrete_laplace):
        with pytest.raises(PrivacyError, match=r"0\.14\.2 or later"):
            draw(1, 3.0)


@pytest.mark.parametrize("installed", ["0.14.2", "0.15.0", "0.16.0", "1.0.0"])
def test_later_versions_are_taken(installed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(randomness, "version", lambda name: installed)
    randomness.require_opendp()


def test_the_package_asks_for_the_versions_that_it_takes() -> None:
    root = Path(__file__).resolve().parents[2]
    extras = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert extras["exact"] == [f"opendp>={'.'.join(map(str, FIRST_OPENDP))}"]

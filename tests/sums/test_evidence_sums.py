"""What a document adds to the evidence, number by number from the proof page, and what is made of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from private_support import corpus_of_units
from private_topics import SpectralLDA, evidence_of, make_lda_corpus
from private_topics.corpus.counts.matrix import validate_counts
from private_topics.inference.fold_in import fold_in
from private_topics.releases.evidence import COVERAGE, NoisyEvidence, all_deviations, deviations, judged, limit_of
from private_topics.sums.evidence import BESIDE, HALF, LOSSES, SIXTEENTH, Agreement, dealt

STEP = 2.0**-40
WORDS, TOPICS = 7, 3
DRAWN = np.random.default_rng(0)
BETA = DRAWN.dirichlet(np.full(WORDS - 1, 0.3), TOPICS)
BETA = np.hstack([BETA, np.zeros((TOPICS, 1))])  # the last word is in no topic
PRIOR = np.array([0.4, 0.1, 0.25])
MEAN = PRIOR @ BETA / PRIOR.sum()
DOCUMENTS = [
    {0: 9, 1: 3, 5: 2}, {2: 30, 3: 1}, {0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1}, {6: 12, 0: 4}, {1: 2000, 4: 70},
    {3: 1}, {},
]  # fmt: skip


def weights_of(counts: np.ndarray) -> np.ndarray:
    words = np.flatnonzero(counts)
    found, _ = fold_in(
        np.array([0, len(words)]), words, counts[words].astype(float), np.ascontiguousarray(BETA.T), PRIOR
    )
    result: np.ndarray = found[0] / found[0].sum()
    return result


def by_hand(document: dict[int, int], coins: int) -> np.ndarray:
    """The bracket of the proof page over its norm, in floating point; zero if one part has no token."""
    row = np.array([document.get(word, 0) for word in range(WORDS)])
    counts = validate_counts(np.array([row, np.ones(WORDS, int)]))
    second = np.zeros(WORDS, int)
    held = dealt(counts.indptr, counts.indices, counts.data, coins)[: counts.indptr[1]]
    second[counts.indices[: counts.indptr[1]]] = held
    first = row - second
    size = 2 * TOPICS**2 + 3 * TOPICS + 3
    if not first.sum() or not second.sum():
        return np.zeros(size)
    usual, parts = PRIOR / PRIOR.sum(), []
    for part in (first, second):
        apart = weights_of(part) - usual
        parts.append(apart / max(math.sqrt(apart @ apart), 0.3))
    theta = weights_of(first)
    gain, losses = 0.0, np.zeros(TOPICS)
    for word in np.flatnonzero(second):
        mixture, part = theta @ BETA[:, word], second[word] / second.sum()
        gain += part * math.log((mixture + 1e-280) / (MEAN[word] + 1e-280))
        for topic in range(TOPICS):
            without = mixture - theta[topic] * (BETA[topic, word] - MEAN[word])
            losses[topic] += part * math.log((mixture + 1e-280) / (max(without, 0.0) + 1e-280))
    losses *= 0.5 / max(np.linalg.norm(losses), 0.5)
    products = np.outer(*parts)
    numbers = [products.ravel(), 0.3 * products.ravel() ** 2, 0.3 * parts[0], 0.3 * parts[1], losses]
    beside = [0.3 * min(max(gain / 0.5, -1.0), 1.0), products.trace(), 0.3]
    result: np.ndarray = np.concatenate([*numbers, beside])
    return (1.0 - 1e-9) * result / math.sqrt(2.0 + 0.25 + 5.0 * 0.09)


def total(units: Any, coins: int) -> np.ndarray:
    summed = Agreement(np.ascontiguousarray(BETA.T), PRIOR, MEAN, coins, STEP)
    found: np.ndarray = corpus_of_units(units, WORDS).total(summed)[0]
    return found * STEP


@pytest.mark.parametrize("coins", [HALF, SIXTEENTH])
@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_a_document_adds_what_the_proof_says(document: dict[int, int], coins: int) -> None:
    others = [({0: 1},), ({3: 1},)]  # of one token: they add nothing
    assert total([*others, (document,)], coins) == pytest.approx(by_hand(document, coins), rel=3e-10, abs=2e-12)


def test_these_documents_add_something_everywhere() -> None:
    found = np.abs([by_hand(document, HALF) for document in DOCUMENTS])
    assert (found.max(axis=0) > 1e-3).all()
    assert not found[5].any()


def test_the_documents_of_a_user_share_one_contribution() -> None:
    alone = by_hand(DOCUMENTS[0], HALF) + by_hand(DOCUMENTS[1], HALF)
    assert total([({0: 1},), (DOCUMENTS[0], DOCUMENTS[1])], HALF) == pytest.approx(alone / 2.0, rel=3e-10, abs=4e-12)


# -- what the released averages say ----------------------------------------------------------------------------------

NOISE = 0.02


def noisy(**other: Any) -> NoisyEvidence:
    values: dict[str, Any] = {
        "products": np.array([[0.2, 0.05, 0.01], [0.03, 0.4, 0.02], [0.0, 0.07, 0.3]]),
        "first": np.array([0.3, -0.1, 0.2]),
        "second": np.array([0.25, -0.2, 0.1]),
        "squares": np.array([[0.09, 0.01, 0.02], [0.03, 0.2, 0.04], [0.05, 0.06, 0.15]]),
        "losses": np.array([0.1, 0.2, 0.05]),
        "gain": 0.3,
        "agreement": 0.85,
        "tested": 0.8,
        "noise": NOISE,
        "n_units": 50,
    }
    return NoisyEvidence(**values | other)


@pytest.mark.parametrize("group", [(0,), (1,), (0, 2), (2, 1)])
def test_deviations_are_those_of_the_covariance_of_a_group(group: tuple[int, ...]) -> None:
    """Noise of the release, of the product of two noisy means, and of sampling: docs/proofs/evidence.md."""
    found, size = noisy(), len(group)
    first, second = (sum(float(means[i]) for i in group) for means in (found.first, found.second))
    own = sum(float(found.products[i, j]) for i in group for j in group) - first * second / 0.8
    of_means = size * (NOISE / 0.3) ** 2
    squares = sum(float(found.squares[i, j]) for i in group for j in group) + 2.0 * size * NOISE / 0.3
    variance = (size * NOISE) ** 2 + size**2 * squares / 50
    variance += ((first**2 + second**2) * of_means + of_means**2) / 0.8**2
    variance += (first * second / 0.8**2 * NOISE / 0.3) ** 2
    assert deviations(found, group) == pytest.approx(own / math.sqrt(variance))


def test_deviations_of_all_topics_are_those_of_their_sum() -> None:
    """It was released by itself: no sum of noisy products."""
    found = noisy()
    both = sum(float(found.first[i] * found.second[i]) for i in range(3))
    means = float(sum(found.first[i] ** 2 + found.second[i] ** 2 for i in range(3))) * (NOISE / 0.3) ** 2
    means = (means + 3.0 * (NOISE / 0.3) ** 4) / 0.8**2 + (both / 0.8**2 * NOISE / 0.3) ** 2
    assert all_deviations(found) == pytest.approx((0.85 - both / 0.8) / math.sqrt(NOISE**2 + means + 1.0 / 50))


@pytest.mark.parametrize("tested", [-3.0, 0.0, 0.01])
def test_a_part_that_noise_hides_divides_by_no_less_than_its_noise(tested: float) -> None:
    found = noisy(tested=tested)
    for one in (all_deviations(found), deviations(found, (1,))):
        assert one == pytest.approx(all_deviations(noisy(tested=NOISE / 0.3)) if one == all_deviations(found)
                                    else deviations(noisy(tested=NOISE / 0.3), (1,)))  # fmt: skip


def test_squares_below_zero_are_noise_and_count_as_none() -> None:
    found = noisy(squares=np.full((3, 3), -5.0))
    noise = NOISE / 0.3
    of_means = ((0.3**2 + 0.25**2) * noise**2 + noise**4) / 0.8**2 + (0.075 / 0.8**2 * noise) ** 2
    assert deviations(found, (0,)) == pytest.approx((0.2 - 0.075 / 0.8) / math.sqrt(NOISE**2 + of_means))


def test_intervals_hold_the_noise_nine_times_in_ten() -> None:
    assert COVERAGE == 0.9
    found = judged(noisy(), [(0, 2), (1,)])
    assert found.losses == pytest.approx([0.15, 0.2])
    assert found.losses_high - found.losses == pytest.approx(
        [1.6449 * NOISE * math.sqrt(2.0), 1.6449 * NOISE], rel=1e-4
    )
    assert found.losses - found.losses_low == pytest.approx(found.losses_high - found.losses)
    of_gain = 1.6449 * NOISE / 0.3 * 0.5
    assert (found.gain_low, found.gain_high) == pytest.approx((0.3 - of_gain, 0.3 + of_gain), rel=1e-4)


def test_the_sentence_says_how_much_easier_words_are_to_foretell() -> None:
    assert "26 % easier" in judged(noisy(gain=0.3), [(1,), (2,)]).sentence  # 1 - exp(-0.3)


def test_one_corpus_in_a_hundred_may_show_a_topic_that_is_not_there() -> None:
    assert limit_of(10) == pytest.approx(3.0902, abs=1e-4)  # the normal quantile of 0.999


def test_a_release_is_in_nats_per_word() -> None:
    """Averages of the two documents, which are half of the corpus each; with hardly any noise."""
    model = SpectralLDA(TOPICS).fit(make_lda_corpus(200, WORDS, TOPICS, random_state=0)[0])
    model.components_, model.doc_topic_prior_ = BETA, PRIOR
    counts = np.array([[document.get(word, 0) for word in range(WORDS)] for document in DOCUMENTS[:2]] * 2_000)
    found = evidence_of(model, counts, epsilon=100.0, public_model=True, noise_seed=0).evidence
    exact = sum(by_hand(document, HALF) for document in DOCUMENTS[:2]) / 2.0 * math.sqrt(2.7)
    assert found.gain_high - found.gain_low < 1e-3
    assert found.gain == pytest.approx(exact[-3] / 0.3 * 0.5, abs=2e-3)
    assert found.losses == pytest.approx(exact[-3 - TOPICS : -3], abs=2e-3)
    assert abs(exact[-3]) > 0.05


def test_the_parts_have_their_weights() -> None:
    assert (LOSSES, BESIDE) == (0.5, 0.3)

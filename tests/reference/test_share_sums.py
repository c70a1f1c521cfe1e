"""The sum behind the shares of classes, integer by integer, against the reference."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from private_support import corpus_of_units
from private_topics.inference.fold_in import fold_in
from private_topics.sums.class_shares import ClassProportions
from reference import class_shares
from reference.corpora import CORPORA, N_WORDS
from reference.refinement import posterior

TOPICS = np.array(
    [[0.4, 0.3, 0.1, 0.1, 0.06, 0.04], [0.05, 0.05, 0.2, 0.3, 0.2, 0.2], [0.2, 0.1, 0.1, 0.1, 0.1, 0.4]]
)
PRIOR = np.array([0.3, 0.7, 0.1])
N_CLASSES, ROUNDS, STEP = 3, 12, 2.0**-30
OPEN = 0.03  # of the entries may lie so close to an integer that float64 decides


def classified(units):
    """Classes in turn, with documents of none among them; users whose documents are of several."""
    places = [0, 1, None, 2, 1, 0, 0]
    numbers = iter(range(10_000))
    return [[(document, places[next(numbers) % len(places)]) for document in unit] for unit in units]


def columns(units):
    """Documents as the library has them: behind the words a column for each class."""
    return [
        [{**document, **({} if place is None else {N_WORDS + place: 1})} for document, place in unit]
        for unit in units
    ]


def gammas_of(units):
    """A posterior for each document, by itself."""
    found = []
    for unit in units:
        for document, _ in unit:
            words = np.array(sorted(document), np.int32)
            counts = np.array([document[word] for word in words], np.int32)
            indptr = np.array([0, len(words)], np.int64)
            found.append(fold_in(indptr, words, counts, np.ascontiguousarray(TOPICS.T), PRIOR, ROUNDS)[0][0])
    return found


@pytest.mark.parametrize("name", CORPORA)
def test_shares_of_classes_are_those_of_the_reference(name):
    units = classified(CORPORA[name])
    corpus = corpus_of_units(columns(units), N_WORDS + N_CLASSES, block_documents=3)
    (found,) = corpus.total(ClassProportions(np.ascontiguousarray(TOPICS.T), PRIOR, N_CLASSES, ROUNDS, STEP))
    expected = class_shares.sums(units, gammas_of(units), N_CLASSES, Fraction(STEP))
    intervals = [entry for row in expected for entry in row]
    assert all(entry.holds(int(value)) for entry, value in zip(intervals, found.ravel(), strict=True))
    assert sum(entry.width > 0 for entry in intervals) <= max(1, OPEN * len(intervals))


@pytest.mark.parametrize("name", CORPORA)
def test_documents_are_folded_in_as_mean_field_inference_says(name):
    units = classified(CORPORA[name])
    for (document, _), gamma in zip([pair for unit in units for pair in unit], gammas_of(units), strict=True):
        meant = posterior(document, TOPICS.T.tolist(), PRIOR.tolist(), ROUNDS)[0]
        np.testing.assert_allclose(gamma, meant, rtol=2e-4, atol=1e-5 * max(meant))

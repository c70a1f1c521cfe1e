"""What the fit with public knowledge computes between its releases, against the reference."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from private_topics.inference.informed_unigram import informed_unigram
from private_topics.privacy.mechanisms import Released
from private_topics.spectral.public_basis import centred_vectors
from reference import denoising, public_basis
from reference.accountant import mu_of, sigma_of
from reference.made_fits import DELTA, FITS, INFORMED_SPLIT, KNOWN_WORDS, Fitted, knowledge
from reference.spectral import eigenpairs
from reference.watched import Pass

INFORMED = [name for name in FITS if "vectors" in name]
KNOWN = [name for name in INFORMED if name.startswith("known") and name.endswith("2000")]


def of(fit: Fitted, release: str) -> tuple[Pass, Released]:
    """The pass that served a release, and what was released."""
    return next((one, value) for one in fit.passes for value in one.released if value.name == release)


@pytest.mark.parametrize("name", INFORMED)
def test_the_public_basis_measures_deviations_from_the_unigram(name):
    """Orthonormal under the released unigram, orthogonal to it, spanned by the vectors; one column is constant."""
    fit = FITS[name]()
    released = of(fit, "unigram")[1]
    vectors = knowledge(name.split()[0])
    components = centred_vectors(vectors.vectors, np.full(KNOWN_WORDS, 1 / KNOWN_WORDS), 30)
    unigram = informed_unigram(released.value, released.sigma, vectors.log_frequencies[:, None], components)
    p = public_basis.lifted(unigram.tolist())
    frame = of(fit, "public second norms")[0].unit_sum.frame.tolist()
    assert {row[0] for row in frame} == {public_basis.COLUMN}
    columns = range(1, len(frame[0]))
    for a, b in itertools.combinations_with_replacement(columns, 2):
        assert public_basis.product(frame, p, a, b) == pytest.approx(float(a == b), abs=1e-9)
        assert public_basis.product(frame, p, a) == pytest.approx(0.0, abs=1e-9)
    for vector in vectors.vectors.T:
        middle = sum(weight * entry for weight, entry in zip(p, vector, strict=True))
        along = [public_basis.product([[*row, entry] for row, entry in zip(frame, vector, strict=True)], p, a, -1)
                 for a in (1, 2, 3)]  # fmt: skip
        for row, entry in zip(frame, vector, strict=True):
            assert sum(x * f for x, f in zip(along, row[1:4], strict=True)) == pytest.approx(entry - middle, abs=1e-9)


@pytest.mark.parametrize("name", INFORMED)
def test_the_clip_in_the_public_basis_follows_from_the_released_histogram(name):
    fit = FITS[name]()
    histogram, moment = of(fit, "public second norms")[1], of(fit, "public second moment 1")[0]
    noise = float(sigma_of(2.0, INFORMED_SPLIT.second, mu_of(fit.epsilon, DELTA))) * math.sqrt(2.0 * 3) * 2
    values = histogram.value.tolist()
    clip = denoising.best_clip(values, histogram.sigma, noise / denoising.quantile(values, 0.5), 0.1)
    assert moment.unit_sum.clip == pytest.approx(clip, rel=1e-6)


@pytest.mark.parametrize("name", KNOWN)
def test_the_spectrum_follows_from_both_releases_of_the_second_moment(name):
    fit = FITS[name]()
    (_, first), (_, second) = (of(fit, f"public second moment {number}") for number in (1, 2))
    value, sigma = public_basis.averaged(first.value.tolist(), first.sigma, second.value.tolist(), second.sigma)
    moment, noise_ = public_basis.central(value, sigma, 3)
    spectrum = fit.model.spectrum_
    assert spectrum.noise_edge == pytest.approx(noise_ * math.sqrt(2 * 3), rel=1e-9)
    values = [value for value, _ in eigenpairs(moment)]
    np.testing.assert_allclose(spectrum.eigenvalues, values, rtol=1e-9, atol=1e-9 * values[0])


@pytest.mark.parametrize("name", KNOWN)
def test_features_are_centred_and_of_mean_square_one(name):
    fit = FITS[name]()
    rows = of(fit, "features 1")[0].unit_sum.rows.tolist()
    assert {row[0] for row in rows} == {public_basis.FEATURE_CONSTANT}
    first, again = of(fit, "unigram")[1], of(fit, "unigram again")[1]
    ((noisy,), sigma) = public_basis.averaged(
        [first.value.tolist()], first.sigma, [again.value.tolist()], again.sigma
    )
    vectors = knowledge("known")
    components = centred_vectors(vectors.vectors, np.full(KNOWN_WORDS, 1 / KNOWN_WORDS), 30)
    p = public_basis.lifted(
        informed_unigram(np.array(noisy), sigma, vectors.log_frequencies[:, None], components).tolist()
    )
    columns = range(1, len(rows[0]))
    assert [public_basis.product(rows, p, a) for a in columns] == pytest.approx([0.0] * len(columns), abs=1e-9)
    assert sum(public_basis.product(rows, p, a, a) for a in columns) == pytest.approx(1.0)

"""The noise stream: the law of the integers, the certificate behind it, and that no noise is used twice."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Callable
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from randomgen import ChaCha
from scipy.special import ndtr, ndtri
from scipy.stats import chi2

from private_topics.errors import PrivacyError
from private_topics.privacy import randomness
from private_topics.privacy.randomness import (
    _GAUSSIAN,
    _LAPLACE,
    CERTIFIED_ERROR,
    TAIL,
    NoiseStream,
    _cell,
    _fill,
    _Law,
)
from private_topics.threads import limited_threads

FALSE_ALARM = 1e-6


def test_generator_is_chacha20() -> None:
    """The published key stream of ChaCha20 for the zero key."""
    words = ChaCha(key=0, rounds=20).random_raw(4)
    assert words.tobytes().hex() == "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"


def test_no_stream_relies_on_the_packages_number_of_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """SECURITY.md promises 20: so they are where the package takes fewer unless it is told."""
    words = [NoiseStream.seeded(1)._bits.random_raw(4), NoiseStream.seeded(1)._further_bits.random_raw(4)]
    monkeypatch.setattr(randomness, "ChaCha", lambda key, rounds=8: ChaCha(key=key, rounds=rounds))
    stream = NoiseStream.seeded(1)
    np.testing.assert_array_equal([stream._bits.random_raw(4), stream._further_bits.random_raw(4)], words)


def test_inverse_distribution_function_is_as_accurate_as_certified() -> None:
    """Measured against 40 digits, the error leaves a factor of five of the certificate unused."""
    uniform = np.concatenate([ndtr(-np.linspace(0.0, TAIL, 1500)), np.linspace(1e-6, 0.5, 1500)])
    uniform = np.concatenate([uniform, np.exp(-2) * (1 + np.linspace(-1e-12, 1e-12, 99))])  # branch point
    values = ndtri(uniform)
    with mpmath.workdps(40):
        worst = max(
            abs((mpmath.ncdf(mpmath.mpf(float(z))) - mpmath.mpf(float(u))) / mpmath.npdf(mpmath.mpf(float(z))))
            for u, z in zip(uniform, values, strict=True)
        )
    assert worst < CERTIFIED_ERROR / 5


@pytest.mark.parametrize("ratio", [0.3, 1.0, 1000.5, 2.0**20, 2.0**32])
def test_float_path_and_digit_path_agree(ratio: float) -> None:
    stream = NoiseStream.seeded(3)
    integers = stream.rounded_gaussian(400, ratio)
    words = NoiseStream.seeded(3)._bits.random_raw(400)
    assert [stream._decide(int(word), ratio, _GAUSSIAN) for word in words] == integers.tolist()


def test_digits_decide_far_tails_and_borders() -> None:
    digits = mpmath.MPContext()
    assert _cell(0, 64, 1, 1.0, digits) is None
    assert _cell(1, 128, 1, 2.0**20, digits) is None  # a relative width of one: more bits are needed
    tail = _cell(1 << 40, 168, 1, 2.0**20, digits)  # u = 2^-128
    assert tail is not None
    assert abs(tail - 2.0**20 * float(ndtri(2.0**-128))) <= 0.5
    assert _cell(1 << 40, 168, -1, 2.0**20, digits) == -tail
    # an interval that contains the border at -1/2 of the cells of ratio 1 stays open
    border = int(ndtr(-0.5) * 2**64)
    assert _cell(border >> 40, 24, 1, 1.0, digits) is None


def stream_of(words: list[int]) -> NoiseStream:
    stream = NoiseStream.seeded(0)
    stream._bits = SimpleNamespace(random_raw=lambda count: np.array(words, dtype=np.uint64))
    return stream


@pytest.mark.parametrize("law", [_GAUSSIAN, _LAPLACE], ids=["Gaussian", "Laplace"])
def test_draws_next_to_a_border_are_decided_by_digits(law: _Law, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ratio one, -1/2 is a border. Within 4e-14 of it, which is less than (1 + 1) E, float64 decides nothing."""
    with mpmath.workdps(40):
        half = mpmath.mpf("0.5")
        border = int((mpmath.ncdf(-half) if law is _GAUSSIAN else mpmath.exp(-half) / 2) * 2**64)
    near = [border - 2**17, border, border + 2**17, border | 1 << 63]
    stream, asked = stream_of([*near, border - 2**23, border + 2**23]), []
    monkeypatch.setattr(stream, "_decide", lambda word, ratio, law: asked.append(word) or 7)
    assert stream._rounded(6, 1.0, law).tolist() == [7, 7, 7, 7, -1, 0]
    assert asked == near


def test_float64_starts_from_the_middle_of_the_interval_as_the_proof_says() -> None:
    """(j + 1/2) 2^-64: half an interval off at most, and above zero, so that no logarithm is infinite."""
    seen: list[float] = []
    words = [0, 1, 5, 2**44, 2**52 - 1]
    stream_of(words)._rounded(len(words), 1.0, _Law(seen.extend, 1.0, lambda *_: 0))
    assert seen == [(2 * word + 1) * 2.0**-65 for word in words]


@pytest.mark.statistical
@pytest.mark.parametrize("ratio", [0.4, 1.0, 3.7])
def test_law_of_the_rounded_gaussian(ratio: float) -> None:
    """Chi-squared goodness of fit of every cell; false-alarm rate 1e-6, seed fixed."""
    count = 200_000
    sample = NoiseStream.seeded(11).rounded_gaussian(count, ratio)
    reach = int(4 * ratio) + 1
    cells = np.arange(-reach, reach + 1)
    expected = count * (ndtr((cells + 0.5) / ratio) - ndtr((cells - 0.5) / ratio))
    seen = np.array([np.count_nonzero(sample == cell) for cell in cells])
    rare = expected < 10
    statistic = np.sum((seen - expected)[~rare] ** 2 / expected[~rare])
    assert statistic < chi2.isf(FALSE_ALARM, np.count_nonzero(~rare) - 1)


@pytest.mark.statistical
def test_law_of_fine_noise() -> None:
    """The distribution function at 256 equal cells, false-alarm rate 1e-6, and the far tail is populated."""
    count, ratio = 1_000_000, 2.0**20
    sample = NoiseStream.seeded(5).rounded_gaussian(count, ratio) / ratio
    seen = np.bincount((ndtr(sample) * 256).astype(int), minlength=256)
    assert np.sum((seen - count / 256) ** 2) / (count / 256) < chi2.isf(FALSE_ALARM, 255)
    assert np.abs(sample).max() > 4.2


def test_secure_streams_differ_and_seeded_ones_do_not() -> None:
    first, second = NoiseStream(), NoiseStream()
    assert first.secure
    assert second.secure
    assert not np.array_equal(first.rounded_gaussian(50, 1e6), second.rounded_gaussian(50, 1e6))
    seeded = [NoiseStream.seeded(seed).rounded_gaussian(50, 1e6) for seed in (4, 4, 5)]
    assert np.array_equal(seeded[0], seeded[1])
    assert not np.array_equal(seeded[0], seeded[2])
    assert not NoiseStream.seeded(4).secure


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_draw_what_one_block_after_the_other_would(threads: int) -> None:
    """Far tails are decided in the order of the draws, whatever the order in which threads find them."""
    count, ratio = 1_200_000, 2.0**30
    with limited_threads(threads):
        found = NoiseStream.seeded(8).rounded_gaussian(count, ratio)
    stream, words = NoiseStream.seeded(8), NoiseStream.seeded(8)._bits.random_raw(count)
    value, out = np.empty(count, dtype=bool), np.empty(count, dtype=np.int64)
    for start in range(0, count, 1000):
        block = slice(start, start + 1000)
        value[block] = _fill(words[block], out[block], ratio, _GAUSSIAN)[2]
    assert value.sum() > 5
    for index in np.flatnonzero(value):
        out[index] = stream._decide(int(words[index]), ratio, _GAUSSIAN)
    assert np.array_equal(found, out)


def test_blocks_do_not_repeat() -> None:
    sample = NoiseStream.seeded(0).rounded_gaussian(1 << 17, 2.0**32)
    assert len(np.unique(sample)) > len(sample) - 20


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy, pickle.dumps])
def test_streams_cannot_be_copied(copier: object) -> None:
    with pytest.raises(PrivacyError, match="copied"):
        copier(NoiseStream())  # type: ignore[operator]


def test_noise_of_as_many_steps_as_the_message_allows_is_drawn() -> None:
    assert NoiseStream.seeded(0).rounded_gaussian(3, 2.0**33).shape == (3,)


@pytest.mark.parametrize("ratio", [0.0, -1.0, np.nan, np.inf, np.nextafter(2.0**33, np.inf), 2.0**34])
def test_impossible_ratios_are_refused(ratio: float) -> None:
    with pytest.raises(PrivacyError, match="lattice steps"):
        NoiseStream.seeded(0).rounded_gaussian(1, ratio)


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(
    "draw",
    [
        lambda stream: stream.rounded_gaussian(20, 1e6),
        lambda stream: stream.rounded_laplace(20, 1e6),
        lambda stream: stream.coins(160, 2**52),
    ],
    ids=["Gaussian", "Laplace", "coins"],
)
def test_a_forked_child_draws_its_own_noise(draw: Callable[[NoiseStream], np.ndarray]) -> None:
    stream = NoiseStream()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, draw(stream).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = os.read(reader, 160)
    os.close(reader)
    os.close(writer)
    ours = draw(stream).tobytes()
    assert len(theirs) == len(ours) == 160
    assert theirs != ours

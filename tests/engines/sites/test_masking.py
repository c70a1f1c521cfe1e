"""Masks cancel in the sum over all sites, and in nothing less; each masked word looks like any other.

The chi-squared tests have a false-alarm rate of 1e-9 each.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2
from site_support import names_of

pytest.importorskip("cryptography")

from private_topics.engines.sites.masking import RoundKey, added, masked, stream
from private_topics.errors import EngineError

FALSE_ALARM = 1e-9
CONTEXT = b"c" * 32
TWO = ("clinic-01", "clinic-00")


def looks_uniform(words: np.ndarray) -> bool:
    """Every byte of the words, at each of its eight places, is as frequent as any other."""
    counts = np.array([np.bincount(place, minlength=256) for place in words.view(np.uint8).reshape(-1, 8).T])
    expected = len(words) / 256
    statistic = float(((counts - expected) ** 2).sum() / expected)
    return bool(statistic < chi2.ppf(1 - FALSE_ALARM, 8 * 255))


def sent(values, context=CONTEXT):
    """What each site sends for its values, and the keys behind it."""
    keys = {name: RoundKey() for name in names_of(len(values))}
    public = {name: key.public for name, key in keys.items()}
    parts = {name: masked(value, name, keys[name], public, context) for name, value in zip(keys, values, strict=True)}
    return parts, keys, public


@pytest.mark.parametrize("count", [2, 5, 20])
def test_masks_cancel_in_the_sum(count):
    values = np.random.default_rng(count).integers(-(2**58), 2**58, (count, 37))
    parts, _, _ = sent(values)
    assert np.array_equal(added(list(parts.values())), values.sum(axis=0))


@pytest.mark.parametrize("count", [2, 5])
def test_nothing_less_than_all_shows_anything(count):
    values = np.full((count, 100_000), 7)
    parts, _, _ = sent(values)
    names = list(parts)
    for chosen in range(1, 2**count - 1):
        some = [parts[name] for bit, name in enumerate(names) if chosen >> bit & 1]
        assert looks_uniform(added(some).view(np.uint64)), chosen
    assert not looks_uniform(added(list(parts.values())).view(np.uint64))


def test_another_context_has_other_masks_which_do_not_cancel():
    values = np.zeros((2, 50_000), np.int64)
    parts, keys, public = sent(values)
    other = masked(values[1], names_of(2)[1], keys[names_of(2)[1]], public, b"d" * 32)
    assert looks_uniform(added([parts[names_of(2)[0]], other]).view(np.uint64))


def test_no_word_of_a_stream_comes_again_in_another_round():
    secret = b"s" * 32
    first, second = (stream(secret, context, TWO, 10_000) for context in (CONTEXT, b"d" * 32))
    assert not np.intersect1d(first, second).size
    assert np.array_equal(first, stream(secret, CONTEXT, TWO, 10_000))
    assert np.array_equal(first[:100], stream(secret, CONTEXT, TWO[::-1], 100))


def test_the_stream_is_chacha20_of_derived_keys():
    """RFC 5869 and RFC 8439, put together a second time from their definitions."""
    import hmac

    secret = b"a secret that two sites have in common"
    extracted = hmac.digest(CONTEXT, secret, "sha256")
    purpose = b"private-topics mask 2\nclinic-00\nclinic-01"
    first = hmac.digest(extracted, purpose + b"\x01", "sha256")
    second = hmac.digest(extracted, first + purpose + b"\x02", "sha256")
    expected = b"".join(chacha20_block(first, counter, second[:12]) for counter in range(3))
    assert stream(secret, CONTEXT, TWO, 24).astype("<u8").tobytes() == expected


def chacha20_block(key: bytes, counter: int, nonce: bytes) -> bytes:
    def quarter(a, b, c, d):
        for left, right, turn in ((a, b, 16), (c, d, 12), (a, b, 8), (c, d, 7)):
            state[left] = (state[left] + state[right]) % 2**32
            other = {(a, b): d, (c, d): b}[left, right]
            mixed = state[other] ^ state[left]
            state[other] = (mixed << turn | mixed >> (32 - turn)) % 2**32

    words = [int.from_bytes(part[i : i + 4], "little") for part in (key, nonce) for i in range(0, len(part), 4)]
    start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *words[:8], counter, *words[8:]]
    state = list(start)
    for _ in range(10):
        for column in range(4):
            quarter(column, column + 4, column + 8, column + 12)
        for column in range(4):
            quarter(column, 4 + (column + 1) % 4, 8 + (column + 2) % 4, 12 + (column + 3) % 4)
    return b"".join(((a + b) % 2**32).to_bytes(4, "little") for a, b in zip(state, start, strict=True))


def test_a_key_that_gives_no_secret_is_refused():
    with pytest.raises(EngineError, match="not a valid one"):
        RoundKey().secret(bytes(32))


def test_two_round_keys_are_never_the_same():
    assert len({RoundKey().public for _ in range(100)}) == 100

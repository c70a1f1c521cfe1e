"""No noise is used twice and none can be guessed: keys of 256 bits, one stream for all releases of a run."""

from __future__ import annotations

import secrets

import numpy as np
import pytest

from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.mechanisms import PrivateRun, Query
from private_topics.privacy.randomness import NoiseStream

QUERY = Query("vector", "vector", 1.0, 2.0**-20, "page.md")


@pytest.mark.parametrize("noise_seed", [None, 3])
def test_two_releases_of_a_run_share_no_noise(noise_seed: int | None) -> None:
    """Integers of about 2^22 values: of 100 pairs, one is equal with probability below 3e-5."""
    run = PrivateRun(PrivacyBudget(1.0, 1e-6), noise_seed=noise_seed)
    first, second = (run.release(QUERY, np.zeros(100, np.int64), 0.5).value for _ in range(2))
    assert not (first == second).any()


def test_keys_have_256_bits_of_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[int] = []
    honest = secrets.randbits

    def watched(bits: int) -> int:
        keys.append(honest(bits))
        return keys[-1]

    monkeypatch.setattr(secrets, "randbits", watched)
    streams = [NoiseStream() for _ in range(20)]
    assert len(set(keys)) == 2 * len(streams)
    assert min(key.bit_length() for key in keys) > 200  # below with probability 40 · 2^-56
    for index, stream in enumerate(streams):
        for generator, key in zip((stream._bits, stream._further_bits), keys[2 * index :], strict=False):
            words = [int(word) for word in generator.state["state"]["keysetup"]]
            assert sum(word << 32 * place for place, word in enumerate(words)) == key


def test_a_copy_made_by_a_fork_asks_for_keys_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    honest = secrets.randbits
    stream = NoiseStream()
    before = stream.rounded_gaussian(20, 1e6)
    monkeypatch.setattr(secrets, "randbits", lambda bits: asked.append(bits) or honest(bits))  # type: ignore[func-returns-value]
    stream._process = -1
    assert not np.array_equal(stream.rounded_gaussian(20, 1e6), before)
    assert asked == [256, 256]

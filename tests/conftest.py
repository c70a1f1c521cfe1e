"""Settings and corpora shared by the tests."""

import gzip
import json
import os
import signal
from pathlib import Path

os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")  # its handlers break processes that are started beside it

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from private_topics.privacy.ledger.unledgered import UNLEDGERED
from private_topics.privacy.randomness import NoiseStream

# The first call of a kernel compiles it, and the machine may be busy; examples come from a fixed sequence, so a
# failure is a failure everywhere.
settings.register_profile(
    "private-topics", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("private-topics")

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as in the background of a shell
    signal.signal(signal.SIGINT, signal.default_int_handler)

UNLEDGERED.warned = True  # the tests fit many times without a ledger; those of the warning count for themselves

STEMS = {"arxiv": "arxiv_abstracts", "wikipedia": "wikipedia_en"}


def data_folder() -> Path:
    """Folder of the real corpora: $PRIVATE_TOPICS_DATA, or shared/data beside the repository."""
    named = os.environ.get("PRIVATE_TOPICS_DATA")
    return Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def real_counts():
    """`real_counts(name)`: training and test counts of a real corpus, vectorised once per session."""
    from sklearn.feature_extraction.text import CountVectorizer

    ready = {}

    def texts(name, part):
        path = data_folder() / f"{STEMS[name]}.{part}.jsonl.gz"
        if not path.exists():
            pytest.skip(f"needs the corpus {path.name}: put it into {path.parent} or set $PRIVATE_TOPICS_DATA")
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            return [json.loads(line)["text"] for line in lines]

    def counts(name):
        if name not in ready:
            vectorizer = CountVectorizer(max_features=3000, stop_words="english", token_pattern="[a-z]{3,}", min_df=5)
            train = vectorizer.fit_transform(texts(name, "train"))
            ready[name] = train, vectorizer.transform(texts(name, "test"))
        return ready[name]

    return counts


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of all draws of Gaussian noise."""
    sizes: list[int] = []
    honest = NoiseStream.rounded_gaussian

    def watched(stream: NoiseStream, count: int, ratio: float) -> np.ndarray:
        sizes.append(count)
        return honest(stream, count, ratio)

    monkeypatch.setattr(NoiseStream, "rounded_gaussian", watched)
    return sizes

"""One small corpus and all sums over it, for every engine; and sums that misbehave, which the executors import."""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from private_topics.corpus.counts import counting
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.engines.spark.session import Broadcasts
from private_topics.fits.choice import FITS
from private_topics.sums import unit_sums
from private_topics.sums.cross_moment import ClippedCross
from private_topics.sums.evidence import SIXTEENTH, Agreement, Learnt
from private_topics.sums.features import FeatureStatistic
from private_topics.sums.frame_second import ClippedFrameSecond, PairNormHistograms, deviations_from
from private_topics.sums.unit_sums import UnitSum

N_DOCUMENTS, N_WORDS = 600, 60
SECRET = "Maria Petrova of ward seven"


# -- the corpus -----------------------------------------------------------------------------------------------------


def counts() -> Any:
    from private_support import uneven_counts  # executors, which import this module, have no such one

    return uneven_counts(N_DOCUMENTS, N_WORDS, 3)


@cache
def users() -> np.ndarray:
    return np.random.default_rng(1).zipf(1.5, N_DOCUMENTS) % 150


@cache
def shuffled() -> np.ndarray:
    return np.random.default_rng(2).permutation(N_DOCUMENTS)


def frame_of(spark: Any, partitions: int) -> Any:
    """The documents, shuffled, as a DataFrame of arrays with the user beside."""
    X, labels = counts(), users()
    rows = [
        (X.indices[start:stop].tolist(), X.data[start:stop].tolist(), f" user {labels[row]}")
        for row in shuffled()
        for start, stop in [X.indptr[row : row + 2]]
    ]
    schema = "indices array<int>, counts array<int>, user string"
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, partitions), schema)


@cache
def every_unit_sum() -> dict[str, UnitSum]:
    """One object of each kind of sum, with public inputs as a fit would have them."""
    words = np.arange(0, N_WORDS, 2)
    generator = np.random.default_rng(3)
    frame = np.linalg.qr(generator.normal(size=(len(words), 5)))[0] * 3.0
    topics, weights = generator.dirichlet(np.ones(N_WORDS), 4), np.geomspace(1.0, 70.0, N_WORDS)
    step = 2.0**-30
    made = [
        unit_sums.NormedCounts(N_WORDS, step),
        unit_sums.PairNormHistogram(words, step),
        PairNormHistograms(words, np.full(len(words), 1.0 / N_WORDS), step),
        ClippedFrameSecond(words, deviations_from(np.full(len(words), 1.0 / N_WORDS)), N_DOCUMENTS, 0.05, step, step),
        ClippedCross(generator.normal(size=(N_WORDS, 5)), 0.05, step),
        unit_sums.ClippedPairs(words, 0.05, step, step),
        unit_sums.FrameNormHistograms(words, frame, step),
        unit_sums.ClippedFrameMoments(words, frame, N_DOCUMENTS, 0.1, 0.1, step, step, step),
        unit_sums.TopicStatistic(None, np.ascontiguousarray(topics.T), weights, np.full(4, 0.25), step),
        FeatureStatistic(np.ascontiguousarray(topics.T), np.full(4, 0.25), generator.normal(size=(N_WORDS, 3)), step),
    ]
    inside = np.ascontiguousarray(topics.T[words]), weights[words]
    some = unit_sums.TopicStatistic(words, *inside, np.full(4, 0.25), step)
    rest = np.vstack([frame, -np.ones(5)])  # with a row for all other words
    more = {
        "TopicStatistic on some words": some,
        "Learnt": Learnt(some),
        "Agreement": Agreement(
            np.ascontiguousarray(topics.T), np.full(4, 0.25), topics.mean(axis=0), SIXTEENTH, step
        ),
        "FrameNormHistograms with a rest": unit_sums.FrameNormHistograms(words, rest, step),
        "ClippedFrameMoments with a rest": unit_sums.ClippedFrameMoments(
            words, rest, N_DOCUMENTS, 0.1, 0.1, step, step, step
        ),
    }
    return {type(one).__name__: one for one in made} | more


def kinds_of_sums() -> set[str]:
    """The names of all sums that a fit on any engine may ask for."""
    fits = [fit for fit in FITS.values() if fit.any_engine and fit.model is not None]
    return {release.unit_sum.__name__ for fit in fits for release in fit.releases} | {
        kind.__name__ for fit in fits if fit.tested for kind in (Learnt, Agreement)
    }


def fitted(X: Any, groups: Any = None, **settings: Any) -> Any:
    from private_topics import PrivacyWarning, PrivateSpectralLDA

    model = PrivateSpectralLDA(
        **(
            {"n_components": 3, "epsilon": 100.0, "delta": 1e-4, "alpha0": 0.1, "refine_steps": 1, "noise_seed": 3}
            | settings
        )
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return model.fit(X, groups=groups)


def assert_kind_alone(error: Exception, capfd: Any, executor_logs: Any) -> None:
    """Nothing that is written anywhere, or hangs on the error, says more of a failed task than the error's kind."""
    assert error.__cause__ is None
    assert error.__context__ is None
    captured = capfd.readouterr()
    written = str(error) + captured.out + captured.err + executor_logs()
    assert "ValueError in a task of private-topics" in written, "the logs are not where the test looks"
    assert SECRET not in written


# -- sums that misbehave --------------------------------------------------------------------------------------------


def once(folder: str, name: str) -> bool:
    """True for the first process on this machine that asks."""
    try:
        Path(folder, name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


@dataclass(frozen=True)
class Wrapped:
    """Another sum, with something done before each part."""

    inner: UnitSum
    folder: str = ""

    def zeros(self) -> tuple[np.ndarray, ...]:
        return self.inner.zeros()

    def add(self, part: Any, totals: tuple[np.ndarray, ...]) -> None:
        self.inner.add(part, totals)
        self.disturb()

    def disturb(self) -> None:
        raise NotImplementedError


class KillsItsWorker(Wrapped):
    """After one part is added, the Python process of the task is gone, once."""

    def disturb(self) -> None:
        if once(self.folder, "worker"):
            os.kill(os.getpid(), signal.SIGKILL)


class KillsItsExecutor(Wrapped):
    """After one part is added, the executor with all its processes and parts is gone, once."""

    def disturb(self) -> None:
        if once(self.folder, "executor"):
            os.kill(parent_of(os.getppid()), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)


class Straggles(Wrapped):
    """The first process that comes here never ends by itself; all leave a note with the number of their attempt."""

    def disturb(self) -> None:
        from pyspark import TaskContext

        context = TaskContext.get()
        Path(self.folder, f"partition {context.partitionId()} attempt {context.attemptNumber()}").touch()
        if once(self.folder, "straggler"):
            time.sleep(1e5)


class Fails(Wrapped):
    """Every attempt fails, with a message that quotes a document."""

    def disturb(self) -> None:
        from pyspark import TaskContext

        Path(self.folder, f"attempt {TaskContext.get().attemptNumber()}").touch()
        raise ValueError(SECRET)


def parent_of(process: int) -> int:
    """The parent of a process: of Spark's Python daemon, the executor."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


@dataclass(frozen=True)
class Large:
    """A sum of many numbers, not all of them zero: what each tile holds is known."""

    lengths: Sequence[int]

    def zeros(self) -> tuple[np.ndarray, ...]:
        return tuple(np.zeros(length, np.int64) for length in self.lengths)

    def add(self, part: Any, totals: tuple[np.ndarray, ...]) -> None:
        for number, array in enumerate(totals, start=1):
            array += number * len(part.lengths)


# -- texts ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FailsOnSecrets(Tokeniser):
    """A tokeniser that cannot read one of the texts, and says so in a message that quotes it."""

    def folded(self, text: str) -> str:
        if SECRET in text:
            raise ValueError(text)
        return super().folded(text)


def refuse_to_tokenise(monkeypatch: Any) -> None:
    """In this process, and so on the driver, no text but an empty one becomes words from now on."""

    def refuse(texts: Sequence[str], tokeniser: Tokeniser) -> Any:
        assert not any(texts), "a text was cut into words on the driver"
        return number_words(texts, tokeniser)

    number_words = counting.number_words
    monkeypatch.setattr(counting, "number_words", refuse)


def sent_by(monkeypatch: Any, note: Callable[[], Any] = lambda: None) -> list[tuple[Any, Any]]:
    """Everything that is broadcast of a corpus from now on, each with what `note` said then."""
    sent: list[tuple[Any, Any]] = []
    send = Broadcasts.send

    def noted(self: Broadcasts, value: Any) -> Any:
        sent.append((value, note()))
        return send(self, value)

    monkeypatch.setattr(Broadcasts, "send", noted)
    return sent

"""No number leaves a private fit without noise, on any path.

Two kinds of test. *Noise*: with enormous noise every released number differs from its un-noised value and from that
of another noise seed, and so does every fitted attribute, on both sides of every size switch. *Taint*: the aggregates
are replaced by those of another corpus before the noise is added, so that nothing released can depend on the corpus
given to fit; whatever still differs between two corpora of equal N and d (attributes, statement, file, messages,
queries) leaks. Planted leaks are caught by the same comparison.

The noise seeds are fixed (but for the exact sampler, which takes none). Two noises are equal with probability below
4e-7 (noise of 2^20 lattice steps or more), so the exact cases, 2,000 numbers, raise a false alarm below once in 600
runs, and with fresh seeds the whole file would in less than one run in three.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import time
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from private_support import captured_releases, counts_of, replaced_aggregates
from private_topics import InputError, PrivacyWarning, PrivateSpectralLDA, make_lda_corpus
from private_topics.fits import choice, sequential
from private_topics.inference.carried import FEWEST_SPECTRAL_WORDS, MOST_SPECTRAL_WORDS, SPECTRAL_WORDS
from private_topics.releases import inside_frame
from private_topics.releases.release import FitContext
from private_topics.spectral.whitening import DENSE_LIMIT
from private_topics.sums.frame_second import PairNormHistograms

WHOLE_PATH = sum(
    release.share is not None and not release.repeated and release.in_place_of is None
    for release in sequential.RELEASES
)
IN_PLACE = {release.name: release.in_place_of for release in sequential.RELEASES if release.in_place_of}
IN_PLACE["cross moment"] = "refinement 2"


def whole_path(refine_steps: int) -> set[int]:
    """How many releases a fit makes that tests its topics: with all refinements, or one and a cross moment."""
    return {WHOLE_PATH + refine_steps + 1, WHOLE_PATH + min(refine_steps, 2) + 1}


def place_of(name: str) -> str:
    return IN_PLACE.get(name, name)


"""Releases before the refinement."""


@cache
def synthetic(n_documents: int, n_words: int, n_topics: int = 3, seed: int = 0):
    return make_lda_corpus(n_documents, n_words, n_topics, alpha0=0.1, mean_length=40, random_state=seed)[0]


@dataclasses.dataclass(frozen=True)
class Case:
    n_words: int
    epsilon: float
    refine_steps: int = 2
    n_components: int = 3
    grouped: bool = False
    blocks: bool = False
    sampler: str = "fast"
    n_documents: int = 400
    n_jobs: int | None = None
    spectral: int | None = None  # words of the spectral stage, where they matter

    def fit(self, noise_seed: int) -> tuple[list[Any], PrivateSpectralLDA]:
        X = synthetic(self.n_documents, self.n_words)
        model = PrivateSpectralLDA(
            self.n_components,
            epsilon=self.epsilon,
            delta=1e-3,
            alpha0=0.1,
            refine_steps=self.refine_steps,
            sampler=self.sampler,
            noise_seed=noise_seed if self.sampler == "fast" else None,
            n_jobs=self.n_jobs,
        )
        groups = np.arange(self.n_documents) // 3 if self.grouped else None
        with captured_releases() as seen, warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            model.fit([X[:100], X[100:]] if self.blocks else X, groups=groups)
        return seen, model


CASES = {
    "tiny epsilon": Case(60, 1e-3),
    "tiny epsilon, no refinement": Case(60, 1e-3, refine_steps=0),
    "tiny epsilon, one refinement": Case(60, 1e-3, refine_steps=1),
    "tiny epsilon, users": Case(60, 1e-3, grouped=True),
    "tiny epsilon, blocks": Case(60, 1e-3, blocks=True),
    "all words spectral, dense eigenvectors": Case(DENSE_LIMIT, 400.0, spectral=DENSE_LIMIT),
    "all words spectral, Lanczos": Case(DENSE_LIMIT + 1, 400.0, spectral=DENSE_LIMIT + 1),
    "at the size switch": Case(SPECTRAL_WORDS, 400.0, spectral=SPECTRAL_WORDS),
    "above the size switch": Case(SPECTRAL_WORDS + 1, 400.0, spectral=SPECTRAL_WORDS),
    "at the switch of a small budget": Case(FEWEST_SPECTRAL_WORDS, 0.01, spectral=FEWEST_SPECTRAL_WORDS),
    "above the switch of a small budget": Case(FEWEST_SPECTRAL_WORDS + 1, 0.01, spectral=FEWEST_SPECTRAL_WORDS),
    "many words": Case(3 * SPECTRAL_WORDS, 0.01, blocks=True, grouped=True, spectral=FEWEST_SPECTRAL_WORDS),
    "two words": Case(2, 0.1, n_components=2),
    "one word": Case(1, 0.1, n_components=1),
    "more topics than words": Case(5, 0.1, n_components=8),
    "one topic": Case(40, 1.0, n_components=1),
    "two documents": Case(20, 1.0, n_documents=2),
    "one thread": Case(60, 0.01, n_jobs=1),
    "exact sampler": Case(12, 0.1, sampler="exact"),
}
WHOLE = {
    "many supported": Case(60, 60.0, n_documents=3_000),
    "many supported, no refinement": Case(60, 60.0, refine_steps=0, n_documents=3_000),
    "many supported, one refinement": Case(60, 60.0, refine_steps=1, n_documents=3_000),
    "many supported, three refinements, users, blocks": Case(
        60, 100.0, refine_steps=3, n_documents=3_000, grouped=True, blocks=True
    ),
    "many supported, words outside the spectral stage": Case(
        MOST_SPECTRAL_WORDS + 40, 300.0, n_documents=3_000, spectral=MOST_SPECTRAL_WORDS
    ),
    "many supported, exact sampler": Case(14, 100.0, n_components=2, n_documents=3_000, sampler="exact"),
}


@pytest.mark.parametrize("case", [*CASES.values(), *WHOLE.values()], ids=[*CASES, *WHOLE])
def test_every_number_is_noised(case):
    (seen, model), (other_seen, other) = case.fit(1), case.fit(2)
    assert len(seen) >= 4
    if case.spectral is not None:
        sizes = {place_of(entering.query.name): entering.aggregate.shape for entering, _ in seen}
        assert sizes["second moment"] == (case.spectral, case.spectral)
    if case in WHOLE.values():
        assert len(seen) in whole_path(case.refine_steps), "the fit did not take the whole path"
        assert len(model.components_) > 1
    for entering, released in seen:
        bare = entering.aggregate * entering.query.step
        assert (released.value != bare).all(), f"{released.name}: a number without noise"
    for (_, released), (_, again) in zip(seen, other_seen, strict=False):
        assert place_of(released.name) == place_of(again.name) or len(seen) != len(other_seen)
        if released.value.shape == again.value.shape and released.name == again.name:
            assert (released.value != again.value).all(), f"{released.name}: the same for two noise seeds"
    assert np.isfinite(model.components_).all()
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0)
    if model.components_.shape == other.components_.shape and case.n_words > 1:
        clamped = (model.components_ == 0.0) & (other.components_ == 0.0)  # by the projection onto the simplex
        assert (clamped | (model.components_ != other.components_)).all()
        assert clamped.mean() < (0.9 if case.refine_steps == 0 else 1e-9)
        if len(model.components_) > 1:  # the prior of a single topic is alpha0, a public setting
            assert (model.doc_topic_prior_ != other.doc_topic_prior_).all()


@pytest.mark.parametrize("case", [CASES["tiny epsilon"], WHOLE["many supported"]], ids=["few", "many"])
def test_a_path_without_noise_is_noticed(case, monkeypatch):
    """The check above is not blind: it fails where the sampler is switched off."""
    from private_topics.privacy.randomness import NoiseStream

    monkeypatch.setattr(NoiseStream, "rounded_gaussian", lambda self, count, ratio: np.zeros(count, np.int64))
    with pytest.raises(AssertionError, match="without noise"):
        test_every_number_is_noised(case)


@pytest.mark.parametrize("noise_seed", range(6))
@pytest.mark.parametrize("epsilon", [1e-4, 0.02, 1.0, 1e3])
def test_no_noise_makes_a_fit_fail(epsilon, noise_seed):
    """Whatever the noise, the fit ends with a model: a failure would depend on released values, and help nobody."""
    case = Case(1 + 9 * noise_seed, epsilon, n_components=1 + noise_seed, n_documents=30)
    _, model = case.fit(noise_seed)
    assert np.isfinite(model.components_).all()
    assert (model.components_ >= 0).all()
    assert (model.doc_topic_prior_ > 0).all()


# -- taint ---------------------------------------------------------------------------------------------------------

N_UNITS, N_WORDS = 3_000, 60


def ordinary():
    return synthetic(N_UNITS, N_WORDS, 5, seed=7)


def outlandish() -> sp.csr_array:
    """As many documents that share nothing with the ordinary ones: empty, endless, of one word, of three tokens."""
    kinds = [{}, {0: 2**31 - 1}, dict.fromkeys(range(N_WORDS), 10**6), {59: 1, 58: 1, 57: 1}, {3: 1}]
    return counts_of([kinds[n % 5] for n in range(N_UNITS)], N_WORDS)


@cache
def reference_aggregates(grouped: bool, refine_steps: int, epsilon: float) -> dict[str, np.ndarray]:
    """What entered each release of a fit on a third corpus, in order."""
    X = synthetic(N_UNITS, N_WORDS)
    with captured_releases() as seen:
        fit_private(X, np.arange(N_UNITS) if grouped else None, refine_steps, epsilon)
    return {entering.query.name: entering.aggregate for entering, _ in seen}


def fit_private(X: Any, groups: Any, refine_steps: int, epsilon: float, **settings: Any) -> PrivateSpectralLDA:
    model = PrivateSpectralLDA(
        3, epsilon=epsilon, delta=1e-5, alpha0=0.1, refine_steps=refine_steps, noise_seed=5, verbose=True, **settings
    )
    with warnings.catch_warnings():
        warnings.simplefilter("default", PrivacyWarning)
        return model.fit(X, groups=groups)


def everything_of(model: Any) -> dict[str, str]:
    """Every attribute of a fitted model, told apart to the last bit."""

    def tell(value: Any) -> str:
        if isinstance(value, np.ndarray):
            return f"{value.dtype} {value.shape} {hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return json.dumps(dataclasses.asdict(value), default=tell, sort_keys=True)
        return repr(value)

    return {name: tell(value) for name, value in vars(model).items()}


def traces(
    X: Any, groups: Any, refine_steps: int, epsilon: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capfd: Any
) -> dict[str, Any]:
    """All that a fit leaves behind when its aggregates are replaced: nothing of it may depend on X."""
    reference = reference_aggregates(groups is not None, refine_steps, epsilon)

    def replace(query: Any, aggregate: np.ndarray) -> np.ndarray:
        assert aggregate.shape == reference[query.name].shape, "the shape of a release depends on the corpus"
        return reference[query.name]

    capfd.readouterr()
    with replaced_aggregates(replace) as queries, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        model = fit_private(X, groups, refine_steps, epsilon)
    shown = capfd.readouterr()
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: 1.7e9)  # zip members carry the time
        model.save(tmp_path / "model")
    return {
        "queries": queries,
        "attributes": everything_of(model),
        "file": (tmp_path / "model").read_bytes(),
        "statement": (model.privacy_.to_dict(), model.privacy_.table(), model.privacy_.text),
        "warnings": [str(warning.message) for warning in warned if issubclass(warning.category, UserWarning)],
        "shown": [re.sub(r"\d+\.\d+ ?s", "", text) for text in shown],  # how long a stage took is not covered
        "transformed": model.transform(np.ones((1, N_WORDS), int)).tolist(),
    }


def assert_untainted(*runs: dict[str, Any]) -> None:
    for part in runs[0]:
        assert all(run[part] == runs[0][part] for run in runs[1:]), f"leak: {part}"


def grouped_corpora() -> list[tuple[Any, np.ndarray]]:
    """As many users, another number of documents: the number of documents is not public either."""
    once = np.arange(N_UNITS)
    twice = np.concatenate([once, once[::2]])
    return [(ordinary(), once), (sp.vstack([outlandish(), ordinary()[once[::2]]]).tocsr(), twice)]


PATHS = [(0, 60.0), (1, 60.0), (3, 60.0), (2, 0.05)]


@pytest.mark.parametrize("grouped", [False, True], ids=["documents", "users"])
@pytest.mark.parametrize(("refine_steps", "epsilon"), PATHS)
def test_nothing_but_released_values_is_left_behind(refine_steps, epsilon, grouped, monkeypatch, tmp_path, capfd):
    corpora = grouped_corpora() if grouped else [(ordinary(), None), (outlandish(), None)]
    runs = [traces(X, groups, refine_steps, epsilon, monkeypatch, tmp_path, capfd) for X, groups in corpora]
    assert_untainted(*runs)
    made = len(runs[0]["queries"])
    assert made in whole_path(refine_steps) if epsilon > 1 else made == 6


def leak_in_topics(patch: pytest.MonkeyPatch) -> None:
    def leaky(context: FitContext) -> Any:
        model = sequential.model(context)
        total = sum(float(part.lengths.sum()) for part in context.corpus)
        return dataclasses.replace(model, topics=model.topics * (1.0 + 1e-15 * total % 1e-12))

    patch.setattr(choice, "SEQUENTIAL", dataclasses.replace(choice.SEQUENTIAL, model=leaky))


def leak_in_unigram(patch: pytest.MonkeyPatch) -> None:
    release = sequential.release_unigram

    def leaky(context: FitContext) -> Any:
        released = release(context)
        raw = sum(np.asarray(part.block.sum(axis=0), float).ravel() for part in context.corpus)
        object.__setattr__(released, "value", raw)
        return released

    patch.setattr(sequential, "release_unigram", leaky)


def leak_in_clip(patch: pytest.MonkeyPatch) -> None:
    ask = inside_frame.ask_moment

    def leaky(context: FitContext, release: Any, clip: float, frame: Any) -> Any:
        largest = sum(float(part.lengths.max()) for part in context.corpus)
        return ask(context, release, clip * (1.0 + 1e-6 * largest), frame)

    patch.setattr(inside_frame, "ask_moment", leaky)


def leak_in_attribute(patch: pytest.MonkeyPatch) -> None:
    fit = PrivateSpectralLDA.fit

    def leaky(self: Any, X: Any, y: Any = None, *, groups: Any = None) -> Any:
        model = fit(self, X, y, groups=groups)
        model.n_tokens_ = X.sum()
        return model

    patch.setattr(PrivateSpectralLDA, "fit", leaky)


def leak_in_file(patch: pytest.MonkeyPatch) -> None:
    fit, header = PrivateSpectralLDA._corpus, PrivateSpectralLDA._extra_header
    longest: list[int] = []

    def watch(self: Any, X: Any) -> Any:
        longest.append(int(X.max()))
        return fit(self, X)

    patch.setattr(PrivateSpectralLDA, "_corpus", watch)
    patch.setattr(PrivateSpectralLDA, "_extra_header", lambda self: {**header(self), "largest": longest[-1]})


def leak_on_screen(patch: pytest.MonkeyPatch) -> None:
    release = sequential.release_unigram

    def leaky(context: FitContext) -> Any:
        context.progress.stage(f"{sum(part.block.nnz for part in context.corpus)} entries")
        return release(context)

    patch.setattr(sequential, "release_unigram", leaky)


def leak_in_warning(patch: pytest.MonkeyPatch) -> None:
    def leaky(self: PairNormHistograms, totals: Any) -> Any:
        warnings.warn(f"{totals[0].max()} in the largest bin", PrivacyWarning, stacklevel=2)
        return tuple(totals[0])

    patch.setattr(PairNormHistograms, "aggregates", leaky)


LEAKS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str]] = {
    "topics": (leak_in_topics, "attributes"),
    "unigram": (leak_in_unigram, "queries|attributes"),
    "clip": (leak_in_clip, "queries"),
    "attribute": (leak_in_attribute, "attributes"),
    "file": (leak_in_file, "file"),
    "screen": (leak_on_screen, "shown"),
    "warning": (leak_in_warning, "warnings"),
}


@pytest.mark.parametrize(("leak", "where"), LEAKS.values(), ids=LEAKS)
def test_a_planted_leak_is_caught(leak, where, monkeypatch, tmp_path, capfd):
    reference_aggregates(False, 1, 60.0)  # of the sound library
    with monkeypatch.context() as patch:
        leak(patch)
        runs = [traces(X, None, 1, 60.0, monkeypatch, tmp_path, capfd) for X in (ordinary(), outlandish())]
        with pytest.raises(AssertionError, match=f"leak: ({where})"):
            assert_untainted(*runs)


def test_errors_quote_nothing_of_the_corpus():
    """Broken corpora are refused with messages that do not hold a value of theirs."""
    broken = ordinary().toarray().astype(float)
    broken[17, 3] = -7771.0
    fractional = ordinary().toarray().astype(float)
    fractional[3, 1] = 7771.5
    for X in (broken, fractional):
        with pytest.raises(InputError) as refused:
            PrivateSpectralLDA(2, noise_seed=0).fit(X)
        assert "7771" not in str(refused.value)
    labels = np.full(N_UNITS, 7771)
    with pytest.raises(InputError) as refused:
        PrivateSpectralLDA(2, noise_seed=0).fit(ordinary(), groups=labels[:-1])
    assert "7771" not in str(refused.value)

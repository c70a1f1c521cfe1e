"""Texts of the driver on a cluster: cut into words on the executors alone, counted as here, and let go of."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import warnings
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from engine_support import (
    SECRET,
    FailsOnSecrets,
    KillsItsExecutor,
    assert_kind_alone,
    refuse_to_tokenise,
    sent_by,
)

from hang_support import until
from private_topics import DurableLedger, PrivacyWarning, PrivateSpectralLDA
from private_topics.corpus.counts.counting import count_texts
from private_topics.corpus.made_up.letters import make_letters
from private_topics.corpus.texts.readers import open_texts
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.corpus.words.vocabulary import WordList
from private_topics.engines.local import LocalCorpus
from private_topics.engines.spark import session as spark_session
from private_topics.engines.spark import texts as spark_texts
from private_topics.engines.spark.corpus import SparkCorpus
from private_topics.engines.spark.texts import SparkTexts
from private_topics.errors import EngineError, InputError
from private_topics.estimators.texts import WITH_VOCABULARY, CandidateVocabulary, PrivateVocabulary, fit_texts
from private_topics.progress import SILENT, Progress
from private_topics.sums.unit_sums import NormedCounts

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]
LETTERS = [(letter.text, letter.patient) for letter in make_letters(500, seed=2)]
WORDS = WordList(
    "hospital", ("Queue", "nurse", "parking", "the", "soup", "pain", "invoice", "home", "naïve", "straße")
)
ODD = [
    "",
    " \n\t\0 ",
    "nurse\ud800nurse \udfff",  # lone surrogates part words
    "\ud83d\ude00 soup",  # a pair that was never put together
    "pain " * 300_000,  # longer than a shipment, below
    "NAI\u0308VE nai\u0308ve, STRASSE straße! \u212bngström",
    "😀 queue 𝔮ueue\u202equeue queue\ufffdqueue",
    "x" * 5_000 + " home",
    type("Label", (str,), {})("invoice of a subclass"),
    f"pain of {SECRET}",
]


def labelled(texts):
    return [(text, f"u{number % 5}") for number, text in enumerate(texts)]


def private(engine, **settings):
    defaults = {"epsilon": 40.0, "delta": 1e-5, "refine_steps": 1, "noise_seed": 3}
    return PrivateSpectralLDA(2, engine=engine, **(defaults | settings))


def fit(engine, texts, vocabulary=WORDS, tokeniser=None, progress=SILENT, **settings):
    model = private(engine, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return fit_texts(model, texts, vocabulary, tokeniser, progress=progress)


def assert_same(model, other):
    assert np.array_equal(model.components_, other.components_)
    assert np.array_equal(model.doc_topic_prior_, other.doc_topic_prior_)
    assert model.privacy_ == other.privacy_
    assert list(model.feature_names_in_) == list(other.feature_names_in_)
    assert model.tokeniser_ == other.tokeniser_


class Listening(Progress):
    def __init__(self):
        self.documents_read, self.heard = 0, []

    def documents(self, texts, what):
        for self.documents_read, text in enumerate(texts, start=1):
            yield text
        self.heard.append((what, self.documents_read))


@pytest.fixture
def small_shipments(monkeypatch):
    monkeypatch.setattr(spark_session, "SHIPMENT_BYTES", 80_000)
    monkeypatch.setattr(spark_texts, "PIECE_CHARACTERS", 60_000)
    monkeypatch.setattr(spark_texts, "PIECE_DOCUMENTS", 100)


@pytest.fixture
def nothing_left(spark):
    """After the test Spark keeps no parts, and no file of it holds the secret."""
    yield
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == 0
    assert files_left(SECRET) == set()


def files_left(text, at_most=0):
    """Files of Spark that still hold a text. Executors are told to forget, and not waited for, but here."""
    until(lambda: len(files_with(text)) <= at_most)
    return files_with(text)


def files_with(text):
    """Files of Spark, the driver's and the executors', that hold a text."""
    found = set()
    for path in Path(os.environ["SPARK_LOCAL_DIRS"]).rglob("*"):
        try:
            if path.is_file() and text.encode() in path.read_bytes():
                found.add(path)
        except FileNotFoundError:
            pass
    return found


# -- the same as here ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grouped", [False, True], ids=["documents", "users"])
def test_the_executors_cut_texts_into_words_and_the_model_is_the_one_of_here(
    spark, small_shipments, nothing_left, monkeypatch, grouped
):
    """Bit for bit, over many shipments; the driver makes words of no text."""
    texts = LETTERS + labelled(ODD)
    texts = texts if grouped else [text for text, _ in texts]
    tokeniser = Tokeniser(stemmer="s", min_length=4)
    expected = fit("local", texts, tokeniser=tokeniser)
    sent = sent_by(monkeypatch)
    refuse_to_tokenise(monkeypatch)
    with pytest.raises(AssertionError, match="on the driver"):
        fit("local", texts, tokeniser=tokeniser)
    progress = Listening()
    assert_same(fit("spark", texts, tokeniser=tokeniser, progress=progress), expected)
    assert progress.heard == [("sending texts", len(texts))]
    assert expected.privacy_.unit == ("user" if grouped else "document")
    assert len(sent) > 3


@pytest.mark.parametrize("wanted", [PrivateVocabulary(size=60), CandidateVocabulary(WORDS)])
def test_a_private_vocabulary_is_selected_here_and_counted_there(spark, nothing_left, wanted):
    settings = {"vocabulary": wanted, "budget_split": WITH_VOCABULARY}
    assert_same(fit("spark", LETTERS, **settings), fit("local", LETTERS, **settings))


@pytest.mark.parametrize("tokeniser", [Tokeniser(), Tokeniser("casefold", 1, digits=True, languages=(), stemmer="s")])
def test_odd_texts_are_counted_as_here(spark, small_shipments, tokeniser):
    words = tokeniser.usable(WORDS.words)
    with SparkTexts(iter(ODD * 3), words, tokeniser) as sent, count_texts(ODD * 3, words, tokeniser) as here:
        assert len(sent._shipments) == 4
        blocks = [np.vstack([block.toarray() for block in counts]) for counts in (sent, here)]
        assert sent.n_documents == here.n_documents == len(blocks[0])
    assert np.array_equal(*blocks)
    assert blocks[0].max() == 300_000
    with pytest.raises(InputError, match="closed"):
        sent.parts()


def test_the_driver_sends_while_it_reads(spark, small_shipments, nothing_left, monkeypatch):
    """A shipment holds what was read since the last one, and no more."""
    read = Listening()
    sent = sent_by(monkeypatch, note=lambda: read.documents_read)
    with SparkTexts(read.documents(LETTERS, ""), ["pain"], Tokeniser()):
        pass
    shipments = [(pieces, read_by_then) for pieces, read_by_then in sent if isinstance(pieces[0], bytes)]
    assert len(shipments) > 3
    assert all(sum(map(len, pieces[:-1])) < 80_000 for pieces, _ in shipments)
    documents = np.cumsum([sum(len(pickle.loads(piece)) for piece in pieces) for pieces, _ in shipments])
    assert documents.tolist() == [read_by_then for _, read_by_then in shipments]


def test_records_of_a_file_keep_their_meaning(spark, nothing_left, tmp_path):
    """A broken record is an empty document, one too long too; their units count."""
    lines = [json.dumps({"text": text, "patient": patient}).encode() for text, patient in LETTERS[:200]]
    lines[7], lines[9] = b'{"text": 3, "patient": "lonely"}', b'{"text": "pain \xff", "patient": "broken"}'
    lines[11] = json.dumps({"text": "soup " * 30_000, "patient": LETTERS[0][1]}).encode()
    (tmp_path / "letters.jsonl.gz").write_bytes(gzip.compress(b"\n".join(lines)))
    texts = open_texts(tmp_path / "letters.jsonl.gz", unit="patient")
    model = fit("spark", texts)
    assert texts.skipped == 2
    assert_same(model, fit("local", texts))


# -- refusals --------------------------------------------------------------------------------------------------------


class Unspendable:
    def reserve(self, *arguments, **kind):
        raise AssertionError("charged")


def stops(texts, error):
    yield from texts
    raise error


@pytest.mark.parametrize(
    ("texts", "vocabulary"),
    [
        (list, WORDS),
        (lambda: [SECRET], WORDS),
        (lambda: [(SECRET, "u"), ("pain", "u")], WORDS),
        (lambda: [*LETTERS, (SECRET, None)], WORDS),
        (lambda: [SECRET] * 150 + [("pain", "u")], WORDS),
        (lambda: [*LETTERS, (SECRET, 5.5)], WORDS),
        (lambda: [*LETTERS, SECRET.encode()], WORDS),
        (lambda: stops([(SECRET, "u"), *LETTERS], InputError("the file is truncated")), WORDS),
        (lambda: stops([(SECRET, "u"), *LETTERS], KeyError("of the caller")), WORDS),
        (lambda: [SECRET, SECRET], WordList("useless", ("the", "of"))),
    ],
    ids=["empty", "one", "one user", "no unit", "late unit", "number", "bytes", "unreadable", "raises", "no words"],
)
def test_refused_with_the_same_words_as_here_and_nothing_charged(
    spark, small_shipments, nothing_left, texts, vocabulary
):
    said = []
    for engine in ("local", "spark"):
        with pytest.raises((InputError, KeyError)) as raised:
            fit(engine, texts(), vocabulary, ledger=Unspendable())
        assert raised.value.__cause__ is None
        said.append((type(raised.value), str(raised.value)))
    assert said[0] == said[1]
    assert SECRET not in said[0][1]


def test_a_corpus_that_changes_between_two_passes_is_refused(spark, nothing_left):
    class Growing:
        passes = 0

        def __iter__(self):
            self.passes += 1
            return iter([text for text, _ in LETTERS] + [SECRET] * (self.passes - 1))

    with pytest.raises(InputError, match="changed between two passes"):
        fit("spark", Growing(), PrivateVocabulary(size=60), budget_split=WITH_VOCABULARY)


# -- faults ----------------------------------------------------------------------------------------------------------


def test_a_text_that_a_task_cannot_read_is_not_quoted_and_not_charged(
    spark, nothing_left, tmp_path, capfd, executor_logs
):
    """The executors' tokeniser fails; the driver's, which is the same, was never asked."""
    ledger = DurableLedger.register(tmp_path / "budget.db", "letters", 200.0, 1e-3)
    with pytest.raises(EngineError, match="a task failed in every attempt") as raised:
        fit("spark", [*LETTERS, (SECRET, "u")], tokeniser=FailsOnSecrets(), ledger=ledger)
    assert_kind_alone(raised.value, capfd, executor_logs)
    assert list(ledger.entries()) == []


def test_an_executor_that_is_killed_takes_no_text_with_it(spark, small_shipments, tmp_path):
    """Its parts are made again of what was sent. Its own copy is left to the cluster to clean up."""
    last = "said on the last day"
    texts = [*LETTERS, (last, "u")]
    words, tokeniser = Tokeniser().usable(WORDS.words), Tokeniser()
    unit_sum = NormedCounts(len(words), 2.0**-30)
    with SparkTexts(texts, words, tokeniser) as counts, closing(SparkCorpus.of(counts, counts.groups)) as corpus:
        before = files_with(last)
        total = corpus.total(KillsItsExecutor(unit_sum, str(tmp_path)))
    assert len(list(tmp_path.iterdir())) == 1, "nothing was killed"
    with count_texts(texts, words, tokeniser) as here:
        expected = LocalCorpus.of(here).total(unit_sum)
    assert all(np.array_equal(one, other) for one, other in zip(total, expected, strict=True))
    assert len(before) >= 2, "the texts are not where the test looks"
    left = files_left(last, at_most=1)
    assert len(left) <= 1
    assert left <= before

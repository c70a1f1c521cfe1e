"""Odd values for every parameter of every public name and command: a result or a documented error, and soon.

A fixed few hundred calls; `attacks/fuzz_public.py` makes as many others as time allows.
"""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import private_topics
from fuzz_support import COMMANDS, ENTRIES, ESTIMATORS, PARAMETERS, counts, judge, lay_out

CALLS = {
    "estimators": 60,
    "unfitted estimators": 30,
    "plan, BudgetSplit, make_lda_corpus, load": 150,
    "ledgers": 60,
    "commands": 60,
}


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        place = tmp_path_factory.mktemp("fuzz")
        patch.chdir(place)
        patch.setenv("TMPDIR", str(place))
        lay_out(place)
        yield


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES)
def test_a_result_or_a_documented_error(entry):
    @settings(max_examples=CALLS[entry], database=None, suppress_health_check=list(HealthCheck))
    @given(call=ENTRIES[entry])
    def attack(call):
        judge(call)

    attack()


HUGE = 10**400
ONCE_FOUND = {
    "a fraction that is a string": lambda: private_topics.BudgetSplit(unigram="0.5"),
    "fractions that overflow": lambda: private_topics.BudgetSplit(unigram=1.7e308, second=1.7e308),
    "documents beyond floats": lambda: private_topics.plan(HUGE, 10, 2),
    "a length that is a string": lambda: private_topics.plan(10, 10, 2, mean_length="x"),
    "documents without end": lambda: private_topics.make_lda_corpus(3, 4, 2, mean_length=1e300),
    "a prior beyond floats": lambda: private_topics.make_lda_corpus(3, 4, 2, alpha0=HUGE),
    "an alpha0 whose square overflows": lambda: private_topics.SpectralLDA(2, alpha0=1e300).fit(counts()),
    "an engine that is an array": lambda: private_topics.SpectralLDA(2, engine=np.ones(2)).fit(counts()),
    "a calibration that is an array": lambda: private_topics.PrivateSpectralLDA(calibration=np.ones(2)).fit(counts()),
    "a sampler that is an array": lambda: private_topics.PrivateSpectralLDA(sampler=np.ones(2)).fit(counts()),
    "a ledger that is none": lambda: private_topics.PrivateSpectralLDA(ledger=True).fit(counts()),
    "a rate beyond floats": lambda: private_topics.VariationalLDA(sampling_rate=HUGE).fit(counts()),
    "a prior of words beyond floats": lambda: private_topics.VariationalLDA(word_prior=HUGE).fit(counts()),
    "a document of 10^10 tokens": lambda: (
        private_topics.SpectralLDA(2).fit(counts()).perplexity(np.full((2, 6), 2**31 - 1))
    ),
    "a total too small to price": lambda: private_topics.BudgetLedger(5e-324, 0.5).remaining(),
    "a total too large to price": lambda: private_topics.BudgetLedger(1e300, 0.5).remaining(),
    "a reservation of nothing": lambda: private_topics.BudgetLedger(1.0, 1e-6).reserve(None),
}


@pytest.mark.parametrize("call", ONCE_FOUND.values(), ids=ONCE_FOUND)
def test_what_was_once_found_is_refused(call):
    assert judge(call) in ("InputError", "PrivacyError")


def test_a_steep_decay_from_a_small_offset_is_no_overflow():
    private_topics.VariationalLDA(2, steps=2, offset=1e-9, decay=1e9).fit(counts())


FUNCTIONS = {"plan", "BudgetSplit", "make_lda_corpus", "load", "private_log_likelihood"}
CALLED = FUNCTIONS | {"BudgetLedger", "DurableLedger", *ESTIMATORS}
BY_OTHERS = {  # what commands and estimators call with whatever they are given
    "CandidateVocabulary",
    "ClassShares",
    "CorpusVocabulary",
    "Edits",
    "Plan",
    "PrivacyBudget",
    "PrivacyStatement",
    "PrivateLikelihood",
    "PrivateVocabulary",
    "Progress",
    "ReleaseLine",
    "Reliability",
    "Request",
    "Tokeniser",
    "Topic",
    "TopicWord",
    "WITH_VOCABULARY",
    "WordList",
    "audit_model",
    "audit_privacy",
    "block_words",
    "class_shares",
    "corpus_like",
    "document_completion_perplexity",
    "drop_topics",
    "export_topics",
    "find_topics",
    "fit_texts",
    "hints",
    "labels",
    "labels_of",
    "lift",
    "make_vocabulary",
    "match_topics",
    "merge_topics",
    "named_word_list",
    "npmi_coherence",
    "open_texts",
    "possible_names",
    "pyldavis_arguments",
    "read_unit_labels",
    "read_word_list",
    "relevance",
    "reliability",
    "rename_topics",
    "sealed",
    "topic_diversity",
    "topics_of",
    "unigram_perplexity",
    "verify",
    "verify_model",
    "write_audit",
    "write_comparison",
    "write_model_card",
    "write_report",
    "write_shares",
}
NOT_FUZZED = {
    "PrivateTopics",
    "PublicKnowledge",
    "Site",
    "SiteCoordinator",
    "SiteDirectory",
    "SiteIdentity",
    "name_topics",
    "split_for",
    "topic_error_l1",
    "topic_error_l2",
    "umass_coherence",
}  # no command that is fuzzed calls them
NEED_AN_ENGINE = {"GpuCounts", "SparkCounts"}


def test_nothing_public_is_left_out():
    kinds = {name for name in private_topics.__all__ if isinstance(getattr(private_topics, name), type)}
    errors = {name for name in kinds if issubclass(getattr(private_topics, name), Exception)}
    assert CALLED | BY_OTHERS | NOT_FUZZED | NEED_AN_ENGINE | errors | {"__version__"} == set(private_topics.__all__)
    for name in ESTIMATORS:
        assert set(inspect.signature(getattr(private_topics, name)).parameters) <= set(PARAMETERS)
    assert {path[0] for path in COMMANDS} >= {"fit", "topics", "transform", "evaluate", "report", "plan", "audit"}


def test_an_unexpected_error_and_a_hang_are_findings():
    with pytest.raises(ZeroDivisionError):
        judge(lambda: 1 / 0)
    with pytest.raises(ValueError, match="no error of the library"):
        judge(lambda: (_ for _ in ()).throw(ValueError("no error of the library")))
    with pytest.raises(TimeoutError, match="longer than"):
        judge(lambda: [None for _ in iter(int, 1)], 0.1)

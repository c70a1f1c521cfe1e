"""Odd values for every parameter of every public name and command: a result or a documented error, and soon.

A fixed few hundred calls; `attacks/fuzz_public.py` makes as many others as time allows.
"""

from __future__ import annotations

import functools
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import private_topics
from fuzz_entries import CALLED, ENTRIES, lay_out
from fuzz_names import ALSO, NAMES
from fuzz_sites import SITE_COMMANDS
from fuzz_support import COMMANDS, ESTIMATORS, OUTCOMES, PARAMETERS, counts, judge

CALLS = {
    "estimators": 60,
    "unfitted estimators": 30,
    "plan, BudgetSplit, make_lda_corpus, load": 150,
    "ledgers": 60,
    "commands": 60,
    "sites": 40,
    "names": 200,
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
    "an audit of a model without privacy": lambda: private_topics.audit_model(private_topics.SpectralLDA()),
    "an audit of settings without privacy": lambda: private_topics.audit_privacy(
        private_topics.SpectralLDA(), counts()
    ),
    "vectors that are words": lambda: private_topics.labels(private_topics.SpectralLDA(2).fit(counts()), [["a"]]),
    "weights that are words": lambda: private_topics.relevance(np.full((2, 6), 1 / 6), ["a", "b"]),
    "languages that are none": lambda: private_topics.Tokeniser(languages=None),
    "a part of a word": lambda: private_topics.named_word_list("english", 1.5),
    "a vocabulary that is read off": lambda: private_topics.make_vocabulary(
        ["heart"], private_topics.PrivacyBudget(5.0, 1e-3), private_topics.CorpusVocabulary()
    ),
    "words that are none": lambda: private_topics.possible_names([None]),
    "one name for two models": lambda: private_topics.write_comparison(None, None, "page.html", names=("a",)),
}


@pytest.mark.parametrize("call", ONCE_FOUND.values(), ids=ONCE_FOUND)
def test_what_was_once_found_is_refused(call):
    assert judge(call) in ("InputError", "PrivacyError")


UNFITTED = [private_topics.SpectralLDA(), private_topics.PrivateTopics()]


@pytest.mark.parametrize("model", UNFITTED, ids=["counts", "texts"])
@pytest.mark.parametrize(
    "name", ["labels", "labels_of", "topics_of", "pyldavis_arguments", "find_topics", "name_topics"]
)
def test_a_model_that_is_not_fitted_is_refused(name, model):
    more = {"find_topics": ["heart"], "name_topics": [lambda words: words[0]]}.get(name, [])
    assert judge(lambda: getattr(private_topics, name)(model, *more)) == "NotFittedError"


def test_a_steep_decay_from_a_small_offset_is_no_overflow():
    private_topics.VariationalLDA(2, steps=2, offset=1e-9, decay=1e9).fit(counts())


RECORDS = "a record that the library makes, which checks nothing"
NOT_CALLED = {  # public names, and why no entry calls them
    "Edits": RECORDS,
    "PrivacyStatement": RECORDS,
    "ReleaseLine": RECORDS,
    "Progress": "ignores whatever it is told",
    "WITH_VOCABULARY": "a constant",
    "__version__": "a constant",
    "GpuCounts": "needs a GPU: benchmarks/gpu.py",
    "SparkCounts": "needs a cluster: tests/engines/test_spark.py",
}


def test_every_public_name_is_called_or_there_is_a_reason():
    kinds = {name for name in private_topics.__all__ if isinstance(getattr(private_topics, name), type)}
    errors = {name for name in kinds if issubclass(getattr(private_topics, name), Exception)}
    called = {name.split(".")[0] for name in CALLED} | set(ALSO)
    assert set(ALSO.values()) <= CALLED
    assert called.isdisjoint(NOT_CALLED)
    named = re.findall(r"[\w/]+\.py", " ".join(NOT_CALLED.values()))
    assert all((Path(__file__).resolve().parents[2] / file).is_file() for file in named)
    assert called | set(NOT_CALLED) | errors == set(private_topics.__all__)
    for name in ESTIMATORS:
        assert set(inspect.signature(getattr(private_topics, name)).parameters) <= set(PARAMETERS)
    assert {path[0] for path in COMMANDS} >= {"fit", "topics", "transform", "evaluate", "report", "plan", "audit"}


def test_what_is_called_is_the_public_name_with_its_own_parameters():
    for name, called in NAMES.items():
        public = functools.reduce(getattr, name.split("."), private_topics)
        assert set(called.given) | set(called.optional) or name in ("CorpusVocabulary", "PrivateVocabulary")
        if called.call is public:
            parameters = inspect.signature(public).parameters
            assert set(called.optional) <= set(parameters), name


@pytest.mark.parametrize("name", sorted(NAMES))
def test_with_usual_values_every_name_gives_a_result(name):
    """Else it would be refused at once, whatever else is strange."""
    called = NAMES[name]

    @settings(max_examples=3, database=None, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(values=st.tuples(*(kind.usual for kind in called.given.values())))
    def attempt(values):
        outcomes.append(judge(lambda: called.call(*values)))

    outcomes = []
    attempt()
    assert "result" in outcomes


@pytest.mark.slow
def test_the_commands_of_sites_get_to_work():
    """Nearly all were refused as wrongly used once. Some of every one end well here, fits of two sites among them."""
    before = OUTCOMES.copy()

    @settings(
        max_examples=80, database=None, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(call=ENTRIES["sites"])
    def attempt(call):
        judge(call)

    attempt()
    ended = OUTCOMES - before
    for path in SITE_COMMANDS:
        assert ended[f"{' '.join(path)}: exit 0"], ended
    assert sum(count for end, count in ended.items() if end.endswith("exit 2")) < 0.4 * sum(ended.values())


def test_an_unexpected_error_and_a_hang_are_findings():
    with pytest.raises(ZeroDivisionError):
        judge(lambda: 1 / 0)
    with pytest.raises(ValueError, match="no error of the library"):
        judge(lambda: (_ for _ in ()).throw(ValueError("no error of the library")))
    with pytest.raises(TimeoutError, match="longer than"):
        judge(lambda: [None for _ in iter(int, 1)], 0.1)

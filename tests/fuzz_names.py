"""Every public name that is a function or makes an object, with usual values and up to two that are strange.

Strange are values of the kind that a parameter takes: numbers out of range, empty or misshapen arrays, unfitted
models, files that are none. What is no number, array, text or model at all Python refuses in its own words.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import private_topics as pt
from fuzz_support import N_WORDS, Call, any_float, corpora, counts, groups, ledgers, seeds, settings_words
from hang_support import SOON

WORDS = ["heart", "lung", "pain", "doctor", "night", "day"]
TEXTS = [f"heart lung pain doctor night {WORDS[n % N_WORDS]}" for n in range(60)]
_written = itertools.count()


@functools.cache
def models() -> list[Any]:
    """Fitted ones: without privacy, with it, and one of text."""
    X = pd.DataFrame(counts(), columns=WORDS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        private = pt.PrivateSpectralLDA(2, epsilon=5.0, refine_steps=1)
        of_text = pt.fit_texts(pt.PrivateSpectralLDA(2, epsilon=5.0), TEXTS, pt.WordList("made up", tuple(WORDS)))
        return [pt.SpectralLDA(2).fit(X), private.fit(X), of_text]


@dataclass(frozen=True)
class Kind:
    """What a parameter takes: usual values, and strange ones."""

    usual: Any
    strange: Any


def kind(usual: list[Any], strange: list[Any] | Any) -> Kind:
    made = strange if isinstance(strange, st.SearchStrategy) else st.sampled_from(strange)
    return Kind(st.sampled_from(usual), made)


def later(make: Callable[[], Any]) -> st.SearchStrategy[Any]:
    """What is made when it is drawn: it takes a while, or may be used once."""
    return st.just(None).map(lambda _: make())


def components() -> np.ndarray:
    return np.array(models()[0].components_)


unfitted = st.sampled_from([pt.SpectralLDA, pt.PrivateSpectralLDA, pt.PrivateTopics, pt.VariationalLDA]).map(
    lambda k: k()
)
arrays = st.sampled_from(
    [
        np.zeros((0, N_WORDS)),
        np.zeros((2, 0)),
        np.zeros((2, N_WORDS)),
        np.full((2, N_WORDS), np.nan),
        np.ones(3),
        [],
        np.full((2, N_WORDS), np.inf),
        np.full((2, N_WORDS), -1.0),
        np.ones((2, 2)),
        np.ones((3, N_WORDS)),
        np.ones((1, 1, 1)),
        np.full((2, N_WORDS), 1e300),
        [[0.5, 0.5]],
        np.float64(3.0),
        np.array([["a"]]),
        np.ones((2, N_WORDS), complex),
    ]
)
numbers = st.sampled_from([0, -1, 1.5, 2**70, True, None, "3", float("nan"), np.int64(2), 10**6])
few = st.sampled_from([0, -1, 1.5, True, None, "3", float("nan"), np.int64(2)])
texts_and_words = ["", "\n", "ä", "x" * 300, "\0", "\ud800", "<b>", "heart lung"]
MODEL = Kind(st.integers(0, 2).map(lambda place: models()[place]), unfitted)
PRIVATE = Kind(st.integers(1, 2).map(lambda place: models()[place]), st.one_of(unfitted, later(lambda: models()[0])))
X = Kind(later(counts), corpora)
COMPONENTS = Kind(later(components), arrays)
WEIGHTS = Kind(later(lambda: np.array(models()[0].doc_topic_prior_)), arrays)
COUNT = kind([1, 2, 3], numbers)
FEW = kind([1, 2], few)
NUMBER = kind([0.5, 1.0], any_float)
TEXT = kind(["notes", "heart"], texts_and_words)
WORD_LIST = kind(
    [WORDS[:2], ["heart"]], [[], ["", "\n"], "heart", ["heart"] * 3, ["nobody"], iter(["heart"]), [None], WORDS]
)
FILE = kind(
    ["texts.jsonl", "texts.csv", "lines.txt", "words.txt"],
    ["", ".", "missing", "folder", "broken.npz", "empty.txt", "x" * 5_000, Path("no/such"), "private.model"],
)
OUT = Kind(
    st.sampled_from(["html", "md", "csv", "json"]).map(lambda end: f"written-{next(_written)}.{end}"),
    st.sampled_from(["", ".", "folder", "no/such/out", "x" * 5_000, "texts.jsonl/out.html"]),
)
TEXTS_OF = kind(
    [TEXTS, [(text, f"u{n % 20}") for n, text in enumerate(TEXTS)]],
    [[], [""], ["\0"] * 3, [None], [("a", None)], [("a",)], "heart", [1, 2], iter(TEXTS), [b"x"], TEXTS[:1]],
)
SELECTION = Kind(
    st.sampled_from(
        [pt.PrivateVocabulary(), pt.PrivateVocabulary(3), pt.CandidateVocabulary(pt.WordList("w", tuple(WORDS)))]
    ),
    st.sampled_from([pt.CorpusVocabulary(), pt.WordList("w", tuple(WORDS)), "english", None]),
)
VOCABULARY = Kind(
    st.one_of(SELECTION.usual, st.just(pt.WordList("made up", tuple(WORDS)))),
    st.sampled_from([pt.CorpusVocabulary(), pt.WordList("other", ("nobody",)), "english", None]),
)
BUDGET = Kind(
    st.just(pt.PrivacyBudget(5.0, 1e-3)),
    st.sampled_from([pt.PrivacyBudget(1e-3, 1e-12), pt.PrivacyBudget(1e12, 0.5)]),
)
TOKENISER = kind(
    [None, pt.Tokeniser()], [pt.Tokeniser(min_length=60), pt.Tokeniser(phrases=("heart lung",)), pt.Tokeniser("keep")]
)
NEIGHBOURS = kind(["replace", "zero-out"], ["add-remove", "x", None, 3])
LEDGER = Kind(st.none(), ledgers)
JOBS = kind([1, None], numbers)
SEED = Kind(st.just(0), seeds)
DATE = kind([None, "2026-01-01"], ["", "tomorrow", 3, "2026-13-01", "<b>"])
TOPIC_NUMBERS = kind([[0], [1]], [[], [0, 1], [-1], [7], [0, 0], ["0"], [1.5], [True]])
GROUPS = Kind(st.none(), groups)
TEXT_FILE = kind(
    ["words.txt", "labels.txt"], ["", "missing", "folder", "empty.txt", "broken.npz", "counts.npz", "x" * 5_000]
)
CLASSES = kind([["a", "b"], [1, 2]], [[], ["a"] * 2, [""], ["\n"], [None], "ab", [1.5], list(map(str, range(200)))])
LABELS = kind([["a", "b"] * 30, [1, 2] * 30], [None, [], ["a"], [None] * 60, [1.5] * 60, ["zz"] * 60, "ab" * 30])
LIMITS = {"n_jobs": JOBS, "random_state": SEED}
SPENDING = {"epsilon": kind([5.0], any_float), "delta": kind([1e-3], any_float), "neighbours": NEIGHBOURS}


COLUMNS = Kind(st.just(WORDS), WORD_LIST.strange)
PUBLIC_TEXTS = Kind(
    later(lambda: [" ".join(np.random.default_rng(n).choice(WORDS, 5)) for n in range(200)]), TEXTS_OF.strange
)
VECTORS = Kind(later(lambda: vectors_file()), FILE.strange)
SCORED = {"components": COMPONENTS, "X": X, "top_n": COUNT}


def vectors_file() -> str:
    """Word vectors as text."""
    path = Path(f"vectors-{next(_written)}.txt")
    path.write_text("".join(f"{word} {n}.5 {n % 2}.0 0.{n}\n" for n, word in enumerate(WORDS)))
    return str(path)


def knowledge_calls(maker: str, *given: Any) -> Any:
    known = getattr(pt.PublicKnowledge, maker)(*given)
    path = f"vectors-{next(_written)}.npz"
    known.save(path, WORDS[: known.n_words], name="made up", licence="none")
    return pt.PublicKnowledge.from_vectors(WORDS, path)


def topics_of_texts(data: Any, text: Any, unit: Any, **settings: Any) -> Any:
    model = pt.PrivateTopics(**{"n_topics": 2, "knowledge": None, "vocabulary": WORDS} | settings)
    model.fit(data, text, unit, anyway=True)
    return model.topics_, model.transform(TEXTS[:2]), pt.labels_of(model), model.get_feature_names_out()


def site_of(name: Any, others: Any, honest: Any, words: Any, patience: Any) -> Any:
    """A site in a directory that is written and read, with a coordinator that nobody answers."""
    identity, path = pt.SiteIdentity.new(name), Path(f"site-{next(_written)}")
    identity.write(path)
    keys = {other: pt.SiteIdentity.new(other).public_key for other in others} | {name: identity.public_key}
    directory = pt.SiteDirectory(keys, honest)
    directory.write(path.with_suffix(".json"))
    known = pt.SiteDirectory.read(path.with_suffix(".json"))
    assert known.digest == directory.digest
    site = pt.Site(pt.SiteIdentity.read(path), known, words, patience=patience)
    with contextlib.suppress(pt.EngineError):
        site.answer(b"x", timeout=SOON)
    with contextlib.suppress(pt.EngineError):
        pt.SiteCoordinator(known, lambda messages: dict.fromkeys(messages, b"")).run()


def counted(model: Any, X: Any, classes: Any, labels: Any, **options: Any) -> Any:
    """`class_shares` of counts or texts, and the page about it."""
    found = pt.class_shares(model, X, classes, labels=labels, **options)
    return found.to_dict() if hasattr(found, "to_dict") else found, pt.write_shares(
        found, f"shares-{next(_written)}.html"
    )


def foretold(model: Any, X: Any, **options: Any) -> Any:
    """`evidence_of`, in all its forms."""
    found = pt.evidence_of(model, X, **options)
    return found.to_json(), str(found), found.sentence


def audited(model: Any, documents: Any, words: Any, trials: Any, fits: Any, date: Any) -> Any:
    """`audit_model`, and its page, which is checked."""
    content = pt.audit_model(model, documents=documents, words=words, trials=trials, fits=fits)
    path = pt.write_audit(content, f"audit-{next(_written)}.html", date=date)
    assert pt.verify(path)


@functools.cache
def audit_page() -> str:
    """A page of an audit, with its seal."""
    content = pt.audit_model(models()[1], documents=20, words=6, trials=10, fits=10)
    return str(pt.write_audit(content, Path("audit.html").resolve()))


def scored(measure: str, components: Any, X: Any, top_n: Any) -> Any:
    return getattr(pt, measure)(components, X, top_n=top_n)


def audited_corpus(model: Any, X: Any, trials: Any, fits: Any) -> Any:
    return pt.sealed(pt.audit_privacy(model, X, trials=trials, fits=fits))


def split_of(documents: Any, words: Any, topics: Any, configuration: Any) -> Any:
    return pt.split_for(pt.plan(documents, words, topics), configuration)


@dataclass(frozen=True)
class Name:
    """How a public name is called: positional parameters, optional ones, and what is called with them."""

    call: Callable[..., Any]
    given: dict[str, Kind]
    optional: dict[str, Kind]


def name(call: Callable[..., Any], given: dict[str, Kind], **optional: Kind) -> Name:
    return Name(call, given, optional)


FITS = kind([10], [0, 1, -1, 1.5, "x", None])
NAMES: dict[str, Name] = {
    "CandidateVocabulary": name(
        pt.CandidateVocabulary,
        {"candidates": Kind(st.just(pt.WordList("w", tuple(WORDS))), st.none())},
        size=COUNT,
        most_words_per_unit=COUNT,
    ),
    "CorpusVocabulary": name(pt.CorpusVocabulary, {}, size=COUNT, fewest_documents=COUNT),
    "PrivacyBudget": name(pt.PrivacyBudget, {"epsilon": NUMBER, "delta": kind([1e-6], any_float)}),
    "PrivateTopics": name(
        topics_of_texts,
        {"data": TEXTS_OF, "text": kind([None], texts_and_words), "unit": kind([None], texts_and_words)},
        **SPENDING,
        n_topics=COUNT,
        vocabulary=kind([WORDS], ["x", [], "list:x", 3, "candidates"]),
        knowledge=kind([None], ["x", [], 3, ["heart lung"]]),
        language=kind(["english", None], ["x", 3, []]),
        ledger=LEDGER,
        corpus=TEXT,
        alpha0=NUMBER,
        refine_steps=FEW,
        engine=Kind(st.just("local"), settings_words),
    ),
    "PrivateVocabulary": name(pt.PrivateVocabulary, {}, size=COUNT, most_words_per_unit=COUNT),
    "PublicKnowledge": name(knowledge_calls, {"maker": kind(["english"], ["english_documents"]), "words": WORD_LIST}),
    "PublicKnowledge.from_counts": name(pt.PublicKnowledge.from_counts, {"X_public": X}),
    "PublicKnowledge.from_texts": name(
        pt.PublicKnowledge.from_texts, {"words": COLUMNS, "texts": PUBLIC_TEXTS}, tokeniser=TOKENISER
    ),
    "PublicKnowledge.from_vectors": name(pt.PublicKnowledge.from_vectors, {"words": COLUMNS, "path": VECTORS}),
    "Request": name(pt.Request, {}, requested_by=TEXT, approved_by=TEXT, reason=TEXT),
    "Site": name(
        site_of,
        {
            "name": TEXT,
            "others": kind([["b"], ["b", "c"]], [[], ["\n"], [""]]),
            "honest": COUNT,
            "words": WORD_LIST,
            "patience": kind([0.01], [0.0, 0.1]),
        },
    ),
    "Tokeniser": name(
        lambda **given: pt.Tokeniser(**given).words("Heart and LUNG-pain 123 x"),
        {},
        case=kind(["lower", "keep"], ["x", 3]),
        min_length=COUNT,
        max_length=COUNT,
        digits=kind([True, False], [None, "x"]),
        languages=kind([(), ("english",)], [("x",), "english", None, (3,)]),
        stop_words=WORD_LIST,
        stemmer=kind([None, "s"], ["x", 3]),
        phrases=kind([(), ("heart lung",)], [("",), "x", (3,)]),
    ),
    "WordList": name(
        pt.WordList, {"name": TEXT, "words": kind([("heart",)], [(), ("",), ("a", "a"), "heart", (None,)])}
    ),
    "audit_model": name(
        audited,
        {
            "model": PRIVATE,
            "documents": kind([20], few),
            "words": kind([6], few),
            "trials": FITS,
            "fits": FITS,
            "date": DATE,
        },
    ),
    "audit_privacy": name(audited_corpus, {"model": PRIVATE, "X": X, "trials": FITS, "fits": FITS}),
    "block_words": name(pt.block_words, {"model": MODEL, "words": WORD_LIST}),
    "class_shares": name(
        counted,
        {
            "model": Kind(later(lambda: models()[2]), st.one_of(PRIVATE.usual, PRIVATE.strange)),
            "X": Kind(later(lambda: TEXTS), st.one_of(TEXTS_OF.strange, corpora)),
            "classes": CLASSES,
            "labels": LABELS,
        },
        groups=GROUPS,
        **SPENDING,
        most_units=COUNT,
        sampler=Kind(st.just("fast"), settings_words),
        ledger=LEDGER,
    ),
    "evidence_of": name(
        foretold,
        {
            "model": Kind(later(lambda: models()[2]), st.one_of(PRIVATE.usual, PRIVATE.strange)),
            "X": Kind(later(lambda: TEXTS), st.one_of(TEXTS_OF.strange, corpora)),
        },
        groups=GROUPS,
        **SPENDING,
        most_units=COUNT,
        public_model=kind([False], st.booleans()),
        sampler=Kind(st.just("fast"), settings_words),
        ledger=LEDGER,
    ),
    "corpus_like": name(
        pt.corpus_like,
        {"model": PRIVATE},
        documents=kind([20], few),
        words=kind([6], few),
        documents_per_user=FEW,
        **LIMITS,
    ),
    "document_completion_perplexity": name(
        pt.document_completion_perplexity,
        {"components": COMPONENTS, "X": X},
        doc_topic_prior=WEIGHTS,
        iterations=kind([2], few),
    ),
    "drop_topics": name(pt.drop_topics, {"model": MODEL, "topics": TOPIC_NUMBERS}),
    "export_topics": name(
        pt.export_topics,
        {"model": MODEL, "path": OUT},
        format=kind([None, "csv", "json"], ["x", 3, ""]),
        n_words=COUNT,
    ),
    "find_topics": name(pt.find_topics, {"model": MODEL, "word": TEXT}),
    "fit_texts": name(
        lambda model, *given, **more: pt.fit_texts(model(2, epsilon=5.0), *given, **more),
        {
            "model": kind([pt.PrivateSpectralLDA], [pt.PrivateVariationalLDA]),
            "texts": TEXTS_OF,
            "vocabulary": VOCABULARY,
        },
        tokeniser=TOKENISER,
    ),
    "hints": name(pt.hints, {"words": WORD_LIST}),
    "labels": name(pt.labels, {"model": MODEL}, vectors=COMPONENTS),
    "labels_of": name(pt.labels_of, {"model": MODEL}),
    "lift": name(pt.lift, {"components": COMPONENTS, "weights": WEIGHTS}),
    "make_vocabulary": name(
        pt.make_vocabulary,
        {"texts": TEXTS_OF, "budget": BUDGET, "vocabulary": SELECTION},
        tokeniser=TOKENISER,
        ledger=LEDGER,
        neighbours=NEIGHBOURS,
        most_units=COUNT,
    ),
    "match_topics": name(pt.match_topics, {"estimate": COMPONENTS, "truth": COMPONENTS}, within=NUMBER),
    "merge_topics": name(
        pt.merge_topics, {"model": MODEL, "group": kind([[0, 1]], [[], [0], [0, 0], [7, 8], [-1, 0], ["0", "1"]])}
    ),
    "name_topics": name(
        pt.name_topics,
        {"model": MODEL, "namer": kind([lambda words: words[0]], [lambda _: "", lambda _: 3, lambda _: "\n"])},
        n_words=COUNT,
        relevance=NUMBER,
    ),
    "named_word_list": name(
        pt.named_word_list, {"name": kind(["english"], ["x", "", "german", 3, None])}, size=COUNT
    ),
    "npmi_coherence": name(functools.partial(scored, "npmi_coherence"), SCORED),
    "open_texts": name(
        lambda path, **given: list(pt.open_texts(path, **given)),
        {"path": FILE},
        format=kind([None, "lines"], ["x", 3, "csv", "parquet"]),
        field=kind(["text"], texts_and_words),
        unit=kind([None, "user"], texts_and_words),
        encoding=kind(["utf-8"], ["x", "utf-16", "", "rot13", 3]),
        max_record_bytes=COUNT,
        by=kind([None], texts_and_words),
    ),
    "possible_names": name(pt.possible_names, {"words": WORD_LIST}),
    "pyldavis_arguments": name(pt.pyldavis_arguments, {"model": MODEL}),
    "read_unit_labels": name(pt.read_unit_labels, {"path": TEXT_FILE}),
    "read_word_list": name(pt.read_word_list, {"path": TEXT_FILE}, name=TEXT),
    "relevance": name(pt.relevance, {"components": COMPONENTS, "weights": WEIGHTS}, lam=NUMBER),
    "reliability": name(pt.reliability, {"model": PRIVATE}, refits=kind([2], few), n_words=COUNT, **LIMITS),
    "rename_topics": name(
        pt.rename_topics,
        {"model": MODEL, "names": kind([{0: "x"}], [{}, {7: "x"}, {0: ""}, {"0": "x"}, {0: 3}, {0: "\n"}])},
    ),
    "split_for": name(
        split_of,
        {
            "documents": COUNT,
            "words": COUNT,
            "topics": COUNT,
            "configuration": Kind(st.just("sequential"), settings_words),
        },
    ),
    "topic_diversity": name(
        lambda components, top_n: pt.topic_diversity(components, top_n=top_n),
        {"components": COMPONENTS, "top_n": COUNT},
    ),
    "topic_error_l1": name(pt.topic_error_l1, {"estimate": COMPONENTS, "truth": COMPONENTS}),
    "topic_error_l2": name(pt.topic_error_l2, {"estimate": COMPONENTS, "truth": COMPONENTS}),
    "topics_of": name(pt.topics_of, {"model": MODEL}, n=COUNT),
    "umass_coherence": name(functools.partial(scored, "umass_coherence"), SCORED),
    "unigram_perplexity": name(
        pt.unigram_perplexity, {"unigram": Kind(later(lambda: components()[0]), arrays), "X": X}
    ),
    "verify": name(pt.verify, {"path": Kind(later(audit_page), st.one_of(FILE.usual, FILE.strange))}, digest=TEXT),
    "verify_model": name(
        pt.verify_model,
        {"path": kind(["private.model", "plain.model"], ["", "missing", "folder", "broken.npz", "words.txt"])},
        report=FILE,
        seal=TEXT,
    ),
    "write_comparison": name(
        pt.write_comparison,
        {"model_a": MODEL, "model_b": MODEL, "path": OUT},
        names=kind([("a", "b")], [("a",), ("", ""), ("<b>", "\n"), "ab"]),
        title=TEXT,
        date=DATE,
    ),
    "write_model_card": name(
        pt.write_model_card,
        {"model": MODEL, "path": OUT},
        title=TEXT,
        date=DATE,
        purpose=TEXT,
        data=TEXT,
        evaluation=kind([{"error": 0.5}], [{}, {"x": float("nan")}]),
        feature_names=WORD_LIST,
    ),
    "write_report": name(
        pt.write_report,
        {"model": MODEL, "path": OUT},
        title=TEXT,
        date=DATE,
        truth=COMPONENTS,
        truth_names=WORD_LIST,
        feature_names=WORD_LIST,
        model_file=FILE,
    ),
}
ALSO = {
    "ClassShares": "class_shares",
    "TopicEvidence": "evidence_of",
    "SiteCoordinator": "Site",
    "SiteDirectory": "Site",
    "SiteIdentity": "Site",
    "Plan": "plan",
    "PrivateLikelihood": "private_log_likelihood",
    "Reliability": "reliability",
    "sealed": "audit_privacy",
    "write_audit": "audit_model",
    "write_shares": "class_shares",
    "Topic": "topics_of",
    "TopicWord": "topics_of",
}
"""Names that are called, or made, in the call of another."""


@st.composite
def name_calls(draw: st.DrawFn) -> Callable[[], None]:
    chosen = draw(st.sampled_from(sorted(NAMES)))
    called = NAMES[chosen]
    parameters = called.given | called.optional
    strange = draw(st.lists(st.sampled_from(sorted(parameters)), max_size=2)) if parameters else []
    more = draw(st.lists(st.sampled_from(sorted(called.optional)), max_size=2)) if called.optional else []
    values = {
        one: draw(kind.strange if one in strange else kind.usual)
        for one, kind in parameters.items()
        if one in called.given or one in strange or one in more
    }
    given = [values.pop(one) for one in called.given]
    return Call(f"{chosen}(*{given!r}, **{values!r})", lambda: called.call(*given, **values))

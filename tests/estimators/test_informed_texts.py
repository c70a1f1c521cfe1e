"""Texts with public knowledge: read before the corpus, aligned to released words, named in statement and ledger."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from private_topics import (
    BudgetLedger,
    BudgetSplit,
    CandidateVocabulary,
    DurableLedger,
    InputError,
    PrivacyError,
    PrivacyWarning,
    PrivateSpectralLDA,
    PrivateVocabulary,
    PublicKnowledge,
    SpectralLDA,
    Tokeniser,
    WordList,
    fit_texts,
    load,
)
from private_topics.corpus.counts.counting import count_texts
from private_topics.corpus.made_up.letters import make_letters
from private_topics.fits.private import IN_KNOWLEDGE
from private_topics.knowledge.shipped import shipped
from private_topics.knowledge.sources import KnowledgeSource, open_knowledge

LETTERS = [(letter.text, letter.patient) for letter in make_letters(1_500, seed=2)]
TEXTS = [text for text, _ in LETTERS]
PUBLIC = sorted({word for letter in make_letters(800, seed=9) for word in Tokeniser().words(letter.text)})
LISTED = WordList("public words", tuple(PUBLIC))
WANTED = CandidateVocabulary(LISTED)
INFORMED, ENOUGH = 3.0, 40.0  # epsilons of the informed fit, and of one whose budget needs no vectors


def private(epsilon: float = INFORMED, **settings: Any) -> PrivateSpectralLDA:
    defaults = {"delta": 1e-5, "refine_steps": 2, "noise_seed": 3}
    return PrivateSpectralLDA(3, epsilon=epsilon, **{**defaults, **settings})


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        yield


@pytest.fixture
def aligned(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The words that knowledge is aligned to, and what comes of it, from now on."""
    seen: list[Any] = []
    align = KnowledgeSource.align_released

    def watched(source: KnowledgeSource, words: Any) -> Any:
        seen.append((list(words), align(source, words)))
        return seen[-1][1]

    monkeypatch.setattr(KnowledgeSource, "align_released", watched)
    return seen


@pytest.fixture
def nonsense(tmp_path: Path) -> Path:
    """Vectors that say nothing of what goes together."""
    draw = np.random.default_rng(5)
    rows = (" ".join([word, *(f"{value:.4f}" for value in draw.normal(size=30))]) for word in PUBLIC)
    (tmp_path / "nonsense.txt").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return tmp_path / "nonsense.txt"


@pytest.mark.parametrize("vocabulary", [WANTED, PrivateVocabulary(), LISTED], ids=["candidates", "private", "list"])
@pytest.mark.parametrize("epsilon", [INFORMED, ENOUGH])
def test_one_run_and_one_charge(vocabulary: Any, epsilon: float) -> None:
    ledger = BudgetLedger(50.0, 1e-3)
    model = fit_texts(private(epsilon, ledger=ledger), TEXTS, vocabulary, knowledge="english")
    statement = model.privacy_
    assert statement.configuration == "informed"
    assert sum(release.share for release in statement.releases) <= 1.0 + 1e-9
    assert statement.epsilon_spent <= epsilon
    assert len(ledger.spent) == 1
    if len(model.components_) > 1:
        assert statement.epsilon_spent == pytest.approx(epsilon, rel=1e-4)
    if vocabulary is not LISTED:
        assert statement.releases[1].share == pytest.approx(0.1)


def test_statement_and_ledger_name_the_knowledge(tmp_path: Path) -> None:
    ledger = DurableLedger.register(tmp_path / "budget.db", "letters", 200.0, 1e-2)
    model = fit_texts(
        private(ledger=ledger, noise_seed=None), TEXTS, WANTED, knowledge=["english", "english-documents"]
    )
    fit_texts(private(ledger=ledger), TEXTS, WANTED)
    statement = model.privacy_
    (fact,) = [fact for fact in statement.public if "vectors" in fact]
    assert fact.startswith("what is known of the words, the public word vectors 'english' (SHA-256 ")
    assert "english-documents" in fact
    assert all(shipped(name).digest in fact for name in ("english", "english-documents"))
    assert f"which know {len(model.feature_names_in_):,}" not in fact  # not every word has a vector
    assert statement.not_covered[-1] == IN_KNOWLEDGE
    assert fact in statement.text
    assert "the guarantee is void" in statement.text
    informed, plain = ledger.entries()
    assert informed.settings["knowledge"] == "english + english-documents"
    assert informed.settings["knowledge_sha256"] == open_knowledge(["english", "english-documents"]).digest  # type: ignore[union-attr]
    assert "knowledge" not in plain.settings


def test_without_knowledge_nothing_is_said_of_it() -> None:
    statement = fit_texts(private(), TEXTS, WANTED).privacy_
    assert IN_KNOWLEDGE not in statement.not_covered
    assert not any("vectors" in fact or "knowledge" in fact for fact in statement.public)


@pytest.mark.parametrize("epsilon", [INFORMED, ENOUGH])
@pytest.mark.parametrize("refine_steps", [0, 2])
def test_vectors_that_know_nothing_cost_no_more_than_the_budget(
    nonsense: Path, epsilon: float, refine_steps: int
) -> None:
    model = fit_texts(private(epsilon, refine_steps=refine_steps), TEXTS, WANTED, knowledge=nonsense)
    shares = [release.share for release in model.privacy_.releases]
    assert shares[:2] == pytest.approx([0.01, 0.1])
    assert sum(shares) <= 1.0 + 1e-9
    if any(release.name == "second norms" for release in model.privacy_.releases):  # the sequential fit took over
        assert sum(shares) == pytest.approx(1.0, abs=1e-6)
    assert model.privacy_.epsilon_spent <= epsilon


def test_an_explicit_split_is_kept() -> None:
    split = BudgetSplit(
        vocabulary=0.2, unigram=0.1, histograms=0.02, second=0.2, frame=0.04, tensor=0.06, features=0.3, refine=0.08
    )
    model = fit_texts(private(budget_split=split), TEXTS, WANTED, knowledge="english")
    shares = {release.name: release.share for release in model.privacy_.releases}
    assert shares["candidate words"] == pytest.approx(0.2)
    assert sum(shares.values()) <= 1.0 + 1e-9


@pytest.mark.parametrize("split", [None, BudgetSplit(vocabulary=0.2, refine=0.255, features=0.2)])
@pytest.mark.parametrize("vocabulary", ["private", "candidates"])
def test_knowledge_of_none_of_the_released_words_is_not_used(split: Any, vocabulary: str) -> None:
    """It is known only after the vocabulary is charged, so nothing may fail."""
    strange = {word: f"zq{number // 26}qz{chr(97 + number % 26)}x" for number, word in enumerate(PUBLIC)}
    strange = {
        word: "".join("qzxjvkwybc"[int(c)] if c.isdigit() else c for c in made) for word, made in strange.items()
    }
    texts = [" ".join(strange.get(word, "") for word in Tokeniser().words(text)) for text in TEXTS]
    wanted: Any = PrivateVocabulary()
    if vocabulary == "candidates":
        wanted = CandidateVocabulary(WordList("strange words", tuple(dict.fromkeys(strange.values()))))
    ledger = BudgetLedger(200.0, 1e-3)
    model = fit_texts(private(ENOUGH, ledger=ledger, budget_split=split), texts, wanted, knowledge="english")
    plain = fit_texts(private(ENOUGH, ledger=ledger), texts, wanted)
    statement = model.privacy_
    assert len(ledger.spent) == 2
    assert statement.configuration == "sequential"
    assert sum(release.share for release in statement.releases) == pytest.approx(1.0, abs=1e-6)
    assert any(shipped("english").digest in fact and "not used" in fact for fact in statement.public)
    assert IN_KNOWLEDGE not in statement.not_covered
    if split is None:
        np.testing.assert_array_equal(model.components_, plain.components_)


def test_alignment_depends_on_released_words_only(aligned: list[Any]) -> None:
    """Two corpora, and two orders, that release the same words: the same knowledge, and before that of candidates."""
    strange = [f"{text} {'strange' * (n % 5)} odd{'abc'[n % 3]}" for n, text in enumerate(TEXTS)]
    models = [fit_texts(private(), texts, WANTED, knowledge="english") for texts in (TEXTS, strange, TEXTS[::-1])]
    before, after = aligned[::2], aligned[1::2]
    assert len(before) == 3
    for words, _ in before:
        assert words == Tokeniser().usable(WANTED.candidates.words)
    for (words, knowledge), model in zip(after, models, strict=True):
        assert words == list(model.feature_names_in_) == after[0][0]
        assert knowledge == after[0][1] == PublicKnowledge.english(words)


def test_the_corpus_enters_alignment_through_released_words_alone(aligned: list[Any]) -> None:
    """Other words, other knowledge; it is that of the words however they were found."""
    few = CandidateVocabulary(LISTED, 30)
    for texts in (TEXTS, TEXTS[:900]):
        fit_texts(private(), texts, few, knowledge="english")
    for words, knowledge in aligned[1::2]:
        assert len(words) == 30
        assert knowledge == PublicKnowledge.english(words)


class Unspendable:
    def reserve(self, *arguments: Any, **kind: Any) -> None:
        raise AssertionError("charged")


class Unreadable:
    def __iter__(self) -> Any:
        raise AssertionError("read")


@pytest.mark.parametrize("vocabulary", [WANTED, PrivateVocabulary(), LISTED], ids=["candidates", "private", "list"])
def test_knowledge_is_read_before_the_corpus(vocabulary: Any, tmp_path: Path) -> None:
    """What is missing or damaged is refused: nothing is charged, and no text is read."""
    (tmp_path / "damaged.npz").write_bytes(b"PK no archive")
    (tmp_path / "damaged.txt").write_text("word 0.1 0.2\nword two\n")
    for knowledge in (tmp_path / "missing.txt", "missing", tmp_path / "damaged.npz", tmp_path / "damaged.txt", 3, []):
        with pytest.raises(InputError):
            fit_texts(private(ledger=Unspendable()), Unreadable(), vocabulary, knowledge=knowledge)  # type: ignore[arg-type]


def test_the_order_is_knowledge_corpus_charge() -> None:
    heard: list[str] = []

    class Texts:
        def __iter__(self) -> Any:
            heard.append("corpus")
            return iter(TEXTS)

    class Public:
        def __iter__(self) -> Any:
            heard.append("knowledge")
            return (letter.text for letter in make_letters(300, seed=7))

    class Listening:
        def reserve(self, *arguments: Any, **kind: Any) -> None:
            heard.append("charge")

    model = fit_texts(private(ledger=Listening()), Texts(), WANTED, knowledge=Public())  # type: ignore[arg-type]
    assert heard[0] == "knowledge"
    assert heard.count("knowledge") == heard.count("charge") == 1
    assert "corpus" in heard[1 : heard.index("charge")]
    assert any("300 public texts" in fact for fact in model.privacy_.public)


def test_knowledge_of_the_model_goes_with_a_list_of_its_words() -> None:
    known = PublicKnowledge.english(PUBLIC)
    model = fit_texts(private(knowledge=known), TEXTS, LISTED)
    expected = private(knowledge=known).fit(count_texts(TEXTS, PUBLIC))
    named = fit_texts(private(), TEXTS, LISTED, knowledge="english")
    np.testing.assert_array_equal(model.components_, named.components_)
    assert known.description in " ".join(expected.privacy_.public)
    with pytest.raises(InputError, match="columns"):
        fit_texts(private(knowledge=known), TEXTS, WordList("fewer", tuple(PUBLIC[:50])))
    for given in ({"knowledge": known}, {}):
        model = private(ledger=Unspendable(), **given)
        with pytest.raises(InputError, match="needs a public word list"):
            fit_texts(model, Unreadable(), WANTED, knowledge=None if given else known)  # type: ignore[arg-type]


def test_what_is_refused() -> None:
    refusing = private(ledger=Unspendable())
    with pytest.raises(InputError, match="private model"):
        fit_texts(SpectralLDA(2), Unreadable(), LISTED, knowledge="english")  # type: ignore[arg-type]
    with pytest.raises(PrivacyError, match="no public knowledge"):
        fit_texts(refusing, TEXTS, WANTED, knowledge=TEXTS)
    with pytest.raises(InputError, match="twice"):
        fit_texts(refusing.set_params(knowledge=PublicKnowledge.english(PUBLIC)), TEXTS, LISTED, knowledge="english")
    with pytest.raises(InputError, match="sequential"):
        fit_texts(private(configuration=2, ledger=Unspendable()), TEXTS, WANTED, knowledge="english")
    with pytest.raises(InputError, match="none of the"):
        fit_texts(private(ledger=Unspendable()), TEXTS, WordList("x", ("zqzqx", "qzqzx")), knowledge="english")


@pytest.mark.parametrize("configuration", [2, "auto"])
def test_other_configurations_have_a_default_split_with_a_vocabulary(configuration: Any) -> None:
    model = fit_texts(private(ENOUGH, configuration=configuration), TEXTS, CandidateVocabulary(LISTED, 60))
    shares = [release.share for release in model.privacy_.releases]
    assert shares[:2] == pytest.approx([0.01, 0.1])
    assert sum(shares) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("split", [None, BudgetSplit(vocabulary=0.1, refine=0.255, features=0.3)])
def test_a_model_file_keeps_all_but_the_knowledge(split: Any, tmp_path: Path) -> None:
    model = fit_texts(private(budget_split=split), TEXTS, WANTED, knowledge="english")
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.components_, model.components_)
    assert (again.privacy_, again.budget_split, again.knowledge) == (model.privacy_, split, None)
    listed = private(budget_split=None, knowledge=PublicKnowledge.english(PUBLIC)).fit(count_texts(TEXTS, PUBLIC))
    listed.save(tmp_path / "listed")
    assert load(tmp_path / "listed").knowledge is None
    assert load(tmp_path / "listed").privacy_ == listed.privacy_

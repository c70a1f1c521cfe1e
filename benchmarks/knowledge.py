"""What public knowledge of words is worth: held-out perplexity and topics of real text, with and without it.

    python benchmarks/knowledge.py table       perplexity [topics] by corpus, size and epsilon, medians of five draws
    python benchmarks/knowledge.py sizes       the same over the number of documents, beside what is not private
    python benchmarks/knowledge.py useless     what vectors that know nothing cost, in pairs of draws, with intervals
    python benchmarks/knowledge.py words       the same from raw text, its vocabulary charged too: words and topics
    python benchmarks/knowledge.py topics      the topics of clinical notes and of mail, as words
    python benchmarks/knowledge.py prepare     count the words of all corpora once, into the folder --prepared

Everything is charged, delta = 1e-6. But for `words` the vocabulary is taken as public, and that of the clinical notes
are the words of a public medical corpus. Each draw has its own documents, where not all are used, and its own noise.
Wikipedia rows are never with vectors made from Wikipedia documents. "arxiv, private half": of the abstracts of every
second category half are private, and 5,000 abstracts of the other categories are public.
"""

from __future__ import annotations

import gzip
import json
import os
import statistics
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from corpora import CORPORA, VECTORIZER, data_folder, texts
from private_topics import (
    CandidateVocabulary,
    PrivacyWarning,
    PrivateSpectralLDA,
    PublicKnowledge,
    SpectralLDA,
    Tokeniser,
    WordList,
    fit_texts,
)
from private_topics.corpus.words.vocabulary import is_word
from private_topics.evaluation import unigram_perplexity
from private_topics.knowledge.shipped import shipped
from stored import about, options_of

STEMS = CORPORA | {"clinical": "mtsamples_clinical", "enron": "enron_email"}
FIRST_OF_2018 = 100_000  # ids of Wikipedia articles that vectors of 2014 cannot have seen
ROWS = (  # corpus, documents (None: all), topics asked for, epsilon, knowledge, perplexity at most, topics at least
    ("arxiv", None, 25, 1.0, "none", 1180, 1),
    ("arxiv", None, 25, 3.0, "none", 1012, 1),
    ("wikipedia", None, 25, 1.0, "none", 1205, 1),
    ("wikipedia", None, 25, 3.0, "none", 962, 1),
    ("wikipedia", None, 25, 1.0, "english", 1005, 1),
    ("wikipedia", None, 25, 3.0, "english", 900, 1),
    ("wikipedia", 20_000, 25, 1.0, "english", 1130, 20),
    ("wikipedia", 20_000, 25, 3.0, "english", 990, 1),
    ("wikipedia", 10_000, 25, 1.0, "english", 1225, 14),
    ("wikipedia", 10_000, 25, 3.0, "english", 1080, 22),
    ("wikipedia", 5_000, 25, 1.0, "english", 1360, 9),
    ("wikipedia", 5_000, 25, 3.0, "english", 1215, 18),
    ("wikipedia", 2_000, 25, 3.0, "english", 1420, 8),
    ("arxiv", None, 25, 1.0, "english", 1160, 1),
    ("arxiv", None, 25, 3.0, "english", 1012, 1),
    ("arxiv", 20_000, 25, 1.0, "english", 1465, 14),
    ("arxiv", 10_000, 25, 1.0, "english", 1670, 8),
    ("clinical", None, 10, 1.0, "english + public", 760, 4),
    ("clinical", None, 10, 3.0, "english + public", 635, 7),
    ("arxiv, private half", None, 25, 1.0, "english", None, 1),
    ("arxiv, private half", None, 25, 1.0, "english + public", None, 1),
    ("arxiv, private half", None, 25, 3.0, "english", None, 1),
    ("arxiv, private half", None, 25, 3.0, "english + public", None, 1),
    ("wikipedia 2018", 10_000, 25, 1.0, "none", None, 1),
    ("wikipedia 2018", 10_000, 25, 1.0, "english", None, 1),
    ("enron", None, 25, 1.0, "none", None, 1),
    ("enron", None, 25, 1.0, "english", None, 1),
)
USELESS = (
    ("wikipedia", 2_000, 1.0),
    ("wikipedia", 5_000, 1.0),
    ("wikipedia", 20_000, 1.0),
    ("arxiv", 20_000, 1.0),
    ("enron", None, 1.0),
    ("enron", None, 3.0),
)
KNOW_NOTHING = ("shuffled", "random", "misaligned", "another language", "another domain")
SIZES = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
SIZED = {  # corpus: knowledge beside none
    "wikipedia": ("english",),
    "arxiv, private half": ("english", "english + public"),
    "enron": ("english",),
    "clinical": ("english", "english + public"),
}
RAW = (  # corpus, documents, topics asked for
    ("clinical", None, 10),
    ("enron", 2_000, 25),
    ("enron", None, 25),
    ("wikipedia", 2_000, 25),
    ("wikipedia", 10_000, 25),
)
STUDENT = {5: 2.78, 10: 2.26, 20: 2.09}
PREPARED = "PRIVATE_TOPICS_PREPARED"  # environment: where counts lie that are made already


@dataclass(frozen=True)
class Prepared:
    train: Any
    test: Any
    words: list[str]


def kept(name: str, make: Callable[[], Any]) -> Any:
    """Counts that lie in the folder of prepared ones, or are made."""
    folder = os.environ.get(PREPARED)
    if folder is None:
        return make()
    path = Path(folder) / f"{name}.npz"
    if not path.exists():
        sp.save_npz(path, sp.csr_array(make()))
    return sp.csr_array(sp.load_npz(path))


@cache
def prepared(corpus: str) -> Prepared:
    """Counts on the 3,000 most frequent words; clinical notes on the 2,000 of the public medical abstracts."""
    if corpus == "wikipedia 2018":
        whole = prepared("wikipedia")
        return Prepared(
            whole.train[_field("wikipedia_en", "train", _number) >= FIRST_OF_2018], whole.test, whole.words
        )
    if corpus == "arxiv, private half":
        whole, rest = prepared("arxiv"), np.flatnonzero(~_is_public("train"))
        half = np.random.default_rng(0).permutation(rest)[: len(rest) // 2]
        return Prepared(whole.train[np.sort(half)], whole.test[~_is_public("test")], whole.words)
    words = _words(corpus)
    vectorizer = CountVectorizer(vocabulary=words, token_pattern=VECTORIZER["token_pattern"])
    train, test = (
        kept(f"{corpus}.{part}", lambda part=part: vectorizer.transform(texts(STEMS[corpus], part)))  # type: ignore[misc]
        for part in ("train", "test")
    )
    return Prepared(train.tocsr(), test.tocsr(), words)


def _words(corpus: str) -> list[str]:
    def found() -> list[str]:
        vectorizer = CountVectorizer(**VECTORIZER | {"max_features": 2000 if corpus == "clinical" else 3000})
        vectorizer.fit(
            texts("medical_abstracts", "public") if corpus == "clinical" else texts(STEMS[corpus], "train")
        )
        return list(vectorizer.get_feature_names_out())

    return list(_listed(f"{corpus}.words", found))


def _listed(name: str, make: Callable[[], list[Any]]) -> list[Any]:
    folder = os.environ.get(PREPARED)
    path = Path(folder or ".") / f"{name}.json"
    if folder is not None and path.exists():
        return list(json.loads(path.read_text()))
    made = make()
    if folder is not None:
        path.write_text(json.dumps(made))
    return made


def _number(record: dict[str, Any]) -> int:
    return int(record["id"].rsplit("-")[-1])


def _category(record: dict[str, Any]) -> str:
    return str(record["cat"])


@cache
def _field(stem: str, part: str, of: Callable[[dict[str, Any]], Any]) -> np.ndarray:
    def read() -> list[Any]:
        with gzip.open(data_folder() / f"{stem}.{part}.jsonl.gz", "rt", encoding="utf-8") as lines:
            return [of(json.loads(line)) for line in lines]

    return np.array(_listed(f"{stem}.{part}.{of.__name__}", read))


def _is_public(part: str) -> np.ndarray:
    """Of each abstract, whether its category is one of every second in the order of their names."""
    names = sorted(set(_field("arxiv_abstracts", "train", _category)))
    return np.isin(_field("arxiv_abstracts", part, _category), names[::2])


@cache
def public_documents(corpus: str) -> Any:
    """Counts of public documents of a neighbouring domain over the words of a corpus; other corpora: medical ones."""
    if corpus == "arxiv, private half":
        public = np.flatnonzero(_is_public("train"))
        return prepared("arxiv").train[np.sort(np.random.default_rng(1).permutation(public)[:5_000])]
    words = prepared(corpus).words
    medical = CountVectorizer(vocabulary=words, token_pattern=VECTORIZER["token_pattern"])
    return kept(f"{corpus}.medical", lambda: medical.transform(texts("medical_abstracts", "public"))).tocsr()


@cache
def knowledge(corpus: str, kind: str) -> PublicKnowledge | None:
    """Of the words of a corpus; the kinds of `KNOW_NOTHING` know nothing of them."""
    words = prepared(corpus).words
    if kind == "none":
        return None
    english = PublicKnowledge.english(words)
    generator = np.random.default_rng(0)
    if kind == "english + public":
        return english + PublicKnowledge.from_counts(public_documents(corpus))
    if kind == "another domain":
        return PublicKnowledge.from_counts(public_documents(corpus))
    if kind == "shuffled":
        return _with(english, english.vectors[generator.permutation(len(words))], kind)
    if kind == "random":
        return _with(english, generator.normal(size=english.vectors.shape), kind)
    if kind == "misaligned":
        return _with(english, np.roll(english.vectors, 1, axis=0), kind)
    if kind == "another language":  # a few words are spelt like others that mean something else
        spelt_alike = generator.random(len(words)) < 0.03
        shuffled = english.vectors[generator.permutation(len(words))]
        vectors = np.where(spelt_alike[:, None], shuffled, 0.0)
        return PublicKnowledge(vectors, np.full(len(words), np.nan), [(kind, kind, "0" * 64, int(spelt_alike.sum()))])
    assert kind == "english"
    return english


def _with(english: PublicKnowledge, vectors: np.ndarray, name: str) -> PublicKnowledge:
    return PublicKnowledge(vectors, english.log_frequencies, [(name, f"{name} vectors", "0" * 64, len(vectors))])


def fitted(corpus: str, documents: int | None, topics: int, epsilon: float, kind: str, draw: int) -> Any:
    train = prepared(corpus).train
    if documents is not None:
        train = train[np.sort(np.random.default_rng(draw).permutation(train.shape[0])[:documents])]
    settings = {"epsilon": epsilon, "knowledge": knowledge(corpus, kind), "noise_seed": draw}
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        return PrivateSpectralLDA(topics, **settings).fit(train)


Cell = tuple[str, int | None, int, float, str]


def score(case: tuple[Cell, int]) -> tuple[float, int]:
    """Held-out perplexity and number of topics of one draw."""
    (corpus, documents, topics, epsilon, kind), draw = case
    model = fitted(corpus, documents, topics, epsilon, kind, draw)
    return float(model.perplexity(prepared(corpus).test)), len(model.components_)


def scores(cells: Iterable[Cell], draws: int, processes: int) -> dict[Cell, list[tuple[float, int]]]:
    cells = list(dict.fromkeys(cells))
    cases = [(cell, draw) for cell in cells for draw in range(draws)]
    if processes == 1:
        found = list(map(score, cases))
    else:
        with ProcessPoolExecutor(processes) as pool:
            found = list(pool.map(score, cases))
    return {cell: found[place * draws : (place + 1) * draws] for place, cell in enumerate(cells)}


def _median(found: list[tuple[float, int]]) -> str:
    perplexities, topics = zip(*found, strict=True)
    return f"{statistics.median(perplexities):.0f} [{statistics.median(topics):g}]"


def table(draws: int, processes: int) -> None:
    found = scores((row[:5] for row in ROWS), draws, processes)
    print("| corpus | documents | topics asked for | epsilon | knowledge | perplexity [topics] | draws | at most |")
    print("|---|---|---|---|---|---|---|---|")
    for *cell, limit, fewest in ROWS:
        corpus, documents, topics, epsilon, kind = cell
        results = found[tuple(cell)]  # type: ignore[index]
        wanted = "–" if limit is None else f"{limit}" + (f" with {fewest} topics" if fewest > 1 else "")
        number = documents or prepared(corpus).train.shape[0]
        print(
            f"| {corpus} | {number:,} | {topics} | {epsilon:g} | {kind} | {_median(results)} "
            f"| {', '.join(f'{value:.0f}' for value, _ in sorted(results))} | {wanted} |"
        )
    _print_bounds()


def _print_bounds() -> None:
    """What is not private: exact word frequencies, the topics of the public documents alone, those of the corpus."""
    print("\n| corpus | exact word frequencies | public documents alone | without privacy |\n|---|---|---|---|")
    for corpus in SIZED:
        train, test, topics = prepared(corpus).train, prepared(corpus).test, _topics(corpus)
        plain = SpectralLDA(topics, random_state=0).fit(train).perplexity(test)
        public = "–"
        if "english + public" in SIZED[corpus]:
            public = f"{SpectralLDA(topics, random_state=0).fit(public_documents(corpus)).perplexity(test):.0f}"
        print(f"| {corpus} | {unigram_perplexity(train, test):.0f} | {public} | {plain:.0f} |")


def _topics(corpus: str) -> int:
    return 10 if corpus == "clinical" else 25


def sizes(draws: int, processes: int) -> None:
    """Perplexity [topics] over the number of documents."""
    cells: list[Cell] = [
        (corpus, None if size >= prepared(corpus).train.shape[0] else size, _topics(corpus), epsilon, kind)
        for corpus, kinds in SIZED.items()
        for size in _sizes(corpus)
        for epsilon in (1.0, 3.0)
        for kind in ("none", *kinds)
    ]
    found = scores(cells, draws, processes)
    for corpus, kinds in SIZED.items():
        shown = ("none", *kinds)
        heads = [f"{kind}, epsilon {epsilon:g}" for epsilon in (1.0, 3.0) for kind in shown]
        print(f"\n### {corpus}\n\n| documents | {' | '.join(heads)} |\n|---|{'---|' * len(heads)}")
        whole = prepared(corpus).train.shape[0]
        for size in _sizes(corpus):
            row = [
                _median(found[corpus, None if size >= whole else size, _topics(corpus), epsilon, kind])
                for epsilon in (1.0, 3.0)
                for kind in shown
            ]
            print(f"| {min(size, whole):,} | {' | '.join(row)} |")
    _print_bounds()


def _sizes(corpus: str) -> list[int]:
    whole = prepared(corpus).train.shape[0]
    return [size for size in SIZES if size < whole] + [whole]


def useless(draws: int, processes: int) -> None:
    """Draw n of both has the same documents; the noise is not comparable, since the releases differ."""
    kinds = ("none", *KNOW_NOTHING)
    found = scores(((c, n, 25, e, kind) for c, n, e in USELESS for kind in kinds), draws, processes)
    print("| corpus | documents | epsilon | knowledge | without | with | change in % | 95 % interval |")
    print("|---|---|---|---|---|---|---|---|")
    for corpus, documents, epsilon in USELESS:
        values = {kind: np.array([p for p, _ in found[corpus, documents, 25, epsilon, kind]]) for kind in kinds}
        for kind in KNOW_NOTHING:
            change = 100.0 * np.log(values[kind] / values["none"])
            half = STUDENT.get(draws, 2.0) * change.std(ddof=1) / np.sqrt(draws)
            number = documents or prepared(corpus).train.shape[0]
            print(
                f"| {corpus} | {number:,} | {epsilon:g} | {kind} | {values['none'].mean():.0f} "
                f"| {values[kind].mean():.0f} | {change.mean():+.2f} "
                f"| {change.mean() - half:+.2f} to {change.mean() + half:+.2f} |"
            )


def words(draws: int, _: int) -> None:
    """As `private-topics fit` does it: a tenth of the budget chooses among the words of the shipped list."""
    tokeniser, names = Tokeniser(), tuple(filter(is_word, shipped("english").words))
    listed = CandidateVocabulary(WordList("english", names))
    print("| corpus | documents | topics asked for | epsilon | knowledge | words | share of unseen text | topics |")
    print("|---|---|---|---|---|---|---|---|")
    for (corpus, documents, topics), epsilon in ((case, e) for case in RAW for e in (1.0, 3.0)):
        texts_of, unseen = texts(STEMS[corpus], "train"), texts(STEMS[corpus], "test", 500)
        running = Counter(word for text in unseen for word in tokeniser.words(text))
        for kind in (None, "english"):
            found = []
            for draw in range(draws):
                order = np.random.default_rng(draw).permutation(len(texts_of))[:documents]
                model = PrivateSpectralLDA(topics, epsilon=epsilon, noise_seed=draw)
                with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
                    fit_texts(model, [texts_of[n] for n in np.sort(order)], listed, tokeniser, knowledge=kind)
                covered = sum(running[word] for word in model.feature_names_in_) / running.total()
                found.append((len(model.feature_names_in_), covered, len(model.components_)))
            chosen, covered, used = (statistics.median(column) for column in zip(*found, strict=True))
            number = documents or len(texts_of)
            row = (
                corpus,
                f"{number:,}",
                topics,
                f"{epsilon:g}",
                kind or "none",
                f"{chosen:.0f}",
                f"{covered:.0%}",
                used,
            )
            print(f"| {' | '.join(map(str, row))} |", flush=True)


def shown_topics(*_: int) -> None:
    cases = (("clinical", 10, "english + public"), ("clinical", 10, "none"), ("enron", 25, "english"))
    for (corpus, topics, kind), epsilon in ((case, epsilon) for case in cases for epsilon in (1.0, 3.0)):
        model = fitted(corpus, None, topics, epsilon, kind, 0)
        number = prepared(corpus).train.shape[0]
        print(f"### {corpus}, {number:,} documents, epsilon {epsilon:g}, knowledge: {kind}\n")
        for words in model.top_words(prepared(corpus).words, n=9):
            print(f"- {' '.join(words)}")
        print(flush=True)


def prepare(*_: int) -> None:
    for corpus in ("wikipedia 2018", "arxiv, private half", "enron", "clinical"):
        prepared(corpus), public_documents(corpus.removesuffix(" 2018"))
    public_documents("arxiv")


def main() -> None:
    parser = options_of(__doc__)
    commands: dict[str, tuple[Callable[[int, int], None], int]] = {
        "table": (table, 5), "sizes": (sizes, 3), "useless": (useless, 20), "words": (words, 3),
        "topics": (shown_topics, 1), "prepare": (prepare, 1),
    }  # fmt: skip
    parser.add_argument("what", choices=commands)
    parser.add_argument("--draws", type=int)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--prepared", help="folder with the counts of `prepare`; where the corpora need not be")
    arguments = parser.parse_args()
    if arguments.prepared:
        os.environ[PREPARED] = arguments.prepared
    print(f"{about()}\n\n`python benchmarks/knowledge.py {arguments.what}`\n")
    run, usual = commands[arguments.what]
    run(arguments.draws or usual, arguments.processes)


if __name__ == "__main__":
    main()

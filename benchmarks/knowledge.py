"""What public knowledge of words is worth: held-out perplexity and topics of real text, with and without it.

    python benchmarks/knowledge.py table       perplexity [topics] by corpus, size and epsilon, medians of five draws
    python benchmarks/knowledge.py useless     what vectors that know nothing cost, in pairs of draws, with intervals
    python benchmarks/knowledge.py topics      the topics of clinical notes and of mail, as words

Everything is charged, delta = 1e-6; the vocabulary is taken as public, except that the clinical notes have the words
of a public medical corpus. Each draw has its own documents, where not all are used, and its own noise. Wikipedia rows
are never with vectors made from Wikipedia documents.
"""

from __future__ import annotations

import statistics
import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from corpora import CORPORA, VECTORIZER, texts
from private_topics import PrivacyWarning, PrivateSpectralLDA, PublicKnowledge, SpectralLDA
from private_topics.evaluation import unigram_perplexity
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
    ("clinical", None, 10, 1.0, "english + medical", 760, 4),
    ("clinical", None, 10, 3.0, "english + medical", 635, 7),
    ("wikipedia 2018", 10_000, 25, 1.0, "none", None, 1),
    ("wikipedia 2018", 10_000, 25, 1.0, "english", None, 1),
    ("enron", None, 25, 1.0, "none", None, 1),
    ("enron", None, 25, 1.0, "english", None, 1),
)
USELESS = (("wikipedia", 5_000, 1.0), ("wikipedia", 20_000, 1.0), ("arxiv", 20_000, 1.0), ("enron", None, 3.0))
STUDENT = {5: 2.78, 10: 2.26, 20: 2.09}


@dataclass(frozen=True)
class Prepared:
    train: Any
    test: Any
    words: list[str]


@cache
def prepared(corpus: str) -> Prepared:
    """Counts on the 3,000 most frequent words; clinical notes on the 2,000 of the public medical abstracts."""
    if corpus == "wikipedia 2018":
        whole = prepared("wikipedia")
        return Prepared(whole.train[_ids("wikipedia_en") >= FIRST_OF_2018], whole.test, whole.words)
    size = 2000 if corpus == "clinical" else 3000
    vectorizer = CountVectorizer(**VECTORIZER | {"max_features": size})
    documents = texts(STEMS[corpus], "train")
    vectorizer.fit(texts("medical_abstracts", "public") if corpus == "clinical" else documents)
    train, test = (vectorizer.transform(part).tocsr() for part in (documents, texts(STEMS[corpus], "test")))
    return Prepared(train, test, list(vectorizer.get_feature_names_out()))


def _ids(stem: str) -> np.ndarray:
    import gzip
    import json

    from corpora import data_folder

    with gzip.open(data_folder() / f"{stem}.train.jsonl.gz", "rt", encoding="utf-8") as lines:
        return np.array([int(json.loads(line)["id"].rsplit("-")[-1]) for line in lines])


@cache
def knowledge(corpus: str, kind: str) -> PublicKnowledge | None:
    """Of the words of a corpus; "shuffled" and "random" know nothing of them."""
    words = prepared(corpus).words
    if kind == "none":
        return None
    english = PublicKnowledge.english(words)
    generator = np.random.default_rng(0)
    if kind == "english + medical":
        medical = CountVectorizer(vocabulary=words, token_pattern=VECTORIZER["token_pattern"])
        return english + PublicKnowledge.from_counts(medical.transform(texts("medical_abstracts", "public")))
    if kind == "shuffled":
        return _with(english, english.vectors[generator.permutation(len(words))], kind)
    if kind == "random":
        return _with(english, generator.normal(size=english.vectors.shape), kind)
    assert kind == "english"
    return english


def _with(english: PublicKnowledge, vectors: np.ndarray, name: str) -> PublicKnowledge:
    return PublicKnowledge(vectors, english.log_frequencies, [(name, f"{name} vectors", "0" * 64, len(vectors))])


def fitted(corpus: str, documents: int | None, topics: int, epsilon: float, kind: str, draw: int) -> Any:
    train = prepared(corpus).train
    if documents is not None:
        train = train[np.sort(np.random.default_rng(draw).permutation(train.shape[0])[:documents])]
    settings = {"epsilon": epsilon, "knowledge": knowledge(corpus, kind), "noise_seed": draw}
    return PrivateSpectralLDA(topics, **settings).fit(train)


def table(draws: int, only: str = "") -> None:
    print("| corpus | documents | topics asked for | epsilon | knowledge | perplexity [topics] | draws | at most |")
    print("|---|---|---|---|---|---|---|---|")
    for corpus, documents, topics, epsilon, kind, limit, fewest in (row for row in ROWS if row[0].startswith(only)):
        models = [fitted(corpus, documents, topics, epsilon, kind, draw) for draw in range(draws)]
        scores = [model.perplexity(prepared(corpus).test) for model in models]
        used = statistics.median(len(model.components_) for model in models)
        wanted = "–" if limit is None else f"{limit}" + (f" with {fewest} topics" if fewest > 1 else "")
        number = documents or prepared(corpus).train.shape[0]
        print(
            f"| {corpus} | {number:,} | {topics} | {epsilon:g} | {kind} | {statistics.median(scores):.0f} [{used:g}] "
            f"| {', '.join(f'{score:.0f}' for score in sorted(scores))} | {wanted} |",
            flush=True,
        )
    if only:
        return
    print("\n| corpus | exact word frequencies | without privacy |\n|---|---|---|")
    for corpus, topics in (("arxiv", 25), ("wikipedia", 25), ("clinical", 10), ("enron", 25)):
        train, test = prepared(corpus).train, prepared(corpus).test
        plain = SpectralLDA(topics, random_state=0).fit(train).perplexity(test)
        print(f"| {corpus} | {unigram_perplexity(train, test):.0f} | {plain:.0f} |", flush=True)


def useless(draws: int) -> None:
    """Draw n of both has the same documents; the noise is not comparable, since the releases differ."""
    print("| corpus | documents | epsilon | vectors | without | with | change in % | 95 % interval |")
    print("|---|---|---|---|---|---|---|---|")
    for corpus, documents, epsilon in USELESS:
        test = prepared(corpus).test
        scores = {
            kind: [fitted(corpus, documents, 25, epsilon, kind, draw).perplexity(test) for draw in range(draws)]
            for kind in ("none", "shuffled", "random")
        }
        for kind in ("shuffled", "random"):
            change = 100.0 * np.log(np.array(scores[kind]) / np.array(scores["none"]))
            half = STUDENT.get(draws, 2.0) * change.std(ddof=1) / np.sqrt(draws)
            means = np.mean(scores["none"]), np.mean(scores[kind])
            number = documents or prepared(corpus).train.shape[0]
            print(
                f"| {corpus} | {number:,} | {epsilon:g} | {kind} | {means[0]:.0f} | {means[1]:.0f} "
                f"| {change.mean():+.2f} | {change.mean() - half:+.2f} to {change.mean() + half:+.2f} |",
                flush=True,
            )


def shown_topics(_: int) -> None:
    cases = (("clinical", 10, "english + medical"), ("clinical", 10, "none"), ("enron", 25, "english"))
    for (corpus, topics, kind), epsilon in ((case, epsilon) for case in cases for epsilon in (1.0, 3.0)):
        model = fitted(corpus, None, topics, epsilon, kind, 0)
        number = prepared(corpus).train.shape[0]
        print(f"### {corpus}, {number:,} documents, epsilon {epsilon:g}, knowledge: {kind}\n")
        for words in model.top_words(prepared(corpus).words, n=9):
            print(f"- {' '.join(words)}")
        print(flush=True)


def main() -> None:
    parser = options_of(__doc__)
    commands = {"table": (table, 5), "useless": (useless, 20), "topics": (shown_topics, 1)}
    parser.add_argument("what", choices=commands)
    parser.add_argument("--draws", type=int)
    parser.add_argument("--only", default="", help="of the table: corpora whose name starts like this")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    print(f"{about()}\n\n`python benchmarks/knowledge.py {arguments.what}`\n")
    run, usual = commands[arguments.what]
    run(arguments.draws or usual, *([arguments.only] if arguments.what == "table" else []))


if __name__ == "__main__":
    main()

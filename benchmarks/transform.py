"""How long `PrivateTopics.transform` takes beside counting the same words alone, in the same run.

    python benchmarks/transform.py [--texts 100000] [--topics 10] [--words 3000] [--rounds 5] [--out FILE]

A private model of the first texts of a public corpus (arXiv abstracts) is applied to texts in memory: tokenise,
count, find the proportions, make the data frame. The same texts are tokenised and counted alone, over the same
vocabulary with the same threads. The two take turns; the ratio of the shortest times is the result, by wall clock and
by processor time, and should not exceed 1.20. On a machine that others use too the ratio by processor time is the one
to look at. Also shown: how far the proportions are from the fixed point that plain rounds of inference reach in the
end.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np

from corpora import data_folder
from private_topics import PrivateTopics, Tokeniser
from private_topics.corpus.counts.counting import count_texts
from private_topics.corpus.counts.matrix import stack_rows
from private_topics.corpus.texts.readers import open_texts
from private_topics.inference.fold_in import fold_in
from stored import options_of, tell
from tokenising import Timing, frequent_words, timed

CORPUS = "arxiv_abstracts.train.jsonl.gz"
FITTED, CHECKED, MANY_ROUNDS, OLD_ROUNDS = 20_000, 5_000, 3_000, 50
WANTED = 1.20


def texts_to_apply(count: int) -> list[str]:
    path = data_folder() / CORPUS
    if not path.exists():
        raise SystemExit(f"there is no {path}; name its folder in $PRIVATE_TOPICS_DATA")
    texts = [text for text, _ in open_texts(path)]
    return list(itertools.islice(itertools.cycle(texts), count))


def distances(model: PrivateTopics, texts: list[str]) -> dict[str, np.ndarray]:
    """Of each document, how far its proportions are from the fixed point: ours, and after the rounds of old."""
    counts = stack_rows(list(count_texts(texts, list(model.feature_names_in_), model.tokeniser_)))
    arrays = counts.indptr, counts.indices, counts.data, np.ascontiguousarray(model.components_.T)
    ends, before = (
        gamma / gamma.sum(axis=1, keepdims=True)
        for gamma in (fold_in(*arrays, model.doc_topic_prior_, rounds)[0] for rounds in (MANY_ROUNDS, OLD_ROUNDS))
    )
    found = {"now": model.model_.transform(counts), f"{OLD_ROUNDS} plain rounds": before}
    return {name: np.abs(one - ends).max(axis=1) for name, one in found.items()}


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--topics", type=int, default=10)
    parser.add_argument("--words", type=int, default=3_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    texts = texts_to_apply(options.texts)
    words = Tokeniser().usable(frequent_words(texts[:FITTED], options.words))  # the corpus is public
    model = PrivateTopics(options.topics, epsilon=8, vocabulary=words, knowledge=None).fit(texts[:FITTED])
    systems = {
        "tokenise and count": lambda: count_texts(texts, list(model.feature_names_in_), model.tokeniser_),
        "transform": lambda: model.transform(texts),
    }
    model.transform(texts[:100])  # compile
    timings: dict[str, list[Timing]] = {name: [] for name in systems}
    for _ in range(options.rounds):
        for name, function in systems.items():
            timings[name].append(timed(function)[0])
    wall, processor = ({name: min(one[i] for one in rounds) for name, rounds in timings.items()} for i in (0, 1))
    alone, whole = systems
    lines = ["# Applying a model beside tokenising alone", ""]
    command = f"--texts {options.texts} --topics {options.topics} --words {options.words} --rounds {options.rounds}"
    lines += [f"`python benchmarks/transform.py {command}`", "", "| | wall, s | processor, s |", "|---|---:|---:|"]
    lines += [f"| {name} | {wall[name]:.2f} | {processor[name]:.2f} |" for name in systems]
    lines += [f"| ratio | {wall[whole] / wall[alone]:.2f} | {processor[whole] / processor[alone]:.2f} |", ""]
    lines += [f"Wanted: at most {WANTED:.2f}. {len(model.components_)} topics, {model.n_features_in_:,} words.", ""]
    lines += ["Distance of a document's proportions from the fixed point (largest of its topics):", ""]
    lines += ["| | median | 90 % | 99 % | mean |", "|---|---:|---:|---:|---:|"]
    for name, away in distances(model, texts[:CHECKED]).items():
        shown = [*np.quantile(away, [0.5, 0.9, 0.99]), away.mean()]
        lines.append(f"| {name} | " + " | ".join(f"{value:.1e}" for value in shown) + " |")
    tell("\n".join(lines), options.out)


if __name__ == "__main__":
    main()

"""What `plan` promises of fits with public knowledge against what they find, on real text and on planted topics.

    python research/knowledge_cells.py prepare FOLDER    counts and words of all corpora
    python research/knowledge_cells.py measure FOLDER    fits of them, into research/results/knowledge_cells.csv
    python research/knowledge_cells.py plant             the same for planted topics, into knowledge_cells_planted.csv
    python research/knowledge_cells.py compare           both tables, and how many cells the forecast has right

Public estimator with the English vectors of the package, default settings, delta = 1e-6. Real text: one draw of
documents and noise for each cell; the clinical notes have the words and the vectors of the public medical abstracts.
Planted topics are made of the vectors, and to a part of what no vector knows; their error is known. The constants
of planning/constants.py were fitted to the cells marked "fitted", not to the others; the shape of the formulas was
chosen with both in sight. All cells have one noise seed, so chance decides alike in those of one size. `plan` is told
the numbers of documents, words and topics and the mean length, nothing else.
"""

from __future__ import annotations

import json
import statistics
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from corpora import VECTORIZER, texts  # noqa: E402
from plan_cells import FILES  # noqa: E402
from stored import options_of, read_csv, store_csv  # noqa: E402

SIZES = {
    "clinical": (500, 2_000),
    "wikipedia": (500, 1_000, 2_000, 5_000, 10_000, 20_000),
    "arxiv": (500, 1_000, 2_000, 5_000, 10_000, 20_000),
    "enron": (500, 2_000, 5_000, 15_000),
    "medical": (500, 1_000, 2_000, 5_000),
}
ASKED = {"clinical": 10}  # of the others 25
WORDS = {"clinical": (2_000,)}  # the most frequent of the public medical abstracts; of the others 1,000 and 3,000
EPSILONS = {1_000: (1.0,), 2_000: (0.5, 1.0, 3.0), 3_000: (0.5, 1.0, 3.0)}
DRAWS, TEST = 1, 3_000
STORED = ROOT / "research" / "results" / "knowledge_cells.csv"
PLANTED = STORED.with_name("knowledge_cells_planted.csv")

SKIPPED_WORDS = 200  # of the English list: stop words
SPREAD = 0.35  # of the features of planted topics
GRID = {  # documents, words, topics, part of a topic that no vector knows, mean length, epsilon
    "fitted": ((2_000, 10_000), (1_000, 3_000), (5, 20), (0.3, 1.0), (50.0,), (1.0, 10.0)),
    "held out": ((3_000, 8_000), (2_000,), (4, 8, 16), (0.6,), (100.0,), (1.0, 3.0, 10.0)),
}


# -- real text ------------------------------------------------------------------------------------------------------


def prepare(folder: Path) -> None:
    """Counts and words, and what word frequencies and a fit without privacy reach on the test documents."""
    from sklearn.feature_extraction.text import CountVectorizer

    from private_topics import SpectralLDA
    from private_topics.evaluation import unigram_perplexity

    folder.mkdir(parents=True, exist_ok=True)
    for name, (stem, part) in FILES.items():
        read = texts(stem, part)
        tested = texts(stem, "test")[:TEST] if part == "train" else read[-1_000:]
        read = read if part == "train" else read[:-1_000]
        for words in WORDS.get(name, (1_000, 3_000)):
            vectorizer = CountVectorizer(**VECTORIZER | {"max_features": words})
            vectorizer.fit(texts("medical_abstracts", "public") if name == "clinical" else read)
            train, test = (sp.csr_array(vectorizer.transform(some), dtype=np.int32) for some in (read, tested))
            stem_of = folder / f"{name}{words}"
            sp.save_npz(f"{stem_of}.train.npz", train)
            sp.save_npz(f"{stem_of}.test.npz", test)
            plain = SpectralLDA(ASKED.get(name, 25), random_state=0).fit(train).perplexity(test)
            told = {"unigram": unigram_perplexity(train, test), "plain": plain}
            told["words"] = list(vectorizer.get_feature_names_out())
            Path(f"{stem_of}.json").write_text(json.dumps(told), encoding="utf-8")


@cache
def prepared(folder: Path, corpus: str, words: int) -> tuple[Any, Any, dict[str, Any]]:
    stem = folder / f"{corpus}{words}"
    told = json.loads(Path(f"{stem}.json").read_text(encoding="utf-8"))
    return sp.load_npz(f"{stem}.train.npz"), sp.load_npz(f"{stem}.test.npz"), told


@cache
def knowledge(folder: Path, corpus: str, words: int) -> Any:
    from sklearn.feature_extraction.text import CountVectorizer

    from private_topics import PublicKnowledge

    names = prepared(folder, corpus, words)[2]["words"]
    english = PublicKnowledge.english(names)
    if corpus != "clinical":
        return english
    medical = CountVectorizer(vocabulary=names, token_pattern=VECTORIZER["token_pattern"])
    return english + PublicKnowledge.from_counts(medical.transform(texts("medical_abstracts", "public")))


def cell(task: tuple[Path, str, int, int, float, int]) -> dict[str, Any]:
    folder, corpus, documents, words, epsilon, draw = task
    counts, test, told = prepared(folder, corpus, words)
    chosen = np.random.default_rng(draw).permutation(counts.shape[0])[:documents]
    counts, asked = counts[np.sort(chosen)], ASKED.get(corpus, 25)
    model = fitted(counts, asked, epsilon, draw, knowledge(folder, corpus, words))
    return {
        "corpus": corpus,
        "documents": counts.shape[0],
        "words": words,
        "asked": asked,
        "epsilon": epsilon,
        "draw": draw,
        "mean_length": round(float(counts.sum() / counts.shape[0]), 1),
        "found": len(model.components_),
        "supported": model.supported_components_,
        "perplexity": round(model.perplexity(test), 1),
        "unigram": round(told["unigram"], 1),
        "plain": round(told["plain"], 1),
    }


def fitted(counts: Any, asked: int, epsilon: float, draw: int, known: Any) -> Any:
    from private_topics import PrivateSpectralLDA

    settings = {"epsilon": epsilon, "delta": 1e-6, "noise_seed": draw, "n_jobs": 1}
    with warnings.catch_warnings(action="ignore"):
        return PrivateSpectralLDA(asked, **settings, knowledge=known, keep="untested").fit(counts)


def measure(folder: Path, workers: int) -> None:
    tasks = [
        (folder, corpus, size, words, epsilon, draw)
        for corpus in SIZES
        for size in SIZES[corpus]
        for words in WORDS.get(corpus, (1_000, 3_000))
        for epsilon in EPSILONS[words]
        for draw in range(DRAWS)
    ]
    with ProcessPoolExecutor(workers) as pool:
        store_csv(STORED, list(pool.map(cell, tasks)))


# -- planted topics -------------------------------------------------------------------------------------------------


def planted(documents: int, words: int, topics: int, own: float, length: float, draw: int) -> tuple[Any, Any, Any]:
    """Counts, their topics, and the knowledge: `log topic = log frequency + features · θ + own · noise`."""
    from private_topics import PublicKnowledge
    from private_topics.inference.features import Expected, Features
    from private_topics.knowledge.shipped import shipped
    from private_topics.spectral.public_basis import centred_vectors

    rng = np.random.default_rng(draw)
    known = PublicKnowledge.english(shipped("english").words[SKIPPED_WORDS : SKIPPED_WORDS + words])
    frequencies = np.exp(known.log_frequencies)
    frequencies /= frequencies.sum()
    components = centred_vectors(known.vectors, frequencies, 30)
    none = Expected(np.empty((0, words)), np.empty(0), 1.0, 0.0)
    features = Features.of(components, frequencies, none).values
    theta = rng.normal(scale=SPREAD * np.sqrt(features.shape[1]), size=(features.shape[1], topics))
    exponents = features @ theta + own * rng.normal(size=(words, topics))
    truth = (frequencies[:, None] * np.exp(exponents - exponents.max(axis=0))).T
    truth /= truth.sum(axis=1, keepdims=True)
    lengths = rng.poisson(length, documents)
    each = rng.multinomial(lengths, rng.dirichlet(np.full(topics, 1.0 / topics), documents))
    columns = np.concatenate([rng.choice(words, each[:, i].sum(), p=truth[i]) for i in range(topics)])
    rows = np.concatenate([np.repeat(np.arange(documents), each[:, i]) for i in range(topics)])
    ones = np.ones(len(rows), np.int32)
    return sp.csr_array(sp.coo_array((ones, (rows, columns)), shape=(documents, words))), truth, known


def planted_cell(task: tuple[str, int, int, int, float, float, float]) -> dict[str, Any]:
    part, documents, words, topics, own, length, epsilon = task
    draw = list(GRID).index(part)
    counts, truth, known = planted(documents, words, topics, own, length, draw)
    estimate = fitted(counts, topics, epsilon, draw, known).components_
    names = ("part", "documents", "words", "topics", "own", "mean_length", "epsilon")
    found = {"found": len(estimate), "error": round(error_of(estimate, truth), 4)}
    return dict(zip(names, task, strict=True)) | found


def error_of(estimate: np.ndarray, truth: np.ndarray) -> float:
    """`||estimate - topic|| / ||topic||`, averaged over the topics that have an estimate."""
    from private_topics.evaluation import match_topics

    pairs = [(estimate[j], topic) for j, topic in zip(match_topics(estimate, truth), truth, strict=True) if j >= 0]
    return statistics.mean(float(np.linalg.norm(one - topic) / np.linalg.norm(topic)) for one, topic in pairs)


def plant(workers: int) -> None:
    tasks = [(part, *task) for part, axes in GRID.items() for task in product(*axes)]
    with ProcessPoolExecutor(workers) as pool:
        store_csv(PLANTED, list(pool.map(planted_cell, tasks)))


# -- what was promised ----------------------------------------------------------------------------------------------


def held_out(corpus: str, documents: int) -> bool:
    """Two corpora of five, and every second size of the others, took no part in the fitting."""
    return corpus in ("enron", "clinical") or SIZES[corpus].index(documents) % 2 == 1


class Compared(NamedTuple):
    """A cell of real text: what `plan` promises, and the means of what the draws found and kept."""

    corpus: str
    documents: int
    words: int
    epsilon: float
    plan: Any
    found: float
    kept: float

    @property
    def out(self) -> bool:
        return held_out(self.corpus, self.documents)

    @property
    def good(self) -> bool:
        return bool(self.plan.expected_topics == self.found)

    @property
    def within(self) -> bool:
        low, high = self.plan.topic_range
        return bool(low <= self.found <= high)

    @property
    def kept_within(self) -> bool:
        return bool(self.plan.kept.low <= self.kept <= self.plan.kept.high)

    @property
    def sure(self) -> bool:
        """All topics are promised, whatever the noise."""
        return bool(self.plan.topic_range[0] == self.plan.n_components)


def compared() -> list[Compared]:
    from private_topics import plan

    cells: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in read_csv(STORED):
        cells.setdefault(tuple(row[name] for name in ("corpus", "documents", "words", "epsilon")), []).append(row)
    result = []
    for (corpus, documents, words, epsilon), here in cells.items():
        asked, length = int(here[0]["asked"]), float(here[0]["mean_length"])
        promised = plan(
            int(documents), int(words), asked, epsilon=float(epsilon), mean_length=length, knowledge="english"
        )
        found = statistics.mean(int(row["found"]) for row in here)
        unigram, plain = (np.log(float(here[0][name])) for name in ("unigram", "plain"))
        reached = statistics.mean(np.log(float(row["perplexity"])) for row in here)
        kept = float((unigram - reached) / (unigram - plain))
        result.append(Compared(corpus, int(documents), int(words), float(epsilon), promised, found, kept))
    return result


class Errors(NamedTuple):
    """A cell of planted topics: the error that `plan` promises and the one that was measured."""

    row: dict[str, str]
    topics: int
    promised: float
    measured: float

    @property
    def good(self) -> bool:
        return 0.5 <= self.measured / self.promised <= 2.0


def compared_errors() -> list[Errors]:
    from private_topics import plan

    result = []
    for row in read_csv(PLANTED):
        size = [int(row[name]) for name in ("documents", "words", "topics")]
        promised = plan(
            *size, epsilon=float(row["epsilon"]), mean_length=float(row["mean_length"]), knowledge="english"
        ).outcomes[0]
        result.append(Errors(row, promised.topics, promised.error, float(row["error"])))
    return result


def compare() -> None:
    cells, errors = compared(), compared_errors()
    print("| corpus | documents | words | epsilon | topics promised | found | kept, promised | kept | |")
    print("|---|---|---|---|---|---|---|---|---|")
    for each in cells:
        low, high = each.plan.topic_range
        least, most = each.plan.kept.low, each.plan.kept.high
        print(
            f"| {each.corpus} | {each.documents:,} | {each.words:,} | {each.epsilon:g} "
            f"| {each.plan.expected_topics} ({low} to {high}) | {each.found:g}{'' if each.within else ' **out**'} "
            f"| {each.plan.kept.middle:.2f} ({least:.2f} to {most:.2f}) "
            f"| {each.kept:.2f}{'' if each.kept_within else ' **out**'} | {'held out' if each.out else 'fitted'} |"
        )
    for name, of in (("Held out", [c for c in cells if c.out]), ("Fitted", [c for c in cells if not c.out])):
        counts = [sum(getattr(each, what) for each in of) for what in ("within", "good", "sure", "kept_within")]
        print(
            f"\n{name}, {len(of)} cells: topics in the range in {counts[0]}, as many as expected in "
            f"{counts[1]}; all were promised in {counts[2]}. What was kept is in the range in {counts[3]}."
        )
    print("\n| documents | words | topics | own | length | epsilon | found | error promised | measured | |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for one in errors:
        shown = [one.row[name] for name in ("documents", "words", "topics", "own", "mean_length", "epsilon", "found")]
        print(f"| {' | '.join(shown)} | {one.promised:.2f} | {one.measured:.2f} | {one.row['part']} |")
    for part in GRID:
        of_part = [one for one in errors if one.row["part"] == part]
        ratios = sorted(one.measured / one.promised for one in of_part)
        print(
            f"\nPlanted, {part}: {sum(one.good for one in of_part)} of {len(of_part)} within a factor of two; "
            f"measured over promised {ratios[0]:.2f} to {ratios[-1]:.2f}, median {statistics.median(ratios):.2f}."
        )


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("what", choices=("prepare", "measure", "plant", "compare"))
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    if options.what == "compare":
        compare()
    elif options.what == "plant":
        plant(options.workers)
    elif options.what == "prepare":
        prepare(options.folder)
    else:
        measure(options.folder, options.workers)


if __name__ == "__main__":
    main()

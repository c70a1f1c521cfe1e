"""What `plan` promises against what is found: topics on every real corpus, at several sizes and epsilons.

    python research/plan_cells.py prepare FOLDER             counts of all corpora, 1,000 and 3,000 words
    python research/plan_cells.py measure FOLDER             topics found, into research/results/plan_cells.csv
    python research/plan_cells.py compare                    the table, and how many cells are within the band

Public estimator, default settings, delta = 1e-6, 25 topics asked for, two draws of documents and noise for each cell.
The constants of planning/expected_errors.py were fitted to the cells marked "fitted"; the others were held out.
`plan` is told the number of documents, the words and the mean length, nothing else.
"""

from __future__ import annotations

import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from corpora import VECTORIZER, texts  # noqa: E402
from stored import options_of, read_csv, store_csv  # noqa: E402

FILES = {
    "arxiv": ("arxiv_abstracts", "train"),
    "wikipedia": ("wikipedia_en", "train"),
    "enron": ("enron_email", "train"),
    "medical": ("medical_abstracts", "public"),
    "clinical": ("mtsamples_clinical", "train"),
}
SIZES = {
    "arxiv": (5_000, 10_000, 20_000, 50_000, 100_000),
    "wikipedia": (5_000, 10_000, 20_000, 48_000),
    "enron": (5_000, 10_000, 15_000),
    "medical": (3_500, 7_000),
    "clinical": (2_000,),
}
WORDS, EPSILONS, DRAWS, TOPICS = (1_000, 3_000), (0.5, 1.0, 3.0, 10.0), 2, 25
COLUMNS = ("corpus", "documents", "words", "epsilon", "draw", "mean_length", "found", "supported", "edge", "spectrum")
STORED = ROOT / "research" / "results" / "plan_cells.csv"


def prepare(folder: Path) -> None:
    from sklearn.feature_extraction.text import CountVectorizer

    folder.mkdir(parents=True, exist_ok=True)
    for name, (stem, part) in FILES.items():
        read = texts(stem, part)
        for words in WORDS:
            counts = CountVectorizer(**VECTORIZER | {"max_features": words}).fit_transform(read)
            sp.save_npz(folder / f"{name}{words}.train.npz", sp.csr_array(counts, dtype=np.int32))


def cell(task: tuple[Path, str, int, int, float, int]) -> tuple[Any, ...]:
    from private_topics import PrivateSpectralLDA

    folder, corpus, documents, words, epsilon, draw = task
    counts = sp.load_npz(folder / f"{corpus}{words}.train.npz")
    chosen = np.random.default_rng(draw).permutation(counts.shape[0])[:documents]
    counts = counts[np.sort(chosen)]
    with warnings.catch_warnings(action="ignore"):
        model = PrivateSpectralLDA(
            TOPICS, epsilon=epsilon, delta=1e-6, noise_seed=draw, n_jobs=1, keep="untested"
        ).fit(counts)
    spectrum = model.spectrum_
    shown = " ".join(f"{value:.3g}" for value in spectrum.eigenvalues)
    return (
        corpus, counts.shape[0], words, epsilon, draw, round(float(counts.sum() / counts.shape[0]), 1),
        len(model.components_), model.supported_components_, f"{spectrum.noise_edge:.3g}", shown,
    )  # fmt: skip


def measure(folder: Path, workers: int) -> None:
    tasks = [
        (folder, corpus, size, words, epsilon, draw)
        for corpus in SIZES
        for size in SIZES[corpus]
        for words in WORDS
        for epsilon in EPSILONS
        for draw in range(DRAWS)
    ]
    with ProcessPoolExecutor(workers) as pool:
        store_csv(STORED, [dict(zip(COLUMNS, row, strict=True)) for row in pool.map(cell, tasks)])


def held_out(corpus: str, documents: int) -> bool:
    """Two corpora of five, and every second size of the others, took no part in the fitting."""
    sizes = SIZES[corpus]
    nearest = min(sizes, key=lambda size: abs(size - documents))
    return corpus in ("enron", "clinical") or sizes.index(nearest) % 2 == 1


class Compared(NamedTuple):
    """A cell: what `plan` promises, and the mean of what the draws found."""

    corpus: str
    documents: int
    words: int
    epsilon: float
    promised: int
    found: float

    @property
    def good(self) -> bool:
        return abs(self.promised - self.found) <= max(1.0, 0.25 * self.found)

    @property
    def out(self) -> bool:
        return held_out(self.corpus, self.documents)


def compared() -> list[Compared]:
    from private_topics import plan

    rows = read_csv(STORED)
    cells: dict[tuple[str, int, int, float], list[dict[str, str]]] = {}
    for row in rows:
        key = row["corpus"], int(row["documents"]), int(row["words"]), float(row["epsilon"])
        cells.setdefault(key, []).append(row)
    result = []
    for (corpus, documents, words, epsilon), here in cells.items():
        found = float(np.mean([int(row["found"]) for row in here]))
        length = float(here[0]["mean_length"])
        promised = plan(documents, words, TOPICS, epsilon=epsilon, mean_length=length).expected_topics
        result.append(Compared(corpus, documents, words, epsilon, promised, found))
    return result


def compare() -> None:
    cells = compared()
    print("| corpus | documents | words | epsilon | promised | found | within | |\n|---|---|---|---|---|---|---|---|")
    for each in cells:
        print(
            f"| {each.corpus} | {each.documents:,} | {each.words:,} | {each.epsilon:g} | {each.promised} | "
            f"{each.found:g} | {'yes' if each.good else '**no**'} | {'held out' if each.out else 'fitted'} |"
        )
    for name, of in (("Held out", [c for c in cells if c.out]), ("Fitted", [c for c in cells if not c.out])):
        print(f"\n{name}: {sum(each.good for each in of)} of {len(of)} within 25 % or one topic.")


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("what", choices=("prepare", "measure", "compare"))
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    if options.what == "compare":
        compare()
    elif options.what == "prepare":
        prepare(options.folder)
    else:
        measure(options.folder, options.workers)


if __name__ == "__main__":
    main()

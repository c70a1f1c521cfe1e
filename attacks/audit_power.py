"""How often an audit accuses, 100 times with the noise as recorded and 100 times with half of it.

Every run is a whole audit with fresh noise: recorded fit, replayed neighbours, games, whole fits, residuals. Half the
noise is a sabotage of the noise stream done here; the product has no such setting. A table of how often each lower
bound was above its claim, for each of three fits: of counts; of text whose vocabulary is a private set union, with
public knowledge of the words; and of text whose words are chosen among candidates, with vectors that know nothing.

    nice -n 19 python attacks/audit_power.py                         # 100 + 100 audits of each fit
    nice -n 19 python attacks/audit_power.py --runs 5 --fit private  # a taste

False alarms: each audit is given a confidence of 0.9999, so that all 100 pass with probability 0.99 or more.
"""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from private_topics import CandidateVocabulary, PrivateSpectralLDA, PrivateVocabulary, WordList, make_lda_corpus
from private_topics.audit import AuditResult, NamedColumns, audit_privacy
from private_topics.fits.informed import INFORMED, MANY
from private_topics.knowledge.sources import open_knowledge
from private_topics.privacy.randomness import NoiseStream
from private_topics.releases.vocabulary import VOCABULARY_SHARE

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from stored import about, options_of, store_json

DOCUMENTS, WORDS, TOPICS = 600, 30, 2
MODEL = {"epsilon": 20.0, "delta": 1e-5, "alpha0": 0.2, "refine_steps": 2, "n_jobs": 1}
TRIALS, FITS, CONFIDENCE = 400, 10, 0.9999
KINDS = ("counts", "private", "candidates")
LONELY = 30  # words that nobody uses
TEXT_WORDS, TEXT_TOPICS, TEXT_EPSILON = 60, 4, 30.0  # so that the fit with public knowledge takes all its steps


@contextmanager
def scaled_noise(factor: float) -> Iterator[None]:
    """The generator draws `factor` times the noise that is asked of it, and that is recorded."""
    exact = NoiseStream.rounded_gaussian
    NoiseStream.rounded_gaussian = lambda self, count, ratio: exact(self, count, factor * ratio)  # type: ignore
    try:
        yield
    finally:
        NoiseStream.rounded_gaussian = exact  # type: ignore[method-assign]


def one_audit(factor: float, kind: str = "counts") -> AuditResult:
    """`kind`: counts alone, or with a vocabulary that is released first and public vectors of the words."""
    text = kind != "counts"
    words, topics = (TEXT_WORDS, TEXT_TOPICS) if text else (WORDS, TOPICS)
    counts, truth, _ = make_lda_corpus(DOCUMENTS, words, topics, alpha0=0.2, mean_length=40, random_state=0)
    columns = named(kind, truth) if text else None
    if columns is not None:
        shape = DOCUMENTS, len(columns.names)
        counts = sp.csr_array((counts.data, counts.indices, counts.indptr), shape=shape)
    split = INFORMED.split(MODEL["refine_steps"], fractions=MANY, vocabulary=VOCABULARY_SHARE)
    model = PrivateSpectralLDA(topics, **MODEL | ({"epsilon": TEXT_EPSILON, "budget_split": split} if text else {}))
    with scaled_noise(factor):
        return audit_privacy(model, counts, words=columns, trials=TRIALS, fits=FITS, confidence=CONFIDENCE)


def named(kind: str, topics: np.ndarray) -> NamedColumns:
    """Names of the columns, a vocabulary, and vectors: the topics' own with a private one, else of chance alone."""
    random = np.random.default_rng(0)
    used = tuple(f"word{number}" for number in range(topics.shape[1]))
    unused = tuple(f"unused{number}" for number in range(LONELY))
    vectors = np.log(topics.T + 1e-4) if kind == "private" else random.normal(size=(len(used), 20))
    text = "".join(f"{word} {' '.join(f'{x:.6f}' for x in row)}\n" for word, row in zip(used, vectors, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "vectors.txt").write_text(text)
        source = open_knowledge(Path(folder) / "vectors.txt")
    if kind == "private":
        return NamedColumns(used + unused, PrivateVocabulary(most_words_per_unit=LONELY), source)
    return NamedColumns(used + unused, CandidateVocabulary(WordList("public", used + unused)), source)


def summary(results: list[AuditResult]) -> dict[str, int]:
    """How many audits each test accused in, and how many accused at all."""
    found: Counter[str] = Counter()
    for result in results:
        found.update(f"bound: {name}" for name in result.exceeded)
        found.update(f"noise: {part.name}" for part in result.releases if not part.noise_as_recorded)
        found.update(f"lonely: {part.name}" for part in result.releases if part.lonely and not part.lonely.passed)
        found.update({"trouble or distance": int(bool(result.trouble) or not all(p.within for p in result.releases))})
        found.update({"a bound above its claim": int(bool(result.exceeded)), "failed": int(not result.passed)})
    return dict(found)


def run(factor: float, kind: str, runs: int, processes: int) -> list[AuditResult]:
    results = []
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        for number, result in enumerate(pool.map(one_audit, [factor] * runs, [kind] * runs), start=1):
            results.append(result)
            if number % 10 == 0 or number == runs:
                print(f"{kind}, noise x {factor:g}: {number} audits, {summary(results)}", flush=True)
    return results


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--fit", choices=KINDS, action="append", help="one of the fits; repeatable")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "audit_power.json")
    options = parser.parse_args()
    start = time.time()
    found = {}
    for kind in options.fit or KINDS:
        honest, halved = (summary(run(factor, kind, options.runs, options.processes)) for factor in (1.0, 0.5))
        print(f"\n{kind + ': test':<36}{'honest':>8}{'halved':>8}   of {options.runs} audits each")
        for name in sorted(honest.keys() | halved.keys()):
            print(f"{name:<36}{honest.get(name, 0):>8}{halved.get(name, 0):>8}")
        found[kind] = {"honest": honest, "halved": halved}
    seconds = {"wall": round(time.time() - start), "processes": options.processes}
    print(seconds, about(), sep="\n")
    settings = {**MODEL, "documents": DOCUMENTS, "words": WORDS, "topics": TOPICS, "trials": TRIALS, "fits": FITS}
    settings |= {"text_words": TEXT_WORDS, "text_topics": TEXT_TOPICS, "text_epsilon": TEXT_EPSILON}
    facts = {"runs": options.runs, "confidence": CONFIDENCE, "settings": settings, "seconds": seconds}
    store_json(options.out, {**facts, "found": found})


if __name__ == "__main__":
    main()

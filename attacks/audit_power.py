"""How often an audit accuses, 100 times with the noise as recorded and 100 times with half of it.

Every run is a whole audit with fresh noise: recorded fit, replayed neighbours, games, whole fits, residuals. Half the
noise is a sabotage of the noise stream done here; the product has no such setting. A table of how often each lower
bound was above its claim.

    nice -n 19 python attacks/audit_power.py             # 100 + 100 audits
    nice -n 19 python attacks/audit_power.py --runs 5    # a taste

False alarms: each audit is given a confidence of 0.9999, so that all 100 pass with probability 0.99 or more.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from private_topics import PrivateSpectralLDA, make_lda_corpus
from private_topics.audit import AuditResult, audit_privacy
from private_topics.privacy.randomness import NoiseStream

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from stored import about, options_of, store_json

DOCUMENTS, WORDS, TOPICS = 600, 30, 2
MODEL = {"epsilon": 20.0, "delta": 1e-5, "alpha0": 0.2, "refine_steps": 2, "n_jobs": 1}
TRIALS, FITS, CONFIDENCE = 400, 10, 0.9999


@contextmanager
def scaled_noise(factor: float) -> Iterator[None]:
    """The generator draws `factor` times the noise that is asked of it, and that is recorded."""
    exact = NoiseStream.rounded_gaussian
    NoiseStream.rounded_gaussian = lambda self, count, ratio: exact(self, count, factor * ratio)  # type: ignore
    try:
        yield
    finally:
        NoiseStream.rounded_gaussian = exact  # type: ignore[method-assign]


def one_audit(factor: float) -> AuditResult:
    counts = make_lda_corpus(DOCUMENTS, WORDS, TOPICS, alpha0=0.2, mean_length=40, random_state=0)[0]
    with scaled_noise(factor):
        return audit_privacy(
            PrivateSpectralLDA(TOPICS, **MODEL), counts, trials=TRIALS, fits=FITS, confidence=CONFIDENCE
        )


def summary(results: list[AuditResult]) -> dict[str, int]:
    """How many audits each test accused in, and how many accused at all."""
    found: Counter[str] = Counter()
    for result in results:
        found.update(f"bound: {name}" for name in result.exceeded)
        found.update(f"noise: {part.name}" for part in result.releases if not part.noise_as_recorded)
        found.update({"trouble or distance": int(bool(result.trouble) or not all(p.within for p in result.releases))})
        found.update({"a bound above its claim": int(bool(result.exceeded)), "failed": int(not result.passed)})
    return dict(found)


def run(factor: float, runs: int, processes: int) -> list[AuditResult]:
    results = []
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        for number, result in enumerate(pool.map(one_audit, [factor] * runs), start=1):
            results.append(result)
            if number % 10 == 0 or number == runs:
                print(f"noise x {factor:g}: {number} audits, {summary(results)}", flush=True)
    return results


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "audit_power.json")
    options = parser.parse_args()
    start = time.time()
    honest, halved = (summary(run(factor, options.runs, options.processes)) for factor in (1.0, 0.5))
    print(f"\n{'test':<36}{'honest':>8}{'halved':>8}   of {options.runs} audits each")
    for name in sorted(honest.keys() | halved.keys()):
        print(f"{name:<36}{honest.get(name, 0):>8}{halved.get(name, 0):>8}")
    seconds = {"wall": round(time.time() - start), "processes": options.processes}
    print(seconds, about(), sep="\n")
    settings = {**MODEL, "documents": DOCUMENTS, "words": WORDS, "topics": TOPICS, "trials": TRIALS, "fits": FITS}
    facts = {"runs": options.runs, "confidence": CONFIDENCE, "settings": settings, "seconds": seconds}
    store_json(options.out, {**facts, "honest": honest, "halved": halved})


if __name__ == "__main__":
    main()

"""The GPU engine: are its sums the integers of the local engine, and how fast is it at the size of UCI PubMed?

    python benchmarks/gpu.py check
    python benchmarks/gpu.py pubmed FOLDER [--out FILE] [--stages]

`check` compares every unit sum and a whole private fit on the GPU with the local engine, bit for bit, resident and
streamed, documents and users as units. `pubmed` fits the corpus that `benchmarks/pubmed_size.py generate FOLDER`
wrote (8.2 million documents over 141,043 words, 20 topics) with counts resident on the device, and from disk.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from private_topics import PrivacyWarning, PrivateSpectralLDA, SpectralLDA, make_lda_corpus
from private_topics.corpus.counts.blocks import MatrixBlocks
from private_topics.engines.gpu.corpus import GpuCorpus, GpuCounts
from private_topics.engines.gpu.device import cupy
from private_topics.engines.local import LocalCorpus
from private_topics.sums import unit_sums
from private_topics.sums.cross_moment import ClippedCross
from private_topics.sums.frame_second import ClippedFrameSecond, PairNormHistograms, deviations_from
from private_topics.sums.unit_sums import UnitSum
from pubmed_size import scores
from stored import about, options_of, tell

TOPICS, EPSILON, DELTA = 20, 1.0, 1e-8
REPEATS = 3


def sums_to_check(n_words: int, n_units: int, n_topics: int) -> dict[str, UnitSum]:
    generator = np.random.default_rng(n_topics)
    words = np.sort(generator.choice(n_words, min(n_words, 400), replace=False))
    scales = 10.0 ** generator.uniform(-3, 3, (len(words), 1))
    frame = np.asfortranarray(generator.standard_normal((len(words), n_topics + 10)) * scales)
    word_topics = np.ascontiguousarray(generator.dirichlet(np.full(n_words, 0.05), n_topics).T + 1e-12)
    rest, directions = np.vstack([frame, frame[:1]]), generator.standard_normal((n_words, n_topics))
    centre = generator.dirichlet(np.ones(len(words)))
    weights, prior = np.geomspace(1.0, 100.0, n_words), np.full(n_topics, 1.0 / n_topics)
    step, clip = 2.0**-22, 0.02
    return {
        "unigram": unit_sums.NormedCounts(n_words, step),
        "second norms": unit_sums.PairNormHistogram(words, step),
        "both second norms": PairNormHistograms(words, centre, step),
        "centred second moment": ClippedFrameSecond(words, deviations_from(centre), n_units, clip, step, step),
        "cross moment": ClippedCross(directions, clip, 2.0**-40),
        "frame norms, with a rest": unit_sums.FrameNormHistograms(words, rest, step),
        "frame moments, with a rest": unit_sums.ClippedFrameMoments(words, rest, n_units, 2.0, 7.0, step, step, step),
        "second moment": unit_sums.ClippedPairs(words, clip, 2.0**-40, step),
        "frame norms": unit_sums.FrameNormHistograms(words, frame, step),
        "frame moments": unit_sums.ClippedFrameMoments(words, frame, n_units, 2.0, 7.0, step, step, step),
        "refinement": unit_sums.TopicStatistic(None, word_topics, weights, prior, 2.0**-34),
        "refinement, some words": unit_sums.TopicStatistic(
            words, np.ascontiguousarray(word_topics[words]), weights[words], prior, 2.0**-34
        ),
    }


def check() -> None:
    print(f"{about()}\n")
    print("| corpus | sum | entries | largest | equal |\n|---|---|---:|---:|---|")
    wrong = 0
    for n_documents, n_words, n_topics, grouped in ((30_000, 5_000, 20, False), (20_000, 900, 7, True)):
        X, _, _ = make_lda_corpus(n_documents, n_words, n_topics, random_state=n_topics)
        groups = np.random.default_rng(1).integers(n_documents // 3, size=n_documents) if grouped else None
        local = LocalCorpus.of(MatrixBlocks(X, 4_096), groups)
        resident = GpuCorpus.of(MatrixBlocks(X), groups)
        assert resident.kept is not None
        streamed = GpuCorpus(local, None)
        for name, unit_sum in sums_to_check(n_words, local.n_units, n_topics).items():
            expected = local.total(unit_sum)
            for kind, corpus in (("resident", resident), ("streamed", streamed)):
                found = corpus.total(unit_sum)
                equal = all(np.array_equal(one, other) for one, other in zip(expected, found, strict=True))
                wrong += not equal
                size, top = sum(a.size for a in expected), max(int(np.abs(a).max()) for a in expected)
                title = f"{n_documents:,} × {n_words:,}, {'users' if grouped else 'documents'}, {kind}"
                print(f"| {title} | {name} | {size:,} | {top:,} | {'yes' if equal else '**no**'} |", flush=True)
                if not equal:
                    for one, other in zip(expected, found, strict=True):
                        apart = one != other
                        print(f"  {apart.sum()} of {apart.size} differ, by at most {np.abs(one - other).max()}")
        models = [
            PrivateSpectralLDA(n_topics, epsilon=20.0, noise_seed=7, engine=engine).fit(X, groups=groups)
            for engine in ("local", "gpu")
        ]
        equal = np.array_equal(models[0].components_, models[1].components_)
        wrong += not equal
        title = f"{n_documents:,} × {n_words:,}, {'users' if grouped else 'documents'}"
        size = models[0].components_.size
        print(f"| {title} | whole fit: `components_` | {size:,} | | {'yes' if equal else '**no**'} |")
    if wrong:
        raise SystemExit(f"{wrong} comparisons differ")


@contextmanager
def timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    cupy().cuda.Device().synchronize()
    seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - started


def watch_sums(seconds: dict[str, float]) -> None:
    """Time every sum of a private fit by its class."""
    total = GpuCorpus.total

    def watched(self: GpuCorpus, unit_sum: UnitSum) -> Any:
        with timed(seconds, f"  sum {type(unit_sum).__name__}"):
            return total(self, unit_sum)

    GpuCorpus.total = watched  # type: ignore[method-assign]


def pubmed(folder: Path, out: Path | None, stages: bool) -> None:
    seconds: dict[str, float] = {}
    small, _, _ = make_lda_corpus(2_000, 3_000, TOPICS, random_state=0)
    private = {"epsilon": EPSILON, "delta": DELTA, "alpha0": 1.0, "engine": "gpu"}
    for model in (PrivateSpectralLDA(TOPICS, **private | {"epsilon": 50.0}), SpectralLDA(TOPICS, engine="gpu")):
        model.fit(small)  # compiles
    with timed(seconds, "counts from disk to the device"):
        counts = GpuCounts(folder)
    with timed(seconds, "without privacy, first fit"):
        plain = SpectralLDA(TOPICS, engine="gpu", random_state=0).fit(counts)
    with timed(seconds, "with privacy, first fit"):
        model = PrivateSpectralLDA(TOPICS, **private).fit(counts)
    rows = []
    for name, make in (
        ("without privacy, resident", lambda: SpectralLDA(TOPICS, engine="gpu", random_state=0).fit(counts)),
        ("with privacy, resident", lambda: PrivateSpectralLDA(TOPICS, **private).fit(counts)),
    ):
        times = []
        for _ in range(REPEATS):
            one: dict[str, float] = {}
            with timed(one, name):
                make()
            times.append(one[name])
        rows.append((name, times))
    counts.slabs.clear()
    cupy().get_default_memory_pool().free_all_blocks()
    for name, make in (
        ("without privacy, from disk", lambda: SpectralLDA(TOPICS, engine="gpu", random_state=0).fit(folder)),
        ("with privacy, from disk", lambda: PrivateSpectralLDA(TOPICS, **private).fit(folder)),
    ):
        one = {}
        with timed(one, name):
            make()
        rows.append((name, [one[name]]))
    tell(markdown(folder, rows, seconds, plain, model), out)
    if stages:
        print(profile(folder, private))


def profile(folder: Path, private: dict[str, Any]) -> str:
    seconds: dict[str, float] = {}
    counts = GpuCounts(folder)
    watch_sums(seconds)
    with timed(seconds, "private fit"):
        PrivateSpectralLDA(TOPICS, **private, verbose=True).fit(counts)
    SpectralLDA(TOPICS, engine="gpu", random_state=0, verbose=True).fit(counts)
    return "\n".join(f"{name}: {value:.2f} s" for name, value in seconds.items())


def markdown(folder: Path, rows: Any, seconds: dict[str, float], plain: Any, model: Any) -> str:
    properties = cupy().cuda.runtime.getDeviceProperties(0)
    lines = [
        f"# One {properties['name'].decode()}",
        "",
        f"8.2 million documents over 141,043 words, k = {TOPICS}; private: epsilon = {EPSILON:g}, delta = {DELTA:g}.",
        "",
        "| fit | seconds (each run) |",
        "|---|---|",
        *(f"| {name} | {', '.join(f'{value:.2f}' for value in times)} |" for name, times in rows),
        *(f"| {name} | {value:.2f} |" for name, value in seconds.items()),
        "",
        "| model | topics | error L2 | error L1 | top 10 shared | perplexity | of the truth | of its mean |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, fitted in (("without privacy", plain), ("with privacy", model)):
        found = scores(fitted.components_, folder)
        lines.append(
            f"| {name} | {len(fitted.components_)} | {found['topic_error_l2']:.4f} | {found['topic_error_l1']:.4f} | "
            f"{found['top_words_shared']:.0%} | {found['perplexity']:.1f} | {found['true_perplexity']:.1f} | "
            f"{found['mean_topic_perplexity']:.1f} |"
        )
    return "\n".join(lines)


def main() -> None:
    warnings.simplefilter("ignore", PrivacyWarning)
    parser = options_of(__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check")
    size = commands.add_parser("pubmed")
    size.add_argument("folder", type=Path)
    size.add_argument("--out", type=Path)
    size.add_argument("--stages", action="store_true", help="also print the seconds of each stage of one fit")
    arguments = parser.parse_args()
    if arguments.command == "check":
        check()
    else:
        pubmed(arguments.folder, arguments.out, arguments.stages)


if __name__ == "__main__":
    main()

"""Why the private fit's defaults are what they are: one setting changed at a time, held-out perplexity beside.

    python research/choices.py [--draws 2] [--out research/results/choices.md]

Cases: arXiv at 3,000 words and epsilon 1, Wikipedia at 1,000 words and epsilon 3 and 0.3, delta 1e-6. Only public
numbers enter the choices; the corpora here stand for "text like this".
"""

from __future__ import annotations

import statistics
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from private_topics import BudgetSplit, PrivacyWarning, PrivateSpectralLDA
from private_topics.fits import sequential
from private_topics.inference import carried, denoising
from private_topics.releases import inside_frame, moments, statistic
from private_topics.spectral import frame

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from corpora import real_counts
from stored import about, options_of, store

CASES = (("arxiv", 3_000, 25, 1.0), ("wikipedia", 1_000, 10, 3.0), ("wikipedia", 1_000, 10, 0.3))
SPLIT = BudgetSplit()
NO_BLEND = {"LARGEST_BLEND": 0.0}
VARIANTS: tuple[tuple[str, Any, dict[str, Any], dict[str, Any]], ...] = (  # name, module, constants, parameters
    ("default", sequential, {}, {}),
    (
        "spectral stage on 250 words",
        carried,
        {"BUDGET_PER_WORD": 1e-9, "SPECTRAL_WORDS": 250, "LARGE_BUDGET": 1e99},
        {},
    ),
    ("spectral stage on 500 words", carried, {"BUDGET_PER_WORD": 1e-9, "LARGE_BUDGET": 1e99}, {}),
    ("spectral stage on 1,000 words", carried, {"LARGE_BUDGET": 0.0}, {}),
    ("pairs clipped less", moments, {"DISTORTION": 0.3}, {}),
    ("frame second moment clipped more", inside_frame, {"SECOND_DISTORTION": 0.2}, {}),
    ("frame third moment clipped less", inside_frame, {"THIRD_DISTORTION": 0.5}, {}),
    ("start without the unigram", sequential, {"NOISY_START": 0.0, "REFUTED_START": 0.0}, {}),
    ("start with half the unigram", sequential, {"REFUTED_START": 0.5}, {}),
    ("start with 85 % unigram", sequential, {"REFUTED_START": 0.85}, {}),
    ("all topics asked for", carried, {"CARRIED_NOISE": 1e9}, {}),
    ("half as many topics", carried, {"CARRIED_NOISE": 0.5}, {}),
    ("simplex projection only", denoising, NO_BLEND, {}),
    ("directions 30 % above the edge", frame, {"ABOVE_EDGE": 1.3}, {}),
    ("no weights of words", statistic, {"WEIGHT_EXPONENT": 0.0}, {}),
    ("two refinement steps", sequential, {}, {"refine_steps": 2}),
    ("eight refinement steps", sequential, {}, {"refine_steps": 8}),
    ("less for the spectral stage", sequential, {}, {"budget_split": SPLIT.replace(second=0.1, refine=0.755)}),
    ("more for the spectral stage", sequential, {}, {"budget_split": SPLIT.replace(second=0.3, refine=0.555)}),
    ("less for the unigram", sequential, {}, {"budget_split": SPLIT.replace(unigram=0.02, refine=0.675)}),
    ("more for the unigram", sequential, {}, {"budget_split": SPLIT.replace(unigram=0.1, refine=0.595)}),
)


@contextmanager
def changed(module: Any, constants: dict[str, Any]) -> Iterator[None]:
    before = {name: getattr(module, name) for name in constants}
    for name, value in constants.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--out", type=Path, default=None)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    corpora = [real_counts(corpus, words) for corpus, words, *_ in CASES]
    titles = [f"{corpus}, {words:,} words, epsilon {epsilon:g}" for corpus, words, _, epsilon in CASES]
    lines = [f"| variant | {' | '.join(titles)} |", "|---" * (len(CASES) + 1) + "|"]
    print(about(), "", *lines, sep="\n", flush=True)
    for name, module, constants, parameters in VARIANTS:
        with changed(module, constants):
            scores = [
                statistics.mean(
                    PrivateSpectralLDA(topics, epsilon=epsilon, noise_seed=draw, keep="untested", **parameters)
                    .fit(train)
                    .perplexity(test)
                    for draw in range(arguments.draws)
                )
                for (train, test), (_, _, topics, epsilon) in zip(corpora, CASES, strict=True)
            ]
        lines.append(f"| {name} | {' | '.join(f'{score:.0f}' for score in scores)} |")
        print(lines[-1], flush=True)
    if arguments.out:
        store(arguments.out, "\n".join(lines))


if __name__ == "__main__":
    main()

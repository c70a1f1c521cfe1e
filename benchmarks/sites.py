"""Several sites beside one site alone and a trusted coordinator: noise, quality, bytes and seconds.

    python benchmarks/sites.py --out benchmarks/results/sites.md

Wikipedia over 20 sites, every site a fit of its own in a thread of this process, of which one computes at a time. The
shares of noise come from seeds, which costs no time: they are rounded Gaussian and not discrete Gaussian, of the same
deviation. Central noise is that of sampler="exact". The time on a wide-area network is a model: see `wide_area`.
"""

from __future__ import annotations

import statistics
import threading
import time
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from corpora import real_counts
from private_topics import PrivacyWarning, PrivateSpectralLDA, Site, SiteCoordinator, SiteDirectory, SiteIdentity
from private_topics.engines.sites.masking import RoundKey, added, masked
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.mechanisms import PrivateRun, Query
from private_topics.privacy.shares import NoiseShares, SharedRun
from stored import options_of, tell

WORDS, TOPICS, SITES, DELTA = 1_000, 10, 20, 1e-6
ROUND_TRIP, BYTES_A_SECOND = 0.1, 6_250_000  # 100 ms and 50 Mbit/s, of each site and of the coordinator


class OneAtATime(Site):
    """A site that computes only while no other one does."""

    baton = threading.RLock()

    def _next(self) -> Any:
        self.baton.release()
        try:
            return super()._next()
        finally:
            self.baton.acquire()


def new_sites(count: int, honest: int, words: int) -> dict[str, Site]:
    known = {f"site-{number:03d}": SiteIdentity.new(f"site-{number:03d}") for number in range(count)}
    directory = SiteDirectory({name: identity.public_key for name, identity in known.items()}, honest)
    return {name: OneAtATime(known[name], directory, [str(word) for word in range(words)]) for name in known}


def fitted(parts: list[Any], honest: int, epsilon: float, draw: int) -> PrivateSpectralLDA:
    """The model of all sites together."""
    sites = new_sites(len(parts), honest, parts[0].shape[1])

    def fit(number: int, site: Site) -> PrivateSpectralLDA:
        settings = {"noise_seed": 1000 * draw + number, "sampler": "fast", "n_jobs": 1}
        with OneAtATime.baton:
            return PrivateSpectralLDA(TOPICS, epsilon=epsilon, delta=DELTA, engine=site, **settings).fit(
                parts[number]
            )

    def ask(messages: Mapping[str, bytes]) -> dict[str, bytes]:
        asked = {name: pool.submit(sites[name].answer, message) for name, message in messages.items()}
        return {name: future.result() for name, future in asked.items()}

    with ThreadPoolExecutor(2 * len(sites)) as pool:
        models = [pool.submit(fit, number, site) for number, site in enumerate(sites.values())]
        SiteCoordinator(next(iter(sites.values())).directory, ask).run()
        return models[0].result()


def noise_table(epsilon: float) -> list[str]:
    budget, query = PrivacyBudget(epsilon, DELTA), Query("sum", "vector", 1.0, 2.0**-20, "unigram")
    central = PrivateRun(budget, sampler="exact").sigma(query, 1.0)
    lines = ["| noise of a total over 20 sites | deviation | beside central noise |", "|---|---|---|"]
    lines.append(f'| central, sampler="exact" | {central:.3f} | 1 |')
    for honest in (SITES, SITES // 2, 1):
        found = SharedRun(budget, shares=NoiseShares(SITES, honest), exchange=None).sigma(query, 1.0)  # type: ignore[arg-type]
        lines.append(f"| shares, h = {honest} | {found:.3f} | {found / central:.3f} |")
    return lines


def quality_table(epsilon: float, draws: int) -> list[str]:
    train, test = real_counts("wikipedia", WORDS)
    order = np.random.default_rng(0).permutation(train.shape[0])
    parts = [train[order[number::SITES]] for number in range(SITES)]

    def central(counts: Any) -> PrivateSpectralLDA:
        return PrivateSpectralLDA(TOPICS, epsilon=epsilon, delta=DELTA, sampler="exact").fit(counts)

    kinds = {
        "one site alone": lambda draw: central(parts[draw]),
        "pooled, central noise": lambda draw: central(train),
        f"{SITES} sites, h = {SITES}": lambda draw: fitted(parts, SITES, epsilon, draw),
        f"{SITES} sites, h = {SITES // 2}": lambda draw: fitted(parts, SITES // 2, epsilon, draw),
    }
    lines = [
        f"Wikipedia: {train.shape[0]:,} documents over {SITES} sites, {WORDS:,} words, {TOPICS} topics, epsilon "
        f"{epsilon:g}, delta {DELTA:g}; perplexity of {test.shape[0]:,} held-out documents.",
        "",
        "| | perplexity of each draw | median | topics |",
        "|---|---|---|---|",
    ]
    for name, fit in kinds.items():
        models = [fit(draw) for draw in range(draws)]
        found = [model.perplexity(test) for model in models]
        topics = ", ".join(str(len(model.components_)) for model in models)
        lines.append(
            f"| {name} | {', '.join(f'{one:.1f}' for one in found)} | {statistics.median(found):.1f} | {topics} |"
        )
    return lines


def wide_area(size: int, seconds: float) -> float:
    """Three questions and answers, integers up and total down over a line of one site, and what else takes time."""
    return 3 * ROUND_TRIP + 2 * 8 * size / BYTES_A_SECOND + seconds


def round_table() -> list[str]:
    lines = [
        "| sites | integers | such as | bytes, up and down | masks of a site, s | adding up, s | modelled round, s |",
        "|---|---|---|---|---|---|---|",
    ]
    shapes = {
        10_000: "1,000 words × 10 topics",
        250_000: "pairs of 500 words",
        1_000_000: "10,000 words × 100 topics",
    }
    for sites in (2, 5, 20):
        for size, what in shapes.items():
            keys = [RoundKey() for _ in range(sites)]
            public = {f"site-{number:03d}": key.public for number, key in enumerate(keys)}
            values = np.arange(size)
            began = time.perf_counter()
            part = masked(values, "site-000", keys[0], public, b"c" * 32)
            masking, began = time.perf_counter() - began, time.perf_counter()
            added([part] * sites)
            adding = time.perf_counter() - began
            modelled = wide_area(size, masking + adding + (sites - 1) * 8 * size / BYTES_A_SECOND)
            lines.append(
                f"| {sites} | {size:,} | {what} | {8 * size:,} | {masking:.3f} | {adding:.3f} | {modelled:.1f} |"
            )
    return lines


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    model = (
        "The model: 100 ms of round trip, 50 Mbit/s for each site and for the coordinator, which hears all sites "
        "over its one line. A fit has 10 to 20 rounds; most are small."
    )
    tables = [
        noise_table(options.epsilon),
        quality_table(options.epsilon, options.draws),
        [*round_table(), "", model],
    ]
    tell("# Several sites\n\n" + "\n\n".join("\n".join(table) for table in tables), options.out)


if __name__ == "__main__":
    main()

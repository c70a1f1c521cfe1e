"""Several sites beside one site alone and a trusted coordinator: noise, quality, bytes and seconds.

    python benchmarks/sites.py --out benchmarks/results/sites.md

Wikipedia over 20 sites, every site a fit of its own in a thread of this process, of which one computes at a time. The
shares of noise come from seeds, which costs no time: they are rounded Gaussian and not discrete Gaussian, of the same
deviation. Central noise is that of sampler="exact". Rounds are measured over gRPC and TLS on loopback; the time on a
wide-area network is a model: see `Round.wide_area`. `--rounds` for these alone.
"""

from __future__ import annotations

import os
import statistics
import threading
import time
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corpora import real_counts
from private_topics import (
    PrivacyWarning,
    PrivateSpectralLDA,
    Site,
    SiteCoordinator,
    SiteDirectory,
    SiteIdentity,
    make_lda_corpus,
)
from private_topics.engines.sites.messages import unpacked
from private_topics.engines.sites.transport import SiteCall, SiteListener, self_signed
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.mechanisms import PrivateRun, Query
from private_topics.privacy.shares import NoiseShares, SharedRun
from stored import options_of, tell

WORDS, TOPICS, SITES, DELTA = 1_000, 10, 20, 1e-6
HOST = "127.0.0.1"
SHAPES = [  # sites, words, topics
    (2, 500, 10), (5, 500, 10), (20, 500, 10), (5, 100, 10), (5, 2_000, 10), (5, 500, 3), (5, 500, 30),
]  # fmt: skip
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
        "pooled, central noise": lambda _: central(train),
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


@dataclass
class Round:
    """One round of a fit: bytes of one site, and seconds from the keys to the total at every site."""

    up: int = 0
    down: int = 0
    seconds: float = 0.0

    def wide_area(self, sites: int) -> float:
        """Modelled: three questions and answers; everything of every site over the coordinator's one line."""
        return 3 * ROUND_TRIP + sites * (self.up + self.down) / BYTES_A_SECOND + self.seconds


def over_loopback(count: int, words: int, topics: int) -> tuple[list[Round], list[str]]:
    """The rounds of a whole fit over gRPC and TLS, and what was released in each."""
    counts, _, _ = make_lda_corpus(4_000, words, topics, random_state=0)
    sites, rounds = new_sites(count, count, words), [Round()]
    certificate, key = self_signed(HOST)
    directory = next(iter(sites.values())).directory

    def ask(messages: Mapping[str, bytes]) -> dict[str, bytes]:
        kind, began = (
            unpacked(next(iter(messages.values())), "begin", "keys", "total", "stop").kind,
            time.perf_counter(),
        )
        answers = listener.ask(messages)
        rounds[-1].down += max(map(len, messages.values()))
        rounds[-1].up += max(map(len, answers.values()))
        rounds[-1].seconds += (
            0.0 if kind == "begin" else time.perf_counter() - began
        )  # sites compute before they begin
        if kind == "total":
            rounds.append(Round())
        return answers

    def fit(number: int, site: Site) -> PrivateSpectralLDA:
        settings = {"noise_seed": number, "sampler": "fast", "n_jobs": 1, "epsilon": 60.0}
        with SiteCall(site, f"{HOST}:{listener.port}", certificate), OneAtATime.baton:
            return PrivateSpectralLDA(topics, delta=DELTA, engine=site, **settings).fit(counts[number::count])

    with SiteListener(directory, f"{HOST}:0", certificate, key) as listener, ThreadPoolExecutor(count) as pool:
        models = [pool.submit(fit, number, site) for number, site in enumerate(sites.values())]
        listener.wait(60.0)
        SiteCoordinator(directory, ask).run()
        listener.__exit__()
        releases = models[0].result().privacy_.releases
    return rounds[:-1], ["number of units", *(release.name for release in releases)]


def round_table() -> list[str]:
    lines = [
        "Rounds of whole fits over gRPC and TLS on loopback, all sites on this machine. Bytes are of one site, the "
        "same everywhere. Seconds are from the keys to the total at every site: noise from seeds, masks, transport, "
        "adding up; not the pass over the documents. Processes that wanted a core meanwhile: "
        f"{os.getloadavg()[0]:.0f}.",
        "",
        "| sites | words | topics | rounds | up, a fit | down, a fit | largest round | its up | its s | median s "
        "| modelled, a fit |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    over_loopback(*SHAPES[0])  # the first fit of a process compiles
    for sites, words, topics in SHAPES:
        rounds, names = over_loopback(sites, words, topics)
        largest = max(range(len(rounds)), key=lambda number: rounds[number].up)
        up, down = (f"{sum(sizes) / 1e6:.2f} MB" for sizes in ([r.up for r in rounds], [r.down for r in rounds]))
        modelled = sum(one.wide_area(sites) for one in rounds)
        lines.append(
            f"| {sites} | {words:,} | {topics} | {len(rounds)} | {up} | {down} | {names[largest]} "
            f"| {rounds[largest].up / 1e6:.2f} MB | {rounds[largest].seconds:.2f} "
            f"| {statistics.median(one.seconds for one in rounds):.3f} | {modelled:.0f} s |"
        )
    return lines


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--rounds", action="store_true")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    model = (
        "The model: 100 ms of round trip, 50 Mbit/s for each site and for the coordinator, which hears and tells all "
        "sites over its one line; and the measured seconds."
    )
    tables = [] if options.rounds else [noise_table(options.epsilon), quality_table(options.epsilon, options.draws)]
    tables.append([*round_table(), "", model])
    tell("# Several sites\n\n" + "\n\n".join("\n".join(table) for table in tables), options.out)


if __name__ == "__main__":
    main()

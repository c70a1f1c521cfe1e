"""Attacks on the low-order digits of released values: naïve float noise falls, the lattice does not.

    python attacks/float_attack.py [--trials 2000] [--out attacks/results/float_attack.md]

A game: a fair coin picks one of two neighbouring corpora, a mechanism releases its sums, the attacker names the
corpus. Both know everything but the coin and the noise. Neighbours replace one unit: half of the coordinates hold
its share x in the first corpus and 0 in the second, the other half the reverse. The attacks:

- *Reachable noise* (Mironov 2012, On significance of the least significant bits for differential privacy): a sampler
  that maps one 53-bit uniform number to a float skips more than half of the floats. For each coordinate and each
  corpus: is there a uniform number whose noise leads from that sum to the value released?
- *Precision* (Haney, Desfontaines, Hartman, Shrestha and Hay 2022, Precision-based attacks and interval refining: how
  to break, then fix, differential privacy on finite computers): the float sum of x and noise of *any* float sampler
  keeps too few digits where it is much smaller than x. Is there any float at all that leads from that sum to the
  value?
- *Learnt digits*: magnitude and trailing zeros of what is released, weighed by transcripts of both corpora, for an
  attacker who does not know where to look.
- *Float sums* (Casacuberta, Shoemate, Vadhan and Wagaman 2022, Widespread underestimation of sensitivity in
  differentially private libraries and how to fix it): a float sum of neighbours, or of the same units in another
  order, moves by more than the declared sensitivity, so that even perfect noise is too small.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri
from scipy.stats import binomtest

from float_sums import doubling_units, float_sum, lattice_sum, reordered_units
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.lattice import step_for
from private_topics.privacy.mechanisms import PrivateRun, Query
from private_topics.privacy.simple_composition import PureBudget, SimpleRun
from private_topics.sums.quantised import truncated

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from stored import options_of, tell

Floats = npt.NDArray[np.float64]
Release = Callable[[Floats], Floats]
Guess = Callable[[Floats], int]

GAUSSIAN, PURE = PrivacyBudget(1.0, 1e-6), PureBudget(0.05)
WINDOW = np.arange(-16, 17, dtype=np.float64)
MOST_NOISES = 8
UNITS, BATCH = 1000, 100

# -- naïve float noise -----------------------------------------------------------------------------------------------


def uniform(generator: np.random.Generator, size: int) -> Floats:
    """Multiples of 2^-53 in (0, 1)."""
    return generator.integers(1, 2**53, size).astype(np.float64) * 2.0**-53


def laplace_of(signed: Floats, scale: float) -> Floats:
    """The Laplace variable of a uniform number and a sign."""
    return np.copysign(np.log(np.abs(signed)) * scale, signed)


def by_logarithm(generator: np.random.Generator, size: int, scale: float) -> Floats:
    return laplace_of(uniform(generator, size) * generator.choice([-1.0, 1.0], size), scale)


def by_inverse(generator: np.random.Generator, size: int, sigma: float) -> Floats:
    return ndtri(uniform(generator, size)) * sigma


def by_box_muller(generator: np.random.Generator, size: int, sigma: float) -> Floats:
    radius = np.sqrt(-2.0 * np.log(uniform(generator, size)))
    return radius * np.cos(2.0 * np.pi * uniform(generator, size)) * sigma


def by_ziggurat(generator: np.random.Generator, size: int, sigma: float) -> Floats:
    return generator.standard_normal(size) * sigma


# -- the two corpora and their releases ------------------------------------------------------------------------------


@cache
def noise_width(pure: bool) -> float:
    """The library's own noise for sensitivity 1: the naïve mechanisms get the same."""
    query = Query("sums", "vector", 1.0, 2.0**-20, "lattice", "l1" if pure else "l2")
    return SimpleRun(PURE).laplace_scale(query, 1.0) if pure else PrivateRun(GAUSSIAN).sigma(query, 1.0)


@dataclass(frozen=True)
class Pair:
    """Sums of two neighbours of sensitivity 1, in the L1 norm for pure epsilon, else in the L2 norm."""

    coordinates: int
    pure: bool = False

    @property
    def width(self) -> float:
        return noise_width(self.pure)

    @property
    def step(self) -> float:
        return step_for(self.width, UNITS, float(UNITS))

    def sums(self, corpus: int) -> Floats:
        """On the lattice, for the naïve mechanisms as well, so that both release the same sums."""
        share = 1.0 / self.coordinates if self.pure else 1.0 / math.sqrt(self.coordinates)
        share = float(truncated(0.9 * share, self.step)) * self.step
        return np.where((np.arange(self.coordinates) % 2 == 0) == (corpus == 0), share, 0.0)

    def allowed(self) -> float:
        """No attack on a sound mechanism succeeds more often."""
        return 1.0 / (1.0 + math.exp(-PURE.epsilon)) if self.pure else float(ndtr(0.5 / self.width))


def ours(pair: Pair, seed: int | None) -> Release:
    """The library's release, of many games side by side; with a seed the same noise comes again, by the same code."""
    query = Query("sums", "array", 1.0, pair.step, "lattice", "l1" if pair.pure else "l2")
    seeds = itertools.count(0 if seed is None else seed * 10**6)

    def release(sums: Floats) -> Floats:
        noise_seed = None if seed is None else next(seeds)
        run = SimpleRun(PURE, noise_seed=noise_seed) if pair.pure else PrivateRun(GAUSSIAN, noise_seed=noise_seed)
        return run.release(query, truncated(sums, pair.step), 1.0).value

    return release


def naive(pair: Pair, sampler: Callable[..., Floats], generator: np.random.Generator) -> Release:
    return lambda sums: sums + sampler(generator, sums.size, pair.width).reshape(sums.shape)


def transcribed(pair: Pair, release: Release, corpora: npt.NDArray[np.integer]) -> Iterator[tuple[int, Floats]]:
    """What is released of each of a list of corpora, with its number."""
    both = np.stack([pair.sums(0), pair.sums(1)])
    for start in range(0, len(corpora), BATCH):
        batch = corpora[start : start + BATCH]
        yield from zip(batch.tolist(), release(both[batch]), strict=True)


# -- attacks ---------------------------------------------------------------------------------------------------------


def noises(sums: Floats, value: Floats, most: int) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """The floats next to value - sum in order, and which of them lead from the sum to the value when added to it."""
    near = [value - sums]
    for _ in range(most):
        near = [np.nextafter(near[0], -np.inf), *near, np.nextafter(near[-1], np.inf)]
    candidates = np.stack(near)
    return candidates, sums + candidates == value


def reached(sums: Floats, value: Floats) -> npt.NDArray[np.bool_]:
    """Whether any float leads from the sum to the value."""
    return noises(sums, value, 1)[1].any(axis=0)


def reached_by(law: Callable[[Floats], tuple[Floats, Callable[[Floats], Floats]]]) -> Callable[..., np.ndarray]:
    """Whether noise of one 53-bit uniform number leads from the sum to the value; `law` inverts the sampler."""

    def test(sums: Floats, value: Floats) -> npt.NDArray[np.bool_]:
        candidates, leads = noises(sums, value, MOST_NOISES)
        about, sampler = law(candidates)
        numbers = np.rint(about * 2.0**53)[..., None] + WINDOW
        drawn = sampler(np.ascontiguousarray(np.clip(numbers, 1, 2**53 - 1) * 2.0**-53))
        possible = ((drawn == candidates[..., None]).any(axis=-1) & leads).any(axis=0)
        return possible | leads[0] | leads[-1]  # at the ends: more floats lead there than were looked at

    return test


def laplace_law(scale: float) -> Callable[[Floats], tuple[Floats, Callable[[Floats], Floats]]]:
    def law(noise: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
        sign = np.sign(noise)[..., None]
        return np.exp(-np.abs(noise) / scale), lambda numbers: laplace_of(numbers * sign, scale)

    return law


def gaussian_law(sigma: float) -> Callable[[Floats], tuple[Floats, Callable[[Floats], Floats]]]:
    return lambda noise: (ndtr(noise / sigma), lambda numbers: ndtri(numbers) * sigma)


def by_contradiction(pair: Pair, possible: Callable[..., np.ndarray], generator: np.random.Generator) -> Guess:
    """Name the corpus that explains more coordinates; toss a coin where both explain as many."""

    both = [pair.sums(corpus) for corpus in (0, 1)]

    def guess(value: Floats) -> int:
        explained = [int(possible(sums, value).sum()) for sums in both]
        return int(generator.integers(2)) if explained[0] == explained[1] else int(explained[1] > explained[0])

    return guess


def digits(value: Floats) -> npt.NDArray[np.int64]:
    """How many coordinates have each magnitude and number of trailing zeros, in each half."""
    mantissa, exponent = np.frexp(value)
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    zeros = np.frexp((whole & -whole).astype(np.float64))[1].clip(1, 32) - 1
    cell = (np.arange(value.size) % 2 * 32 + exponent.clip(-28, 3) + 28) * 32 + zeros
    return np.bincount(cell, minlength=2048)


def learnt(pair: Pair, release: Release, transcripts: int, generator: np.random.Generator) -> Guess:
    """Weigh every cell of `digits` by how often it was seen in transcripts of either corpus."""
    seen = [np.full(2048, 0.5), np.full(2048, 0.5)]
    for corpus, value in transcribed(pair, release, np.arange(2 * transcripts) % 2):
        seen[corpus] += digits(value)
    weights = np.log(seen[1] / seen[1].sum()) - np.log(seen[0] / seen[0].sum())

    def guess(value: Floats) -> int:
        score = float(digits(value) @ weights)
        return int(generator.integers(2)) if score == 0.0 else int(score > 0.0)

    return guess


# -- float sums ------------------------------------------------------------------------------------------------------


def sum_game(units: tuple[np.ndarray, np.ndarray], exact: bool, trials: int, seed: int | None) -> int:
    """Noise of the library in both cases, many games side by side; the attacker compares with the sums' middle."""
    step = step_for(noise_width(False), len(units[0]), float(len(units[0])))
    sums = [lattice_sum(part, step) if exact else float_sum(part) for part in units]
    query, middle = Query("sum", "array", 1.0, step, "lattice"), (sums[0] + sums[1]) / 2
    generator = np.random.default_rng(seed)
    coins = generator.integers(2, size=trials)
    aggregate = truncated(np.array(sums)[coins], step)
    value = PrivateRun(GAUSSIAN, noise_seed=seed).release(query, aggregate, 1.0).value
    guesses = (value > middle) == (sums[1] > sums[0]) if sums[0] != sums[1] else generator.integers(2, size=trials)
    return int((guesses == coins).sum())


# -- the game and its table ------------------------------------------------------------------------------------------


def play(pair: Pair, release: Release, guess: Guess, trials: int, generator: np.random.Generator) -> int:
    coins = generator.integers(2, size=trials)
    return sum(guess(value) == corpus for corpus, value in transcribed(pair, release, coins))


@dataclass(frozen=True)
class Row:
    mechanism: str
    attack: str
    coordinates: int
    successes: int
    trials: int
    allowed: float
    naive: bool

    def cells(self) -> tuple[str, ...]:
        low, high = binomtest(self.successes, self.trials).proportion_ci(0.95, method="exact")
        share = f"{self.successes / self.trials:.1%} ({low:.1%} to {high:.1%})"
        return self.mechanism, self.attack, f"{self.coordinates:,}", share, f"{self.allowed:.1%}"


def rows(trials: int, seed: int = 0, noise_seed: int | None = None) -> list[Row]:
    """Every mechanism under every attack. `noise_seed` fixes the library's noise too, for tests."""
    generator, table = np.random.default_rng(seed), []
    laplace, few, many = Pair(64, pure=True), Pair(64), Pair(16384)
    games = [
        (laplace, {"logarithm": by_logarithm}, "reachable noise", reached_by(laplace_law(laplace.width))),
        (few, {"inverse distribution": by_inverse}, "reachable noise", reached_by(gaussian_law(few.width))),
        (many, {"Box–Muller": by_box_muller, "ziggurat": by_ziggurat}, "precision", reached),
        (many, {"Box–Muller": by_box_muller}, "learnt digits", None),
    ]
    for pair, samplers, attack, possible in games:
        law = "Laplace" if pair.pure else "Gaussian"
        releases = {f"naïve {law}, {name}": naive(pair, draw, generator) for name, draw in samplers.items()}
        releases[f"private-topics, {law}"] = ours(pair, noise_seed)
        for name, release in releases.items():
            if possible is not None:
                guess = by_contradiction(pair, possible, generator)
            else:
                guess = learnt(pair, release, trials, generator)
            won = play(pair, release, guess, trials, generator)
            table.append(Row(name, attack, pair.coordinates, won, trials, pair.allowed(), name.startswith("naïve")))
    allowed = Pair(1).allowed()
    for attack, units in (("one unit changed", doubling_units()), ("another order", reordered_units())):
        for name, exact in (("naïve float32 sum", False), ("private-topics, integer sum", True)):
            won = sum_game(units, exact, trials, noise_seed)
            table.append(Row(name, f"float sums, {attack}", 1, won, trials, allowed, not exact))
    return table


def page(table: list[Row]) -> str:
    head = ("mechanism", "attack", "coordinates", "success (95 % Clopper–Pearson)", "best allowed")
    lines = [head, ("---", "---", "---:", "---:", "---:"), *(row.cells() for row in table)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--out", type=Path, help="write the page there too")
    arguments = parser.parse_args()
    text = (
        "# Attacks on low-order digits\n\n"
        f"Gaussian: epsilon {GAUSSIAN.epsilon:g}, delta {GAUSSIAN.delta:g}; Laplace: epsilon {PURE.epsilon:g}. "
        f"{arguments.trials:,} games a row; chance is 50 %. Best allowed: no attack on a sound mechanism with this "
        f"guarantee succeeds more often.\n\n{page(rows(arguments.trials))}"
    )
    tell(text, arguments.out)


if __name__ == "__main__":
    main()

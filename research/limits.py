"""Where topics can be found at all: the bounds of docs/limits.md beside what methods reach, for alpha0 and lengths.

    python research/limits.py measure [--out research/results/limits.csv]
    python research/limits.py page [--write docs/limits.md] [--svg docs/images/limits.svg]

Directions: three topics that share no word, word frequencies known; the eigenvectors of the centred second moment of
documents drawn from LDA, without noise and with that of a Gaussian mechanism at epsilon = 1, delta = 1e-6 (clip at
the 90 % quantile of the norms, which is not charged for). Found: the true topics, projected on the directions, have a
root mean square relative error of at most 1/2. The documents grow by √2 until they are; the median of the draws.

Orientation: three topics that share their words, or their mirror image, directions known. The documents for two
guesses right in three by the likelihood ratio, which no method beats, and by the sign of the centred third moment.
Both from the signal and the noise of one document (20,000 and 100,000 are drawn), summed as if Gaussian, since
there are many.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from pathlib import Path

import numpy as np

from private_topics.planning import limits
from private_topics.planning.constants import LARGEST_ERROR
from private_topics.planning.expected_errors import PlannedFit

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from stored import ROOT, options_of, read_csv, store_between, store_csv

TOPICS, EPSILON, DELTA = 3, 1.0, 1e-6
SETTINGS = [(alpha0, length, 48) for alpha0 in (1.0, 10.0, 100.0, 1000.0) for length in (100, 1_000, 10_000)]
SETTINGS.append((1000.0, 100, 300))  # the documents of figures 2b and 2c of the paper
CLIP, CHUNK, MOST_DOCUMENTS = 0.9, 10_000, 2_000_000
SEEN, SEEN_MOMENTS, NARROW = 20_000, 100_000, 100
PAGE, CSV, SVG = ROOT / "docs/limits.md", ROOT / "research/results/limits.csv", ROOT / "docs/images/limits.svg"


def fit_of(alpha0: float, length: int, words: int) -> PlannedFit:
    return PlannedFit(1, words, TOPICS, EPSILON, DELTA, alpha0, float(length))


# -- directions -----------------------------------------------------------------------------------------------------


def first_found(alpha0: float, length: int, words: int, rng: np.random.Generator) -> tuple[int, int]:
    """The documents at which the directions are found, without noise and with it."""
    mu = fit_of(alpha0, length, words).mu
    topics = np.repeat(np.eye(TOPICS), words // TOPICS, axis=1) * TOPICS / words
    truth = np.linalg.svd(topics - 1.0 / words, full_matrices=False)[2][: TOPICS - 1]
    moments = np.zeros((2, words, words))
    clip = float(np.quantile(pair_norms(drawn(alpha0, length, topics, 1_000, rng)), CLIP))
    found, target, seen = [0, 0], 2, 0
    while not all(found):
        wanted = min(target - seen, CHUNK)
        counts, seen = drawn(alpha0, length, topics, wanted, rng), seen + wanted
        clipped = np.minimum(1.0, clip / pair_norms(counts))
        for moment, scale in zip(moments, (np.ones(wanted), clipped), strict=True):
            moment += centred_pairs(counts, scale)
        if seen < target:
            continue
        sigma = 2.0 * clip / (seen * mu)
        noise = rng.normal(size=(words, words)) * sigma
        noise = (noise + noise.T) / 2.0
        for which, matrix in enumerate((moments[0] / seen, moments[1] / seen + noise)):
            directions = np.linalg.eigh(matrix)[1][:, 1 - TOPICS :]
            missed = 1.0 - ((truth @ directions) ** 2).sum() / (TOPICS - 1)
            error = math.sqrt((1.0 - 1.0 / TOPICS) * missed)
            found[which] = found[which] or (seen if error <= LARGEST_ERROR else 0)
        if seen > MOST_DOCUMENTS:
            raise RuntimeError(f"not found in {seen} documents")
        target = math.ceil(target * math.sqrt(2.0))
    return found[0], found[1]


def drawn(alpha0: float, length: int, topics: np.ndarray, documents: int, rng: np.random.Generator) -> np.ndarray:
    weights = rng.dirichlet(np.full(TOPICS, alpha0 / TOPICS), documents)
    counts: np.ndarray = rng.multinomial(length, weights @ topics)
    return counts.astype(float)


def centred_pairs(counts: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The sum over documents of `scale` times the mean of `(e_s - p)(e_t - p)'` over pairs s ≠ t of their words."""
    length, words = counts[0].sum(), counts.shape[1]
    centred = counts - length / words
    total = scale @ counts
    alone = np.diag(total) - (total[:, None] + total) / words + total.sum() / words**2
    pairs: np.ndarray = (centred.T @ (centred * scale[:, None]) - alone) / (length * (length - 1))
    return pairs


def pair_norms(counts: np.ndarray) -> np.ndarray:
    """The Frobenius norm of what one document adds to `centred_pairs`."""
    length, words = counts[0].sum(), counts.shape[1]
    centred = counts - length / words
    whole, mixed = (centred**2).sum(axis=1) ** 2, (counts * centred**2).sum(axis=1)
    alone = (counts**2).sum(axis=1) * (1.0 - 2.0 / words) + length**2 / words**2
    norms: np.ndarray = np.sqrt(whole - 2.0 * mixed + alone) / (length * (length - 1))
    return norms


# -- orientation ----------------------------------------------------------------------------------------------------


def oracle_documents(alpha0: float, length: int, rng: np.random.Generator) -> float:
    """Documents for the likelihood ratio, from the Hellinger distance of the two laws of one document."""
    theta, weights = _simplex(alpha0, length)
    sharp, mirrored = (np.log(chances(theta, sign)) for sign in (1, -1))
    mixed = chances(rng.dirichlet(np.full(3, alpha0 / 3), SEEN), np.where(rng.random(SEEN) < 0.5, 1, -1)[:, None])
    total = 0.0
    for part in np.array_split(rng.multinomial(length, mixed), max(1, SEEN // NARROW)):
        exponents = [part @ logs.T + np.log(weights) for logs in (sharp, mirrored)]
        top = np.maximum(*(each.max(axis=1, keepdims=True) for each in exponents))
        a, b = (np.exp(each - top).sum(axis=1) for each in exponents)
        total += float((2.0 * (np.sqrt(a) - np.sqrt(b)) ** 2 / (a + b)).sum())
    return limits.GAUSSIAN_ODDS / (total / SEEN)


def chances(theta: np.ndarray, sign: int | np.ndarray) -> np.ndarray:
    """Of the three groups of words, for topics that prefer their own group or avoid it."""
    found: np.ndarray = (1.0 + sign * limits.CONTRAST * (3.0 * theta - 1.0)) / 3.0
    return np.maximum(found, 1e-300)


def _simplex(alpha0: float, length: int) -> tuple[np.ndarray, np.ndarray]:
    """A grid of topic weights, as fine as a document can tell, with the Dirichlet density as weight."""
    spread = math.sqrt(2.0 / 9.0 / (alpha0 + 1.0))
    step = min(spread / 3.0, math.sqrt(2.0 / 9.0 / length) / limits.CONTRAST)
    line = np.arange(max(step / 2, 1 / 3 - 7 * spread), min(1.0, 1 / 3 + 8 * spread), step)
    first, second = (side.ravel() for side in np.meshgrid(line, line))
    theta = np.stack([first, second, 1.0 - first - second], axis=1)
    theta = theta[theta[:, 2] > 0]
    logs = (alpha0 / 3 - 1.0) * np.log(theta).sum(axis=1)
    weights = np.exp(logs - logs.max())
    kept = weights > 1e-14
    return theta[kept], weights[kept] / weights.sum()


def third_moment_test(alpha0: float, length: int, rng: np.random.Generator) -> float:
    """Documents for the sign of the centred third moment, its mean known and its spread drawn."""
    own = rng.multinomial(length, chances(rng.dirichlet(np.full(3, alpha0 / 3), SEEN_MOMENTS), 1)).astype(float)
    one, two, three = 3 * own - length, 3 * own + length, 9 * own - length
    found = (one**3 - 3 * one * two + 2 * three).mean(axis=1) / (length * (length - 1) * (length - 2))
    mean = 4.0 * limits.CONTRAST**3 / ((alpha0 + 1) * (alpha0 + 2))
    return limits.GAUSSIAN_ODDS * float(found.var()) / mean**2


# -- tables and figure ----------------------------------------------------------------------------------------------


def measure(options: argparse.Namespace) -> None:
    rows = []
    for alpha0, length, words in SETTINGS:
        rng = np.random.default_rng(0)
        found = [first_found(alpha0, length, words, rng) for _ in range(options.draws)]
        plain, noisy = (statistics.median(column) for column in zip(*found, strict=True))
        row = {
            "alpha0": f"{alpha0:g}", "length": length, "words": words, "moments": plain, "private_moments": noisy,
            "likelihood": f"{oracle_documents(alpha0, length, rng):.3g}" if alpha0 >= 10 else "",
            "third_moment": f"{third_moment_test(alpha0, length, rng):.3g}",
        }  # fmt: skip
        rows.append(row)
        print(row, flush=True)
        store_csv(options.out, rows)


def tables(rows: list[dict[str, str]]) -> str:
    """Both tables of the page: bounds and curves are of this code, measured numbers of the file."""
    head = "| alpha0 | length | words | proved | argued | measured | private: proved | argued | measured |"
    lines = [head, "|---" * 9 + "|"]
    turned = ["| alpha0 | length | proved | argued | likelihood ratio | third moment |", "|---" * 6 + "|"]
    for row in rows:
        alpha0, length, words = float(row["alpha0"]), int(row["length"]), int(row["words"])
        fit = fit_of(alpha0, length, words)
        bounds, size = limits.limits(fit), f"| {alpha0:g} | {length:,} |"
        cells = [bounds.directions, limits.moment_documents(fit), float(row["moments"])]
        cells += [bounds.private_directions, limits.noisy_moment_documents(fit), float(row["private_moments"])]
        lines.append(f"{size} {words} | {' | '.join(map(number, cells))} |")
        if words == SETTINGS[0][2]:
            argued, oracle = limits.third_moment_documents(fit), row["likelihood"]
            cells = [bounds.orientation, argued, float(oracle) if oracle else math.nan, float(row["third_moment"])]
            turned.append(f"{size} {' | '.join(map(number, cells))} |")
    return "\n".join(lines) + "\n\n" + "\n".join(turned)


def number(value: float) -> str:
    """Two digits, or that it is less than one document, or that there is none."""
    if math.isnan(value) or value == 0.0:
        return "–"
    if value < 1.0:
        return "< 1"
    digits = max(0, int(math.log10(value)) - 1)
    return f"{round(value, -digits):,.0f}"


def page(options: argparse.Namespace) -> None:
    rows = read_csv(options.csv)
    text = tables(rows)
    print(text)
    if options.write:
        store_between(options.write, "research/limits.py", text)
    if options.svg:
        draw(rows, options.svg)


def draw(rows: list[dict[str, str]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "limits"
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), constrained_layout=True)
    own = [row for row in rows if int(row["words"]) == SETTINGS[0][2]]
    grid = np.geomspace(1.0, 1000.0, 40)
    for length, colour in zip((100, 1_000, 10_000), ("#1f5fa8", "#c4552d", "#4b8b3b"), strict=True):
        fits = [fit_of(alpha0, length, SETTINGS[0][2]) for alpha0 in grid]
        points = [row for row in own if int(row["length"]) == length]
        across = [float(row["alpha0"]) for row in points]
        left.plot(grid, [limits.documents_for_directions(fit) for fit in fits], color=colour)
        left.plot(grid, [limits.moment_documents(fit) for fit in fits], ":", color=colour)
        left.plot(across, [float(row["moments"]) for row in points], "o", color=colour, label=f"{length:,} words")
        left.plot(across, [float(row["private_moments"]) for row in points], "s", color=colour, mfc="none")
        right.plot(grid, [limits.documents_for_orientation(fit) or math.nan for fit in fits], color=colour)
        right.plot(grid, [limits.third_moment_documents(fit) for fit in fits], ":", color=colour)
        told = [(x, float(row["likelihood"])) for x, row in zip(across, points, strict=True) if row["likelihood"]]
        right.plot(*zip(*told, strict=True), "o", color=colour, label=f"{length:,} words")
        right.plot(across, [float(row["third_moment"]) for row in points], "x", color=colour)
    left.set_title("directions (dots: moments, squares: private)", fontsize=10)
    right.set_title("orientation (dots: likelihood ratio, crosses: third moment)", fontsize=10)
    for axes in (left, right):
        axes.set(xscale="log", yscale="log", xlabel="alpha0", ylabel="documents", ylim=(0.5, None))
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = options_of(__doc__)
    commands = parser.add_subparsers(required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("--out", type=Path, default=CSV)
    measuring.add_argument("--draws", type=int, default=3)
    measuring.set_defaults(run=measure)
    printing = commands.add_parser("page")
    printing.add_argument("--csv", type=Path, default=CSV)
    printing.add_argument("--write", type=Path)
    printing.add_argument("--svg", type=Path)
    printing.set_defaults(run=page)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()

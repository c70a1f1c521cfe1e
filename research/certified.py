"""Configurations 3 and 4 against 2: where eigenpairs are certified, with which noise, and how good the topics are.

    python research/certified.py [--wikipedia] [--write docs/certified.md]

The certificate table has one line a corpus and epsilon. Documents are the unit of distance: `room` is the radius, in
documents, of the largest ball around the released tensor that is certified; `ball` of the ball that is used, which
the noise of its centre asks for; `test` what propose-test-release would ask for with the same budget. `bound` is the
certified Lipschitz constant, one to first order. `noise` is the noise of the topics over their length that the tensor
stage adds, to first order, for configurations 2, 3 and 4. The error table has the error of figure 2 (mean over noise
seeds) and "2 polished": configuration 2 whose eigenpairs are polished by Newton's method, as those of 3 and 4 are.
`--wikipedia` adds lines for real text, and `--write` puts both tables into the page.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from scipy.stats import norm

from private_topics import PrivacyWarning, PrivateSpectralLDA, make_lda_corpus
from private_topics.fits import proved
from private_topics.fits.proved import PROVED, topics_of
from private_topics.paper.experiments.synthetic_error import SETTINGS, WORDS, paper_error
from private_topics.privacy.curves import mu_of_budget
from private_topics.releases.eigenpairs import Whitened, inverted, tensor_noise
from private_topics.spectral.certificate import Centre, centre_of, certify

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from corpora import real_counts
from stored import options_of, store_between, tell

EPSILONS = (1.0, 3.0)
SEEDS = range(3)
FALSE_REFUSALS = 0.01
CENTRE_SHARE = 0.5  # of the tensor's budget


@dataclass(frozen=True)
class Problem:
    name: str
    counts: Any
    topics: int
    alpha0: float
    delta: float
    truth: np.ndarray | None = None


@dataclass
class Seen:
    """What a fit of configuration 3 or 4 certified, and the noise of what it released last."""

    whitened: Any = None
    centre: Centre | None = None
    certificate: Any = None
    back: np.ndarray | None = None
    sigma: float = float("nan")


def problems(wikipedia: bool) -> Iterator[Problem]:
    """Figure 2, more topics, less sparse documents, fewer of them; and Wikipedia."""
    for name, setting in SETTINGS.items():
        yield synthetic(name, setting.documents, setting.topics, setting.alpha0)
    yield synthetic("20,000 documents", 20_000, 3, 0.1)
    yield synthetic("5,000 documents", 5_000, 3, 0.1)
    yield synthetic("5 topics", 100_000, 5, 0.1)
    yield synthetic("10 topics", 100_000, 10, 0.1)
    yield synthetic("alpha0 = 1", 100_000, 3, 1.0)
    if wikipedia:
        counts, _ = real_counts("wikipedia", 1000)
        for topics in (3, 5, 25):
            yield Problem(f"Wikipedia, {topics} topics", counts, topics, 1.0, 1e-6)


def synthetic(name: str, documents: int, topics: int, alpha0: float) -> Problem:
    counts, truth, _ = make_lda_corpus(documents, WORDS, topics, alpha0=alpha0, random_state=0)
    return Problem(name, counts, topics, alpha0, 1e-7, truth)


def fit(problem: Problem, configuration: int, epsilon: float, seed: int = 0) -> np.ndarray:
    options = {"delta": problem.delta, "alpha0": problem.alpha0, "noise_seed": seed, "keep": "untested"}
    model = PrivateSpectralLDA(
        problem.topics, epsilon=epsilon, configuration=configuration, keep="untested", **options
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return np.asarray(model.fit(problem.counts).components_)


@contextmanager
def watched() -> Iterator[Seen]:
    """Look at what a fit certifies, and at the noise of its last release."""
    seen = Seen()
    certificate, release = proved.certificate_of, Whitened.released

    def watched_certificate(context: Any, whitened: Any, first: np.ndarray, frame: Any) -> Any:
        tensor = proved.whitened_tensor(frame, whitened.centre.value / whitened.scale, first, context.alpha0)
        seen.whitened, seen.centre = whitened, centre_of(tensor, np.random.RandomState(0))
        seen.back = frame.whitening.basis * np.sqrt(frame.whitening.values)
        seen.certificate = certificate(context, whitened, first, frame)
        return seen.certificate

    def watched_release(self: Any, *arguments: Any) -> Any:
        released = release(self, *arguments)
        seen.sigma = released.sigma
        return released

    with (
        mock.patch.object(proved, "certificate_of", watched_certificate),
        mock.patch.object(Whitened, "released", watched_release),
    ):
        yield seen


@contextmanager
def polished() -> Iterator[None]:
    """Configuration 2 with the eigenpairs of its noisy tensor polished as those of 3 and 4 are."""
    usual = proved.whitened_topics

    def topics(frame: Any, third: np.ndarray, first: np.ndarray, alpha0: float, random_state: Any) -> Any:
        centre = centre_of(proved.whitened_tensor(frame, third, first, alpha0), random_state)
        return usual(frame, third, first, alpha0, random_state) if centre is None else topics_of(
            centre.solutions, frame, alpha0
        )  # fmt: skip

    with mock.patch.object(proved, "whitened_topics", topics):
        yield


def room(centre: Centre) -> float:
    """The radius of the largest certified ball."""
    low, high = 0.0, float(np.linalg.norm(centre.tensor))
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if certify(centre, middle) else (low, middle)
    return low


def distance_to_pass(problem: Problem, epsilon: float) -> float:
    """Documents between the corpus and one that fails, for a test by Gaussian noise at half of the tensor's budget.

    The test lets a corpus that fails pass with probability delta/2, and refuses this one with `FALSE_REFUSALS`.
    """
    mu = mu_of_budget(epsilon, problem.delta / 2) * np.sqrt(CENTRE_SHARE * PROVED[2].fractions["tensor"])
    return float((norm.isf(problem.delta / 2) + norm.isf(FALSE_REFUSALS)) / mu)


def noise_of_topics(three: Seen, four: Seen) -> list[float]:
    """Noise over length of all topics, to first order: configurations 2, 3 and 4."""
    assert three.centre is not None
    assert three.back is not None
    columns = inverted(three.centre.solutions)
    own = three.whitened.noise**2
    tensor = tensor_noise(three.back, columns)
    length = ((three.back @ columns) ** 2).sum()
    three_variance = 1.0 / (1.0 / own + 1.0 / three.sigma**2)
    four_energy = 1.0 / (1.0 / (own * tensor) + 1.0 / (four.sigma**2 * columns.size))
    energies = own * CENTRE_SHARE * tensor, three_variance * tensor, four_energy
    return [float(np.sqrt(energy / length)) for energy in energies]


def certificate_line(problem: Problem, epsilon: float) -> str:
    found = []
    for configuration in (3, 4):
        with watched() as seen:
            fit(problem, configuration, epsilon)
        found.append(seen)
    three, four = found
    head = f"| {problem.name} | {epsilon:g} |"
    test = f"{distance_to_pass(problem, epsilon):,.0f}"
    if three.whitened is None:
        return f"{head} no tensor: fewer than two topics carried | | {test} | | | | |"
    step = three.whitened.sensitivity
    largest = 0.0 if three.centre is None else room(three.centre) / step
    head += f" {largest:,.1f} | {three.whitened.radius / step:,.0f} | {test} |"
    if three.certificate is None:
        return f"{head} not certified | | | |"
    noise = " | ".join(f"{each:.5f}" for each in noise_of_topics(three, four))
    return f"{head} {three.certificate.lipschitz:.3f} | {noise} |"


def error_line(problem: Problem, epsilon: float) -> str:
    assert problem.truth is not None
    errors = []
    for configuration, polish in ((2, False), (2, True), (3, False), (4, False)):
        found = []
        for seed in SEEDS:
            if polish:
                with polished():
                    topics = fit(problem, configuration, epsilon, seed)
            else:
                topics = fit(problem, configuration, epsilon, seed)
            found.append(paper_error(topics, problem.truth))
        errors.append(f"{np.mean(found):.4f}")
    return f"| {problem.name} | {epsilon:g} | {' | '.join(errors)} |"


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--wikipedia", action="store_true")
    parser.add_argument("--write", type=Path, default=None)
    arguments = parser.parse_args()
    lines = ["| corpus | epsilon | room | ball | test | bound | noise 2 | noise 3 | noise 4 |", "|---" * 9 + "|"]
    errors = ["| corpus | epsilon | 2 | 2 polished | 3 | 4 |", "|---" * 6 + "|"]
    for problem in problems(arguments.wikipedia):
        for epsilon in EPSILONS:
            lines.append(certificate_line(problem, epsilon))
            print(lines[-1], flush=True)
            if problem.truth is not None:
                errors.append(error_line(problem, epsilon))
                print(errors[-1], flush=True)
    tables = "\n".join([*lines, "", *errors])
    tell(tables)
    if arguments.write is not None:
        store_between(arguments.write, "research/certified.py", tables)


if __name__ == "__main__":
    main()

"""The likelihood-ratio attack on scores: who was in the training set, and how many of them at few false alarms.

Every shadow model is trained on a random half of the documents and gives every target document a score. Each model in
turn is the attacked one: for every target two Gaussians are fitted to its scores in the *other* models, one to those
that were trained on it and one to those that were not, and the evidence is the log-ratio of their densities at the
attacked model's score (the online attack of Carlini et al., "Membership inference attacks from first principles",
2022). The halves are drawn independently of one another, so the other models tell nothing about the attacked one but
what an attacker with the same corpus could simulate. Against an (epsilon, delta)-private fit, replace-one, the rate
of true alarms is then at most `e^epsilon` times the rate of false ones, plus delta.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SEED = 2022
FALSE_ALARMS = 1e-3
FEWEST_SHADOWS = 4  # with, and without, a target: below that there is no Gaussian to fit
SMALLEST_VARIANCE = 1e-12


class Rate(NamedTuple):
    """A rate of true alarms with its 95 % interval, and the number of false alarms that set the threshold."""

    value: float
    low: float
    high: float
    false_alarms: int


def random_half(seed: int, shadow: int, n_documents: int, n_targets: int) -> tuple[np.ndarray, np.ndarray]:
    """Training rows of a shadow model, and which of the first `n_targets` documents are among them."""
    rows = np.sort(np.random.default_rng((seed, shadow)).permutation(n_documents)[: n_documents // 2])
    return rows, np.isin(np.arange(n_targets), rows)


def evidence(scores: np.ndarray, members: np.ndarray, *, shared_spread: bool) -> np.ndarray:
    """Log-likelihood ratio of "trained on it" for every model and target (models × targets), one model left out.

    With `shared_spread` the two Gaussians of a target have one variance: the stronger attack where membership moves
    the score by less than its spread, since two estimated variances differ more than the true ones.
    """
    scores = scores - scores.mean(axis=0)
    inside = _gaussian_without_own(scores, members)
    outside = _gaussian_without_own(scores, ~members)
    if shared_spread:
        freedom = [side.number - 1 for side in (inside, outside)]
        variance = (freedom[0] * inside.variance + freedom[1] * outside.variance) / np.maximum(sum(freedom), 1)
        inside, outside = inside._replace(variance=variance), outside._replace(variance=variance)
    ratio = _log_density(scores, inside) - _log_density(scores, outside)
    enough = np.minimum(inside.number, outside.number) >= FEWEST_SHADOWS
    return np.where(enough, ratio, 0.0)


class Gaussian(NamedTuple):
    number: np.ndarray
    mean: np.ndarray
    variance: np.ndarray


def _gaussian_without_own(scores: np.ndarray, chosen: np.ndarray) -> Gaussian:
    """Over the chosen models of each target, without the model of the row."""
    own = np.where(chosen, scores, 0.0)
    number = chosen.sum(axis=0) - chosen
    mean = (own.sum(axis=0) - own) / np.maximum(number, 1)
    square = (own**2).sum(axis=0) - own**2
    variance = (square - number * mean**2) / np.maximum(number - 1, 1)
    return Gaussian(number, mean, np.maximum(variance, SMALLEST_VARIANCE))


def _log_density(value: np.ndarray, of: Gaussian) -> np.ndarray:
    density: np.ndarray = -0.5 * ((value - of.mean) ** 2 / of.variance + np.log(of.variance))
    return density


def centred(likelihood: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Log-likelihood per word, less the model's mean over all targets: what sets the document apart."""
    per_word = likelihood / lengths
    centred_score: np.ndarray = per_word - per_word.mean(axis=1, keepdims=True)
    return centred_score


def true_alarms(ratios: np.ndarray, members: np.ndarray, false_alarms: np.ndarray) -> np.ndarray:
    """Rate of true alarms at the lowest threshold whose rate of false alarms is at most each of `false_alarms`."""
    outside = np.sort(ratios[~members])[::-1]
    inside = np.sort(ratios[members])
    allowed = np.minimum(np.floor(np.asarray(false_alarms) * len(outside) + 1e-9).astype(int), len(outside) - 1)
    above = len(inside) - np.searchsorted(inside, outside[allowed], side="right")
    rates: np.ndarray = np.where(np.asarray(false_alarms) >= 1.0, 1.0, above / len(inside))
    return rates


def area(ratios: np.ndarray, members: np.ndarray) -> float:
    """Area under the ROC curve: how often a member has more evidence than a stranger."""
    outside, inside = np.sort(ratios[~members]), ratios[members]
    below = np.searchsorted(outside, inside, side="left") + np.searchsorted(outside, inside, side="right")
    return float(below.mean() / (2.0 * len(outside)))


def rate_with_interval(
    ratios: np.ndarray, members: np.ndarray, false_alarms: float = FALSE_ALARMS, *, draws: int = 300, seed: int = 0
) -> Rate:
    """`true_alarms` at one rate; the interval resamples models and documents, both, and the threshold with them.

    Pairs that share a model or a document are not independent. Resampling both ways counts the noise of a single
    pair up to three times: the interval is too wide rather than too narrow.
    """
    generator = np.random.default_rng(seed)
    n_models, n_targets = ratios.shape
    order = np.argsort(-ratios, axis=None, kind="stable")
    enough = np.searchsorted(np.cumsum(~members.ravel()[order]), 5 * false_alarms * (~members).sum() + 50)
    order = order[: enough + 1]  # no resampling reaches further down
    model, target = np.divmod(order, n_targets)
    inside = members.ravel()[order]
    drawn = []
    for _ in range(draws):
        of_model = generator.multinomial(n_models, np.full(n_models, 1.0 / n_models))
        of_target = generator.multinomial(n_targets, np.full(n_targets, 1.0 / n_targets))
        all_inside, all_outside = of_model @ members @ of_target, of_model @ ~members @ of_target
        weight = of_model[model] * of_target[target]
        cut = np.searchsorted(np.cumsum(np.where(inside, 0, weight)), false_alarms * all_outside, side="right")
        drawn.append(weight[:cut][inside[:cut]].sum() / all_inside)
    value = float(true_alarms(ratios, members, np.array([false_alarms]))[0])
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Rate(value, float(low), float(high), int(false_alarms * (~members).sum()))

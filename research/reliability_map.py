"""What `reliability` states, learnt: how often words and topics come again, from how far refits let them stand out.

    python research/reliability_map.py --out research/results/reliability_map.md

Fits of medical abstracts, clinical notes and mail, each 20 times with noise of its own (seeds 100 to 119): never the
corpora of benchmarks/reliability.py. Of the first three models of each case the refits' numbers are taken, as
`reliability` takes them, and how often topics and words are in the 19 other fits. A logistic regression of the latter
on the former is the map: six numbers for words, four for topics. Corpora differ, and a promise should hold on the
next one too: the constant is lowered until in every case what is called, by a map of the two other corpora, comes
again as often as is said.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

from private_topics import PrivateSpectralLDA
from private_topics.audit.reliability import (
    REFITS,
    RELIABLE,
    came_again,
    chances,
    finds_topics,
    first_words,
    intervals,
    matched,
    refitted,
    settings_for_refits,
    topic_features,
    with_topics,
    word_features,
)
from private_topics.progress import SILENT

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from reliability import FIRST, FITS, Case, actual, table
from stored import options_of, tell

CAUTIONS = np.arange(0.0, 5.0, 0.25)  # of log odds
SEEDS, STATED = range(100, 100 + FITS), 3
MEDICAL, CLINICAL, MAIL = ("medical_abstracts", "public"), ("mtsamples_clinical", "train"), ("enron_email", "train")
CASES = (
    *(Case(*MEDICAL, *sizes) for sizes in ((2_500, 3.0, 5), (5_000, 1.0), (5_000, 3.0), (7_000, 1.0), (7_000, 8.0))),
    Case(*MEDICAL, 7_000, 3.0, 20),
    Case(*MEDICAL, 7_000, 8.0, informed=False),
    *(Case(*CLINICAL, 2_126, *rest) for rest in ((1.0,), (3.0,), (8.0,), (3.0, 5))),
    *(Case(*MAIL, 5_000, epsilon) for epsilon in (1.0, 3.0, 8.0)),
    *(Case(*MAIL, 15_232, *rest) for rest in ((1.0,), (3.0,), (1.0, 5), (3.0, 20))),
    Case(*MAIL, 15_232, 8.0, informed=False),
)
PAGE = """# From refits to how often a topic comes again

`python research/reliability_map.py`: {cases} cases, {fits} fits of each (seeds 100 to 119), {stated} models of each
with {refits} refits of drawn documents, at a third of the epsilon, as short as the clip threshold says where public
knowledge finds the topics. Tried as well: the whole epsilon and a half of it, documents of 50 words everywhere,
shortened everywhere, and topics split along public vectors.

## The map

    WORD_MAP = {words}
    TOPIC_MAP = {topics}

Log odds: a constant, then the factors of margin over spread and of the margin of a word, then those of the topic: the
two of its word in the middle, and the logarithm of its share over the average, where it is below. The last is learnt
where public knowledge finds the topics, and used elsewhere too, though some rare topics of the mail come again.

## What each corpus would have been told by the others

Called: stated at 90 % or more. "really" come again in 90 % or more of the other fits. Corpora differ, and a promise
should hold on the next one too: the constants are lowered until what is called in each case, by a map of the two
other corpora, comes again in 90 % of the fits; by {cautions}. Without that:

{boldly}

With it:

{called}

## Why not the refits' own agreement

Documents drawn from a model are tidier than real ones: they have its topics and no others, and a topic that noise
made is in them as surely as any other. Here {agreed} topics come again in 90 % or more of the refits, and those do so
in {really:.0%} of the fits of the corpus.

## The cases

{table}
"""


class Seen(NamedTuple):
    """Of one model: numbers of the refits beside what comes again, for topics and words; then what is only shown."""

    case: Case
    topics: np.ndarray
    topics_again: np.ndarray
    words: np.ndarray
    words_again: np.ndarray
    learnt_share: bool
    agreement: np.ndarray
    inside: float


def seen(case: Case, model: PrivateSpectralLDA, others: list[PrivateSpectralLDA]) -> Seen:
    settings = settings_for_refits(model, None, None)
    found = [matched(one, model.components_) for one in refitted(model, settings, REFITS, 0, SILENT)]
    words, first = word_features(found, FIRST), first_words(model.components_, FIRST)
    topics = topic_features(words, model, FIRST)
    again = actual(model, others, intervals(found, model.components_))
    agreement = np.mean([came_again(first_words(one, FIRST), first) for one in found], axis=0)
    return Seen(
        case, topics, again.topics, with_topics(words, topics)[first], again.words,
        finds_topics(model), agreement, again.inside,
    )  # fmt: skip


def learnt(features: np.ndarray, again: np.ndarray) -> tuple[float, ...]:
    """A logistic regression on shares: each counts as that much of a success and the rest of a failure."""
    outcome = np.repeat([1, 0], len(again))
    weights = np.concatenate([again, 1.0 - again])
    found = LogisticRegression(C=1e3, max_iter=2_000).fit(np.tile(features, (2, 1)), outcome, weights)
    return (*found.intercept_.tolist(), *found.coef_[0].tolist())


def map_of(models: list[Seen], what: str) -> tuple[float, ...]:
    """Shares of topics, which are the last number, are learnt from where public knowledge finds the topics."""
    features = [getattr(one, what) for one in models]
    masked = [
        one * ([1] * (one.shape[1] - 1) + [model.learnt_share]) for one, model in zip(features, models, strict=True)
    ]
    return learnt(np.concatenate(masked), np.concatenate([getattr(one, f"{what}_again") for one in models]))


KINDS = "topics", "words"


def cautious(found: tuple[float, ...], caution: float) -> tuple[float, ...]:
    return (found[0] - caution, *found[1:])


def called(models: list[Seen], some: list[Seen], what: str, caution: float) -> tuple[np.ndarray, np.ndarray]:
    """Of some models of one corpus, how often that comes again which the others would have called; and everything."""
    elsewhere = [one for one in models if one.case.corpus != some[0].case.corpus]
    again = np.concatenate([getattr(one, f"{what}_again") for one in some])
    stated = chances(np.concatenate([getattr(one, what) for one in some]), cautious(map_of(elsewhere, what), caution))
    return again[stated >= RELIABLE], again


def caution_for(models: list[Seen], what: str) -> float:
    """The least with which the truth is told in every case by the other corpora."""
    cases = [[one for one in models if one.case == case] for case in dict.fromkeys(one.case for one in models)]
    for caution in CAUTIONS.tolist():
        found = [called(models, some, what, caution)[0] for some in cases]
        if all(some.mean() >= RELIABLE for some in found if len(some)):
            return float(caution)
    raise SystemExit(f"no caution makes the {what} right")


def told(models: list[Seen], name: str, cautions: dict[str, float]) -> list[str]:
    row = [name]
    for what, caution in cautions.items():
        some, again = called(models, [one for one in models if one.case.corpus == name], what, caution)
        share = f"{some.mean():.0%}" if len(some) else "–"
        row += [f"{len(some)} of {len(again)}", share, str(np.count_nonzero(again >= RELIABLE))]
    return row


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    models, rows = [], []
    for case in CASES:
        print(*case, file=sys.stderr, flush=True)
        fits = case.fits(SEEDS)
        some = [seen(case, fits[at], fits[:at] + fits[at + 1 :]) for at in range(STATED)]
        models += some
        means = (
            np.mean([np.mean(getattr(one, name)) for one in some])
            for name in ("topics_again", "agreement", "words_again", "inside")
        )
        known = "english" if case.informed else "none"
        rows.append(
            [case.corpus, f"{case.documents:,}", f"{case.epsilon:g}", str(case.topics), known]
            + [f"{mean:.0%}" for mean in means]
        )
    tell(page(models, rows), options.out)


def page(models: list[Seen], rows: list[list[str]]) -> str:
    agree = np.concatenate([one.agreement for one in models]) >= RELIABLE
    cautions = {what: caution_for(models, what) for what in KINDS}
    maps = {what: cautious(map_of(models, what), cautions[what]) for what in KINDS}
    heads = ["corpus", "topics called", "come again", "really", "words called", "are there again", "really"]
    names = list(dict.fromkeys(one.case.corpus for one in models))
    return PAGE.format(
        cases=len(CASES), fits=FITS, stated=STATED, refits=REFITS, agreed=np.count_nonzero(agree),
        really=np.concatenate([one.topics_again for one in models])[agree].mean(),
        **{what: ", ".join(f"{number:.2f}" for number in maps[what]) for what in KINDS},
        cautions=" and ".join(f"{cautions[what]:g} for {what}" for what in KINDS),
        boldly=table(heads, [told(models, name, dict.fromkeys(KINDS, 0.0)) for name in names]),
        called=table(heads, [told(models, name, cautions) for name in names]),
        table=table(
            ["corpus", "documents", "epsilon", "topics", "knowledge", "topics come again", "in refits",
             "words are there again", "intervals hold"], rows,
        ),
    )  # fmt: skip


if __name__ == "__main__":
    main()

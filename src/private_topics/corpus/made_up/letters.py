"""Made-up letters from patients to their hospital, with known topics: text to try everything on.

A letter has an opening, a page of sentences and a close with an invented name. Every sentence belongs to one topic: a
template common to all topics, its gaps filled with that topic's own words, the first of a list most often. The topics
of a letter are drawn as in latent Dirichlet allocation, so the truth is the expected word counts of a sentence of
each topic, computed exactly.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from private_topics.corpus.words.tokens import Tokeniser
from private_topics.errors import InputError

ALPHA0 = 0.6
FEWEST_SENTENCES, MOST_SENTENCES = 20, 40
LETTERS_PER_PATIENT = 2.0
FOUND = 1.0
"""A topic is found where its L1 distance to the truth is below this: two true topics are at least 1.7 apart, a topic
and the word frequencies of all letters at least 1.5."""
GAP = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Letter:
    text: str
    patient: str


def topic_names() -> list[str]:
    """The topics, in the order of the rows of `true_topics`."""
    return list(TOPICS)


def make_letters(count: int, *, seed: int = 0, one_each: bool = False) -> Iterator[Letter]:
    """`count` letters from about half as many patients, in mixed order; or of as many who wrote one each."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InputError(f"The 'count' parameter of make_letters must be an int of at least 1. Got {count!r}.")
    draw = np.random.default_rng(seed)
    lengths = draw.integers(FEWEST_SENTENCES, MOST_SENTENCES + 1, count)
    proportions = draw.dirichlet(ALPHA0 * _shares(), count)
    sentence_topics = _topics_of_sentences(proportions, lengths, draw)
    sentences = _sentences(sentence_topics, draw)
    patients = draw.integers(0, max(1, round(count / LETTERS_PER_PATIENT)), count)
    patients = np.arange(count) if one_each else patients
    openings, closes = draw.integers(0, len(OPENINGS), count), draw.integers(0, len(CLOSES), count)
    stops = np.cumsum(lengths)
    for number in range(count):
        body = " ".join(sentences[stops[number] - lengths[number] : stops[number]])
        patient = int(patients[number])
        text = f"{OPENINGS[openings[number]]} {body} {CLOSES[closes[number]]} {_surname(patient)}"
        yield Letter(text, f"P{patient:06d}")


def write_letters(path: str | os.PathLike[str], count: int, *, seed: int = 0, one_each: bool = False) -> None:
    """Letters as gzipped JSON lines with the fields `patient_id` and `text`."""
    with (  # the same letters, the same bytes
        gzip.GzipFile(path, "wb", compresslevel=3, mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8") as file,
    ):
        for letter in make_letters(count, seed=seed, one_each=one_each):
            file.write(json.dumps({"patient_id": letter.patient, "text": letter.text}) + "\n")


def true_topics(vocabulary: Sequence[str], tokeniser: Tokeniser | None = None) -> np.ndarray:
    """The topics (k × d) over the given words: expected counts per sentence, with its share of opening and close."""
    made = Tokeniser() if tokeniser is None else tokeniser
    frame = _expected(OPENINGS, np.full(len(OPENINGS), 1.0 / len(OPENINGS)), made)
    frame.update(_expected(CLOSES, np.full(len(CLOSES), 1.0 / len(CLOSES)), made))
    sentences_per_letter = (FEWEST_SENTENCES + MOST_SENTENCES) / 2.0
    column = {word: j for j, word in enumerate(vocabulary)}
    truth = np.zeros((len(TOPICS), len(vocabulary)))
    for i, gaps in enumerate(TOPICS.values()):
        expected = _expected_sentence(gaps, made)
        for counts, weight in ((expected, 1.0), (frame, 1.0 / sentences_per_letter)):
            for word, count in counts.items():
                if word in column:
                    truth[i, column[word]] += weight * count
    if not (truth.sum(axis=1) > 0).all():
        raise InputError("The vocabulary holds no word of some topic of the letters.")
    normalised: np.ndarray = truth / truth.sum(axis=1, keepdims=True)
    return normalised


def _expected_sentence(gaps: dict[str, tuple[str, ...]], tokeniser: Tokeniser) -> Counter[str]:
    fillings = {gap: _expected(entries, _falling(len(entries)), tokeniser) for gap, entries in gaps.items()}
    total = _expected([GAP.sub(" ", template) for template in TEMPLATES], np.ones(len(TEMPLATES)), tokeniser)
    for template in TEMPLATES:
        for gap in GAP.findall(template):
            total.update(fillings[gap])
    return Counter({word: count / len(TEMPLATES) for word, count in total.items()})


def _expected(texts: Sequence[str], weights: np.ndarray, tokeniser: Tokeniser) -> Counter[str]:
    """Expected counts of the words of a text drawn with these weights."""
    expected: Any = Counter()
    for text, weight in zip(texts, weights.tolist(), strict=True):
        for word in tokeniser.words(text):
            expected[word] += weight
    counts: Counter[str] = expected
    return counts


def _falling(count: int, start: float = 1.0) -> np.ndarray:
    """Weights that fall along a list, more steeply for a smaller `start`."""
    weights: np.ndarray = 1.0 / (start + np.arange(count))
    return weights / weights.sum()


def _shares() -> np.ndarray:
    return _falling(len(TOPICS), start=10.0)


def _topics_of_sentences(proportions: np.ndarray, lengths: np.ndarray, draw: Any) -> np.ndarray:
    owner = np.repeat(np.arange(len(lengths)), lengths)
    edges = np.cumsum(proportions, axis=1)[owner]
    drawn: np.ndarray = (draw.random(len(owner))[:, None] > edges[:, :-1]).sum(axis=1)
    return drawn


def _sentences(topics: np.ndarray, draw: Any) -> list[str]:
    """A sentence for each entry of `topics`."""
    made: list[str] = [""] * len(topics)
    for i, gaps in enumerate(TOPICS.values()):
        places = np.flatnonzero(topics == i)
        templates = draw.integers(0, len(TEMPLATES), len(places))
        fills = {
            gap: draw.choice(len(entries), len(places), p=_falling(len(entries))) for gap, entries in gaps.items()
        }
        for number, place in enumerate(places):
            words = {gap: entries[fills[gap][number]] for gap, entries in gaps.items()}
            made[place] = TEMPLATES[templates[number]].format(**words)
    return made


def _surname(patient: int) -> str:
    """An invented name; few patients share one, so that no private vocabulary names it."""
    first, rest = patient % len(SYLLABLES), patient // len(SYLLABLES)
    second, third = rest % len(SYLLABLES), rest // len(SYLLABLES) % len(SYLLABLES)
    return (SYLLABLES[third] + SYLLABLES[first] + SYLLABLES[second]).capitalize()


OPENINGS = ("Dear hospital,", "Hello,", "Good morning,", "To whom it may concern,", "Dear doctors,")
CLOSES = ("Yours sincerely,", "Kind regards,", "Thanks,", "Best wishes,", "Yours,")
TEMPLATES = (
    "The {thing} was {quality} and so was the {other}.",
    "I {deed} because of the {thing}, which was {quality}.",
    "Nobody explained the {other}, so we {deed}.",
    "We all found the {thing} {quality}.",
    "When I {deed}, the {other} was {quality}.",
    "It was about the {thing} and the {other}.",
    "There was a {quality} {thing} and we {deed}.",
)
SYLLABLES = (
    "bar", "bel", "cor", "dan", "den", "dor", "fal", "fen", "gar", "hol", "jen", "kel", "lan", "lor", "mar", "mel",
    "nor", "pel", "ros", "sel", "tam", "tor", "val", "wen", "wick",
)  # fmt: skip
TOPICS: dict[str, dict[str, tuple[str, ...]]] = {
    "waiting times": {
        "thing": ("wait", "queue", "waiting room", "line", "delay", "emergency department", "number board", "triage"),
        "other": ("hours", "turn", "minutes", "screen", "afternoon", "clock", "corridor", "triage nurse"),
        "quality": ("long", "slow", "endless", "exhausting", "unexplained", "overcrowded"),
        "deed": ("sat for hours", "stood in line", "watched the clock", "waited", "left unseen", "queued"),
    },
    "nurses' kindness": {
        "thing": ("nurse", "night nurse", "nursing team", "ward sister", "healthcare assistant", "midwife", "matron"),
        "other": ("care", "smile", "patience", "gentle hand", "compassion", "bedside manner", "reassurance"),
        "quality": ("kind", "caring", "gentle", "wonderful", "cheerful", "compassionate", "attentive"),
        "deed": ("felt looked after", "felt safe", "laughed together", "was listened to", "was comforted"),
    },
    "appointments": {
        "thing": ("appointment", "booking", "clinic date", "reminder", "referral", "reschedule letter"),
        "other": ("date", "calendar", "consultant slot", "confirmation", "portal", "voicemail", "receptionist"),
        "quality": ("cancelled", "double booked", "confusing", "postponed", "rescheduled", "rearranged"),
        "deed": ("called again", "changed the date", "missed the slot", "rang reception", "phoned twice", "rebooked"),
    },
    "food": {
        "thing": ("food", "meal", "dinner", "lunch", "breakfast", "soup", "menu", "vegetables", "porridge"),
        "other": ("coffee", "tea", "kitchen", "portion", "dessert", "vegetarian option", "tray", "dietitian"),
        "quality": ("hot", "cold", "delicious", "tasty", "salty", "bland", "tasteless", "overcooked"),
        "deed": ("went hungry", "ate little", "ordered soup", "drank tea", "brought snacks", "skipped dinner"),
    },
    "pain": {
        "thing": ("pain", "surgery", "knee operation", "wound", "medication", "injection", "tablets", "morphine"),
        "other": ("recovery", "dose", "surgeon", "stitches", "anaesthetic", "physiotherapy", "painkiller"),
        "quality": ("severe", "sharp", "sore", "swollen", "numb", "unbearable", "bearable"),
        "deed": ("could not sleep", "asked for painkillers", "recovered", "took paracetamol", "screamed", "limped"),
    },
    "discharge": {
        "thing": ("discharge", "prescription", "pharmacy", "care plan", "transport home", "discharge summary"),
        "other": ("home", "follow up", "social worker", "district nurse", "ambulance", "paperwork", "medicines bag"),
        "quality": ("late", "planned", "smooth", "rushed", "premature", "chaotic", "disorganised"),
        "deed": ("went home", "packed my bag", "collected the prescription", "waited for pharmacy", "was readmitted"),
    },
    "parking": {
        "thing": ("parking", "car park", "parking space", "ticket machine", "bus stop", "entrance road", "barrier"),
        "other": ("traffic", "fine", "meter", "permit", "coins", "disabled bay", "taxi rank", "bicycle stand"),
        "quality": ("free", "full", "broken", "expensive", "narrow", "distant", "unlit"),
        "deed": ("drove around", "paid the meter", "parked outside", "walked uphill", "circled the car park"),
    },
    "billing": {
        "thing": ("bill", "payment", "invoice", "charge", "insurance claim", "refund", "account statement"),
        "other": ("bank", "amount", "balance", "receipt", "billing office", "insurer", "deductible", "copayment"),
        "quality": ("wrong", "correct", "outstanding", "duplicate", "overdue", "overcharged", "itemised"),
        "deed": ("paid twice", "was charged", "claimed a refund", "called billing", "disputed the invoice"),
    },
    "cleanliness": {
        "thing": ("floor", "bathroom", "shower", "toilet", "sink", "curtain", "bed linen", "ward kitchenette"),
        "other": ("smell", "dust", "bin", "soap", "towel", "cleaner", "hand gel", "mop"),
        "quality": ("clean", "dirty", "filthy", "stained", "dusty", "smelly", "spotless"),
        "deed": ("asked for clean sheets", "washed my hands", "cleaned it ourselves", "wiped the table"),
    },
}  # fmt: skip

"""Plurals become singulars, and no other word is mangled."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from private_topics.corpus.words.plurals import singular
from private_topics.corpus.words.tokens import Tokeniser

PAIRS = """
studies study, cases case, patients patient, glasses glass, shoes shoe, trees tree, diseases disease, biopsies biopsy
diagnoses diagnosis, analyses analysis, prognoses prognosis, metastases metastasis, thromboses thrombosis
stenoses stenosis, neuroses neurosis, hypotheses hypothesis, prostheses prosthesis, dialyses dialysis, crises crisis
viruses virus, sinuses sinus, fetuses fetus, abscesses abscess, masses mass, rashes rash, headaches headache
reflexes reflex, doses dose, overdoses overdose, causes cause, uses use, nurses nurse, valves valve, nerves nerve
vertebrae vertebra, bronchi bronchus, bacteria bacterium, women woman, children child, teeth tooth, lives life
potatoes potato, toes toe, boxes box, sizes size, houses house, exercises exercise, phases phase, enzymes enzyme
kidneys kidney, antibiotics antibiotic, clinics clinic, areas area, buses bus, branches branch, ties tie
responses response, syringes syringe, lenses lens, gases gas, calories calorie, series series
"""
WHOLE = (
    "diagnosis pelvis arthritis hepatitis sepsis psoriasis fibrosis virus fetus uterus thrombus lupus abscess "
    "illness diabetes herpes ascites rabies pancreas biceps forceps genetics obstetrics species gas bias lens news "
    "lung aorta tetanus mucus plexus cirrhosis anus iris dialysis stress weakness measles class"
)


@pytest.mark.parametrize(
    ("word", "stem"),
    [tuple(pair.split()) for pair in PAIRS.replace("\n", ",").split(",") if pair.strip()],
)
def test_plurals(word, stem):
    assert singular(word) == stem
    assert Tokeniser(stemmer="s", languages=()).words(word.title()) == [stem]


@pytest.mark.parametrize("word", WHOLE.split())
def test_words_that_are_no_plurals_stay_whole(word):
    assert singular(word) == word


@given(st.text("aesiuohcxzytbnmklv", min_size=1, max_size=9))
def test_a_singular_is_its_own(word):
    assert singular(singular(word)) == singular(word)


def test_few_frequent_english_words_become_what_is_no_word():
    """Of the 20,000 most frequent words, those whose result is far rarer than they are: names in -s, most of them."""
    wordfreq = pytest.importorskip("wordfreq")
    changed = [(word, singular(word)) for word in wordfreq.top_n_list("en", 20_000) if singular(word) != word]
    assert all(singular(found) == found for _, found in changed)
    rare = [pair for pair in changed if _rarity(wordfreq, pair[1]) < _rarity(wordfreq, pair[0]) - 1.5]
    assert len(changed) > 3_000
    assert len(rare) < 0.015 * len(changed), rare


def _rarity(wordfreq, word):
    return wordfreq.zipf_frequency(word, "en")

"""Edits of a released model: computed from released values, said by the model, and the statement stays."""

from __future__ import annotations

import json

import numpy as np
import pytest

from private_topics import (
    InputError,
    ModelFileError,
    PrivateSpectralLDA,
    PrivateVariationalLDA,
    Tokeniser,
    block_words,
    drop_topics,
    fit_texts,
    labels_of,
    load,
    make_lda_corpus,
    merge_topics,
    name_topics,
    rename_topics,
)
from private_topics.corpus.made_up.letters import make_letters
from private_topics.corpus.words.vocabulary import WordList
from private_topics.estimators.saving import read_model, write_model

WORDS = (
    "queue",
    "nurse",
    "parking",
    "soup",
    "pain",
    "invoice",
    "home",
    "wait",
    "car",
    "night",
    "doctor",
    "heart_failure",
)


@pytest.fixture(scope="module")
def model() -> PrivateSpectralLDA:
    texts = [letter.text for letter in make_letters(1_500, seed=2)]
    made = PrivateSpectralLDA(4, epsilon=60.0, delta=1e-5, noise_seed=3)
    fitted = fit_texts(made, texts, WordList("words", WORDS), Tokeniser(phrases=("heart failure",)))
    assert len(fitted.components_) >= 3
    return fitted


def test_blocked_words_are_nowhere_in_the_model(model, tmp_path):
    edited = block_words(
        rename_topics(model, {0: "Nurses", 1: "the soup of today", 2: "meals"}), ["Nurse", "soup", "unheard"]
    )
    assert list(edited.feature_names_in_) == [word for word in WORDS if word not in ("nurse", "soup")]
    kept = [word not in ("nurse", "soup") for word in WORDS]
    expected = model.components_[:, kept]
    np.testing.assert_allclose(edited.components_, expected / expected.sum(axis=1, keepdims=True))
    assert edited.privacy_ == model.privacy_
    assert edited.edits_.blocked_words == 2
    assert edited.edits_.released == model._file_digest()
    edited.save(tmp_path / "edited")
    content = (tmp_path / "edited").read_bytes()
    assert b"nurse" not in content
    assert b"soup" not in content  # nor in a label
    assert load(tmp_path / "edited").edits_ == edited.edits_
    assert load(tmp_path / "edited").topic_labels_ == [None, None, "meals", *[None] * (len(model.components_) - 3)]
    assert list(model.feature_names_in_) == list(WORDS)


def test_a_phrase_with_a_blocked_word_is_blocked(model):
    assert "heart_failure" not in block_words(model, ["heart"]).feature_names_in_
    assert "heart_failure" not in block_words(model, ["heart failure"]).feature_names_in_


def test_words_that_the_model_lacks_change_nothing(model):
    same = block_words(model, ["unheard"])
    assert same._file_digest() == model._file_digest()
    assert not hasattr(same, "edits_")
    with pytest.raises(InputError, match="not one string"):
        block_words(model, "nurse")


def test_a_topic_without_words_is_dropped_and_a_model_without_words_refused(model):
    parted = rename_topics(model, {1: "second"})
    parted.components_ = np.zeros_like(model.components_)
    parted.components_[0, 0], parted.components_[1:, 1] = 1.0, 1.0
    edited = block_words(parted, [WORDS[0]])
    assert len(edited.components_) == len(model.components_) - 1
    assert (edited.edits_.blocked_words, edited.edits_.dropped_topics) == (1, 1)
    assert edited.topic_labels_[0] == "second"
    with pytest.raises(InputError, match="no word"):
        block_words(parted, WORDS[:2])


def test_merged_topics_are_weighed_by_the_prior(model):
    edited = merge_topics(rename_topics(model, {2: "third"}), [2, 0])
    prior, topics = model.doc_topic_prior_, model.components_
    assert len(edited.components_) == len(topics) - 1
    place = 1  # topic 0 is gone, so the place of topic 2 is the second
    mixed = (prior[2] * topics[2] + prior[0] * topics[0]) / (prior[2] + prior[0])
    np.testing.assert_allclose(edited.components_[place], mixed)
    assert edited.doc_topic_prior_[place] == pytest.approx(prior[2] + prior[0])
    assert edited.doc_topic_prior_.sum() == pytest.approx(prior.sum())
    np.testing.assert_allclose(
        edited.doc_topic_prior_ @ edited.components_, prior @ topics
    )  # the same text on the whole
    assert edited.topic_labels_[place] == "third"
    assert edited.privacy_ == model.privacy_
    assert edited.edits_.merged_topics == 1


def test_dropped_topics_are_gone_and_edits_add_up(model):
    edited = drop_topics(rename_topics(model, {1: "second"}), [0])
    np.testing.assert_array_equal(edited.components_, model.components_[1:])
    assert edited.topic_labels_ == ["second", *[None] * (len(edited.components_) - 1)]
    again = block_words(edited, ["nurse"])
    assert (again.edits_.dropped_topics, again.edits_.renamed_topics, again.edits_.blocked_words) == (1, 1, 1)
    assert again.edits_.released == model._file_digest()
    for said in ("1 word blocked", "1 topic dropped", "1 topic named by hand"):
        assert said in again.edits_.text


@pytest.mark.parametrize(
    "edit",
    [
        lambda model: drop_topics(model, range(len(model.components_))),
        lambda model: drop_topics(model, [99]),
        lambda model: drop_topics(model, [0, 0]),
        lambda model: drop_topics(model, [True]),
        lambda model: merge_topics(model, [0]),
        lambda model: merge_topics(model, [0, 1], [1, 2]),
        lambda model: merge_topics(model, [0, -1]),
        lambda model: rename_topics(model, {0: " "}),
        lambda model: rename_topics(model, {0: "a\nb"}),
        lambda model: rename_topics(model, {9: "nine"}),
        lambda model: name_topics(model, lambda words: None),
    ],
)
def test_impossible_edits_are_refused(model, edit):
    with pytest.raises(InputError):
        edit(model)


def test_a_namer_sees_released_words_only(model):
    seen = []
    edited = name_topics(model, lambda words: seen.append(words) or f"about {words[0]}", n_words=5)
    assert seen == model.top_words(n=5, relevance=0.6)
    assert all(set(words) <= set(WORDS) for words in seen)
    assert labels_of(edited) == [f"about {words[0]}" for words in seen]


def test_an_edited_model_works_like_any_other(model, tmp_path):
    edited = merge_topics(block_words(model, ["queue"]), [0, 1])
    edited.save(tmp_path / "model")
    found = load(tmp_path / "model")
    assert found._file_digest() == edited._file_digest()
    counts = np.ones((2, len(WORDS) - 1), dtype=int)
    np.testing.assert_array_equal(found.transform(counts), edited.transform(counts))
    assert found.transform(counts).shape == (2, len(model.components_) - 1)


def test_a_new_fit_forgets_labels_and_edits(model):
    edited = rename_topics(model, {0: "first"})
    X, *_ = make_lda_corpus(600, 20, 2, random_state=0)
    edited.set_params(n_components=2).fit(X)
    assert not hasattr(edited, "topic_labels_")
    assert not hasattr(edited, "edits_")


def test_models_without_names_and_other_estimators():
    X, *_ = make_lda_corpus(600, 20, 2, random_state=0)
    other = PrivateVariationalLDA(2, epsilon=20.0, delta=1e-5, noise_seed=1).fit(X)
    merged = merge_topics(other, [0, 1])
    assert merged.privacy_ == other.privacy_
    assert len(merged.components_) == 1
    with pytest.raises(InputError, match="knows its words"):
        block_words(other, ["nurse"])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("topic_labels", ["one"]),
        ("topic_labels", "one"),
        ("topic_labels", [1, 2, 3, 4]),
        ("topic_labels", ["x" * 300, None, None, None]),
        ("edits", {"released": "0" * 64}),
        ("edits", []),
        ("edits", {"released": "z" * 64} | dict.fromkeys(("blocked_words", "merged_topics", "dropped_topics"), 0)),
    ],
)
def test_a_stranger_s_labels_and_edits_are_checked(model, tmp_path, key, value):
    model.save(tmp_path / "model")
    header, arrays = read_model(tmp_path / "model")
    header = {name: part for name, part in header.items() if name not in ("sha256", "arrays", "format", "version")}
    if key == "edits" and isinstance(value, dict) and len(value) > 1:
        value = value | {"renamed_topics": 0}
    write_model(tmp_path / "altered", json.loads(json.dumps(header)) | {key: value}, arrays)
    with pytest.raises(ModelFileError):
        load(tmp_path / "altered")

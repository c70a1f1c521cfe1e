"""Labels are made of released words, the distinctive ones, each once."""

import numpy as np
import pytest

from private_topics import InputError, PublicKnowledge, SpectralLDA, labels, labels_of

WORDS = ["patient", "heart", "aorta", "valve", "soup", "dinner", "cold", "parking", "car", "cost"]
TOPICS = np.array(
    [
        [0.40, 0.25, 0.20, 0.15, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00],
        [0.40, 0.00, 0.00, 0.00, 0.25, 0.20, 0.15, 0.00, 0.00, 0.00],
        [0.40, 0.00, 0.00, 0.00, 0.00, 0.00, 0.15, 0.20, 0.15, 0.10],
    ]
)


def model(topics=TOPICS, words=WORDS) -> SpectralLDA:
    made = SpectralLDA(len(topics))
    made.components_, made.n_features_in_ = np.array(topics), len(words)
    made.doc_topic_prior_ = np.arange(len(topics), 0, -1.0)
    made.feature_names_in_ = np.array(words, dtype=object)
    return made


def test_labels_are_distinctive_and_share_no_word():
    made = labels(model())
    assert made[0] == "heart, aorta, valve"
    assert made[1].startswith("soup, dinner")
    assert made[2].startswith("parking, car")
    assert len({word for label in made for word in label.split(", ")}) == 9


def test_words_are_repeated_only_where_too_few_are_left():
    made = labels(model([[0.6, 0.4], [0.5, 0.5]], ["one", "two"]))
    assert [len(label.split(", ")) for label in made] == [2, 2]
    assert labels(model([[0.6, 0.4]], ["one", "two"])) == ["one, two"]


def test_vectors_choose_central_words():
    rows = np.eye(10, 4)[:, :4] * 0
    rows[[1, 2, 3]] = [[1.0, 0.1, 0, 0], [1.0, 0.0, 0, 0], [0.2, 1.0, 0, 0]]
    made = labels(model(), rows)
    assert made[0].split(", ")[2] != "aorta"
    assert made[0].split(", ")[0] in ("heart", "aorta")
    assert labels(model(), PublicKnowledge.english(WORDS))[0]
    with pytest.raises(InputError, match="'vectors' parameter of labels"):
        labels(model(), rows[:3])


def test_labels_that_were_given_come_first():
    made = model()
    assert labels_of(made) == labels(made)
    made.topic_labels_ = [None, "meals", None]
    assert labels_of(made) == [labels(made)[0], "meals", labels(made)[2]]

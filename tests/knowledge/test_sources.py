"""What can be named as public knowledge, and that it is fixed when it is opened."""

from pathlib import Path

import numpy as np
import pytest

from private_topics import InputError, PublicKnowledge, Tokeniser
from private_topics.knowledge.sources import KnowledgeSource, open_knowledge

WORDS = ["nurse", "ward", "doctor"]
TEXTS = ["nurse and ward", "nurse, ward, doctor", "algebra"] * 3


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("nurse 1 0\nward 0 1\n")
    return path


def test_nothing_is_none():
    assert open_knowledge(None) is open_knowledge("none") is None


def test_every_kind_is_opened_and_aligned(path):
    aligned = PublicKnowledge.from_vectors(WORDS, path)
    same = {
        "path": (open_knowledge(path), aligned),
        "path as a string": (open_knowledge(str(path)), aligned),
        "aligned already": (open_knowledge(aligned), aligned),
        "texts": (open_knowledge(TEXTS), PublicKnowledge.from_texts(WORDS, TEXTS)),
        "texts from an iterator": (open_knowledge(iter(TEXTS)), PublicKnowledge.from_texts(WORDS, TEXTS)),
        "texts with units": (open_knowledge([(t, None) for t in TEXTS]), PublicKnowledge.from_texts(WORDS, TEXTS)),
        "a list": (open_knowledge([path, aligned]), aligned + aligned),
    }
    for source, expected in same.values():
        assert isinstance(source, KnowledgeSource)
        assert source.align(WORDS) == expected
        assert (source.name, source.digest) == (expected.name, expected.digest)
    assert open_knowledge(same["path"][0]) is same["path"][0]


@pytest.mark.parametrize("name", ["english", "english-documents"])
def test_shipped_names(name):
    source = open_knowledge(name)
    made = PublicKnowledge.english if name == "english" else PublicKnowledge.english_documents
    assert source.name == name
    assert source.align(WORDS) == made(WORDS)
    assert {"nurse", "doctor"} <= set(source.words)


def test_sources_add_up(path):
    both = open_knowledge(path) + open_knowledge(TEXTS)
    expected = PublicKnowledge.from_vectors(WORDS, path) + PublicKnowledge.from_texts(WORDS, TEXTS)
    assert both.align(WORDS) == expected
    assert both.digest == expected.digest
    assert both.words == ("nurse", "ward")
    ready = open_knowledge(expected) + open_knowledge(path)
    assert ready.digest == ready.align(WORDS).digest
    names = open_knowledge(["english", "english-documents"])
    assert names.name == "english + english-documents"
    with pytest.raises(TypeError):
        both + 3


def test_a_file_is_read_when_it_is_opened_and_never_again(path):
    source = open_knowledge(path)
    before = source.align(WORDS)
    path.write_text("nurse 0 1\nward 1 0\n")
    assert source.align(WORDS) == before
    path.unlink()
    assert source.align(WORDS) == before
    texts = list(TEXTS)
    source = open_knowledge(texts)
    texts[:] = []
    assert source.align(WORDS) == PublicKnowledge.from_texts(WORDS, TEXTS)


def test_aligned_knowledge_needs_its_columns(path):
    source = open_knowledge(PublicKnowledge.from_vectors(WORDS, path))
    with pytest.raises(InputError, match=r"is for 3 columns, but the corpus has 2: it goes with a public vocabulary"):
        source.align(WORDS[:2])


def test_texts_are_read_by_the_tokeniser_given():
    source = open_knowledge(TEXTS, tokeniser=Tokeniser(languages=()))
    assert np.isfinite(source.align(["and", "nurse", "ward"]).log_frequencies).all()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("englsh", "no public knowledge 'englsh': the names are english, english-documents and none"),
        (Path("missing.vec"), "Cannot read the word vectors missing.vec: No such file"),
        (3, "The 'knowledge' parameter must be None.*'int'"),
        (b"english", "The 'knowledge' parameter must be None"),
        ({"a": 1}, "The 'knowledge' parameter must be None"),
        ([], "Public texts must be"),
        ([1, 2], "Public texts must be"),
        (True, "The 'knowledge' parameter must be None"),
    ],
)
def test_what_is_no_knowledge_is_refused(spec, message):
    with pytest.raises(InputError, match=message):
        open_knowledge(spec)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="Is a directory"):
        open_knowledge(str(tmp_path))

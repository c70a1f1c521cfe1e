"""Model files: what is saved comes back; anything else is refused by a ModelFileError, before it can do harm."""

import io
import json
import pickle
import struct
import time
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import private_topics
from private_topics import ModelFileError, PrivateSpectralLDA, SpectralLDA, load, make_lda_corpus
from private_topics.estimators import saving as model_file
from private_topics.estimators.saving import model_digest, read_model, write_model


@pytest.fixture(scope="module")
def model():
    X = make_lda_corpus(400, 30, 3, random_state=0)[0]
    frame = pd.DataFrame(X.toarray(), columns=[f"wörd{j}" for j in range(30)])
    return SpectralLDA(3, alpha0=0.7, random_state=5).fit(frame)


@pytest.fixture
def saved(model, tmp_path):
    model.save(tmp_path / "topics.model")
    return tmp_path / "topics.model"


@pytest.mark.parametrize("load", [SpectralLDA.load, private_topics.load])
def test_round_trip(model, saved, load):
    again = load(saved)
    assert type(again) is SpectralLDA
    assert again.get_params() == model.get_params()
    for name in ("components_", "doc_topic_prior_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
    assert list(again.feature_names_in_) == list(model.feature_names_in_)
    assert again.n_features_in_ == 30
    X = pd.DataFrame(np.ones((2, 30), int), columns=model.feature_names_in_)
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


def test_the_same_model_is_the_same_file(model, saved, tmp_path, monkeypatch):
    """A clock in the file, next to the day in a ledger, would say how long the fit took."""
    monkeypatch.setattr(time, "time", lambda: 2.0e9)
    monkeypatch.setattr(model, "verbose", True)  # of the screen, not of the model
    model.save(tmp_path / "later.model")
    assert (tmp_path / "later.model").read_bytes() == saved.read_bytes()
    with zipfile.ZipFile(saved) as archive:
        assert {part.date_time for part in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {(part.create_system, part.extra, part.comment) for part in archive.infolist()} == {(3, b"", b"")}


def test_parameters_of_numpy_types_and_generators(tmp_path):
    X = make_lda_corpus(200, 20, 2, random_state=0)[0]
    estimator = SpectralLDA(np.int64(2), alpha0=np.float64(0.5), random_state=np.random.RandomState(0)).fit(X)
    estimator.save(tmp_path / "model")
    again = private_topics.load(tmp_path / "model")
    assert again.get_params()["n_components"] == 2
    assert again.random_state is None
    assert not hasattr(again, "feature_names_in_")


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(FileNotFoundError):
        private_topics.load(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        private_topics.load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04", b"PK\x05\x06" + bytes(18), pickle.dumps([1])])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "model").write_bytes(content)
    with pytest.raises(ModelFileError):
        private_topics.load(tmp_path / "model")


def test_every_truncation_is_refused(saved):
    content = saved.read_bytes()
    for size in range(0, len(content), max(1, len(content) // 150)):
        saved.write_bytes(content[:size])
        with pytest.raises(ModelFileError):
            read_model(saved)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("mutations") / "model"
    arrays = {"components_": np.array([[0.25, 0.75], [0.5, 0.5]]), "doc_topic_prior_": np.array([0.4, 0.6])}
    write_model(path, {"class": "SpectralLDA", "library": "0", "parameters": {"n_components": 2}}, arrays)
    return path, path.read_bytes()


mutations = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=3)


@pytest.mark.slow
@settings(max_examples=600)
@given(mutations=mutations, cut=st.sampled_from([0, 0, 0, 1, 30]), joint=st.booleans())
def test_mutated_files_are_refused_or_hold_the_same(small, mutations, cut, joint):
    """Bytes changed anywhere, or a piece doubled: an identical model or a ModelFileError, nothing else."""
    path, content = small
    header, arrays = _read_bytes(path, content)
    changed = bytearray(content)
    for place, value in mutations:
        changed[int(place * len(changed))] = value
    if joint:
        changed = changed[: len(changed) // 2] + changed[len(changed) // 3 :]
    changed = bytes(changed[: len(changed) - cut])
    try:
        found_header, found_arrays = _read_bytes(path.with_name("mutated"), changed)
    except ModelFileError:
        return
    assert found_header == header
    assert found_arrays.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(found_arrays[name], array)


def test_every_single_changed_byte(small):
    path, content = small
    header, _ = _read_bytes(path, content)
    refused = 0
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 0x41
        try:
            assert _read_bytes(path.with_name("mutated"), bytes(changed))[0] == header
        except ModelFileError:
            refused += 1
    assert refused > len(content) / 2  # the rest are dates and attributes of the zip, which are not read


def _read_bytes(path: Path, content: bytes):
    path.write_bytes(content)
    return read_model(path)


def forge(path, header=None, arrays=None, *, digest=True, compression=zipfile.ZIP_STORED):
    """A file made by hand from the parts of a good one, with a digest that matches (or does not)."""
    good_header, good_arrays = read_model(path)
    header = {**good_header, **(header or {})}
    arrays = good_arrays if arrays is None else arrays
    if digest:
        header["sha256"] = model_digest(header, arrays)
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("header.json", json.dumps(header))
        for name in header["arrays"]:
            buffer = io.BytesIO()
            np.save(buffer, arrays[name], allow_pickle=False)
            archive.writestr(f"{name}.npy", buffer.getvalue())


def test_another_version_says_what_to_do(saved):
    forge(saved, {"version": 99})
    with pytest.raises(ModelFileError, match="format version 99; this release reads version 1"):
        private_topics.load(saved)


def test_an_altered_value_is_noticed(saved):
    _, arrays = read_model(saved)
    arrays["doc_topic_prior_"] = arrays["doc_topic_prior_"][::-1].copy()
    forge(saved, arrays=arrays, digest=False)
    with pytest.raises(ModelFileError, match="altered"):
        private_topics.load(saved)


@pytest.mark.parametrize(
    "header",
    [
        {"class": "os.system"},
        {"class": ["SpectralLDA"]},
        {"class": None},
        {"parameters": {"n_components": 2, "unknown": 1}},
        {"parameters": None},
        {"feature_names": ["a"]},
        {"feature_names": [1] * 30},
        {"feature_names": "x" * 30},
        {"format": "something else"},
        {"arrays": "components_"},
        {"arrays": ["components_"]},
    ],
)
def test_forged_headers_are_refused(saved, header):
    """The digest is no signature: a forger can compute it. What it covers is checked all the same."""
    if isinstance(header.get("arrays"), str):
        content = saved.read_bytes().replace(b'"arrays": ["components_", "doc_topic_prior_"]', b'"arrays": "x"')
        saved.write_bytes(content)
    else:
        forge(saved, header)
    with pytest.raises(ModelFileError):
        private_topics.load(saved)


@pytest.mark.parametrize(
    "components",
    [
        np.full((3, 30), 0.5),
        np.full((3, 30), np.nan),
        np.full((3, 30), 1 / 30, dtype=np.float32),
        np.full(30, 1 / 30),
        np.zeros((3, 0)),
        np.tile(np.r_[2.0, -1.0, np.zeros(28)], (3, 1)),
        np.full((2, 30), 1 / 30),
        np.array([["a"]]),
    ],
)
def test_impossible_arrays_are_refused(saved, components):
    _, arrays = read_model(saved)
    forge(saved, arrays={**arrays, "components_": components})
    with pytest.raises(ModelFileError):
        private_topics.load(saved)


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was executed",))


def test_pickles_are_never_executed(saved):
    header, _ = read_model(saved)
    buffer = io.BytesIO()
    np.save(buffer, np.array([[Bomb()]], dtype=object), allow_pickle=True)
    for content in (buffer.getvalue(), pickle.dumps(Bomb())):
        with zipfile.ZipFile(saved, "w") as archive:
            archive.writestr("header.json", json.dumps(header))
            archive.writestr("components_.npy", content)
            archive.writestr("doc_topic_prior_.npy", content)
        with pytest.raises(ModelFileError):
            private_topics.load(saved)


def refused_without_allocating(path, limit=2**24):
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError):
            private_topics.load(path)
        assert tracemalloc.get_traced_memory()[1] < limit
    finally:
        tracemalloc.stop()


def write_parts(path, header, components, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("header.json", header)
        archive.writestr("components_.npy", components)
        archive.writestr("doc_topic_prior_.npy", components)


def test_giant_declared_shapes_are_refused(saved):
    header = json.dumps(read_model(saved)[0])
    for shape in ((10**6, 10**6), (2**40,), (2**62, 4)):
        content = io.BytesIO()
        np.lib.format.write_array_header_1_0(content, {"descr": "<f8", "fortran_order": False, "shape": shape})
        write_parts(saved, header, content.getvalue() + bytes(64))
        refused_without_allocating(saved)


def test_zip_bombs_are_refused(saved):
    header = json.dumps(read_model(saved)[0])
    content = io.BytesIO()
    np.save(content, np.zeros(2**23))  # 64 MB that deflate to some tens of kB
    write_parts(saved, header, content.getvalue(), zipfile.ZIP_DEFLATED)
    content = None
    assert saved.stat().st_size < 10**6
    refused_without_allocating(saved)


def test_a_giant_header_is_refused(saved, monkeypatch):
    monkeypatch.setattr(model_file, "LARGEST_HEADER", 2**20)
    header = read_model(saved)[0]
    write_parts(saved, json.dumps(header) + " " * 2**25, b"", zipfile.ZIP_DEFLATED)
    refused_without_allocating(saved)


def test_a_directory_that_lies_about_sizes(saved):
    """Sizes in the zip's directory blown up to gigabytes: held against the file before anything is read."""
    content = bytearray(saved.read_bytes())
    at = content.find(b"PK\x01\x02")
    while at >= 0:
        content[at + 20 : at + 28] = struct.pack("<II", 3 * 2**30, 3 * 2**30)
        at = content.find(b"PK\x01\x02", at + 4)
    saved.write_bytes(bytes(content))
    refused_without_allocating(saved)


def test_deeply_nested_headers_are_refused(saved):
    write_parts(saved, "[" * 10**6, b"")
    with pytest.raises(ModelFileError):
        private_topics.load(saved)


def test_numbers_json_cannot_hold(saved):
    content = saved.read_bytes()
    header = json.dumps({**read_model(saved)[0], "extra": float("nan")})
    write_parts(saved, header, b"")
    with pytest.raises(ModelFileError):
        private_topics.load(saved)
    saved.write_bytes(content)
    private_topics.load(saved)


@pytest.mark.parametrize("moment", ["while writing", "before replacing"])
def test_a_failing_write_leaves_the_old_file(model, saved, monkeypatch, moment):
    before = saved.read_bytes()

    def fail(*arguments, **keywords):
        raise OSError("disk full")

    if moment == "while writing":
        monkeypatch.setattr(model_file, "_npy_bytes", fail)
    else:
        monkeypatch.setattr(model_file.os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        model.save(saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_header_values_that_are_no_json_are_refused_at_writing(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        write_model(tmp_path / "model", {"x": float("inf")}, {})
    assert list(tmp_path.iterdir()) == []


# -- files of somebody else, signed anew: the digest has no key -----------------------------------------------------

SECRET = "quixotically"
FORGED = [
    (("version",), SECRET),
    (("version",), [SECRET]),
    (("parameters", "n_components"), {SECRET: 1}),
    (("parameters", "alpha0"), SECRET),
    (("parameters", "n_jobs"), "all"),
    (("parameters", "refine_steps"), -1),
    (("feature_names", 0), 7),
    (("feature_names", 0), "half a pair \ud800"),
    (("privacy", "epsilon"), SECRET),
    (("privacy", "epsilon"), -1.0),
    (("privacy", "epsilon"), True),
    (("privacy", "epsilon"), 10**400),  # more than any float, and JSON holds it
    (("privacy", "delta"), 1.5),
    (("privacy", "n_units"), 2.5),
    (("privacy", "n_units"), 0),
    (("privacy", "unit"), None),
    (("privacy", "proved"), "yes"),
    (("privacy", "proved"), False),
    (("privacy", "reasons"), [7]),
    (("privacy", "reasons"), SECRET),
    (("privacy", "public"), None),
    (("privacy", "text"), SECRET),
    (("privacy", "releases"), SECRET),
    (("privacy", "releases", 0), SECRET),
    (("privacy", "releases", 0, "name"), ""),
    (("privacy", "releases", 0, "sigma"), 0.0),
    (("privacy", "releases", 0, "share"), 2.0),
    (("privacy", "releases", 0, "coordinates"), 2**70),
    (("privacy", "releases", 0, "more"), 1),
    (("spectrum", "eigenvalues"), SECRET),
    (("spectrum", "noise_edge"), None),
    (("spectrum", "noise_edge"), 10**400),
    (("supported_components",), [SECRET]),
    (("budget_split", "unigram"), 2.0),
    (("tokeniser",), {"version": SECRET}),
    (("class",), SECRET),
    (("class",), None),
]


@pytest.fixture(scope="module")
def private_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("forged") / "private.model"
    X = make_lda_corpus(300, 20, 2, random_state=0)[0]
    model = PrivateSpectralLDA(2, epsilon=20.0, delta=1e-4, refine_steps=1).fit(X)
    model.feature_names_in_ = np.array([f"w{j}" for j in range(20)], dtype=object)
    model.save(path)
    return path


def forged(source, target, place, value):
    header, arrays = read_model(source)
    header = {name: found for name, found in header.items() if name not in ("sha256", "arrays")}
    inner = header
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    write_model(target, header, arrays)
    return target


@pytest.mark.parametrize(("place", "value"), FORGED, ids=lambda value: str(value)[:40])
def test_a_forged_file_is_refused_without_a_word_of_it(place, value, private_file, tmp_path):
    if place == ("feature_names", 0) and isinstance(value, str):
        found = load(forged(private_file, tmp_path / "f", place, value))
        assert found.feature_names_in_[0] == "half a pair ?"  # what UTF-8 cannot hold is replaced when it is written
        return
    with pytest.raises(ModelFileError) as error:
        load(forged(private_file, tmp_path / "f", place, value))
    assert SECRET not in str(error.value)
    assert "\n" not in str(error.value)


def test_an_honest_file_passes_the_same_checks(private_file, tmp_path):
    header, _ = read_model(private_file)
    again = load(forged(private_file, tmp_path / "f", ("library",), header["library"]))
    assert again.privacy_ == load(private_file).privacy_


def test_a_spectrum_that_no_corpus_has_is_not_drawn(private_file, tmp_path):
    from private_topics.reports import write_report

    for place, value in ((("spectrum", "noise_edge"), 1e-308), (("spectrum", "eigenvalues"), [1e308, 1.0])):
        model = load(forged(private_file, tmp_path / "f", place, value))
        page = write_report(model, tmp_path / "report.html").read_text(encoding="utf-8")
        assert "There is no picture for this model" in page

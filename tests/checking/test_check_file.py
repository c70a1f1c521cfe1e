"""What `check` finds in files whose contents are known, in each format and encoding."""

from __future__ import annotations

import csv
import gzip
import io
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from private_topics.checking.check import FORMAT_OPTIONS, check_file
from private_topics.checking.contents import Contents, Tally, is_unsegmented, language_of
from private_topics.checking.encodings import guess_encoding
from private_topics.errors import InputError

GERMAN = "Der Patient wurde gestern mit Fieber und Schmerzen in die Klinik überwiesen, weil er nicht schlafen konnte."
ENGLISH = "The patient was seen in the clinic because of a fever that had not gone away with the usual treatment."
CHINESE = "患者因发热三天来院就诊,体温三十九度,伴有咳嗽和头痛,无其他不适。"
THAI = "ผู้ป่วยมีไข้สูงมาสามวันและไอมากตอนกลางคืนไม่มีอาการอื่น"


def records(text: str = ENGLISH, count: int = 60) -> list[dict[str, Any]]:
    return [{"no": n, "patient_id": f"P{n % 20}", "ward": "AB"[n % 2], "letter": f"{text} {n}"} for n in range(count)]


def as_jsonl(rows: list[dict[str, Any]], encoding: str = "utf-8") -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode(encoding)


def as_table(rows: list[dict[str, Any]], delimiter: str, encoding: str = "utf-8") -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode(encoding)


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize(
    ("name", "content", "format", "by_name"),
    [
        ("a.jsonl", as_jsonl(records()), "jsonl", True),
        ("a.jsonl.gz", as_jsonl(records()), "jsonl", True),
        ("a.json", as_jsonl(records()), "jsonl", False),
        ("a.txt", as_jsonl(records()), "jsonl", False),
        ("a.csv", as_table(records(), ","), "csv", True),
        ("semicolon.csv", as_table(records(), ";"), "csv", True),
        ("excel.csv", as_table(records(), "\t"), "tsv", False),
        ("a.tsv", as_table(records(), "\t"), "tsv", True),
        ("a.data", as_table(records(), ","), "csv", False),
    ],
)
def test_fields_text_and_unit_are_found(
    name: str, content: bytes, format: str, by_name: bool, tmp_path: Path
) -> None:
    found = check_file(written(tmp_path / name, content))
    assert (found.format, found.format_by_name) == (format, by_name)
    assert found.fields == ("no", "patient_id", "ward", "letter")
    assert (found.text_field, found.unit) == ("letter", "patient_id")
    assert (found.records, found.unreadable, found.empty) == (60, 0, 0)
    assert (found.units, found.documents_per_unit) == (20, (3, 3, 3))
    assert list(found.languages) == ["english"]


def test_parquet_too(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    parquet.write_table(pyarrow.Table.from_pylist(records()), tmp_path / "a.parquet")
    found = check_file(tmp_path / "a.parquet")
    assert (found.format, found.text_field, found.unit, found.units) == ("parquet", "letter", "patient_id", 20)


def test_lines_and_folders_have_no_fields(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for number in range(3):
        (tmp_path / "folder" / f"{number}.txt").write_text(f"{ENGLISH} {number}")
    (tmp_path / "lines.txt").write_text(f"{ENGLISH}\n" * 3)
    for path, duplicates in ((tmp_path / "folder", 0), (tmp_path / "lines.txt", 2)):
        found = check_file(path)
        assert (found.fields, found.text_field, found.unit, found.records) == ((), None, None, 3)
        assert found.duplicates == duplicates


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252", "latin-1"])
def test_the_encoding_is_guessed(encoding: str) -> None:
    text = f"{GERMAN} {'Er sagte „ja“.' if encoding != 'latin-1' else ''} Köln, Müller.\n" * 20
    guess = guess_encoding(text.encode(encoding))
    assert guess.name == {"utf-8-sig": "utf-8"}.get(encoding, encoding)
    assert guess.readable == (not encoding.startswith("utf-16"))


def test_damage_does_not_change_the_encoding_and_letters_of_elsewhere_are_not_latin() -> None:
    assert guess_encoding(f"{GERMAN}\n".encode() * 20 + b"\xff\xfe\x80\n").name == "utf-8"
    assert guess_encoding("Пациент поступил с жалобами на боль\n".encode("cp1251") * 20).name is None
    assert guess_encoding(b"").name == guess_encoding(b"plain words\n").name == "utf-8"


def test_a_file_that_no_fit_can_read_says_what_to_do(tmp_path: Path) -> None:
    found = check_file(written(tmp_path / "a.csv", as_table(records(GERMAN), ";", "utf-16")))
    assert (found.encoding, found.readable, found.fit_command) == ("utf-16", False, None)
    assert found.text_field == "letter"
    assert "iconv -f utf-16 -t utf-8" in found.advice[0]
    unknown = check_file(written(tmp_path / "b.csv", as_table(records("Пациент поступил с болью"), ";", "cp1251")))
    assert "--encoding" in unknown.advice[0]
    named = check_file(tmp_path / "b.csv", encoding="cp1251")
    assert (named.unreadable, list(named.languages)) == (0, ["cyrillic letters"])


def test_a_german_file_of_windows(tmp_path: Path) -> None:
    found = check_file(written(tmp_path / "briefe.csv", as_table(records(f"{GERMAN} – „gut“"), ";", "cp1252")))
    assert (found.encoding, found.unreadable) == ("cp1252", 0)
    given = shlex.split(found.fit_command or "")[5:]
    assert given == ["--field=letter", "--unit=patient_id", "--encoding=cp1252", "--language=german"]


@pytest.mark.parametrize(("text", "segmented"), [(CHINESE, " ".join(CHINESE)), (THAI, " ".join(THAI))])
def test_unsegmented_text_is_named(text: str, segmented: str, tmp_path: Path) -> None:
    assert is_unsegmented(text)
    assert not is_unsegmented(segmented)
    assert not is_unsegmented(f"{ENGLISH} 发热")
    found = check_file(written(tmp_path / "a.jsonl", as_jsonl(records(text))))
    assert found.unsegmented == 60
    assert any("segment them first" in advice for advice in found.advice)


def test_html_empty_duplicates_and_unreadable_records_are_counted(tmp_path: Path) -> None:
    rows = records()
    rows[0]["letter"] = rows[1]["letter"] = "<p>The fever &amp; the pain of the patient</p>"
    rows[2]["letter"] = "  "
    content = as_jsonl(rows) + b"not json\n" + b'{"patient_id": "P1"}\n'
    found = check_file(written(tmp_path / "a.jsonl", content))
    assert (found.records, found.html, found.duplicates) == (62, 2, 1)
    assert (found.unreadable, found.without_unit, found.empty, found.first) == (2, 1, 3, 61)


def test_a_mail_address_is_no_tag() -> None:
    contents = Contents()
    for text in ("From <ana@example.org> with a < b", "1 < 2 > 1", "AT&T; R&D", "<b>bold</b>", "x<br/>y"):
        contents.add(text, None)
    assert contents.html == 2


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (ENGLISH, "english"),
        (GERMAN, "german"),
        ("Le patient est venu à la clinique avec une forte fièvre et il ne pouvait pas dormir.", "french"),
        ("De patiënt kwam naar de kliniek met koorts en hij kon niet slapen door de pijn.", "dutch"),
        ("المريض يعاني من الحمى منذ ثلاثة أيام", "arabic letters"),
        ("xyzzy plugh", "unknown"),
    ],
)
def test_languages_by_stop_words(text: str, language: str) -> None:
    assert language_of(text) == language


def test_two_languages_and_one_without_a_list(tmp_path: Path) -> None:
    both = check_file(written(tmp_path / "a.jsonl", as_jsonl(records(GERMAN) + records(ENGLISH, 30))))
    assert set(both.language) == {"german", "english"}
    assert (both.fit_command or "").count("--language") == 2
    other = check_file(written(tmp_path / "b.jsonl", as_jsonl(records("المريض يعاني من الحمى منذ ثلاثة أيام"))))
    assert other.language == ["none"]


def test_a_category_or_a_number_of_records_is_no_unit(tmp_path: Path) -> None:
    rows = [{"id": n, "cat": f"c{n % 3}", "thread": f"t{n % 30}", "text": f"{ENGLISH} {n}"} for n in range(200)]
    found = check_file(written(tmp_path / "a.jsonl", as_jsonl(rows)))
    assert (found.unit, found.unit_candidates) == (None, ("thread",))
    assert any("--unit" in advice for advice in found.advice)


PERSONS = ["user", "User", "userId", "user_id", "USERNAME", "patient", "PatientID", "author", "customer_no", "client"]
PERSONS += [
    "sender",
    "from",
    "From:",
    "member",
    "members",
    "account",
    "account_id",
    "employee-nr",
    "person",
    "owner_email",
]


@pytest.mark.parametrize("name", PERSONS)
@pytest.mark.parametrize("in_a_row", [1, 1_500], ids=["mixed", "sorted"])
def test_a_field_that_is_called_like_people_is_found_whatever_it_holds(
    name: str, in_a_row: int, tmp_path: Path
) -> None:
    """Also where the first thousand records are of one person, or a name is a long digest."""
    rows = [
        {
            "id": n,
            "cls": f"c{n % 40}",
            "year": 1980 + n % 30,
            name: f"{n // in_a_row % 50:0100}",
            "text": f"{ENGLISH} {n}",
        }
        for n in range(2_000)
    ]
    found = check_file(written(tmp_path / "a.csv", as_table(rows, ",")))
    assert (found.unit, found.unit_candidates, found.text_field) == (name, (name,), "text")


CLASSES = [
    "cls",
    "class",
    "category",
    "Year",
    "pubYear",
    "date",
    "created_at",
    "birthdate",
    "timestamp",
    "month",
    "genre",
]
CLASSES += [
    "label",
    "language",
    "country",
    "status",
    "user_type",
    "account_status",
    "userCountry",
    "patient_age",
    "typ",
]


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_or_a_time_is_no_unit(name: str, tmp_path: Path) -> None:
    rows = [{"id": n, name: f"v{n % 40}", "text": f"{ENGLISH} {n}"} for n in range(200)]
    assert check_file(written(tmp_path / "a.jsonl", as_jsonl(rows))).unit_candidates == ()


@pytest.mark.parametrize("value", ["{}", "{}-03-01", "{}-03-01T10:00", "1.3.{}", "03/01/{}"])
def test_nor_are_values_that_are_years_or_days(value: str, tmp_path: Path) -> None:
    rows = [{"id": n, "when": value.format(1980 + n % 40), "text": f"{ENGLISH} {n}"} for n in range(200)]
    assert check_file(written(tmp_path / "a.jsonl", as_jsonl(rows))).unit_candidates == ()


def test_the_plainest_name_of_people_comes_first(tmp_path: Path) -> None:
    names = ["subject", "user_agent", "clientele", "thread", "author"]
    rows = [{name: f"{name}{n % 30}" for name in names} | {"text": f"{ENGLISH} {n}"} for n in range(200)]
    found = check_file(written(tmp_path / "a.jsonl", as_jsonl(rows)))
    assert found.unit_candidates == ("author", "clientele", "subject", "thread")


def test_what_is_given_is_not_guessed(tmp_path: Path) -> None:
    found = check_file(written(tmp_path / "a.jsonl", as_jsonl(records())), field="ward", unit="no")
    assert (found.text_field, found.unit, found.units) == ("ward", "no", 60)


@pytest.mark.parametrize("content", [b"", b"[1, 2]", b"PK\x03\x04 spreadsheet"])
def test_what_is_no_text_file_is_refused_in_words(content: bytes, tmp_path: Path) -> None:
    for name in ("a.jsonl", "a.xlsx"):
        with pytest.raises(InputError):
            check_file(written(tmp_path / name, content))


def test_a_tally_of_many_is_a_sample_of_the_items_with_exact_counts() -> None:
    exact, small = Tally(), Tally(most=500)
    for tally in (exact, small):
        for number in range(20_000):
            for _ in range(1 + number % 3):
                tally.add(f"item {number}")
    assert (exact.different, exact.repeats, exact.spread) == (20_000, 19_999, (1, 2.0, 3))
    assert len(small.counts) <= 500
    assert small.different == pytest.approx(20_000, rel=0.25)  # four standard deviations of 300 or so kept
    assert set(small.counts.values()) == {1, 2, 3}
    assert all(small.counts[number] == exact.counts[number] for number in small.counts)


def test_the_command_holds_format_settings_only(tmp_path: Path) -> None:
    """Whatever the fields are called and the texts say; `--json` holds the same command."""
    hostile = ["--epsilon 9", "-k", "$(touch x)", "--topics=3", "a b;c", "user\n--epsilon", "--vocabulary"]
    for number, name in enumerate(["letter", *hostile]):
        language, many = (ENGLISH, 2_000) if name == "letter" else (GERMAN, 40)  # of many something is expected
        rows = [{name: f"{language} --epsilon {n} --topics 7", "user": f"u{n % (many - 3)}"} for n in range(many)]
        found = check_file(written(tmp_path / f"{number} --epsilon 3.data", as_jsonl(rows)))
        assert (found.expected[-1].refused is None) == (name == "letter")
        words = shlex.split(found.fit_command or "")
        assert words[:5] == ["private-topics", "fit", found.file, "-o", "MODEL"]
        assert {word.split("=")[0] for word in words[5:]} <= set(FORMAT_OPTIONS)
        assert found.to_dict()["fit_command"] == found.fit_command
    assert not {"--epsilon", "--delta", "--topics", "--vocabulary", "--knowledge"} & set(FORMAT_OPTIONS)

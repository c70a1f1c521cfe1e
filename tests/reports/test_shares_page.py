"""The page of the shares of classes: sound, inert, a picture for each topic, silent on classes that are too small."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from report_support import HOSTILE, Page, assert_sound

from private_topics import ClassShares, InputError, write_shares
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.mechanisms import PrivateRun
from private_topics.privacy.statement import statement_of
from private_topics.reports.class_shares import is_series

RELEASED = np.array([[400.0, 100.0, 500.0], [900.0, 50.0, 50.0], [3.0, -2.0, 1.0], [100.0, 800.0, 100.0]])
WORDS = (("nurse", "ward"), ("pain", "drug"), ("lift", "floor"))
LABELS = ("the wards", "drug, pain", "lift, floor")
YEARS = ("2019", "2020", "2021", "2022")


@pytest.fixture(scope="module")
def shares() -> ClassShares:
    run = PrivateRun(PrivacyBudget(1.0, 1e-6))
    statement = statement_of(
        run,
        grouped=False,
        n_units=3000,
        configuration="class shares",
        public=("the list of 4 classes",),
        components="Classes: 4.",
    )
    return ClassShares(YEARS, WORDS, LABELS, RELEASED, 5.0, statement, "year")


def page(found: ClassShares, folder: Path, **options: object) -> Page:
    return Page(write_shares(found, folder / "shares.html", **{"date": "a day", **options}).read_text("utf-8"))


def test_the_page_is_sound_and_shows_every_topic(shares: ClassShares, tmp_path: Path) -> None:
    found = page(shares, tmp_path)
    assert_sound(found)
    assert len(found.all("svg", "class", "shares")) == 3
    assert "2019: 40.0%, between 39.3% and 40.7%" in found.text
    assert "nurse, ward" in found.text
    assert "Topic 0: the wards" in found.text
    assert "Every topic by year" in found.text
    assert "This table satisfies (1, 1e-06)-differential privacy" in found.text


def test_years_are_lines_with_gaps_and_others_bars(shares: ClassShares, tmp_path: Path) -> None:
    lines = page(shares, tmp_path)
    assert len(lines.all("polyline")) == len(lines.all("polygon")) == 6, (
        "2021 is too small: two pieces for each topic"
    )
    assert lines.all("rect", "class", "value") == []
    bars = page(replace(shares, classes=("north", "south", "east", "west")), tmp_path)
    assert_sound(bars)
    assert len(bars.all("rect", "class", "value")) == len(bars.all("line", "class", "whisker")) == 9
    assert bars.all("polyline") == []


def test_a_class_that_is_too_small_is_named_and_nothing_is_said_of_it(shares: ClassShares, tmp_path: Path) -> None:
    found = page(shares, tmp_path)
    assert "Too few to say: 2021." in found.text
    assert "2021: too few to say" in found.text
    row = found.part(r"<tr><th scope=\"row\"><bdi>2021")
    assert "%" not in row
    none = page(replace(shares, released=np.zeros((4, 3))), tmp_path)
    assert_sound(none)
    assert none.all("polyline") == []


def test_no_name_changes_the_structure_of_the_page(shares: ClassShares, tmp_path: Path) -> None:
    words = tuple(tuple(HOSTILE[place : place + 2]) for place in range(3))
    hostile = replace(shares, classes=tuple(HOSTILE[:4]), words=words, labels=tuple(HOSTILE[:3]), by=HOSTILE[4])
    harmless = replace(shares, classes=("a", "b", "c", "d"), by="field")
    assert page(hostile, tmp_path, title=HOSTILE[5]).shape == page(harmless, tmp_path).shape


@pytest.mark.parametrize(
    ("classes", "series"),
    [
        (YEARS, True), (YEARS[:2], False), (YEARS[::-1], False), (("1", "1", "2"), False), (("a", "b", "c"), False),
        (("1", "2", "x"), False), (("٣", "4", "5"), False),
    ],
)  # fmt: skip
def test_a_line_needs_rising_numbers(classes: tuple[str, ...], series: bool) -> None:
    assert is_series(classes) is series


def test_a_date_is_one(shares: ClassShares, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'date' parameter of write_shares"):
        write_shares(shares, tmp_path / "page.html", date=5)

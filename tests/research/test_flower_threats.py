"""Every threat that is compared with Flower names a test of ours that exists."""

from __future__ import annotations

import pytest

from flower_threats import FOLDER, THREATS, threat_table
from stored import ROOT


@pytest.mark.parametrize("test", [test for *_, test in THREATS if test])
def test_what_is_said_to_show_it_exists(test):
    file, name = test.split("::")
    assert f"def {name}(" in (ROOT / FOLDER / file).read_text(encoding="utf-8")


def test_the_stored_page_has_the_table_of_today():
    page = (ROOT / "research/results/flower.md").read_text(encoding="utf-8")
    assert "\n".join(threat_table()) in page

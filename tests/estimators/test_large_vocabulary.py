"""A million words: no array of words × words, and a few of topics × words."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hang_support import HANG

pytestmark = pytest.mark.process

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "vocabulary_size.py"
WORDS, TOPICS = 1_000_000, 20
SCRATCH = 200.0  # MB: blocks of documents, the second moment of the spectral words, compiled kernels


@pytest.mark.slow
def test_the_memory_of_a_fit_on_a_million_words():
    """docs/scaling.md states five arrays of topics × words above what the process had before; one is the model."""
    command = [sys.executable, str(BENCHMARK), "child", str(WORDS), "3000", "--epsilon", "2000"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, timeout=HANG).stdout
    cells = [cell.strip().replace(",", "") for cell in printed.strip().strip("|").split("|")]
    topics, before, peak = int(cells[1]), float(cells[4]), float(cells[5])
    assert topics > 1, "the fit did not take the whole path"
    assert re.fullmatch(r"\d+", cells[0])
    assert peak - before < 5 * TOPICS * WORDS * 8 / 2**20 + SCRATCH

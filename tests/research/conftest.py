"""The counter-examples live beside the command that prints them: benchmarks/errata.py."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

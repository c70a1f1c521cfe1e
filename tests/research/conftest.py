"""What is tested here is no part of the library: counter-examples (benchmarks/errata.py) and research/."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / folder) for folder in ("benchmarks", "research")]

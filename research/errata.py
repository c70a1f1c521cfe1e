"""Every counter-example to the paper as one table: what it says, what is attained, what is true.

    python research/errata.py [--write docs/errata.md]

`--write` puts the table into the page between its two markers. The tests of tests/research hold each line.
"""

from __future__ import annotations

import sys
from pathlib import Path

from counterexamples import eigenpairs, moments, noise, spectral, statements
from counterexamples.corpora import Finding
from counterexamples.premises import premise

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from stored import options_of, store_between, tell


def all_findings() -> list[Finding]:
    return [finding for each in (moments, spectral, eigenpairs, noise, statements) for finding in each.findings()]


def table(findings: list[Finding]) -> str:
    """One line a finding; an empty last column where no bound is known."""
    lines = ["| name | the paper says | quantity | paper | attained | corrected |", "|---|---|---|---|---|---|"]
    for each in findings:
        corrected = "" if each.corrected is None else f"{each.corrected:.3g}"
        numbers = f"{each.published:.3g} | {each.attained:.3g} | {corrected}"
        lines.append(f"| {each.name} | {premise(each.name)} | {each.claim} | {numbers} |")
    return "\n".join(lines)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--write", type=Path, default=None)
    page = parser.parse_args().write
    lines = table(all_findings())
    tell(lines)
    if page is not None:
        store_between(page, "research/errata.py", lines)


if __name__ == "__main__":
    main()

"""Every counter-example to the paper as one table: what it says, what is attained, what is true.

    python benchmarks/errata.py [--write docs/errata.md]

`--write` puts the table into the page between its two markers. The tests of tests/research hold each line.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from counterexamples import eigenpairs, moments, noise, spectral, statements
from counterexamples.corpora import Finding

BEGIN, END = "<!-- table of benchmarks/errata.py: begin -->", "<!-- end -->"


def all_findings() -> list[Finding]:
    return [finding for each in (moments, spectral, eigenpairs, noise, statements) for finding in each.findings()]


def table(findings: list[Finding]) -> str:
    """One line a finding; an empty last column where no bound is known."""
    lines = ["| name | quantity | paper | attained | corrected |", "|---|---|---|---|---|"]
    for each in findings:
        corrected = "" if each.corrected is None else f"{each.corrected:.3g}"
        lines.append(f"| {each.name} | {each.claim} | {each.published:.3g} | {each.attained:.3g} | {corrected} |")
    return "\n".join(lines)


def between_markers(page: str) -> str:
    return page.split(BEGIN)[1].split(END)[0].strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, default=None)
    arguments = parser.parse_args()
    lines = table(all_findings())
    print(lines)
    if arguments.write is not None:
        page = arguments.write.read_text(encoding="utf-8")
        before, rest = page.split(BEGIN)
        arguments.write.write_text(f"{before}{BEGIN}\n{lines}\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()

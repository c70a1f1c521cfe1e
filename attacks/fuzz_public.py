"""Any values for any parameter of every public name and every command, by hand, for as long as wanted.

    python attacks/fuzz_public.py [--seconds 600] [--seed 0] [--only TEXT] [--out FILE]

The strategies and what counts as acceptable are those of tests/fuzz_*.py; the tests make a fixed few of the
same calls. Hypothesis draws them here from ever new seeds and makes a finding as small as it can. Each finding is
told once (by its error and where it was raised) and the run goes on; the exit status is 1 if there was any. A call
that does not even come back to Python within half an hour ends the run with a stack trace.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

sys.path += [str(Path(__file__).resolve().parents[1] / folder) for folder in ("benchmarks", "tests")]

from fuzz_entries import ENTRIES, lay_out
from fuzz_support import OUTCOMES, judge
from hang_support import HANG
from stored import options_of, tell

ROUND = 25  # calls of one entry before the next


def place_of(error: BaseException) -> str:
    """Error and innermost frame of the library, which tell findings apart."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "private_topics" in frame.filename]
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "the command line"
    said = str(error).strip().split("\n")[0][:200]
    return f"{type(error).__name__} at {place}" if frames else f"{type(error).__name__}: {said}"


class Fuzzing:
    """Calls by entry and outcome, and findings by error and place."""

    def __init__(self, until: float) -> None:
        self.until = until
        self.outcomes: dict[str, Counter[str]] = {name: Counter() for name in ENTRIES}
        self.findings: dict[str, str] = {}
        self.slowest: dict[str, float] = {}

    def one_round(self, entry: str, number: int) -> None:
        last: dict[str, Any] = {}

        @seed(number)
        @settings(
            max_examples=ROUND,
            deadline=None,
            database=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )
        @given(call=ENTRIES[entry])
        def attack(call: Any) -> None:
            if time.monotonic() > self.until:
                return
            faulthandler.dump_traceback_later(HANG, exit=True)
            start = time.monotonic()
            try:
                self.outcomes[entry][judge(call)] += 1
            except Exception as error:
                if place_of(error) in self.findings:
                    self.outcomes[entry]["known finding"] += 1
                    return
                if isinstance(error, TimeoutError):  # not made smaller: each attempt would take as long
                    self.found(call, error)
                    return
                last["call"], last["error"] = call, error
                raise
            finally:
                faulthandler.cancel_dump_traceback_later()
                self.slowest[entry] = max(self.slowest.get(entry, 0.0), time.monotonic() - start)

        try:
            attack()
        except Exception:
            if not last:
                raise
            self.found(last["call"], last["error"])

    def found(self, call: Any, error: BaseException) -> None:
        place = place_of(error)
        self.findings[place] = f"{place}\n  {call!r}\n  {error!s:.300}"
        print(f"finding: {self.findings[place]}", file=sys.stderr, flush=True)

    def table(self, seconds: float, first_seed: int) -> str:
        lines = ["| entry | calls | results | refused | slowest call, s |", "|---|---|---|---|---|"]
        for entry, outcomes in self.outcomes.items():
            total, results = sum(outcomes.values()), outcomes["result"]
            slowest = self.slowest.get(entry, 0.0)
            lines.append(f"| {entry} | {total:,} | {results:,} | {total - results:,} | {slowest:.1f} |")
        calls = sum(sum(outcomes.values()) for outcomes in self.outcomes.values())
        found = f"{len(self.findings)} findings" if self.findings else "no finding"
        lines += ["", f"{calls:,} calls in {seconds:.0f} s from seed {first_seed}: {found}."]
        ends = ", ".join(f"{end} ({count:,})" for end, count in sorted(OUTCOMES.items()))
        lines += ["", f"How commands ended: {ends}."]
        return "\n".join(lines + [f"\n- {finding}" for finding in self.findings.values()])


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="only entries whose name holds this text")
    parser.add_argument("--out", type=Path, help="write the page there too")
    arguments = parser.parse_args()
    out = arguments.out and arguments.out.resolve()
    start = time.monotonic()
    fuzzing = Fuzzing(start + arguments.seconds)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        os.environ["TMPDIR"] = folder
        number = arguments.seed
        while time.monotonic() < fuzzing.until:
            for entry in (name for name in ENTRIES if arguments.only in name):
                os.chdir(tempfile.mkdtemp(dir=folder))  # what a command writes is not there in the next round
                lay_out(Path.cwd())
                fuzzing.one_round(entry, number)
            number += 1
        os.chdir("/")
    result = fuzzing.table(time.monotonic() - start, arguments.seed)
    command = f"`python attacks/fuzz_public.py --seconds {arguments.seconds:g}`"
    tell(f"# Any values for every public name and command\n\n{command}\n\n{result}", out)
    return 1 if fuzzing.findings else 0


if __name__ == "__main__":
    sys.exit(main())

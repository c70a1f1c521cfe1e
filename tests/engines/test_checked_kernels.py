"""GPU kernels cannot run here: those of today must be the ones that `make gpu-check` passed on."""

from __future__ import annotations

import re
import warnings

import pytest
from kernel_digests import LIBRARY, RECORDED, TWINS, UNCHECKED, digest, digests, plain_lines, recorded

CUDA = "engines/gpu/unit_sums.cu"


def test_the_kernels_are_those_that_were_checked():
    """Changed what a kernel computes, or what it must repeat? Run `make gpu-check` on a machine with a GPU."""
    first, wanted = recorded(RECORDED.read_text(encoding="utf-8"))
    found = digests()
    changed = sorted(name for name in {*wanted, *found} if wanted.get(name) != found.get(name))
    assert changed == [], "changed since the kernels were checked on a GPU: run `make gpu-check`"
    assert first == UNCHECKED or first.startswith("Checked on one ")
    if first == UNCHECKED:
        warnings.warn(UNCHECKED, stacklevel=1)


def test_every_file_of_the_engine_is_covered():
    files = {
        path.relative_to(LIBRARY).as_posix() for path in (LIBRARY / "engines" / "gpu").iterdir() if path.is_file()
    }
    assert set(digests()) == files | set(TWINS)


def test_a_kernel_that_ignores_the_share_is_another_kernel():
    """A user with many documents would count as often: nothing that runs here would notice."""
    text = (LIBRARY / CUDA).read_text(encoding="utf-8")
    places = [found.start() for found in re.finditer(r"\bshare\[", text)]
    assert places
    for place in places:
        assert digest(CUDA, f"{text[:place]}1.0 + 0.0 * {text[place:]}") != digest(CUDA, text)


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("a.cu", "int a = 1; // b\n", "/* more\nwords */\nint  a = 1;\n\n"),
        ("a.py", 'def f():\n    """Doc."""\n    return 1\n', "def f():  # comment\n\n    return (1)\n"),
    ],
)
def test_comments_and_blanks_do_not_count(name, one, other):
    assert digest(name, one) == digest(name, other)
    assert digest(name, one) != digest(name, one.replace("1", "2"))


def test_a_directive_stays_on_its_line():
    assert plain_lines("#define A 1\nB\n") != plain_lines("#define A 1 B\n")

"""Every package that the library needs at run time is installed as pinned and states a licence."""

import dependencies


def test_run_time_packages_are_pinned_and_licensed():
    packages = dependencies.closure()
    assert {"numpy", "jinja2", "markupsafe", "randomgen"} <= {one.name for one in packages}
    assert not {"pytest", "ruff", "pyspark"} & {one.name for one in packages}
    assert [(one.name, one.faults) for one in packages if one.faults] == []


def test_what_is_missing_or_loose_is_found():
    fine = dependencies.Package("a", "1", "1", "MIT", ("b",))
    assert fine.faults == []
    assert dependencies.Package("a", "1", "2", "", ("b",)).faults == [
        "another version than the pinned one",
        "no licence stated",
    ]
    assert dependencies.Package("a", "", "", "", ("b",)).faults == ["not installed", "not pinned"]


def test_no_host_is_named():
    """Packages are pinned by name and version alone; where they come from is the installer's own setting."""
    for line in dependencies.CONSTRAINTS.read_text(encoding="utf-8").splitlines():
        assert "://" not in line
        assert "--" not in line

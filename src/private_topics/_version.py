"""The version of the library, and of what its numbers depend on."""

__version__ = "0.1.0"


def versions() -> dict[str, str]:
    """What a number came from. Imports are inside because a command that prints its help must load nothing heavy."""
    import platform

    import numpy
    import scipy

    return {
        "private-topics": __version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
    }

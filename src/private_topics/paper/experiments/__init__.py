"""The paper's figures and tables, measured again: `names()` lists them, `reproduce(name)` makes one."""

from private_topics.paper.experiments.registry import ALL, names, reproduce

__all__ = ["ALL", "names", "reproduce"]

"""Every `Release` that a process holds, wherever it is kept: the garbage collector knows them all."""

from __future__ import annotations

import gc

from private_topics.releases.release import Release


def live_releases() -> set[Release]:
    """Look at the type alone: to ask a proxy for its class may run code."""
    gc.unfreeze()
    return {found for found in gc.get_objects() if issubclass(type(found), Release)}

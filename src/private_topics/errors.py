"""Errors and warnings of the package. No message carries a value read from a corpus."""


class InputError(ValueError):
    """The input cannot be used: what is wrong with it and what would be right."""


class ModelFileError(ValueError):
    """A model file is truncated, corrupt, altered, or of another version."""


class PrivacyError(ValueError):
    """A request that would break, or could not be covered by, the stated guarantee."""


class LedgerError(PrivacyError):
    """A budget ledger cannot be read or written, or is not one: nothing was reserved, so nothing may be drawn."""


class PrivacyWarning(UserWarning):
    """The guarantee holds, but is weak or buys little at these settings."""


class EngineError(RuntimeError):
    """Where the sums are computed, something failed: a task of a cluster, its start, the connection to it."""

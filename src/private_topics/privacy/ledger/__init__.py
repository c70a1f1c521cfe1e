"""The budget of a corpus across fits."""

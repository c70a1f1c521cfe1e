"""Corpora that nobody wrote, with known topics: letters for demonstrations, counts drawn from the model itself."""

"""Counts in, sums of per-document moments out. No noise is added here and nothing is released."""

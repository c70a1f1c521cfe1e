"""Whole fits: which sums are computed in which order, and which of them carry noise."""

"""The sums on a GPU."""

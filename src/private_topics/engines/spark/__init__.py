"""The sums on a Spark cluster."""

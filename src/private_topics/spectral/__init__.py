"""Moments in, topics out: pure linear algebra that knows neither a corpus nor a budget."""

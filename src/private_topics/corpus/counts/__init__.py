"""Counts of words by document: made from texts or read from files, validated, in blocks, laid out for kernels."""

"""Counts of words by document: made of texts or read from files, validated, in blocks, laid out for kernels."""

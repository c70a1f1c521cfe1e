"""Counts of words by document: validated, cut into blocks, read from and kept in files."""

"""A second, slow implementation of the private fit, written from the proofs, for the tests to compare the first with.

Plain loops over small corpora, in rational numbers where the mathematics allows it and in mpmath where it does not.
No module of it imports the library (a test checks that); the tests, `watched.py` and `made_fits.py` import both.
A corpus is a list of units, a unit a list of documents, a document a dictionary from words to counts.
"""

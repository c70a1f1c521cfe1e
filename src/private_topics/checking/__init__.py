"""A look at a file before a model is fitted to it, for those who may read the file."""

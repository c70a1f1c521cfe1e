"""Parameters in, fitted attributes out: the scikit-learn face of the library."""

"""Parameters in, fitted attributes out: the scikit-learn interface of the library."""

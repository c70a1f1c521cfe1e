"""Other methods for the same task, to hold the library's own against."""

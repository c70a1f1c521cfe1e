"""A fit is an ordered list of releases and the pure functions between them."""

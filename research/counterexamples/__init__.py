"""Numerical counter-examples to claims of the paper: one function each, collected by research/errata.py."""

"""Numerical counter-examples to claims of the paper: one function each, collected by benchmarks/errata.py."""

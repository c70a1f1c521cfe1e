"""Corpora that nobody wrote: letters to demonstrate with, counts drawn from a known model."""

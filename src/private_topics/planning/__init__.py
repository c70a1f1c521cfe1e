"""What a fit can be expected to achieve, from public numbers alone."""

"""From counts and statistics to topics: fold-in, sampling, denoising, and what a budget carries."""

"""From counts and statistics to topics: fold-in, sampling, denoising, what a budget carries."""

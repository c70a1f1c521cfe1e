"""Several sites, each with its own documents: sums are added up under masks, and only noisy totals appear."""

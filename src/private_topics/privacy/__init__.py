"""The guarantee: what may be spent, what was released, what it cost, and the runs that draw noise."""

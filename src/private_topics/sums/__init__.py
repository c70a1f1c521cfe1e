"""What each unit contributes, and its exact sum."""

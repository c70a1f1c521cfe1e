"""The paper: its graph, its bounds and theorems, its experiments."""

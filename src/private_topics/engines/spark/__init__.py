"""The sums on a Spark cluster: `corpus` adds up what `counts`, `texts` and `tasks` bring to the executors."""

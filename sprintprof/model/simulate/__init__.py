"""Event simulation of every strategy, vectorised; exact replay of traces."""

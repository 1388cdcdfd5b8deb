"""Side-by-side comparison."""

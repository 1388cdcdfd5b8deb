"""Networks: layers, shapes, counts, kernel calls."""

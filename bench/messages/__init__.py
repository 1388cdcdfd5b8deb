"""What moves bytes between ranks: operands, limits, drivers in C and in Python, schedules, rates."""

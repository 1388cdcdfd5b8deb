"""What is known about the machine of every rank, and telemetry."""

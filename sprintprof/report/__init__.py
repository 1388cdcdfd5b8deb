"""What results and profiles look like to a reader."""

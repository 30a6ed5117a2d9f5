"""Simple detectors to compare with."""

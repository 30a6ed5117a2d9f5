"""Swapped rows: rows that belong to another node."""

"""Columns in and out: from memory, sparse matrices and files, a range at a time."""

"""Readers and writers of users' files, one module per format."""

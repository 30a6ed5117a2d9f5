"""Features and graph as detectors see them: columns, scales, row vectors."""

"""Model files: their format, their bytes, labels in their headers, and files written whole."""

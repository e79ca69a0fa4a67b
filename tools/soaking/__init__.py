"""Jobs that try to break the package: each case is drawn with a seed, and says what was wrong or nothing."""

"""Small changes of the sources, each of which some test must notice."""

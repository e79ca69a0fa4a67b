"""Fourier boosting: members that add cosines and tables, the kind of each round drawn by its measured gain."""

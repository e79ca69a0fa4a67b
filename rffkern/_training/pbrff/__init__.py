"""Pseudo-Bayesian landmark features and the linear machine on them: PBRFF."""

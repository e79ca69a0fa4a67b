"""Sparse kernel machines by boosting (Sun and Yao, 2010)."""

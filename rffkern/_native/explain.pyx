"""Kernels of explanations: Shapley values of products, and of trees."""

include "explain/shapley.pyx"

"""Trained models as programs of other languages: what a model computes, and a module for each target."""

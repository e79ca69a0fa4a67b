"""Exported models in the programs that run them, beside the models themselves."""

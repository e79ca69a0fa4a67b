"""How models are trained: a folder for each family, and what several families share."""

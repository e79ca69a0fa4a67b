"""The function that a trained model is, and its scores."""

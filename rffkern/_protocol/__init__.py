"""Parameters and their checks, and scikit-learn's protocol by duck typing."""

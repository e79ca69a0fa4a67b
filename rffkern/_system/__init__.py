"""The bytes of model files, files written whole, and the configuration of this installation."""

"""The functions of the compiled module."""

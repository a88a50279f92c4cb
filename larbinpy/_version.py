"""The version; the build reads it from here without importing anything else."""

__version__ = "0.1.0"

"""The version, where building the package finds it without importing anything else."""

__version__ = "0.1.0"

"""Output and clients for terminals: progress, console, resolver results."""

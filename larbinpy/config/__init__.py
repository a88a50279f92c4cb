"""What a crawl is asked to do: larbin.conf, environment and command line as one frozen value.

config   the one table of settings, and where their values come from
grammar  larbin.conf's grammar
kinds    the kinds of values that a setting can have
"""

from larbinpy.config.config import (
    DEFAULT_FILE,
    LIVE,
    MOST_DEPTH,
    SETTINGS,
    Config,
    assignment,
    change,
    check,
    describe,
    in_environment,
    load,
    texts,
)
from larbinpy.config.grammar import ConfigError

__all__ = [
    "DEFAULT_FILE",
    "LIVE",
    "MOST_DEPTH",
    "SETTINGS",
    "Config",
    "ConfigError",
    "assignment",
    "change",
    "check",
    "describe",
    "in_environment",
    "load",
    "texts",
]

"""The settings of a crawl: larbin.conf, environment and command line as one frozen value.

config    the table of settings
kinds     the kinds of values: how they are parsed and written
grammar   the grammar of larbin.conf, with its site blocks; checks of values that a program gives
sources   the sources of values, and all of them as text; what a user gave
patterns  patterns of hosts and of URLs; the registered domain of a host
rule      rules about URLs (accept, reject)
"""

from larbinpy.config.config import LIVE, MOST_DEPTH, SETTINGS, Config
from larbinpy.config.grammar import ConfigError
from larbinpy.config.sources import (
    DEFAULT_FILE,
    STANDARD_INPUT,
    UNKNOWN,
    Given,
    Origins,
    assignment,
    change,
    check,
    describe,
    in_environment,
    load,
    texts,
)

__all__ = [
    "DEFAULT_FILE",
    "LIVE",
    "MOST_DEPTH",
    "SETTINGS",
    "STANDARD_INPUT",
    "UNKNOWN",
    "Config",
    "ConfigError",
    "Given",
    "Origins",
    "assignment",
    "change",
    "check",
    "describe",
    "in_environment",
    "load",
    "texts",
]

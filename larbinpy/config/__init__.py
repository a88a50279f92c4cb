"""The settings of a crawl: larbin.conf, environment and command line as one frozen value.

config        the table of settings
sources       the sources of their values; given: what a user gave, and what is kept of it
grammar       the grammar of larbin.conf
kinds         the kinds of values; request_kinds: those of requests, fleet_kinds: of nodes
listing       the settings and their values as text
checking      checks values that a program gives
hours         times of day when requests may be sent
site_block    settings for the sites that a pattern matches
host_pattern  patterns of hosts, and a table that finds those of a host
rule          rules about URLs (accept, reject); url_glob: the globs of rules
tracking      parameters of URLs that do not change the page
registered_domain  the registered domain of a host
"""

from larbinpy.config.config import LIVE, MOST_DEPTH, SETTINGS, Config
from larbinpy.config.given import Given
from larbinpy.config.grammar import ConfigError
from larbinpy.config.listing import describe, texts
from larbinpy.config.sources import (
    DEFAULT_FILE,
    assignment,
    change,
    check,
    in_environment,
    load,
)

__all__ = [
    "DEFAULT_FILE",
    "LIVE",
    "MOST_DEPTH",
    "SETTINGS",
    "Config",
    "ConfigError",
    "Given",
    "assignment",
    "change",
    "check",
    "describe",
    "in_environment",
    "load",
    "texts",
]

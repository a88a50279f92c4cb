"""All settings and their values as text."""

from larbinpy.config.config import SETTINGS, Config
from larbinpy.config.site_block import SITE


def texts(config: Config) -> dict[str, str]:
    """Keyword -> its value in one line, for pages and snapshots."""
    return {row.keyword: row.text(getattr(config, row.attribute)) for row in SETTINGS.values()}


def describe(config: Config, *, only_changed: bool = False) -> list[str]:
    """`config` as lines of an equivalent larbin.conf, defaults included.

    Each line has the help of its setting as a comment, and its default if it differs. With
    `only_changed`, settings with their default value are left out.
    """
    lines = []
    for row in SETTINGS.values():
        value = getattr(config, row.attribute)
        default = row.text(row.default) or "none"
        is_changed = row.own(value) != row.default
        if only_changed and not is_changed:
            continue
        changed = f"CHANGED (default {default}): " if is_changed else ""
        if row.kind is SITE and value:
            lines += [
                f"# {changed}{row.help}",
                *(line for block in value for line in block.lines()),
            ]
        else:
            for line in row.lines(value):
                shown = SETTINGS[line.split()[0].lstrip("#").lower()]
                lines.append(f"{line:<31} # {changed}{shown.help}")
    return lines

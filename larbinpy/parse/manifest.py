"""Links of web app manifests (W3C Web Application Manifest)."""

import json
from collections.abc import Iterator

from larbinpy.parse.link import Collector, Kind

_IMAGE_LISTS = ("icons", "screenshots")


def read_manifest(body: bytes, out: Collector) -> str:
    """Add the links of a manifest; return the encoding, which is always UTF-8."""
    try:
        manifest = json.loads(body.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        manifest = None
    for reference, kind in _references(manifest):
        if isinstance(reference, str):
            out.add(reference, kind)
    return "UTF-8"


def _references(manifest: object) -> Iterator[tuple[object, Kind]]:
    if not isinstance(manifest, dict):
        return
    yield manifest.get("start_url"), Kind.PAGE
    yield from _images(manifest)
    for shortcut in _members(manifest, "shortcuts"):
        yield shortcut.get("url"), Kind.PAGE
        yield from _images(shortcut)
    worker = manifest.get("serviceworker")
    if isinstance(worker, dict):
        yield worker.get("src"), Kind.REQUISITE


def _images(holder: dict[str, object]) -> Iterator[tuple[object, Kind]]:
    for name in _IMAGE_LISTS:
        for image in _members(holder, name):
            yield image.get("src"), Kind.IMAGE


def _members(holder: dict[str, object], name: str) -> list[dict[str, object]]:
    """Return the objects in the list `name`, without other values; empty if it is no list."""
    value = holder.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []

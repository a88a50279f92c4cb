"""Answers to a query on their way from one process to another: JSON of bounded size."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from larbinpy.database.base import Found, Hit
from larbinpy.database.prepared import dumped

#: Bytes of all hits, about. A thousand usual ones have as many.
_MOST = 512 << 10


def fields_of(found: Found, most: int = _MOST) -> dict[str, Any]:
    """The answer without its facets; hits that would make it too large are left out."""
    hits, size = [], 0
    for hit in found.hits:
        fields = asdict(hit)
        size += len(dumped(fields).encode("utf-8", "replace"))
        if size > most:
            break
        hits.append(fields)
    return {
        "hits": hits,
        "total": found.total,
        "cut": found.cut or len(hits) < len(found.hits),
        "missing": found.missing,
        "notes": found.notes,
        "seconds": found.seconds,
    }


def found_of(fields: Mapping[str, Any]) -> Found:
    """The answer that `fields_of` was made of."""
    hits = [
        Hit(**{**hit, "marks": [(start, end) for start, end in hit["marks"]]})
        for hit in fields["hits"]
    ]
    names = ("total", "cut", "missing", "notes", "seconds")
    return Found(hits, **{name: fields[name] for name in names})

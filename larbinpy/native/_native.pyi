"""The functions of the compiled module."""

from typing import Any

def scan(
    body: bytes, agent: str, declared: bool, known: list[tuple[str, int]], reader: Any
) -> tuple[bytes, bytes, bytes] | None: ...

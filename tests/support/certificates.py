"""Self-signed certificates, made with openssl."""

import shutil
import subprocess
from pathlib import Path

import pytest


def self_signed(folder: Path, host: str, *, key: str = "ec") -> tuple[Path, Path]:
    """A certificate for `host` and its key, as files in `folder`; skips without openssl."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    cert, secret = folder / "cert.pem", folder / "key.pem"
    subject = ["-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}"]
    curve = ["-pkeyopt", "ec_paramgen_curve:P-256"] if key == "ec" else []
    kind = ["-newkey", key, *curve, "-nodes", "-days", "2"]
    output = ["-out", str(cert), "-keyout", str(secret)]
    subprocess.run(
        [openssl, "req", "-x509", *kind, *subject, *output], check=True, capture_output=True
    )
    return cert, secret

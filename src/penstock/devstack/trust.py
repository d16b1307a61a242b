"""The certificates that this machine trusts, in a form that a JVM reads.

A Java of the machine's own is looked after by whoever looks after the machine. The one from PyPI knows the public
authorities alone: behind a company's proxy, whose authority OpenSSL's bundle (or SSL_CERT_FILE) holds, it could fetch nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import ssl
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

VARIABLES = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
BUNDLES = (
    *("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"),  # Debian and its kin, Red Hat and its kin
    *("/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"),  # SUSE, Alpine and macOS
)
PASSWORD = "public"  # a trust store holds no secret, but the format demands one
MAGIC, VERSION, CERTIFICATE = 0xFEEDFEED, 2, 2


def trust_options(folder: Path, environment: Mapping[str, str] = os.environ) -> list[str]:
    """JVM options under which it trusts what this machine trusts; none where no bundle of certificates is found."""
    certificates = trusted(environment)
    if not certificates:
        return []
    store = folder / "trust.jks"
    store.write_bytes(java_trust_store(certificates))
    return [f"-Djavax.net.ssl.trustStore={store}", "-Djavax.net.ssl.trustStoreType=JKS", f"-Djavax.net.ssl.trustStorePassword={PASSWORD}"]


def trusted(environment: Mapping[str, str]) -> Sequence[bytes]:
    """Every authority in the bundles that the environment names and that systems keep at well-known places."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    places = (*map(environment.get, VARIABLES), ssl.get_default_verify_paths().openssl_cafile, *BUNDLES)
    for bundle in filter(None, places):
        with contextlib.suppress(OSError):  # not there, or no certificates: another tool's trouble
            context.load_verify_locations(bundle)
    return context.get_ca_certs(binary_form=True)


def java_trust_store(certificates: Sequence[bytes]) -> bytes:
    """A Java key store (JKS, version 2) that holds these certificates (DER) as trusted; keytool would take a JVM start for each."""
    parts = [struct.pack(">III", MAGIC, VERSION, len(certificates))]
    for number, certificate in enumerate(certificates):
        parts += [struct.pack(">I", CERTIFICATE), _text(f"ca{number}"), struct.pack(">Q", 0), _text("X.509"), struct.pack(">I", len(certificate)), certificate]
    content = b"".join(parts)
    seal = hashlib.sha1(PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + content)  # the format's own integrity mark, no protection
    return content + seal.digest()


def _text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack(">H", len(encoded)) + encoded

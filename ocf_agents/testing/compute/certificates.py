# SPDX-License-Identifier: Apache-2.0
"""A private certificate authority for a test, made on the spot."""

from __future__ import annotations

import ssl
from datetime import datetime, timedelta, timezone
from ipaddress import ip_address
from pathlib import Path
from typing import Any

LIFETIME = timedelta(days=1)


class Authority:
    """An authority whose certificate is in `folder`/ca.pem, and one server certificate of it.

    Needs the package cryptography, which openstacksdk brings along.
    """

    def __init__(
        self, folder: Path, *, names: tuple[str, ...] = ("localhost",), address: str = "127.0.0.1"
    ) -> None:
        self.ca_file = folder / "ca.pem"
        self._server_file = folder / "server.pem"
        authority_key, server_key = new_key(), new_key()
        authority = sign("Test authority", authority_key, None, authority_key, ())
        server = sign("Test server", server_key, authority, authority_key, (*names, address))
        self.ca_file.write_bytes(as_pem(authority))
        self._server_file.write_bytes(as_pem(server) + key_as_pem(server_key))
        self._server_file.chmod(0o600)

    def server_context(self) -> ssl.SSLContext:
        """What a server of this authority speaks."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._server_file)
        return context


def new_key() -> Any:  # noqa: ANN401 - the package may be missing where types are checked
    """A private key."""
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def sign(subject: str, key: Any, issuer: Any, issuer_key: Any, names: tuple[str, ...]) -> Any:  # noqa: ANN401
    """A certificate of `subject`; without an issuer it signs itself and may sign others."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import NameOID

    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])
    now = datetime.now(timezone.utc)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer.subject if issuer else name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - LIFETIME)
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False
        )
    )
    if issuer is None:
        builder = builder.add_extension(signing_only(), critical=True)
    else:
        builder = builder.add_extension(
            x509.SubjectAlternativeName(list(map(alternative, names))), critical=False
        )
    return builder.sign(issuer_key, hashes.SHA256())


def signing_only() -> Any:  # noqa: ANN401
    """What an authority's key may do."""
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def alternative(name: str) -> Any:  # noqa: ANN401
    """A host name or an address, as a certificate names it."""
    from cryptography import x509

    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def as_pem(certificate: Any) -> bytes:  # noqa: ANN401
    """A certificate as text."""
    from cryptography.hazmat.primitives.serialization import Encoding

    return bytes(certificate.public_bytes(Encoding.PEM))


def key_as_pem(key: Any) -> bytes:  # noqa: ANN401
    """A private key as text, without a passphrase."""
    from cryptography.hazmat.primitives import serialization as form

    return bytes(key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()))

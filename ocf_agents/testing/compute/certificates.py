# SPDX-License-Identifier: Apache-2.0
"""A private certificate authority for a test, made on the spot."""

from __future__ import annotations

import ssl
from datetime import datetime, timedelta, timezone
from ipaddress import ip_address
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

LIFETIME = timedelta(days=1)
NAMES = ("localhost", "127.0.0.1")


class Authority:
    """An authority whose certificate is in `folder`/ca.pem, and the server certificates that it signs.

    Needs the package cryptography, which openstacksdk brings along.
    """

    def __init__(self, folder: Path) -> None:
        self.ca_file = folder / "ca.pem"
        self._folder = folder
        self._key = new_key()
        self._certificate = sign("Test authority", self._key, None, self._key, ())
        self.ca_file.write_bytes(as_pem(self._certificate))

    def server_context(self, names: tuple[str, ...] = NAMES, *, age: timedelta = LIFETIME) -> ssl.SSLContext:
        """What a server of this authority speaks, with a certificate for these names and addresses.

        It is `age` old, of two days that it is good for.
        """
        key = new_key()
        certificate = sign("Test server", key, self._certificate, self._key, names, age)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with NamedTemporaryFile(dir=self._folder, suffix=".pem") as file:  # mode 0600
            file.write(as_pem(certificate) + key_as_pem(key))
            file.flush()
            context.load_cert_chain(file.name)
        return context


def new_key() -> Any:  # noqa: ANN401 - the package may be missing where types are checked
    """A private key."""
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def sign(
    subject: str,
    key: Any,  # noqa: ANN401
    issuer: Any,  # noqa: ANN401
    issuer_key: Any,  # noqa: ANN401
    names: tuple[str, ...],
    age: timedelta = LIFETIME,
) -> Any:  # noqa: ANN401
    """A certificate of `subject`; without an issuer it signs itself and may sign others."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import NameOID

    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])
    begin = datetime.now(timezone.utc) - age
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer.subject if issuer else name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + 2 * LIFETIME)
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

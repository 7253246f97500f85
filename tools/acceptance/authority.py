"""A certificate authority for loopback, which only the command that created it trusts."""

import datetime
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

# Mozilla's modern configuration allows 90 days.
LIFETIME = datetime.timedelta(days=89)
USAGES = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment")
USAGES += ("key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only")


def ecdsa():
    return ec.generate_private_key(ec.SECP256R1())


def rsa_2048():
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def pem(thing):
    return thing.public_bytes(serialization.Encoding.PEM)


class Authority:
    """A certificate authority for loopback addresses."""

    def __init__(self, place):
        self.key = ecdsa()
        self.path = place / "authority.pem"
        builder = self.builder("An authority", self.key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(True, None), True)
        signs = {name: name == "key_cert_sign" for name in USAGES}
        builder = builder.add_extension(x509.KeyUsage(**signs), True)
        itself = x509.SubjectKeyIdentifier.from_public_key(self.key.public_key())
        builder = builder.add_extension(itself, False)
        self.path.write_bytes(pem(builder.sign(self.key, hashes.SHA256())))

    def builder(self, name, key):
        named = lambda text: x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])
        began = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=1)
        builder = x509.CertificateBuilder(named("An authority"), named(name), key)
        builder = builder.serial_number(x509.random_serial_number())
        return builder.not_valid_before(began).not_valid_after(began + LIFETIME)

    def certify(self, key):
        """A certificate for this key."""
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        builder = self.builder("localhost", key.public_key())
        builder = builder.add_extension(x509.SubjectAlternativeName(names), False)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        builder = builder.add_extension(issuer, False)
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        return builder.add_extension(usage, False).sign(self.key, hashes.SHA256())


def put(path, content):
    """Replaces the file at once, as certificate renewal does."""
    new = path.with_suffix(".new")
    new.write_bytes(content)
    new.chmod(0o600)
    new.replace(path)


def put_key(path, key):
    form, no_password = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    put(path, key.private_bytes(serialization.Encoding.PEM, form, no_password))

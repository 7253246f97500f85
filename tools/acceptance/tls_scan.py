"""TLS as scanners and clients see it.

sslyze must find the default compliant with Mozilla's intermediate configuration, with an ECDSA and
with an RSA certificate, and `tls_min = "1.3"` compliant with the modern one. The default must not
comply with the modern one, which proves that the scan finds deviations. Sessions are never resumed.

Then clients keep sending requests on open connections while the certificate is replaced repeatedly,
every other time by a certificate and a key that do not match. No request may fail, new connections
must get each good certificate within 10 s, and never a bad one.
"""

import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

from cryptography import x509

from authority import Authority, ecdsa, pem, put, put_key, rsa_2048
from service import Workplace, arguments, free_port

SHOWN_WITHIN_S = 10.0
CALLERS = 20
class Secured:
    """The service with TLS and its own certificate."""

    def __init__(self, binary, place, authority, least="1.2", kind=ecdsa):
        self.authority, self.port = authority, free_port()
        self.certificate, self.key = place / "tls.crt", place / "tls.key"
        self.log = place / "log"
        key = kind()
        put(self.certificate, pem(authority.certify(key)))
        put_key(self.key, key)
        command = [binary, "serve", "--dev", "--listen", f"127.0.0.1:{self.port}"]
        command += ["--tls-certificate", self.certificate, "--tls-key", self.key]
        command += ["--tls-min", least]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        for _ in range(200):
            try:
                return self.open().close()
            except OSError:
                time.sleep(0.05)
        raise SystemExit(f"{binary} does not listen; see {self.log}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(30) != 0:
            raise SystemExit(f"the service ended with {self.process.returncode}; see {self.log}")

    def open(self):
        """A connection that trusts only the authority."""
        context = ssl.create_default_context(cafile=self.authority.path)
        plain = socket.create_connection(("127.0.0.1", self.port), 10)
        return context.wrap_socket(plain, server_hostname="localhost")

    def shown(self):
        """The serial number of the certificate that a new connection gets."""
        with self.open() as connection:
            return x509.load_der_x509_certificate(connection.getpeercert(True)).serial_number


def scan(secured, profile):
    """Whether sslyze finds the service compliant, and its output."""
    command = [sys.executable, "-m", "sslyze", "--mozilla_config", profile, "--resum"]
    command += ["--early_data", "--certinfo_ca_file", secured.authority.path]
    command += [f"localhost:{secured.port}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    text = done.stdout + done.stderr
    return done.returncode == 0 and "OK - Compliant." in text, text


def scans(binary, place, authority):
    """The deviations that sslyze finds."""
    faults = []
    rows = [("1.2", ecdsa, "intermediate", True), ("1.2", rsa_2048, "intermediate", True)]
    rows += [("1.3", ecdsa, "modern", True), ("1.2", ecdsa, "modern", False)]
    for least, kind, profile, expected in rows:
        with Secured(binary, place, authority, least, kind) as secured:
            compliant, text = scan(secured, profile)
        name = f"tls_min {least}, {kind.__name__}, held against {profile}"
        print(f"{name}: {'compliant' if compliant else 'not compliant'}")
        (place / f"{least}-{kind.__name__}-{profile}.txt").write_text(text)
        if compliant != expected:
            _, _, verdict = text.partition("COMPLIANCE AGAINST")
            faults.append(f"{name}: sslyze says otherwise: {verdict or text}")
        if least == "1.2" and text.count("NOT SUPPORTED (0 successful resumptions") != 2:
            faults.append(f"{name}: sessions are resumed")
        if "VULNERABLE" in text:
            faults.append(f"{name}: sslyze knows of an attack")
    return faults


def ask(connection):
    """One request. Returns whether it got a complete 200."""
    connection.sendall(b"GET /users?limit=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += connection.recv(65536) or b"\r\n\r\n"
    head, _, content = answer.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    while lengths and len(content) < int(lengths[0].split(b":")[1]):
        more = connection.recv(65536)
        if not more:
            return False
        content += more
    return head.startswith(b"HTTP/1.1 200 ")


class Caller(threading.Thread):
    """Sends requests on one connection until it is stopped."""

    def __init__(self, secured, stop):
        super().__init__(daemon=True)
        self.connection, self.stop = secured.open(), stop
        self.answered, self.fault = 0, None

    def run(self):
        try:
            while not self.stop.is_set():
                if not ask(self.connection):
                    raise OSError("an answer was wrong or cut off")
                self.answered += 1
                time.sleep(0.01)
        except OSError as error:
            self.fault = str(error)


def replacements(binary, place, authority, count):
    """The errors while certificates are replaced under load."""
    faults, slowest, stop = [], 0.0, threading.Event()
    with Secured(binary, place, authority) as secured:
        callers = [Caller(secured, stop) for _ in range(CALLERS)]
        for caller in callers:
            caller.start()
        present = secured.shown()
        for number in range(count):
            key = ecdsa()
            certificate = authority.certify(key)
            put(secured.certificate, pem(certificate))
            if number % 2:
                # In between, the certificate does not match its key.
                until = time.monotonic() + 5
                while time.monotonic() < until:
                    if secured.shown() != present:
                        faults.append("a certificate was shown without its key")
                    time.sleep(0.05)
            put_key(secured.key, key)
            began = time.monotonic()
            while secured.shown() != certificate.serial_number:
                if time.monotonic() - began > SHOWN_WITHIN_S:
                    faults.append(f"replacement {number} was not shown")
                    break
                time.sleep(0.05)
            slowest = max(slowest, time.monotonic() - began)
            present = secured.shown()
        stop.set()
        for caller in callers:
            caller.join(10)
            caller.connection.close()
    answered = sum(caller.answered for caller in callers)
    faults += [f"a caller failed: {caller.fault}" for caller in callers if caller.fault]
    print(
        f"{count} replacements under {CALLERS} callers with {answered} requests: shown within"
        f" {slowest:.1f} s, {len(faults)} faults"
    )
    if answered < CALLERS * count:
        faults.append("the callers hardly asked anything")
    return faults


def main():
    given = arguments(__doc__, replacements=(20, 4, "certificates that are put in place"))
    os.umask(0o077)
    with Workplace("tls_scan") as place:
        authority = Authority(place)
        faults = scans(given.binary, place, authority)
        faults += replacements(given.binary, place, authority, given.replacements)
        if faults:
            raise SystemExit("\n".join(faults))


if __name__ == "__main__":
    main()

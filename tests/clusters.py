"""Real Dask clusters on this machine. Absent Dask skips the test, and fails it where ``CI`` is set."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path

import pytest
from process import running, wait_for

WORKER = "from distributed.cli.dask_worker import main; main()"
ANOTHER_VERSION = f"import rocmonitor; rocmonitor.__version__ = '0.0.1'; {WORKER}"
WITHOUT_US = f"import sys; sys.modules['rocmonitor'] = None; {WORKER}"


def require_dask() -> None:
    """Skip, or on CI fail, where Dask is not installed."""
    if find_spec("distributed") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no Dask: pip install 'rocmonitor[dask]'")


@contextmanager
def scheduler(*options: str) -> Iterator[str]:
    """The address of a scheduler without workers."""
    require_dask()
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    with _running([*command, "--no-dashboard", *options]) as process:
        yield _read(process, r"Scheduler at: +(\S+)")


@contextmanager
def workers(
    address: str, number: int, *options: str, code: str = WORKER, **environment: str
) -> Iterator[None]:
    """Workers of one thread each, as processes without a nanny that would start them again."""
    command = [sys.executable, "-c", code, address, "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny"]
    command += ["--no-dashboard", *options]
    with ExitStack() as stack:
        started = [stack.enter_context(_running(command, **environment)) for _ in range(number)]
        for each in started:
            _read(each, r"Registered to: +(\S+)")
        yield


@contextmanager
def _running(command: list[str], **environment: str) -> Iterator[subprocess.Popen[str]]:
    known = {name: value for name, value in os.environ.items() if name not in environment}
    env = known | {name: value for name, value in environment.items() if value}
    env["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    with running(command, env=env) as process:
        yield process


def _read(process: subprocess.Popen[str], pattern: str) -> str:
    """What it says of itself in its log."""
    found = re.search(pattern, wait_for(process, pattern))
    assert found is not None
    return found[1]


def certificate(folder: Path) -> dict[str, str]:
    """A certificate for this machine that signs itself: the names of its files by option."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = (
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / "key.pem").write_bytes(key.private_bytes(*plain))
    return {"ca_file": "cert.pem", "cert_file": "cert.pem", "key_file": "key.pem"}

"""The whole product as a user starts it: `crosscut up` in a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from settings import Settings
from tests.support import wait_until

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Product:
    home: Path
    port: int
    process: subprocess.Popen[str]
    output: Path

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def settings(self) -> Settings:
        return Settings(_env_file=None, crosscut_home=self.home)

    def said(self) -> str:
        return self.output.read_text()

    def serves(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.address}/_stcore/health", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def run(self, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
        return run_cli(self.home, *arguments, cwd=None, stdin="", CROSSCUT_PORT=str(self.port), **extra)


def environment(home: Path, **extra: str) -> dict[str, str]:
    ours = ("CROSSCUT_", "GATEWAY_", "MODEL_", "OIDC_", "DATABASE_URL", "REDIS_URL")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    return {**kept, "CROSSCUT_HOME": str(home), "PYTHONPATH": str(ROOT), **extra}


def run_cli(
    home: Path, *arguments: str, stdin: str = "", cwd: Path | None = None, **extra: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cli", *arguments],
        env=environment(home, **extra),
        cwd=cwd or home.parent,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def started(home: Path, **extra: str) -> Iterator[Product]:
    """`crosscut up` until the block ends, then one Ctrl-C."""
    port, output = free_port(), home.parent / "output.txt"
    with output.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "cli", "up"],
            env=environment(home, CROSSCUT_PORT=str(port), **extra),
            cwd=home.parent,
            stdout=file,
            stderr=subprocess.STDOUT,
            text=True,
        )
    product = Product(home, port, process, output)
    try:
        wait_until(lambda: process.poll() is not None or "Crosscut is ready" in product.said(), 240)
        assert process.poll() is None, product.said()
        yield product
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(120)

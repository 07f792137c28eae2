"""Makes sure that there is a Chromium for the browser tests, or says exactly how to get one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from workers.health import find_browser

_PACKAGES = ("chromium", "fonts-dejavu-core")


def main() -> int:
    if find_browser() is None and os.geteuid() == 0 and shutil.which("apt-get"):
        _install()
    if find_browser() is None:
        sys.stderr.write(
            "The browser tests need Chromium, and none was found.\n"
            "  Debian or Ubuntu: sudo apt-get install chromium\n"
            "  Fedora:           sudo dnf install chromium\n"
            "  macOS:            brew install --cask google-chrome, then set CHROMIUM to its program\n"
        )
        return 1
    return 0


def _install() -> None:
    sys.stdout.write("Installing Chromium for the browser tests …\n")
    sys.stdout.flush()
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *_PACKAGES]):
        subprocess.run(["apt-get", *command], env=environment, check=False, stdout=subprocess.DEVNULL)  # noqa: S603, S607


if __name__ == "__main__":
    sys.exit(main())

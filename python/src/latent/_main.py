"""``latent`` on the path of the environment. It imports little, since it starts as often as the command does."""

import os
import subprocess
import sys
from pathlib import Path

PATH = str(Path(__file__).parent / "bin" / ("latent.exe" if os.name == "nt" else "latent"))


def main():
    """Be the command."""
    if os.name == "nt":
        sys.exit(subprocess.run([PATH, *sys.argv[1:]]).returncode)
    os.execv(PATH, [PATH, *sys.argv[1:]])

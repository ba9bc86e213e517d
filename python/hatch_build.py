"""Puts the command, built for GOOS and GOARCH, into the wheel, and names the wheel after that platform."""

import os
import subprocess
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The binary is static: any C library will do. Systems are the oldest that Go 1.26 runs on.
PLATFORMS = {
    "linux/amd64": "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    "linux/arm64": "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    "darwin/amd64": "macosx_12_0_x86_64",
    "darwin/arm64": "macosx_12_0_arm64",
    "windows/amd64": "win_amd64",
    "windows/arm64": "win_arm64",
}


class CustomBuildHook(BuildHookInterface):
    def initialize(self, version, build_data):
        module = Path(self.root).parent
        if not (module / "go.mod").exists():
            raise RuntimeError("the wheel is built in a clone of the repository, whose Go files the command is made of")
        asked = subprocess.run(["go", "env", "GOOS", "GOARCH"], cwd=module, check=True, capture_output=True, text=True)
        system, processor = asked.stdout.split()
        target = f"{system}/{processor}"
        if target not in PLATFORMS:
            raise RuntimeError(f"no wheel for {target}: those are {', '.join(PLATFORMS)}")
        name = "latent.exe" if system == "windows" else "latent"
        binary = os.environ.get("LATENT_BINARY")  # one that is built already
        if not binary:
            self.folder = tempfile.TemporaryDirectory()
            binary = str(Path(self.folder.name) / name)
            build = ["go", "build", "-ldflags", "-s -w", "-o", binary, "./cmd/latent"]
            subprocess.run(build, cwd=module, check=True, env={**os.environ, "CGO_ENABLED": "0"})
        build_data["force_include"][binary] = f"latent/bin/{name}"
        for text in ("LICENSE", "NOTICE"):
            build_data["extra_metadata"][str(module / text)] = text
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{PLATFORMS[target]}"

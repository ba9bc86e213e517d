"""Runs the command that the package contains."""

import subprocess
import threading
import warnings

import pyarrow as pa

from ._main import PATH


class LatentWarning(UserWarning):
    """A note of the command about the data or the fit."""


def run(args, table=None):
    """Run the command, with a table on its standard input.

    Parameters
    ----------
    args : list of str
    table : pyarrow.Table, optional

    Returns
    -------
    bytes
        The standard output of the command. Its notes become warnings.

    Raises
    ------
    ValueError
        With the one line that the command ends with.
    """
    with subprocess.Popen(
        [PATH, *args],
        stdin=subprocess.DEVNULL if table is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            wrote, notes = _exchange(process, table)
        except BaseException:
            process.kill()
            raise
    lines = [line.removeprefix("latent: ").replace("standard input", "X") for line in notes.decode().splitlines()]
    if process.returncode:
        raise ValueError(lines[-1] if lines else f"latent ended with status {process.returncode}")
    for line in lines:
        warnings.warn(line, LatentWarning, stacklevel=4)
    return wrote


def _exchange(process, table):
    if table is None:
        return process.communicate()
    writing = threading.Thread(target=_send, args=(process.stdin, table), daemon=True)
    notes = []
    reading = threading.Thread(target=lambda: notes.append(process.stderr.read()), daemon=True)
    writing.start()
    reading.start()
    wrote = process.stdout.read()
    writing.join()
    reading.join()
    return wrote, notes[0]


def _send(pipe, table):
    try:
        with pipe, pa.ipc.new_stream(pipe, table.schema) as stream:
            stream.write_table(table)
    except OSError:
        pass  # the command has ended before it read all, and says why

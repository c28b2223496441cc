"""--plugin FILE: code of the user that runs before a command."""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback

from ..errors import InvalidInput


def run(file: str) -> None:
    """Import a Python file as a module of its own name, prefixed by ``isthmus_plugin_``.

    Raises
    ------
    InvalidInput
        For a file that is no Python file, or whose code raises an error: the message names its line.
    """
    if not os.path.isfile(file) or not file.endswith(".py"):
        raise InvalidInput(f"--plugin {file}: expected a Python file (.py)")
    name = "isthmus_plugin_" + os.path.splitext(os.path.basename(file))[0]
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Objects of the module can be pickled, for the processes of a sweep.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        if isinstance(error, SyntaxError) and error.filename == file:
            line = error.lineno
        else:
            own = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
            line = own[-1] if own else None
        where = file if line is None else f"{file}: line {line}"
        words = error.msg if isinstance(error, SyntaxError) else error
        raise InvalidInput(f"{where}: {type(error).__name__}: {words}") from error

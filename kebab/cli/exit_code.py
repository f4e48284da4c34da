"""The exit code of what a command does, and the report of its error."""

import os
import signal
import sys
from collections.abc import Callable
from typing import TextIO

from kebab.cli.errors import CliError, write_error
from kebab.exit_codes import Exit

_INTERRUPTED = 128 + signal.SIGINT


def run_to_exit_code(act: Callable[[], int], stream: TextIO, *, as_json: bool) -> int:
    """Run what a command does, write its error to `stream`, and return the exit code."""
    try:
        return act()
    except CliError as error:
        write_error(error.code, str(error), stream, as_json=as_json, fields=error.fields)
        return error.exit_code
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader has closed the pipe (`| head`); flushing the buffer must not fail at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.DONE
    except Exception as error:  # noqa: BLE001 - end of the process: any error is reported
        from kebab.cli.report import report_any  # imports Django

        return report_any(error, stream, as_json=as_json)

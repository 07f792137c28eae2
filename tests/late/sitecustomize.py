"""On the path of a product under test: every run of a page ends as late as a busy machine may let it end.

Each run has a thread of its own. One that is over takes back all clicks of its page, and it waits here with that until
the next run has been given its click, which is the worst moment there is.
"""

import sys
from collections import Counter
from threading import Condition

LONGEST_SECONDS = 1.0


def end_late() -> None:
    from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
    from streamlit.runtime.state.safe_session_state import SafeSessionState

    changed, begun, ending = Condition(), Counter[int](), Counter[int]()
    finish, prepare = ScriptRunner._on_script_finished, SafeSessionState.on_script_will_rerun

    def finish_late(self, *given, **more):  # type: ignore[no-untyped-def]
        page = id(self._session_state._state)
        with changed:
            before = begun[page]
            ending[page] += 1
            changed.wait_for(lambda: begun[page] != before, LONGEST_SECONDS)
        finish(self, *given, **more)
        with changed:
            ending[page] -= 1
            changed.notify_all()

    def prepare_and_wait(self, *given, **more):  # type: ignore[no-untyped-def]
        prepare(self, *given, **more)
        page = id(self._state)
        with changed:
            begun[page] += 1
            changed.notify_all()
            changed.wait_for(lambda: ending[page] == 0, LONGEST_SECONDS)

    ScriptRunner._on_script_finished = finish_late  # type: ignore[method-assign]
    SafeSessionState.on_script_will_rerun = prepare_and_wait  # type: ignore[method-assign]


if "streamlit" in sys.orig_argv:
    end_late()

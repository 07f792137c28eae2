"""Every error that Crosscut raises on purpose.

CrosscutError
├── SettingsError        a setting is unknown, malformed or contradictory
├── InputError           what a person or a file gave us cannot be used
│   └── NotFoundError    no such session, checkpoint, job or file
├── StorageError         Postgres, Valkey, the key or the home folder
│   ├── ServiceError     a server is missing, broken or unreachable
│   ├── SealError        stored bytes do not open with this key, or were changed
│   └── StopNotEntered   a spooled safety stop that its session does not take yet
├── ModelError           a model call that gave nothing usable
│   ├── GatewayError     no answer: refused, timed out, rate limited, failed
│   └── RejectedOutput   an answer that breaks the agent's contract
├── UnrecordedStop       a safety stop that the database could not take yet; the script must be shown all the same
└── TurnError            a patient's message that was not taken as a turn
    ├── TurnInProgress   another message of this session is being worked on
    └── StaleTurn        the sender saw an older state of the conversation

Messages say what was wrong, with the value where that is not a patient's text or a secret, and what to do.
"""


class CrosscutError(Exception):
    """Base of every expected failure; its message is fit for a user's eyes."""


class SettingsError(CrosscutError):
    pass


class InputError(CrosscutError):
    pass


class NotFoundError(InputError):
    pass


class StorageError(CrosscutError):
    pass


class ServiceError(StorageError):
    pass


class SealError(StorageError):
    pass


class StopNotEntered(StorageError):
    pass


class ModelError(CrosscutError):
    pass


class GatewayError(ModelError):
    """`retry_after` is the gateway's own wish in seconds, when it stated one."""

    def __init__(self, message: str, *, retryable: bool = True, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after = retry_after


class RejectedOutput(ModelError):
    """`reason` is sent back to the model and recorded, so it names rules and fields, never a patient's words."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class UnrecordedStop(CrosscutError):
    """`script` is what the patient sees, and nothing else."""

    def __init__(self, script: str) -> None:
        super().__init__("this session was stopped for safety; the stop is kept on disk until the database is back.")
        self.script = script


class TurnError(CrosscutError):
    pass


class TurnInProgress(TurnError):
    pass


class StaleTurn(TurnError):
    pass

"""Large files such as uploaded books, by the SHA-256 of their content: in a private folder or an S3-compatible store.

They are sealed before they reach either, each bound to its id, so that neither a changed nor a misplaced one opens.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from errors import CrosscutError, InputError, NotFoundError, ServiceError, SettingsError, StorageError
from settings import Settings
from storage.crypto import Vault
from storage.files import draft_of, sync_folder, write_durably

if TYPE_CHECKING:
    from minio import Minio
    from urllib3 import PoolManager

_ID = re.compile(r"[0-9a-f]{64}")
_RETRIES = 2
_SMALLEST_PART = 5 * 1024**2


class Blobs(Protocol):
    def put(self, data: bytes) -> str:
        """Keep the bytes and return their id; the same bytes again are the same blob."""

    def get(self, blob_id: str) -> bytes:
        """Raises NotFoundError when there is none, SealError when it was changed."""

    def delete(self, blob_id: str) -> None:
        """What is gone already is gone: a task that runs twice may say so twice."""

    def exists(self, blob_id: str) -> bool: ...


class Shelf(Protocol):
    """Where sealed bytes stand by name; `read` raises NotFoundError."""

    def write(self, name: str, sealed: bytes) -> None: ...

    def read(self, name: str) -> bytes: ...

    def remove(self, name: str) -> None: ...

    def holds(self, name: str) -> bool: ...


def blobs(settings: Settings, vault: Vault) -> Blobs:
    """In the S3 store that the settings name, else in CROSSCUT_HOME."""
    shelf = Folder(settings.crosscut_home / "blobs") if settings.crosscut_s3_url is None else _bucket(settings)
    return SealedBlobs(shelf, vault)


class SealedBlobs:
    def __init__(self, shelf: Shelf, vault: Vault) -> None:
        self._shelf = shelf
        self._vault = vault

    def put(self, data: bytes) -> str:
        blob_id = hashlib.sha256(data).hexdigest()
        self._shelf.write(blob_id, self._vault.seal(data, _bound_to(blob_id)))
        return blob_id

    def get(self, blob_id: str) -> bytes:
        return self._vault.open(self._shelf.read(_checked(blob_id)), _bound_to(blob_id))

    def delete(self, blob_id: str) -> None:
        self._shelf.remove(_checked(blob_id))

    def exists(self, blob_id: str) -> bool:
        return self._shelf.holds(_checked(blob_id))


class Folder:
    """Files that only their owner may read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, name: str, sealed: bytes) -> None:
        with self._usable():
            self._folder.mkdir(0o700, parents=True, exist_ok=True)
            self._folder.chmod(0o700)
            sync_folder(self._folder.parent)
            with self._lock():
                write_durably(self._folder / name, sealed)

    def read(self, name: str) -> bytes:
        with self._usable():
            try:
                return (self._folder / name).read_bytes()
            except FileNotFoundError:
                raise _missing(name) from None

    def remove(self, name: str) -> None:
        path = self._folder / name
        with self._usable():
            path.unlink(missing_ok=True)
            draft_of(path).unlink(missing_ok=True)

    def holds(self, name: str) -> bool:
        with self._usable():
            return (self._folder / name).is_file()

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """One writer at a time, among processes and threads; the lock of a killed one is released with it."""
        descriptor = os.open(self._folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StorageError(
                f"the folder for blobs {self._folder} cannot be used: {error.strerror}. "
                "Make it a folder that Crosscut's user may write to, with space left, or set CROSSCUT_HOME."
            ) from error


class Bucket:
    """A bucket of an S3-compatible store."""

    def __init__(self, client: Minio, bucket: str, address: str) -> None:
        self._client, self._bucket, self._address = client, bucket, address

    def write(self, name: str, sealed: bytes) -> None:
        # One request whatever the size: parts would leave an unfinished upload behind when the process is killed.
        size, part = len(sealed), max(len(sealed), _SMALLEST_PART)
        with self._reaching(name):
            self._client.put_object(self._bucket, _key(name), io.BytesIO(sealed), size, part_size=part)

    def read(self, name: str) -> bytes:
        with self._reaching(name):
            answer = self._client.get_object(self._bucket, _key(name))
            try:
                return answer.read()
            finally:
                answer.close()
                answer.release_conn()

    def remove(self, name: str) -> None:
        with self._reaching(name):
            self._client.remove_object(self._bucket, _key(name))

    def holds(self, name: str) -> bool:
        try:
            with self._reaching(name):
                self._client.stat_object(self._bucket, _key(name))
        except NotFoundError:
            return False
        return True

    @contextmanager
    def _reaching(self, name: str) -> Iterator[None]:
        """The store's failures as ours, without what it wrote in its answer."""
        from minio.error import InvalidResponseError, MinioException, S3Error, ServerError
        from urllib3.exceptions import HTTPError

        try:
            yield
        except S3Error as error:
            raise self._refused(error.code, name) from None
        except (InvalidResponseError, ServerError) as error:
            raise self._failed(f"answered with something that is not S3 ({type(error).__name__})") from None
        except (MinioException, HTTPError, OSError) as error:
            raise self._failed(f"did not answer properly ({type(error).__name__})") from None

    def _refused(self, code: str | None, name: str) -> CrosscutError:
        match code:
            case "NoSuchKey":
                return _missing(name)
            case "NoSuchBucket":
                return self._failed(f"has no bucket {self._bucket!r}: make it, or set CROSSCUT_S3_BUCKET")
            case "AccessDenied" | "InvalidAccessKeyId" | "SignatureDoesNotMatch":
                return self._failed(
                    f"lets us not use bucket {self._bucket!r} ({code}): check CROSSCUT_S3_KEY and CROSSCUT_S3_SECRET"
                )
        return self._failed(f"refused ({code})")

    def _failed(self, what: str) -> ServiceError:
        return ServiceError(f"the S3 store {self._address} {what}.")


def _bucket(settings: Settings) -> Bucket:
    from minio import Minio

    url, name = settings.crosscut_s3_url, settings.crosscut_s3_bucket
    key, secret = settings.crosscut_s3_key, settings.crosscut_s3_secret
    if url is None or name is None or key is None or secret is None:
        raise SettingsError("the S3 store needs CROSSCUT_S3_URL, CROSSCUT_S3_BUCKET, CROSSCUT_S3_KEY and _SECRET.")
    client = Minio(
        f"{url.host}:{url.port}",
        key.get_secret_value(),
        secret.get_secret_value(),
        secure=url.scheme == "https",
        region=settings.crosscut_s3_region,
        http_client=_http(),
    )
    return Bucket(client, name, str(url))


def _http() -> PoolManager:
    from urllib3 import PoolManager, Retry, Timeout

    retries = Retry(
        _RETRIES,
        redirect=False,  # the bytes go to the host that the settings name, and to no other
        status_forcelist=(500, 502, 503, 504),
        backoff_factor=0.2,
        raise_on_status=False,
        respect_retry_after_header=False,  # it may ask for hours
    )
    return PoolManager(timeout=Timeout(connect=10, read=60), retries=retries)


def _checked(blob_id: str) -> str:
    if not _ID.fullmatch(blob_id):
        raise InputError(f"{blob_id!r} is not a blob's id: 64 hexadecimal digits are.")
    return blob_id


def _bound_to(blob_id: str) -> str:
    return f"blob:{blob_id}"


def _key(name: str) -> str:
    return f"blobs/{name}"


def _missing(name: str) -> NotFoundError:
    return NotFoundError(f"there is no blob {name}: it was deleted, or it is in the store of another machine.")

"""Blobs: what goes in comes out, nobody else can read or change it, and each failure says what it is."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from errors import InputError, NotFoundError, SealError, ServiceError, SettingsError, StorageError
from settings import Settings
from storage import files
from storage.blobs import Blobs, blobs
from storage.crypto import Vault
from tests import s3 as stand_in
from tests.s3 import BUCKET, CANARY, KEY, S3, SECRET

ROOT = Path(files.__file__).parents[1]
VAULT = Vault(b"k" * 32)
BOOK = b"%PDF-1.7 a licensed book, byte for byte " * 50
ID = hashlib.sha256(BOOK).hexdigest()
NOBODY = "0" * 64
PUT_AND_DIE = """
import os, signal, sys
from pathlib import Path
from storage.blobs import Folder, SealedBlobs
from storage.crypto import Vault
os.rename = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
SealedBlobs(Folder(Path(sys.argv[1])), Vault(b"k" * 32)).put(b"book" * 1000)
"""


@dataclass(frozen=True)
class Place:
    """A store, and what lies in it."""

    blobs: Blobs
    stored: Callable[[str], bytes]
    change: Callable[[str, bytes], object]
    with_vault: Callable[[Vault], Blobs]


@pytest.fixture
def s3() -> Iterator[S3]:
    with stand_in.s3() as running:
        yield running


@pytest.fixture(params=["folder", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "folder":
        return _folder(tmp_path)
    return _bucket(request.getfixturevalue("s3"))


def local(home: Path, **given: Any) -> Settings:
    nowhere = dict.fromkeys(("url", "bucket", "key", "secret", "region"))
    return Settings(
        _env_file=None, crosscut_home=home, **{f"crosscut_s3_{k}": v for k, v in {**nowhere, **given}.items()}
    )


def remote(url: str, **given: Any) -> Blobs:
    values = {"url": url, "bucket": BUCKET, "key": KEY, "secret": SECRET, **given}
    return blobs(local(Path("/nowhere/at/all"), **values), VAULT)


def _folder(home: Path) -> Place:
    folder, settings = home / "blobs", local(home)
    return Place(
        blobs=blobs(settings, VAULT),
        stored=lambda blob_id: (folder / blob_id).read_bytes(),
        change=lambda blob_id, sealed: (folder / blob_id).write_bytes(sealed),
        with_vault=lambda vault: blobs(settings, vault),
    )


def _bucket(store: S3) -> Place:
    settings = local(Path("/nowhere/at/all"), url=store.url, bucket=BUCKET, key=KEY, secret=SECRET)
    return Place(
        blobs=blobs(settings, VAULT),
        stored=lambda blob_id: store.objects[f"/{BUCKET}/blobs/{blob_id}"],
        change=lambda blob_id, sealed: store.objects.update({f"/{BUCKET}/blobs/{blob_id}": sealed}),
        with_vault=lambda vault: blobs(settings, vault),
    )


@pytest.mark.parametrize("data", [BOOK, b"", bytes(range(256)) * 4096], ids=["book", "nothing", "a megabyte"])
def test_what_goes_in_comes_out_by_its_hash(place: Place, data: bytes) -> None:
    blob_id = place.blobs.put(data)
    assert blob_id == hashlib.sha256(data).hexdigest()
    assert place.blobs.exists(blob_id)
    assert place.blobs.get(blob_id) == data


def test_the_same_bytes_again_are_the_same_blob(place: Place) -> None:
    assert place.blobs.put(BOOK) == place.blobs.put(BOOK) == ID
    place.blobs.delete(ID)
    assert not place.blobs.exists(ID)


def test_what_was_deleted_is_gone_and_may_be_deleted_again(place: Place) -> None:
    kept = place.blobs.put(b"another book")
    place.blobs.put(BOOK)
    place.blobs.delete(ID)
    place.blobs.delete(ID)
    with pytest.raises(NotFoundError, match=f"no blob {ID}"):
        place.blobs.get(ID)
    assert place.blobs.get(kept) == b"another book"


def test_what_was_never_there_is_not_found(place: Place) -> None:
    assert not place.blobs.exists(NOBODY)
    place.blobs.delete(NOBODY)
    with pytest.raises(NotFoundError, match=f"no blob {NOBODY}"):
        place.blobs.get(NOBODY)


@pytest.mark.parametrize("bad", ["", "../key", "abc", ID.upper(), f"{ID}\n", f"../blobs/{ID}", f".{ID}"[:64], "é" * 64])
def test_what_is_no_id_reaches_no_store(place: Place, bad: str) -> None:
    place.blobs.put(BOOK)
    for act in (place.blobs.get, place.blobs.delete, place.blobs.exists):
        with pytest.raises(InputError, match="not a blob's id"):
            act(bad)
    assert place.blobs.exists(ID)


def test_nothing_readable_lies_in_the_store(place: Place) -> None:
    place.blobs.put(BOOK)
    assert b"licensed" not in place.stored(ID)
    first = place.stored(ID)
    place.blobs.put(BOOK)
    assert place.stored(ID) != first  # a nonce is never used twice


@pytest.mark.parametrize(
    "changed",
    [
        lambda sealed: sealed[:-1] + bytes([sealed[-1] ^ 1]),
        lambda sealed: sealed[:50] + bytes([sealed[50] ^ 1]) + sealed[51:],
        lambda sealed: sealed[:-1],
        lambda _: b"",
        lambda _: BOOK,
    ],
    ids=["last bit", "one bit", "cut", "emptied", "plain"],
)
def test_what_was_changed_does_not_open(place: Place, changed: Callable[[bytes], bytes]) -> None:
    place.blobs.put(BOOK)
    place.change(ID, changed(place.stored(ID)))
    with pytest.raises(SealError, match=f"blob:{ID}"):
        place.blobs.get(ID)
    place.blobs.put(BOOK)  # the same upload again mends it
    assert place.blobs.get(ID) == BOOK


def test_a_blob_in_anothers_place_does_not_open(place: Place) -> None:
    other = place.blobs.put(b"another book")
    place.blobs.put(BOOK)
    place.change(ID, place.stored(other))
    with pytest.raises(SealError):
        place.blobs.get(ID)


def test_another_key_does_not_open_it(place: Place) -> None:
    place.blobs.put(BOOK)
    with pytest.raises(SealError, match="CROSSCUT_KEY"):
        place.with_vault(Vault(b"x" * 32)).get(ID)


def test_many_may_put_the_same_book_at_once(place: Place) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(place.blobs.put, [BOOK] * 24)) == {ID}
    assert place.blobs.get(ID) == BOOK


def test_the_folder_is_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "blobs"
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    blobs(local(tmp_path / "home"), VAULT).put(BOOK)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_a_put_that_is_killed_leaves_no_blob_and_nothing_that_stays(tmp_path: Path) -> None:
    book = b"book" * 1000
    blob_id = hashlib.sha256(book).hexdigest()
    folder, store = tmp_path / "blobs", blobs(local(tmp_path), VAULT)
    _put_and_die(folder)
    assert (folder / f".{blob_id}").exists()
    assert not store.exists(blob_id)
    assert store.put(book) == blob_id
    assert store.get(blob_id) == book
    _put_and_die(folder)
    store.delete(blob_id)
    assert [path.name for path in folder.iterdir()] == [".lock"]


def _put_and_die(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    died = subprocess.run([sys.executable, "-c", PUT_AND_DIE, str(folder)], cwd=ROOT, env=environment, check=False)
    assert died.returncode == -signal.SIGKILL


def test_a_put_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    store = blobs(local(tmp_path), VAULT)
    with monkeypatch.context() as broken:
        broken.setattr("storage.files.os.fsync", full)
        with pytest.raises(StorageError, match="No space left"):
            store.put(BOOK)
    assert not store.exists(ID)
    assert store.put(BOOK) == ID


def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("in the way")
    store = blobs(local(tmp_path), VAULT)
    for act in (lambda: store.put(BOOK), lambda: store.get(ID), lambda: store.delete(ID)):
        with pytest.raises(StorageError, match=str(tmp_path / "blobs")):
            act()


def test_a_large_book_goes_to_s3_in_one_request(s3: S3) -> None:
    book = os.urandom(6 * 1024**2)
    store = remote(s3.url)
    assert store.get(store.put(book)) == book
    assert s3.verbs() == ["PUT", "GET"]


def test_the_region_is_found_out_once_or_given(s3: S3) -> None:
    asking, told = remote(s3.url), remote(s3.url, region="eu-somewhere-1")
    told.put(BOOK)
    assert [path for _, path in s3.requests if "location" in path] == []
    asking.put(BOOK)
    asking.get(ID)
    assert len([path for _, path in s3.requests if "location" in path]) == 1


def test_a_store_that_stumbles_is_asked_again(s3: S3) -> None:
    s3.faults = [stand_in.status(500, "InternalError"), stand_in.hang_up]
    store = remote(s3.url)
    assert store.put(BOOK) == ID
    assert s3.verbs() == ["PUT", "PUT", "PUT"]
    assert store.get(ID) == BOOK


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (stand_in.status(500, "InternalError"), "InternalError"),
        (stand_in.status(503, "SlowDown", **{"Retry-After": "3600"}), "SlowDown"),
        (stand_in.status(403, "AccessDenied"), "AccessDenied.*CROSSCUT_S3_SECRET"),
        (stand_in.status(403, "SignatureDoesNotMatch"), "SignatureDoesNotMatch.*CROSSCUT_S3_SECRET"),
        (stand_in.status(404, "NoSuchBucket"), f"no bucket '{BUCKET}'"),
        (stand_in.html_page, "not S3"),
        (stand_in.cut_short, "did not answer properly"),
        (stand_in.hang_up, "did not answer properly"),
    ],
    ids=["500", "503", "403", "signature", "bucket", "html", "cut", "hang up"],
)
def test_what_s3_refuses_or_breaks_is_a_clear_error(s3: S3, fault: stand_in.Fault, said: str) -> None:
    store = remote(s3.url)
    store.put(BOOK)
    s3.faults = [fault] * 3
    with pytest.raises(ServiceError, match=said) as caught:
        store.get(ID)
    assert s3.url in str(caught.value)
    assert not [word for word in (CANARY, KEY, SECRET) if word in str(caught.value)]


@pytest.mark.parametrize("act", ["put", "exists", "delete"])
@pytest.mark.parametrize(
    "fault", [stand_in.status(403, "AccessDenied"), stand_in.status(500, "InternalError")], ids=["403", "500"]
)
def test_no_failure_of_s3_passes_for_an_answer(s3: S3, act: str, fault: stand_in.Fault) -> None:
    store = remote(s3.url)
    s3.faults = [fault] * 3
    with pytest.raises(ServiceError):
        getattr(store, act)(BOOK if act == "put" else ID)
    assert s3.objects == {}


def test_a_wrong_key_is_turned_away(s3: S3) -> None:
    with pytest.raises(ServiceError, match="CROSSCUT_S3_KEY"):
        remote(s3.url, key="somebody-elses").put(BOOK)
    assert s3.objects == {}


def test_a_redirect_is_not_followed(s3: S3) -> None:
    with stand_in.s3() as stranger:
        away = f"{stranger.url}/{BUCKET}/blobs/{ID}"
        s3.faults = [stand_in.status(307, "TemporaryRedirect", Location=away)]
        with pytest.raises(ServiceError, match="TemporaryRedirect"):
            remote(s3.url).put(BOOK)
        assert stranger.requests == []


def test_a_store_that_is_not_there_is_named() -> None:
    with stand_in.s3() as gone:
        store = remote(gone.url)
    with pytest.raises(ServiceError, match=gone.url):
        store.put(BOOK)


def test_half_an_s3_store_is_refused() -> None:
    with pytest.raises(SettingsError, match="CROSSCUT_S3_BUCKET"):
        remote("http://127.0.0.1:1", bucket=None)

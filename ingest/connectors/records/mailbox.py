"""The connector of mailboxes (IMAP4rev1, RFC 3501): each mail of the chosen folders by its UID."""

import imaplib
import json
import ssl
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from django.utils.translation import gettext as _
from imapclient import IMAPClient
from imapclient.exceptions import IMAPClientError, LoginError

from ingest.connectors.errors import WRONG_CREDENTIALS, ListingFailed, SourceAway
from ingest.connectors.records.requests import ReaderSettings, check_host, pause
from ingest.connectors.records.wire import CompleteRecord, CursorRecord, DocumentRecord, Record
from ingest.errors import AddressNotAllowed
from kebab.http_client.connections import AddressRefused, RequestFailed, connect_permitted
from kebab.sandbox.program import report_progress

_PORTS: Final = {"imap": 143, "imaps": 993}
_CONNECT_LIMIT_S: Final = 10.0
# Of silence.
_LIMIT_S: Final = 30.0
# Of one step, as a multiple of the limit of an HTTP request.
_STEP_REQUESTS: Final = 5
# UIDs that one search may find: a line of an answer has a limit.
_RANGE: Final = 10_000
_SIZES: Final = 1_000
_LEFT_OUT: Final = frozenset({b"\\noselect", b"\\nonexistent", b"\\all", b"\\flagged"})
# Folders that are left out with those in them.
_UNWANTED: Final = frozenset({b"\\junk", b"\\trash", b"\\drafts"})
# Their names in mail programs: not every server sets flags (RFC 6154), and programs add folders.
_UNWANTED_WORDS: Final = (
    "trash, bin, deleted, deleted items, deleted messages, wastebasket, papierkorb, gelöscht,"
    " gelöschte elemente, gelöschte objekte, gelöschte nachrichten, corbeille, poubelle,"
    " éléments supprimés, messages supprimés, papelera, elementos eliminados, elementos borrados,"
    " mensajes eliminados, cestino, posta eliminata, elementi eliminati, messaggi eliminati, lixeira,"
    " lixo, itens excluídos, itens eliminados, mensagens excluídas, mensagens eliminadas, prullenbak,"
    " prullenmand, verwijderde items, verwijderde berichten, papirkurv, slettet post,"
    " slettede elementer, papperskorg, papperskorgen, borttagna objekt, roskakori, poistetut, kosz,"
    " elementy usunięte, koš, odstraněná pošta, odstraněné položky, törölt elemek, coș de gunoi,"
    " elemente șterse, çöp kutusu, silinmiş öğeler, корзина, удаленные, удалённые, кошик, видалені,"
    " κάδος απορριμμάτων, διαγραμμένα, אשפה, المهملات, ゴミ箱, ごみ箱, 削除済みアイテム, 已删除邮件,"
    " 已删除, 废纸篓, 垃圾桶, 휴지통, junk, junk email, junk e-mail, junk mail, spam, bulk, bulk mail,"
    " spamverdacht, unerwünscht, courrier indésirable, indésirables, pourriel, correo no deseado,"
    " posta indesiderata, indesiderata, lixo eletrônico, lixo eletrónico, ongewenste e-mail,"
    " ongewenst, uønsket e-post, uønsket mail, søppelpost, skräppost, roskaposti, wiadomości-śmieci,"
    " niechciane, nevyžádaná pošta, levélszemét, önemsiz e-posta, istenmeyen, спам,"
    " нежелательная почта, ανεπιθύμητα, דואר זבל, 迷惑メール, 垃圾邮件, 垃圾郵件, 스팸, 정크 메일,"
    " drafts, draft, entwürfe, entwurf, brouillons, borradores, bozze, rascunhos, concepten, kladder,"
    " utkast, luonnokset, kopie robocze, wersje robocze, koncepty, piszkozatok, ciorne, taslaklar,"
    " черновики, чернетки, πρόχειρα, טיוטות, مسودات, 下書き, 草稿, 草稿箱, 임시 보관함, 초안"
)
_UNWANTED_NAMES: Final = frozenset(name.strip().casefold() for name in _UNWANTED_WORDS.split(","))
# What servers put all of a person's folders in.
_ROOTS: Final = frozenset({"inbox", "[gmail]", "[google mail]"})
_STATUS: Final = (b"UIDVALIDITY", b"UIDNEXT", b"MESSAGES")
# Lines that answer a step: more than the folders of a mailbox, or than the mails that one step lists.
_MAX_LINES: Final = 100_000
_MAX_LINE_BYTES: Final = 1_000_000
_PIECE_BYTES: Final = 65_536

_T = TypeVar("_T")


def check_mailbox(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config with its `url` in normal form. Raises AddressNotAllowed."""
    scheme, host, port = _parse_url(config["url"])
    check_host(host, port)
    shown = f"[{host}]" if ":" in host else host
    return {**config, "url": f"{scheme}://{shown}:{port}"}


class MailboxReader:
    """A reader of the mails of a mailbox; its cursor is the status of each folder."""

    def __init__(self, settings: ReaderSettings) -> None:
        self._scheme, self._host, self._port = _parse_url(settings.config["url"])
        self._folders: Sequence[str] = settings.config.get("folders", ())
        self._credentials = settings.credentials
        self._settings = settings
        self._limits = settings.limits
        self._client: Any = None
        self._failed_in_a_row = 0

    def records(self, cursor: str) -> Iterator[Record]:
        """Yield all mails, unless the folders are as they were. Raises ListingFailed, SourceAway."""
        folders = self._run(_list_folders) if not self._folders else [(name, name) for name in self._folders]
        state = {name: self._status(name) for name, _ in folders}
        if json.dumps(state) == cursor:
            return
        for name, path in folders:
            yield from self._list_folder(name, path, state[name])
        yield CompleteRecord()
        yield CursorRecord(state=json.dumps(state))

    def fetch(self, path: str, locator: str, limit_bytes: int) -> bytes:
        """Return a mail. Raises FileNotFoundError, OSError, SourceAway."""
        folder, uid = json.loads(locator)

        def read(client: Any) -> Any:
            client.examine(folder)
            return client.fetch([uid], [b"BODY.PEEK[]"])

        try:
            found = self._run(read, literal_bytes=limit_bytes)
        except ListingFailed as error:
            self._failed_in_a_row += 1
            if self._failed_in_a_row < self._limits.broken_in_a_row and self._still_answers():
                raise OSError(str(error)) from error
            raise SourceAway(str(error)) from error
        self._failed_in_a_row = 0
        content = found.get(uid, {}).get(b"BODY[]")
        if content is None:
            raise FileNotFoundError(path)
        return bytes(content)

    def close(self) -> None:
        """Close the connection."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(IMAPClientError, OSError):
                client.shutdown()

    def _still_answers(self) -> bool:
        """Return whether the server answers another command, on a new connection if it ended the last one."""
        try:
            self._client = self._client or self._connect()
            self._client.start_step(_MAX_LINE_BYTES)
            self._client.noop()
        except (imaplib.IMAP4.error, OSError, RequestFailed, ListingFailed):
            self.close()
            return False
        return True

    def _status(self, folder: str) -> list[int]:
        found = self._run(lambda client: client.folder_status(folder, _STATUS))
        return [int(found.get(name, 0)) for name in _STATUS]

    def _list_folder(self, folder: str, path: str, status: Sequence[int]) -> Iterator[Record]:
        validity, next_uid, _ = status
        for first in range(1, next_uid or 2, _RANGE):
            last = first + _RANGE - 1 if next_uid else "*"
            uids = self._run(partial(_search, folder=folder, uids=f"{first}:{last}"))
            for start in range(0, len(uids), _SIZES):
                some = uids[start : start + _SIZES]
                sizes = self._run(partial(_fetch_sizes, folder=folder, uids=some))
                for uid, found in sorted(sizes.items()):
                    yield DocumentRecord(
                        path=f"{path}/{uid}.eml",
                        version=f"{validity}/{uid}",
                        locator=json.dumps([folder, uid]),
                        size_bytes=found.get(b"RFC822.SIZE"),
                    )

    def _run(self, step: Callable[[Any], _T], *, literal_bytes: int = _MAX_LINE_BYTES) -> _T:
        """Return the result of a step, after retries on new connections. Raises ListingFailed, SourceAway."""
        for pause_s in (*self._limits.pauses_s, None):
            try:
                self._client = self._client or self._connect()
                self._client.start_step(literal_bytes)
                return step(self._client)
            except (imaplib.IMAP4.abort, OSError, RequestFailed) as error:
                self.close()
                if pause_s is None or isinstance(error, AddressRefused):
                    reason = str(error) if isinstance(error, RequestFailed) else "does not answer any more"
                    raise SourceAway(f"{self._host} {reason}.") from error
                pause(pause_s)
            except IMAPClientError as error:
                raise ListingFailed(f"{self._host} says: {str(error)[:200]}.") from error
            except ListingFailed:
                self.close()  # the rest of the answer may be on its way
                raise
        raise AssertionError

    def _connect(self) -> Any:
        client = _Client(self._host, self._port, ssl=self._scheme == "imaps", settings=self._settings)
        try:
            if self._scheme == "imap" and client.has_capability("STARTTLS"):
                client.starttls(ssl.create_default_context())
            elif self._scheme == "imap" and self._host not in self._settings.private_hosts:
                raise ListingFailed(f"{self._host} offers no encryption; give an imaps:// address.")
            username, password = self._credentials["username"], self._credentials["password"]
            # LOGIN takes ASCII alone (RFC 3501, section 6.2.3); PLAIN takes UTF-8 (RFC 4616).
            login = client.login if (username + password).isascii() else client.plain_login
            login(username, password)
        except LoginError as error:
            client.shutdown()
            if isinstance(error.__context__, imaplib.IMAP4.abort):
                raise error.__context__ from None
            raise ListingFailed(WRONG_CREDENTIALS % {"host": self._host, "remark": ""}) from error
        except BaseException:
            client.shutdown()
            raise
        return client


class _Client(IMAPClient):
    """A client that connects to permitted addresses only, and opens a folder once for many mails."""

    def __init__(self, host: str, port: int, *, ssl: bool, settings: ReaderSettings) -> None:
        self._settings = settings
        self._examined = ""
        super().__init__(host, port, ssl=ssl, timeout=_LIMIT_S)

    def examine(self, folder: str) -> None:
        """Open the folder to read, unless it is open."""
        if folder != self._examined:
            self._examined = ""
            self.select_folder(folder, readonly=True)
            self._examined = folder

    def start_step(self, literal_bytes: int) -> None:
        """Start the limits of a step, whose answers hold texts of at most `literal_bytes`."""
        self._imap.start_step(literal_bytes)

    def _create_IMAP4(self) -> Any:
        return _Connection(self.host, self.port, is_tls=self.ssl, settings=self._settings)


class _Connection(imaplib.IMAP4):
    """A connection to a permitted address, whose answers have limits of bytes, lines and time.

    What it raises for them, beside OSError for a limit of time, is an error that no retry mends.
    """

    def __init__(self, host: str, port: int, *, is_tls: bool, settings: ReaderSettings) -> None:
        self._is_tls = is_tls
        self._settings = settings
        self._buffer = bytearray()
        self._buffered_from: Any = None
        self.start_step(_MAX_LINE_BYTES)
        super().__init__(host, port)

    def start_step(self, literal_bytes: int) -> None:
        """Start the limits of a step."""
        self._settings.budget.spend(self._settings.limits.bytes_per_request)
        self._literal_bytes = literal_bytes
        self._lines = 0
        self._ends_at = time.monotonic() + _STEP_REQUESTS * self._settings.limits.request_s

    def _create_socket(self, timeout: float | None) -> Any:
        plain = connect_permitted(
            self.host, self.port, self._settings.private_hosts, timeout_s=_CONNECT_LIMIT_S
        )
        if not self._is_tls:
            return plain
        return ssl.create_default_context().wrap_socket(plain, server_hostname=self.host)

    def read(self, size: int) -> bytes:
        """Read a literal. Raises ListingFailed for one that is too long, OSError."""
        if size > self._literal_bytes:
            raise ListingFailed(f"{self.host} announces {size:,} bytes; {self._literal_bytes:,} are read.")
        while len(self._received) < size and self._receive():
            pass
        return self._take(size)

    def readline(self) -> bytes:
        """Read a line. Raises ListingFailed for one too many or too long, OSError."""
        self._lines += 1
        if self._lines > _MAX_LINES:
            raise ListingFailed(f"{self.host} answers a command with more than {_MAX_LINES:,} lines.")
        start = 0
        while (end := self._received.find(b"\n", start)) < 0:
            start = len(self._received)
            if start > _MAX_LINE_BYTES:
                raise ListingFailed(f"{self.host} answers a line of more than {_MAX_LINE_BYTES:,} bytes.")
            if not self._receive():
                return self._take(start)
        return self._take(end + 1)

    @property
    def _received(self) -> bytearray:
        """Return what was received and not taken yet, through encryption if there is one by now."""
        if self.sock is not self._buffered_from:
            self._buffer, self._buffered_from = bytearray(), self.sock
        return self._buffer

    def _take(self, size: int) -> bytes:
        taken = bytes(self._received[:size])
        del self._received[:size]
        return taken

    def _receive(self) -> bool:
        """Add what comes next to what was received; return False at the end of the connection."""
        left_s = self._ends_at - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("the time for the step is over")
        self.sock.settimeout(min(left_s, _LIMIT_S))
        piece = self.sock.recv(_PIECE_BYTES)
        self._settings.budget.spend(len(piece))
        report_progress()
        self._received.extend(piece)
        return bool(piece)


def _parse_url(url: str) -> tuple[str, str, int]:
    """Return scheme, host and port. Raises AddressNotAllowed."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        port = 0
    if not port or not parts.hostname or parts.username is not None or parts.path.strip("/"):
        # The message does not repeat the address, which may contain a password.
        raise AddressNotAllowed(
            _("Enter an address that starts with imaps://, without user name and password.")
        )
    return parts.scheme, parts.hostname, port


def _list_folders(client: Any) -> list[tuple[str, str]]:
    """Return the names of the folders to read, and the folders of their documents."""
    folders = [
        ({flag.lower() for flag in flags}, tuple(name.split((delimiter or b"/").decode())), name)
        for flags, delimiter, name in client.list_folders()
    ]
    unwanted = {parts for flags, parts, _ in folders if flags & _UNWANTED or _is_unwanted_name(parts)}
    return [
        (name, "/".join(part.replace("/", "_") for part in parts))
        for flags, parts, name in folders
        if not flags & _LEFT_OUT and unwanted.isdisjoint(parts[:n] for n in range(1, len(parts) + 1))
    ]


def _is_unwanted_name(parts: Sequence[str]) -> bool:
    """Return whether a folder at the top of a mailbox has the name of one for drafts, junk or trash."""
    below = parts[1:] if parts[0].casefold() in _ROOTS else parts
    return len(below) == 1 and unicodedata.normalize("NFC", below[0]).casefold() in _UNWANTED_NAMES


def _search(client: Any, folder: str, uids: str) -> list[int]:
    client.examine(folder)
    return sorted(client.search([b"UID", uids.encode()]))


def _fetch_sizes(client: Any, folder: str, uids: Sequence[int]) -> Mapping[int, Mapping[bytes, Any]]:
    client.examine(folder)
    found: Mapping[int, Mapping[bytes, Any]] = client.fetch(uids, [b"RFC822.SIZE"])
    return found

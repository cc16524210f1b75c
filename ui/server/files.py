"""The route of the files that pages offer: given to the browser and the person that each was offered to."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from functools import partial
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from crag.core.errors import AccessError, CragError, NotFoundError
from ui.access import browser, oidc, workspace_entry
from ui.access.current import Presence
from ui.app.program import program
from ui.components import downloads
from ui.components.downloads import Offer
from ui.server.signing import somebody

_PRIVATE = {"cache-control": "private, no-store"}
_NONE = "There is no such file, or it is not yours: open the page that offers it again."


async def serve(request: Request, *, owned: bool) -> Response:
    """The file at this address, made now. `owned`: each is given to one browser and person alone."""
    found = downloads.offer(request.path_params["token"])
    if found is None:
        return _refuse(404, _NONE)
    try:
        made = await run_in_threadpool(found.tab.do, partial(_make, found, request.cookies, owned))
    except NotFoundError:
        return _refuse(404, _NONE)
    except AccessError as error:
        return _refuse(403, str(error))
    except CragError as error:
        return _refuse(503, str(error))
    name = f"attachment; filename*=UTF-8''{quote(found.name, safe='')}"
    return Response(made, media_type=found.mime, headers={**_PRIVATE, "content-disposition": name})


def _make(found: Offer, cookies: Mapping[str, str], owned: bool) -> str | bytes:
    """In the tab that offers the file. Raises NotFoundError for others, AccessError for who may no longer be here."""
    if owned and not _theirs(cookies):
        raise NotFoundError("This file belongs to somebody else.", "Open your own page.")
    if Presence(program()).workspace != found.workspace:
        raise AccessError("This page shows another workspace now.", "Open the page that offers the file again.")
    return found.make()


def _theirs(cookies: Mapping[str, str]) -> bool:
    """Whether these cookies are of the browser, and where people sign in of the person, whose tab this is."""
    own = browser.of_tab()
    if not own or not secrets.compare_digest(cookies.get(browser.COOKIE, ""), own):
        return False
    person, _ = workspace_entry.as_whom()
    if not person or not oidc.on():  # where another program says who is there, no cookie of ours says it again
        return True
    there = somebody(cookies)
    return there is not None and there.id == person


def _refuse(status: int, line: str) -> Response:
    return PlainTextResponse(line + "\n", status, _PRIVATE)

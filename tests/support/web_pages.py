"""Web pages for tests of documents from the web: an article of any text, and a server of pages that can be changed."""

from dataclasses import replace

from tests.support.web_server import Reply, Request

BRIDGE = (
    "The bridge over the river Veldt was opened in 1890. It is four hundred metres long and carries two tracks.",
    "A ferry crossed the river before. It ran every hour, and in winter it did not run at all for many weeks.",
)


def article(*paragraphs: str, title: str = "The bridge", head: str = "") -> bytes:
    """A page with navigation around its text, as pages are."""
    text = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs or BRIDGE)
    return (
        f"<!doctype html><html><head><title>{title}</title>{head}</head><body><nav><a href='/'>Home</a></nav>"
        f"<main><article><h1>{title}</h1>{text}</article></main><footer>Imprint</footer></body></html>"
    ).encode()


class Site:
    """Pages by path, changed as a test goes on. Of a page with an ETag, a client that has it is told so (304)."""

    def __init__(self, **pages: Reply) -> None:
        self.pages = {f"/{name}": reply for name, reply in pages.items()}

    def __call__(self, request: Request) -> Reply:
        found = self.pages.get(request.path, Reply(status=404))
        etag = found.headers.get("ETag")
        if etag and request.headers.get("If-None-Match") == etag:
            return replace(found, status=304, body=b"")
        return found

"""HTML as a browser would take it apart."""

from html.parser import HTMLParser


class Inspector(HTMLParser):
    """Collects tags, attributes and text; a hostile value shows up as an unexpected tag or handler."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.said = ""
        self.feed(str(html))

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("br", "meta", "img", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes nothing: {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        self.said += data

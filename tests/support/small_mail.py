"""Small e-mails as different programs write them."""

from base64 import b64encode
from email.message import EmailMessage
from email.policy import SMTP


def lines(*each: str) -> bytes:
    """The lines of a message as it travels."""
    return "\r\n".join(each).encode("latin-1")


def outlook_like() -> bytes:
    """A reply as Outlook writes it: HTML, a table, and the earlier mail below a header in the text."""
    page = (
        '<html><head><meta http-equiv="Content-Type" content="text/html; charset=Windows-1252"></head><body>'
        '<p class="MsoNormal">Hi Piet,</p><p class="MsoNormal">the new crane lifts 42 tonnes.</p>'
        "<table><tr><th>Berth</th><th>Depth</th></tr><tr><td>North</td><td>9.5 m</td></tr>"
        "<tr><td>South</td><td>7.2 m</td></tr></table>"
        '<div><div style="border:none;border-top:solid #E1E1E1 1.0pt"><p class="MsoNormal"><b>From:</b> Piet Vos '
        "&lt;piet@example.org&gt;<br><b>Sent:</b> Monday, March 4, 2024 8:15 AM<br><b>To:</b> Ana Ruiz<br>"
        "<b>Subject:</b> Crane</p></div></div><p>The old crane lifted 30 tonnes.</p></body></html>"
    )
    return lines(
        "Received: from mail.example.org by mx.example.org; Tue, 5 Mar 2024 10:00:00 +0000",
        "From: Ana Ruiz <ana@example.org>",
        "To: Piet Vos <piet@example.org>",
        "Cc: Harbour Office <office@example.org>",
        "Subject: RE: Crane",
        "Date: Tue, 5 Mar 2024 10:00:00 +0000",
        "MIME-Version: 1.0",
        'Content-Type: multipart/alternative; boundary="a"',
        "",
        "--a",
        "Content-Type: text/plain; charset=windows-1252",
        "",
        "The plain form.",
        "--a",
        "Content-Type: text/html; charset=windows-1252",
        "Content-Transfer-Encoding: base64",
        "",
        b64encode(page.encode("cp1252")).decode(),
        "--a--",
    )


def apple_like() -> bytes:
    """A mail as Apple Mail writes it: text, a file amid it, more text, and a logo that the text shows."""
    return lines(
        "From: Yuki Abe <yuki@example.org>",
        "To: crew@example.org",
        "Subject: Tide table",
        "Date: Fri, 1 Nov 2024 07:05:00 +0900",
        "Mime-Version: 1.0 (Mac OS X Mail 16.0)",
        'Content-Type: multipart/mixed; boundary="m"',
        "",
        "--m",
        "Content-Type: text/plain; charset=us-ascii; format=flowed",
        "",
        "High water is at 06:40 and the ferry leaves half ",
        "an hour later.",
        "--m",
        'Content-Disposition: inline; filename="tides.csv"',
        'Content-Type: text/csv; name="tides.csv"',
        "Content-Transfer-Encoding: base64",
        "",
        b64encode(b"Port,High water\nHull,06:40\nWhitby,05:55\n").decode(),
        "--m",
        'Content-Type: multipart/related; boundary="r"',
        "",
        "--r",
        "Content-Type: text/html; charset=utf-8",
        "",
        '<p>The gangway opens at 06:30.</p><img src="cid:logo">'
        '<blockquote type="cite"><div>On 30 Oct 2024, Olaf wrote:</div><p>When does the gangway open? Last year it was '
        "05:50.</p></blockquote><p>See you on board.</p>",
        "--r",
        "Content-Type: image/png",
        "Content-ID: <logo>",
        "Content-Disposition: inline; filename=logo.png",
        "Content-Transfer-Encoding: base64",
        "",
        b64encode(b"\x89PNG\r\n\x1a\n" + bytes(40)).decode(),
        "--r--",
        "--m--",
    )


def german_reply() -> bytes:
    """A reply between the lines of what it quotes, in ISO 8859-1 as quoted-printable."""
    return lines(
        "From: =?iso-8859-1?Q?J=F6rg_Wei=DF?= <joerg@example.org>",
        "To: lena@example.org",
        "Subject: =?iso-8859-1?Q?Re:_Schl=FCssel?=",
        "Date: Mon, 2 Sep 2024 16:20:00 +0200",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=iso-8859-1",
        "Content-Transfer-Encoding: quoted-printable",
        "",
        "Am 1. September 2024 um 09:00 schrieb Lena Vogt:",
        "",
        "> Wer hat den Schl=FCssel?",
        "",
        "Frau M=FCller hat ihn.",
        "",
        "> Und wo steht der Wagen?",
        "",
        "Der Wagen steht in Halle 4.",
    )


def wide_text() -> bytes:
    """A text in UTF-16, as base64."""
    text = "Ключ лежит в шкафу номер 17."
    return lines(
        "From: =?utf-8?B?0J7Qu9GM0LPQsA==?= <olga@example.org>",
        "To: ivan@example.org",
        "Subject: =?utf-16?B?//4aBDsETgRHBA==?=",
        "Date: Thu, 6 Jun 2024 12:00:00 +0300",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=utf-16",
        "Content-Transfer-Encoding: base64",
        "",
        b64encode(text.encode("utf-16")).decode(),
    )


def forwarding(levels: int) -> bytes:
    """An e-mail in an e-mail, to this depth."""
    message = EmailMessage(policy=SMTP)
    message["From"], message["To"] = f"level{levels}@example.org", "reader@example.org"
    message["Subject"] = f"Level {levels}"
    message["Date"] = "Wed, 1 May 2024 08:00:00 +0000"
    message.set_content(f"The word of level {levels} is word{levels}x.")
    if levels > 1:
        inner = EmailMessage(policy=SMTP)
        from email import message_from_bytes, policy

        inner = message_from_bytes(forwarding(levels - 1), policy=policy.SMTP)
        message.add_attachment(inner)
    return message.as_bytes()


def with_files(*files: tuple[str, bytes], subject: str = "Papers") -> bytes:
    """A mail with files attached to it."""
    message = EmailMessage(policy=SMTP)
    message["From"], message["To"], message["Subject"] = "sam@example.org", "all@example.org", subject
    message["Date"] = "Wed, 1 May 2024 08:00:00 +0000"
    message.set_content("The papers are attached.")
    for name, data in files:
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return message.as_bytes()

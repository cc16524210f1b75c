"""Small e-mails, built for what is in them."""

from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP


def lines(*each: str) -> bytes:
    """The lines of a message as it travels."""
    return "\r\n".join(each).encode("latin-1")


def forwarding(levels: int) -> bytes:
    """An e-mail in an e-mail, to this depth."""
    message = EmailMessage(policy=SMTP)
    message["From"], message["To"] = f"level{levels}@example.org", "reader@example.org"
    message["Subject"] = f"Level {levels}"
    message["Date"] = "Wed, 1 May 2024 08:00:00 +0000"
    message.set_content(f"The word of level {levels} is word{levels}x.")
    if levels > 1:
        message.add_attachment(message_from_bytes(forwarding(levels - 1), policy=SMTP))
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

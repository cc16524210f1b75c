"""People: who they are by a token's claims, what they may do by settings, groups and admins, and who is shut out."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from crag.admin.audit import AuditLog
from crag.admin.people import Identity, People
from crag.admin.store import open_store
from crag.core.config import PeopleSettings
from crag.core.errors import AccessError, InputError, NotFoundError

ISSUER = "http://provider.example"


def of(data: Path, **settings: Any) -> People:
    store = open_store(data)
    return People(store, AuditLog(store), lambda: PeopleSettings(**settings))


def claims(subject: str, **more: Any) -> dict[str, Any]:
    return {
        "iss": ISSUER,
        "sub": subject,
        "email": f"{subject}@example.org",
        "email_verified": True,
        "name": subject.capitalize(),
        **more,
    }


def who(subject: str, **more: Any) -> Identity:
    return Identity.of(claims(subject, **more))


def test_who_signs_in_first_is_what_the_settings_say(tmp_path: Path) -> None:
    people = of(tmp_path, admins="ada@example.org, sub-7", editors_group="writers", admins_group="chiefs")
    roles = {
        "ada": people.admit(who("ada")).role,
        "sub-7": people.admit(who("sub-7", email="other@example.org")).role,
        "eve": people.admit(who("eve", groups=["writers", "x"])).role,
        "carl": people.admit(who("carl", groups="chiefs")).role,
        "ben": people.admit(who("ben")).role,
    }
    assert roles == {"ada": "admin", "sub-7": "admin", "eve": "editor", "carl": "admin", "ben": "viewer"}
    assert next(each.email for each in people.all()) == "ada@example.org"


@pytest.mark.parametrize("said", [{"email_verified": each} for each in (False, "false", 0, None, "", "no", [])] + [{}])
def test_an_unverified_e_mail_makes_nobody_admin_and_takes_nobody_s_invitation(tmp_path: Path, said: Any) -> None:
    people = of(tmp_path, admins="ada@example.org", new_people="none")
    people.invite("ben@example.org", "editor", by="owner")
    for subject in ("ada", "ben"):
        with pytest.raises(AccessError, match=f"does not confirm that {subject}@example.org is your") as refused:
            people.admit(Identity.of(unsaid(subject, **said)))
        assert "ask your administrator" in refused.value.remedy
    assert people.admit(who("ben", email_verified=True)).role == "editor"


def unsaid(subject: str, **more: Any) -> dict[str, Any]:
    """Claims that say nothing of whether the e-mail is verified, as Entra's and Okta's do."""
    said = claims(subject)
    del said["email_verified"]
    return {**said, **more}


def test_an_absent_claim_counts_where_the_provider_s_e_mails_are_trusted() -> None:
    assert (Identity.of(unsaid("ada")).email, Identity.of(unsaid("ada")).unverified) == ("", "ada@example.org")
    assert Identity.of(unsaid("ada"), trust_email=True).email == "ada@example.org"
    assert Identity.of(claims("ada", email_verified=False), trust_email=True).email == "", "a no stays a no"
    entra = unsaid("ada", xms_edov=True)
    assert Identity.of(entra, email_claim="xms_edov").email == "ada@example.org"
    assert Identity.of({**entra, "xms_edov": "1"}, email_claim="xms_edov").email == "ada@example.org"
    assert Identity.of({**entra, "xms_edov": False, "email_verified": True}, email_claim="xms_edov").email == ""


def test_an_e_mail_that_no_longer_counts_is_asked_for_again_and_gives_nothing_then(tmp_path: Path) -> None:
    """A sign-in from before the rule changed: its person was admitted by an e-mail that gives nothing today."""
    people = of(tmp_path, admins="ada@example.org")
    assert people.admit(Identity.of(unsaid("ada"), trust_email=True)).role == "admin"
    with pytest.raises(AccessError, match="no longer confirms"):
        people.admit(Identity.of(unsaid("ada")), new_sign_in=False)
    came = people.admit(Identity.of(unsaid("ada")))
    assert (came.role, came.email) == ("viewer", "")


def test_a_subject_that_looks_like_an_admin_s_e_mail_is_no_e_mail(tmp_path: Path) -> None:
    people = of(tmp_path, admins="ada@example.org, sub-7")
    assert people.admit(who("ada@example.org", email="eve@example.org")).role == "viewer"
    assert people.admit(who("sub-7", email="x@example.org")).source == "CRAG_ADMINS"


def test_an_invitation_becomes_the_person_who_signs_in_with_its_e_mail(tmp_path: Path) -> None:
    people = of(tmp_path, new_people="none")
    invited = people.invite(" Ben@Example.org ", "editor", by="ada@example.org")
    assert (invited.standing, invited.email) == ("invited", "ben@example.org")
    with pytest.raises(InputError, match="already"):
        people.invite("ben@example.org", "viewer", by="ada@example.org")
    came = people.admit(who("ben"))
    assert (came.id, came.role, came.standing) == (invited.id, "editor", "here")
    # the same e-mail at another provider is not the same person
    with pytest.raises(AccessError):
        people.admit(Identity(issuer="http://elsewhere.example", subject="ben", email="ben@example.org"))


def test_who_was_removed_stays_out_until_invited_again(tmp_path: Path) -> None:
    people = of(tmp_path, admins="ben@example.org, ada@example.org")
    people.admit(who("ada"))
    ben = people.admit(who("ben"))
    people.remove(ben.id, by="ada@example.org")
    with pytest.raises(AccessError, match="removed"):
        people.admit(who("ben"))
    found = people.of(ISSUER, "ben")
    assert found is not None and found.standing == "removed"
    people.invite("ben@example.org", "viewer", by="ada@example.org")
    assert people.admit(who("ben")).id == ben.id


def test_the_last_admin_stays_whoever_acts_at_once(tmp_path: Path) -> None:
    people = of(tmp_path)
    ids = [people.admit(who(name)).id for name in ("ada", "ben")]
    for id in ids:
        people.change_role(id, "admin", by="command line")

    def remove(id: str) -> str:
        try:
            people.remove(id, by="the other")
        except InputError as error:
            return error.message
        return "removed"

    with ThreadPoolExecutor(2) as pool:
        said = sorted(pool.map(remove, ids))
    assert "removed" in said and any("last admin" in each for each in said)
    [left] = [each for each in people.all() if each.standing == "here"]
    with pytest.raises(InputError, match="last admin"):
        people.change_role(left.id, "viewer", by="me")


def test_a_role_that_settings_or_a_group_give_is_not_lowered_here(tmp_path: Path) -> None:
    people = of(tmp_path, admins="ada@example.org", editors_group="writers")
    ada, eve = people.admit(who("ada")), people.admit(who("eve", groups=["writers"]))
    for person, role in ((ada, "viewer"), (eve, "viewer")):
        with pytest.raises(InputError, match="by the program's settings \\("):
            people.change_role(person.id, role, by="x")  # type: ignore[arg-type]
    assert people.change_role(eve.id, "admin", by="x").role == "admin"


def test_of_two_who_change_one_role_at_once_the_second_is_told_what_it_is_now(tmp_path: Path) -> None:
    people = of(tmp_path)
    ben, eve = people.admit(who("ben")), people.admit(who("eve"))
    people.change_role(eve.id, "admin", by="x")  # Ben may be an admin next, and is not the last one

    def change(role: Any) -> str:
        try:
            return people.change_role(ben.id, role, by="an admin", was=ben.role).role
        except InputError as error:
            return f"{error.message} {error.remedy}"

    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(change, ("editor", "admin")))
    now = people.get(ben.id).role
    assert now in said and now in ("editor", "admin")
    [told] = [each for each in said if each != now]
    assert f"is {now} by now" in told and "Nothing was overwritten" in told
    assert people.change_role(ben.id, "viewer", by="an admin", was=now).role == "viewer"


def test_an_older_sign_in_does_not_bring_back_a_group_that_a_later_one_lacks(tmp_path: Path) -> None:
    """Two browsers: the one that signed in first goes on, with the claims of its day in its cookie."""
    people = of(tmp_path, editors_group="writers")
    before = who("eve", groups=["writers"])
    assert people.admit(before).role == "editor"
    assert people.admit(who("eve", groups=[])).role == "viewer"
    assert people.admit(before, new_sign_in=False).role == "viewer" and people.get("eve@example.org").groups == ()
    assert people.admit(before).role == "editor", "a sign-in that is new counts whatever was said before"


def test_a_sign_in_that_nobody_noted_can_be_ended_and_that_is_noted_once(tmp_path: Path) -> None:
    people = of(tmp_path)
    for _ in range(2):
        people.sign_out("f" * 64, "2999-01-01T00:00:00.000+00:00", by="ben@example.org")
    assert people.signed_out("f" * 64) is True
    assert [each.act for each in AuditLog(open_store(tmp_path)).entries()] == ["sign-out"]
    people.note_sign_in("e" * 64, "2999-01-01T00:00:00.000+00:00", by="ben@example.org")
    people.sign_out("e" * 64, "2999-01-01T00:00:00.000+00:00", by="ben@example.org")
    assert people.signed_out("e" * 64) is True


def test_who_leaves_the_group_that_let_them_in_is_out_everywhere(tmp_path: Path) -> None:
    people = of(tmp_path, editors_group="writers", new_people="none")
    eve = people.admit(who("eve", groups=["writers"]))
    assert eve.role == "editor"
    with pytest.raises(AccessError, match="not invited"):
        people.admit(who("eve", groups=[]))
    assert people.get(eve.id).role == "reader"  # what was said is stored although she was refused


def test_claims_of_any_kind_make_bounded_lines_or_nothing(tmp_path: Path) -> None:
    odd = Identity.of(claims("x", name="a\nb\x00" + "c" * 999, email=["x"], groups={"writers": 1}))
    assert (odd.email, odd.groups, len(odd.name)) == ("", (), 200) and "\n" not in odd.name
    assert Identity.of(claims("x", roles=["b", 7, "a", "a"]), "roles").groups == ("a", "b")
    for nobody in ({}, {"iss": ISSUER}, {"iss": ISSUER, "sub": ""}, {"iss": ISSUER, "sub": 7}):
        with pytest.raises(AccessError):
            Identity.of(nobody)


def test_each_change_is_in_the_audit_log_with_who_did_it(tmp_path: Path) -> None:
    people = of(tmp_path)
    ben = people.invite("ben@example.org", "viewer", by="ada@example.org")
    people.change_role("ben@example.org", "editor", by="ada@example.org")
    people.remove(ben.id, by="command line")
    with pytest.raises(NotFoundError):
        people.remove(ben.id, by="command line")
    noted = [(each.act, each.who, each.what) for each in AuditLog(open_store(tmp_path)).entries()]
    assert noted == [
        ("remove", "command line", "ben@example.org"),
        ("role", "ada@example.org", "ben@example.org"),
        ("role", "ada@example.org", "ben@example.org"),
    ]
    with pytest.raises(InputError, match="no role"):
        people.invite("c@example.org", "reader", by="x")

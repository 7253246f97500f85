"""Realistic users: made by Faker in many locales, with every member of the record.

Each user is a function of its number and the seed, so a run can be repeated and split into parts.
Names have accents, other scripts, right-to-left text, emoji, and sometimes a decomposed form (NFD).
Addresses have line breaks, and `attributes` have nested JSON. Every user is valid: a rejection is a
fault of the service or of this file, never an expected response.
"""

import base64
import json
import multiprocessing
import random
import unicodedata
from functools import lru_cache

from faker import Faker
from faker.config import AVAILABLE_LOCALES
from faker.providers.date_time import Provider as DateTimeProvider

LOCALES = (
    "en_US en_GB en_IN de_DE de_AT fr_FR fr_CA es_ES es_MX pt_BR pt_PT it_IT nl_NL sv_SE no_NO "
    "da_DK fi_FI et_EE lt_LT lv_LV pl_PL cs_CZ sk_SK sl_SI hr_HR hu_HU ro_RO bg_BG ru_RU uk_UA "
    "el_GR tr_TR az_AZ ka_GE hy_AM he_IL ar_SA fa_IR hi_IN ne_NP bn_BD ta_IN th_TH vi_VN zh_CN "
    "zh_TW ja_JP ko_KR"
).split()
EMOJI = "🚀 🌻 👩🏽‍💻 🇺🇳 ☕️ 🏳️‍🌈 🐙 1️⃣".split()
DOMAINS = (
    "example.com example.org mail.example.net bücher.example 例え.example пример.example"
).split()
ZONES = sorted({zone for country in DateTimeProvider.countries for zone in country.timezones})
TYPES = ("work", "home", "other")


@lru_cache(maxsize=None)
def faker(locale):
    return Faker(locale)


def user(number, seed):
    """The body of `POST /users` for user `number`."""
    locale = LOCALES[number % len(LOCALES)]
    fake, rnd = faker(locale), random.Random(f"{seed}/{number}")
    fake.seed_instance(rnd.getrandbits(64))
    body = {**names(fake, rnd), **identifiers(fake, rnd, number)}
    body |= mail(fake, rnd, number) | phones(fake, rnd) | pictures(fake, rnd, number)
    body |= work(fake, rnd, number) | places(fake, rnd, locale) | lists(fake, rnd, number)
    if rnd.random() < 0.5:
        body["attributes"] = attributes(fake, rnd, number)
    if "email" not in body and "emails" not in body and "username" not in body:
        body["username"] = username(fake, rnd, number)
    # Members in any order, some of them explicitly without a value.
    members = list(body.items())
    rnd.shuffle(members)
    for absent, empty in (("nickname", None), ("photos", []), ("ims", []), ("manager", None)):
        if absent not in body and not (absent == "photos" and "picture" in body):
            if rnd.random() < 0.1:
                members.append((absent, empty))
    return dict(members)


def names(fake, rnd):
    given, family = fake.first_name(), fake.last_name()
    out = {"given_name": given, "family_name": family, "name": fake.name()}
    if rnd.random() < 0.3:
        out["middle_name"] = fake.first_name()
    if rnd.random() < 0.3:
        out["display_name"] = f"{given} {rnd.choice(EMOJI)} {family}"
    if rnd.random() < 0.2:
        out["nickname"] = rnd.choice(EMOJI) + given[:3]
    if rnd.random() < 0.2:
        out["honorific_prefix"] = fake.prefix() or "Dr."
    if rnd.random() < 0.1:
        out["honorific_suffix"] = fake.suffix() or "PhD"
    if rnd.random() < 0.3:
        out = {name: unicodedata.normalize("NFD", value) for name, value in out.items()}
    return {name: value for name, value in out.items() if value}


def identifiers(fake, rnd, number):
    out = {}
    if rnd.random() < 0.6:
        out["username"] = username(fake, rnd, number)
    if rnd.random() < 0.3:
        out["status"] = rnd.choice(("active", "suspended"))
    if rnd.random() < 0.5:
        out["external_id"] = rnd.choice((str(number), fake.uuid4(), f"CN={number}, OU=Ünits"))
    return out


def username(fake, rnd, number):
    """A name in the locale's letters and the number; in the identifier class of PRECIS."""
    kept = [c for c in unicodedata.normalize("NFC", fake.first_name()) if identifier(c)]
    while kept and unicodedata.category(kept[0]).startswith("M"):
        kept.pop(0)
    stem = "".join(kept) or "user"
    return rnd.choice((f"{stem}{number}", f"{stem}.{number}", f"{stem} {number}"))


def identifier(char):
    category = unicodedata.category(char)
    plain = unicodedata.normalize("NFKC", char) == char
    return plain and category in ("Ll", "Lu", "Lo", "Lm", "Mn", "Mc") and char not in "ـ"


def mail(fake, rnd, number):
    plain = f"{fake.ascii_email().split('@')[0][:40]}.{number}@{rnd.choice(DOMAINS)}"
    accented = f"josé+{number}@{rnd.choice(DOMAINS)}"
    first = accented if rnd.random() < 0.1 else plain
    kind = rnd.random()
    if kind < 0.1:
        return {}
    if kind < 0.5:
        out = {"email": first}
    else:
        others = range(rnd.randint(0, 3))
        entries = [{"value": f"n{n}.{number}@{rnd.choice(DOMAINS)}"} for n in others]
        entries.insert(rnd.randint(0, len(entries)), {"value": first})
        for entry in entries:
            if rnd.random() < 0.7:
                entry["type"] = rnd.choice(TYPES)
            if rnd.random() < 0.2:
                entry["display"] = fake.name()
        primary = flag_primary(entries, rnd)
        out = {"emails": entries}
        if rnd.random() < 0.3:
            out["email"] = primary["value"]
    if rnd.random() < 0.4:
        out["email_verified"] = rnd.random() < 0.5
    return out


def flag_primary(entries, rnd):
    """Flags one entry as primary, or none. Returns the entry that is primary by the contract's
    rule.
    """
    if rnd.random() < 0.5:
        chosen = rnd.choice(entries)
        chosen["primary"] = True
        return chosen
    return entries[0]


def phones(fake, rnd):
    if rnd.random() < 0.4:
        return {}
    if rnd.random() < 0.5:
        return {"phone_number": fake.phone_number()}
    entries = [{"value": fake.phone_number(), "type": rnd.choice(("mobile", "work", "fax"))}]
    if rnd.random() < 0.5:
        entries.append({"value": fake.phone_number() + ", 12", "display": "⌂"})
    flag_primary(entries, rnd)
    return {"phone_numbers": entries, "phone_number_verified": rnd.random() < 0.5}


def pictures(fake, rnd, number):
    kind, url = rnd.random(), f"https://img.example.com/{number}/%C3%A9.png?size=large#top"
    out = {}
    if kind < 0.1:
        out["picture"] = url
    elif kind < 0.2:
        out["photos"] = [{"value": url, "type": "photo", "primary": True}]
        out["photos"].append({"value": fake.image_url(), "type": "thumbnail"})
    if rnd.random() < 0.2:
        out["profile"] = fake.url() + "~me"
    return out


def work(fake, rnd, number):
    out = {}
    choices = {
        "title": fake.job,
        "organization": fake.company,
        "user_type": lambda: rnd.choice(("Employee", "Contractor", "Intern")),
        "employee_number": lambda: f"{number:07}",
        "cost_center": lambda: str(rnd.randint(1000, 9999)),
        "division": fake.bs if hasattr(fake, "bs") else fake.word,
        "department": fake.word,
        "manager": lambda: {"id": fake.uuid4()},
    }
    for member, make in choices.items():
        if rnd.random() < 0.4 and (value := make()):
            out[member] = value
    return out


def places(fake, rnd, locale):
    out = {}
    if rnd.random() < 0.6:
        out["locale"] = rnd.choice((locale, locale.replace("_", "-")))
    if rnd.random() < 0.4:
        # With the locale's own Faker the name would be translated.
        out["zoneinfo"] = rnd.choice(ZONES)
    if rnd.random() < 0.3:
        out["preferred_language"] = rnd.choice((locale.replace("_", "-"), locale[:2]))
    if rnd.random() < 0.6:
        out["addresses"] = [address(fake, rnd) for _ in range(rnd.choice((1, 1, 1, 2, 3)))]
        if rnd.random() < 0.4:
            rnd.choice(out["addresses"])["primary"] = True
    return out


def address(fake, rnd):
    street = fake.street_address()
    out = {"formatted": fake.address(), "street_address": street, "country": fake.country_code()}
    if rnd.random() < 0.3:
        out["street_address"] = f"{street}\r\n\tc/o {fake.name()}"
    if rnd.random() < 0.8:
        out |= {"locality": fake.city(), "postal_code": fake.postcode()}
    if rnd.random() < 0.3:
        out["region"] = fake.city()
    if rnd.random() < 0.5:
        out["type"] = rnd.choice(TYPES)
    return out


def lists(fake, rnd, number):
    out = {}
    if rnd.random() < 0.2:
        out["roles"] = [{"value": value, "type": "app"} for value in ("admin", "auditör")]
    if rnd.random() < 0.1:
        out["entitlements"] = [{"value": f"licence-{number}", "display": fake.word() or "x"}]
    if rnd.random() < 0.1:
        out["ims"] = [{"value": f"@user{number}", "type": "xmpp", "primary": True}]
    if rnd.random() < 0.05:
        # A DER sequence of this length, like every certificate.
        content = rnd.randbytes(rnd.randint(300, 900))
        der = b"\x30\x82" + len(content).to_bytes(2, "big") + content
        certificate = base64.b64encode(der).decode()
        out["x509_certificates"] = [{"value": certificate, "display": "signing"}]
    return out


def attributes(fake, rnd, number):
    """Custom JSON: nested, with any text (not normalized), numbers at the limits, and null members.
    """
    return {
        "team": rnd.choice(("core", "édge", "平台")),
        "decomposed": unicodedata.normalize("NFD", fake.name()),
        "note": fake.text(120) + "\n\t" + rnd.choice(EMOJI),
        "numbers": [number, -(2**63), 2**63 - 1, 0.1, 1.5e-300, -273.15],
        "flags": {"on": True, "off": False, "list": [[], {}, [""], {"": "no name"}]},
        "deep": {"a": {"b": {"c": [{"d": str(number)}]}}},
        "quote": 'say "hi" \\ /\u2028',
        "gone": None,
        "kept": {"gone": None, "empty": ""},
    }


def make_part(task):
    path, start, end, seed = task
    with open(path, "w", encoding="utf-8") as out:
        for number in range(start, end):
            out.write(json.dumps(user(number, seed), ensure_ascii=False) + "\n")
    return path


def make(directory, count, seed):
    """Writes `count` users as JSON lines to several files. Returns the files, in order."""
    missing = [locale for locale in LOCALES if locale not in AVAILABLE_LOCALES]
    if missing:
        raise SystemExit(f"Faker does not know {missing}")
    size = 5000
    tasks = [
        (str(directory / f"users-{start:09}.jsonl"), start, min(start + size, count), seed)
        for start in range(0, count, size)
    ]
    with multiprocessing.Pool() as pool:
        return pool.map(make_part, tasks, chunksize=1)

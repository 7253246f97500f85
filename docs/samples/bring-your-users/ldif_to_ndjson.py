"""Writes the people of an LDIF file (RFC 2849) as NDJSON for `POST /bulk/users`.

    python3 ldif_to_ndjson.py people.ldif > users.ndjson

A person is an entry of the class `person`, which `inetOrgPerson` and Active Directory's `user`
include. Change `user` for attributes of your own.
"""

import base64
import itertools
import json
import sys
import uuid

PEOPLE = {"person", "inetorgperson", "user"}
# LDAP attribute -> member; only the first value.
MEMBERS = {
    "givenname": "given_name",
    "sn": "family_name",
    "displayname": "display_name",
    "title": "title",
    "employeenumber": "employee_number",
    "employeetype": "user_type",
    "company": "organization",
    "o": "organization",
    "department": "department",
    "departmentnumber": "department",
    "preferredlanguage": "preferred_language",
}
ADDRESS = {
    "street": "street_address",
    "streetaddress": "street_address",
    "l": "locality",
    "st": "region",
    "postalcode": "postal_code",
}


def entries(file):
    """The entries of a file: lists of values by the name of their attribute, in lower case."""
    lines, entry = [], {}
    for line in itertools.chain(file, ["\n"]):
        line = line.rstrip("\r\n")
        if line.startswith(" ") and lines:
            lines[-1] += line[1:]
        elif line:
            lines.append(line)
        elif lines:
            for name, value in map(attribute, (one for one in lines if one[0] != "#")):
                entry.setdefault(name, []).append(value)
            yield entry
            lines, entry = [], {}


def attribute(line):
    name, _, value = line.partition(":")
    # Options such as `;lang-de` or `;binary` follow the name.
    name = name.split(";")[0].lower()
    if not value.startswith(":"):
        return name, value.strip()
    octets = base64.b64decode(value[1:])
    if name == "objectguid":
        return name, str(uuid.UUID(bytes_le=octets))
    try:
        return name, octets.decode()
    except UnicodeDecodeError:
        return name, ""


def is_disabled(entry):
    def first(name):
        return entry.get(name, [""])[0].lower()

    flags = int(first("useraccountcontrol") or 0)
    # Active Directory, OpenLDAP with ppolicy, 389 Directory Server.
    is_locked = first("pwdaccountlockedtime") == "000001010000z"
    return bool(flags & 2) or is_locked or first("nsaccountlock") == "true"


def user(entry):
    def first(*names):
        return next((value for name in names for value in entry.get(name, []) if value), None)

    body = {
        "username": first("uid", "samaccountname"),
        "external_id": first("entryuuid", "objectguid", "nsuniqueid", "dn"),
        "name": first("cn"),
        "status": "suspended" if is_disabled(entry) else "active",
    }
    for name, member in MEMBERS.items():
        body[member] = body.get(member) or first(name)
    proxies = entry.get("proxyaddresses", [])
    proxies = [proxy[5:] for proxy in proxies if proxy[:5].lower() == "smtp:"]
    addresses = dict.fromkeys(entry.get("mail", []) + proxies)
    body["emails"] = [{"value": address} for address in addresses]
    body["phone_numbers"] = [
        {"value": number, "type": kind}
        for name, kind in (("telephonenumber", "work"), ("mobile", "mobile"))
        for number in entry.get(name, [])
    ]
    address = {part: first(name) for name, part in ADDRESS.items() if first(name)}
    body["addresses"] = [{"type": "work", **address}] if address else []
    return {member: value for member, value in body.items() if value}


def main():
    with open(sys.argv[1], encoding="utf-8-sig") as file:
        for entry in entries(file):
            if PEOPLE & {name.lower() for name in entry.get("objectclass", [])}:
                print(json.dumps(user(entry), ensure_ascii=False))


if __name__ == "__main__":
    main()

"""Hooks for schemathesis: NDJSON bodies are sent and read as text, a dry run creates and deletes
nothing, deleted resources may stay visible, and the key of the run must not be revoked.
"""

import os
from functools import wraps
from urllib.parse import urlencode

import schemathesis
from schemathesis.openapi.checks import UseAfterFree

LINES = "application/x-ndjson"
# The maximum size of a query, in bytes, for which a rejection has a body.
QUERY_MAX = 12_000
# The key of this run, and a key id that does not exist.
OWN_KEY = os.environ.get("OWN_KEY_ID")
NOBODYS_KEY = "00000000-0000-7000-8000-000000000000"
STRICT = schemathesis.checks.use_after_free
AVAILABLE = schemathesis.checks.ensure_resource_availability


@schemathesis.serializer(LINES)
def send_lines(_context, value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@schemathesis.deserializer(LINES)
def read_lines(_context, response):
    return response.content.decode("utf-8")


@schemathesis.hook
def filter_case(_context, case):
    """Leaves out bodies that are no text: a sent body is always text, and any text may be sent,
    because each of its lines is checked separately. Also leaves out requests that are too long to
    be parsed. They are rejected without a body, and the tests of the server cover them. `/Me`
    returns 501 for all SCIM methods, as RFC 7644 section 3.11 allows.
    """
    if case.path.endswith("/scim/v2/Me") and case.method.upper() != "GET":
        return False
    if len(urlencode(case.query or {}, doseq=True)) > QUERY_MAX:
        return False
    return case.media_type != LINES or isinstance(case.body, (str, bytes))


@schemathesis.hook
def before_call(_context, case, _kwargs):
    """Without its own key the rest of the run would only get 401."""
    ends_it = case.method.upper() == "DELETE" or case.path.endswith("/rotate")
    named = case.path_parameters or {}
    if OWN_KEY and ends_it and named.get("key_id") == OWN_KEY:
        named["key_id"] = NOBODYS_KEY


@schemathesis.check
@wraps(STRICT)
def use_after_free(context, response, case):
    """A deleted resource must be gone, unless the deletion was a dry run. A revoked key stays
    visible, so that the change log's actors keep their names. The history of a user stays in the
    change log.
    """
    try:
        return STRICT(context, response, case)
    except UseAfterFree as failure:
        if case.path == "/keys/{key_id}" and response.json()["state"] == "revoked":
            return None
        if case.path == "/users/{user_id}/events":
            return None
        related = context.internals.find_related(case_id=case.id)
        deletes = [other for other in related if other.id == failure.deleted_case_id]
        if any(is_dry_run(other) for other in deletes):
            return None
        raise


@schemathesis.check
@wraps(AVAILABLE)
def ensure_resource_availability(context, response, case):
    """A created resource must be there, unless its creation was a dry run."""
    parent = context.internals.find_parent(case_id=case.id)
    if parent is not None and is_dry_run(parent):
        return None
    return AVAILABLE(context, response, case)


def is_dry_run(case):
    return str((case.query or {}).get("dry_run")).lower() == "true"

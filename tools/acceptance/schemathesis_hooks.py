"""What schemathesis must be told of lines of JSON: a body of them is sent and read as text."""

import schemathesis

LINES = "application/x-ndjson"


@schemathesis.serializer(LINES)
def send_lines(_context, value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@schemathesis.deserializer(LINES)
def read_lines(_context, response):
    return response.content.decode("utf-8")


@schemathesis.hook
def filter_case(_context, case):
    """Leaves out what would be no text: once it is sent it is text all the same, and any text may
    be sent, since each of its lines is judged by itself."""
    return case.media_type != LINES or isinstance(case.body, (str, bytes))

"""The OpenAPI documents of the real binary, read by the tools that people use on them.

Spectral and Redocly lint both documents: no error, and no warning but those that this file
explains. Redocly builds a page of each. Postman's converter makes a collection that has the bearer
credential, whose requests send the examples of the document, and none of its optional parameters.
The small run does this with `/openapi.json`, the full run also with `/openapi-3.0.json`.
"""

import json
import sys
import time

from clients import NODE, Fault, Workshop
from engines import engine
from service import Workplace, arguments

# The settings of an import that fill in examples, and leave optional parameters unselected.
CONVERSION = "parametersResolution=Example,enableOptionalParameters=false,folderStrategy=Tags"
ME = "/scim/v2/Me"
# RFC 7644 section 3.11 has 501 for a service whose callers are no users, and nothing else.
SPECTRAL_EXPLAINED = {("operation-success-response", f"paths.{ME}.get.responses")}
# SCIM operations describe all their errors in `default`. These documents have none of 4xx.
WITHOUT_4XX = ("~1scim~1v2", "~1livez", "~1readyz")
# The schemas of lines and the examples of rows are used below `x-` members, and so are the
# responses that belong to no operation. Redocly does not read these members.
UNUSED = ("ImportLine", "GroupLine", "PatchLine", "DeleteLine", "UserPatchLine", "UserDeleteLine",
          "NotFound", "MethodNotAllowed", "MethodNotImplemented", "ImportRows", "PatchRows",
          "DeleteRows")  # fmt: skip


def lint_with_spectral(workshop, name):
    printed = workshop.run(
        f"{NODE}/spectral", "lint", name, "-r", "spectral.yaml", "-f", "json", "-q"
    )
    results = json.loads(printed[printed.index("[") :])
    found = {(one["code"], ".".join(map(str, one["path"]))) for one in results}
    if found - SPECTRAL_EXPLAINED:
        raise Fault(f"Spectral about {name}: {sorted(found - SPECTRAL_EXPLAINED)[:20]}")
    return len(results)


def lint_with_redocly(workshop, name):
    printed = workshop.run(
        f"{NODE}/redocly", "lint", name, "--extends", "recommended", "--format", "json"
    )
    results, _ = json.JSONDecoder().raw_decode(printed[printed.index("{\n") :])
    problems = results["problems"]
    found = [one for one in problems if not is_explained(one)]
    if results["totals"]["errors"] or found:
        raise Fault(f"Redocly about {name}: {found[:20]}")
    page = workshop.place / f"{name}.html"
    workshop.run(f"{NODE}/redocly", "build-docs", name, "-o", page)
    if b"Create a user by SCIM" not in page.read_bytes():
        raise Fault(f"the page of {name} has no operations")
    return len(problems)


def is_explained(problem):
    rule, pointer = problem["ruleId"], problem["location"][0].get("pointer", "")
    if rule == "no-unused-components":
        return pointer.rsplit("/", 1)[-1] in UNUSED
    if rule == "operation-4xx-response":
        return any(path in pointer for path in WITHOUT_4XX)
    return rule == "operation-2xx-response" and ME.replace("/", "~1") in pointer


def resolve(document, value):
    while "$ref" in value:
        part = document
        for step in value["$ref"].split("/")[1:]:
            part = part[step]
        value = part
    return value


def requests(items):
    for item in items:
        if "item" in item:
            yield from requests(item["item"])
        else:
            yield item["name"], item["request"]


def convert_for_postman(workshop, name):
    target = workshop.place / f"{name}.postman"
    workshop.run(f"{NODE}/openapi2postmanv2", "-s", name, "-o", target, "-O", CONVERSION)
    collection = json.loads(target.read_bytes())
    document = json.loads((workshop.place / name).read_bytes())
    auth = collection.get("auth") or {}
    if auth.get("type") != "bearer":
        raise Fault(f"the collection of {name} has the credential {auth}")
    operations = {
        operation["summary"]: (path, operation, item.get("parameters", []))
        for path, item in document["paths"].items()
        for operation in item.values()
        if isinstance(operation, dict)
    }
    found = dict(requests(collection["item"]))
    if found.keys() != operations.keys():
        raise Fault(f"other requests than operations: {found.keys() ^ operations.keys()}")
    for summary, request in found.items():
        _, operation, shared = operations[summary]
        check_parameters(document, summary, request, operation, shared)
        check_body(document, summary, request, operation)
    return len(found)


def check_parameters(document, summary, request, operation, shared):
    declared = [resolve(document, one) for one in [*shared, *operation.get("parameters", [])]]
    required = {one["name"] for one in declared if one.get("required")}
    sent = [*request["url"].get("query", []), *request.get("header", [])]
    for one in sent:
        is_of_media_types = one["key"] in ("Accept", "Content-Type")
        if not one.get("disabled") and one["key"] not in required and not is_of_media_types:
            raise Fault(f"{summary} sends the optional parameter {one['key']}")
    examples = {one["name"]: one.get("example") for one in declared if one["in"] == "path"}
    for one in request["url"].get("variable", []):
        if one["value"] != examples[one["key"]]:
            raise Fault(f"{summary} has {one['value']!r} as {one['key']}")


def check_body(document, summary, request, operation):
    content = operation.get("requestBody", {}).get("content")
    if not content:
        return
    examples = next(iter(content.values()))["examples"]
    example = resolve(document, next(iter(examples.values())))["value"]
    body = request.get("body", {}).get("raw", "")
    if (body if isinstance(example, str) else json.loads(body)) != example:
        raise Fault(f"{summary} sends {body[:400]}")


def main():
    options = arguments(__doc__, engines=True)
    began = time.monotonic()
    names = ["openapi.json"] if options.slice else ["openapi.json", "openapi-3.0.json"]
    with engine(options) as store, Workplace("describe") as place:
        service = store.service(options.binary, place / "data")
        service.start()
        try:
            workshop = Workshop(place / "work", service, "")
            workshop.environment |= {"REDOCLY_TELEMETRY": "off"}
            connection = service.connect()
            for name in names:
                document = connection.request("GET", f"/{name}").body
                (workshop.place / name).write_bytes(document)
                warnings = [
                    lint_with_spectral(workshop, name), lint_with_redocly(workshop, name)
                ]  # fmt: skip
                converted = convert_for_postman(workshop, name)
                print(
                    f"{name}: 0 errors; explained warnings: Spectral {warnings[0]}, "
                    f"Redocly {warnings[1]}; {converted} requests for Postman"
                )
        finally:
            service.stop()
    print(f"describe: 0 faults, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    try:
        main()
    except Fault as fault:
        sys.exit(f"describe: {fault}")

"""API clients that generators make from `/openapi.json`, against the real binary.

Each generator must print no warning, its client must compile (TypeScript with `strict`), and every
member of users, pages and problems must have a type. Then the client runs `clients/scenario.ts` or
`clients/scenario.py` with a key: it creates users, gets them, lists all pages, filters, searches,
replaces with `If-Match`, patches, tries a dry run, deletes, imports NDJSON, and reads typed errors.
The full run also makes a client of `/openapi-3.0.json` with progenitor, see `clients/progenitor`.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from engines import engine
from service import Workplace, arguments

SOURCES = Path(__file__).resolve().parent / "clients"
WITHIN_SECONDS = 300
NODE = "node_modules/.bin"
WARNING = re.compile(r"\b(warn(ing)?|error)\b", re.IGNORECASE)
# What openapi-generator prints for every document of this form: its support of OpenAPI 3.1 is a
# beta, and it looks for the name of the schema `false` of `additionalProperties`. And it tries the
# name of the query parameter `map` as the name of a model, although the parameter has none.
KNOWN = (
    "OpenAPI 3.1 support is still in beta", "Failed to get the schema name: null",
    "Map (model name matches existing language type)",
)  # fmt: skip
INFORMATION = re.compile(r"^\[main\] INFO ")
JAVA = "the clients of openapi-generator need Java: apt-get install default-jre-headless"


class Fault(Exception):
    """A check failed."""


@dataclass(frozen=True)
class Generator:
    """A generator, its command, and the adapter for its client."""

    name: str
    adapter: str
    command: tuple
    in_slice: bool = False
    needs_java: bool = False

    @property
    def is_typescript(self):
        return (SOURCES / f"{self.adapter}.ts").is_file()


def openapi_generator(name, *options):
    target = f"generated/{name}"
    return ("openapi-generator-cli", "generate", "-g", name, "-i", "openapi.json", "-o", target,
            *options)  # fmt: skip


GENERATORS = (
    Generator(
        "openapi-typescript", "openapi_fetch",
        (f"{NODE}/openapi-typescript", "openapi.json", "-o",
         "generated/openapi-typescript/schema.ts"),
        in_slice=True,
    ),
    Generator(
        "@hey-api/openapi-ts", "hey_api",
        (f"{NODE}/openapi-ts", "-i", "openapi.json", "-o", "generated/hey-api", "-p",
         "@hey-api/typescript", "@hey-api/sdk", "@hey-api/client-fetch"),
    ),
    Generator("orval", "orval", (f"{NODE}/orval", "--config", "orval.config.cjs")),
    Generator(
        "openapi-generator typescript-fetch", "typescript_fetch",
        openapi_generator("typescript-fetch"), needs_java=True,
    ),
    Generator(
        "openapi-python-client", "with_openapi_python_client",
        ("openapi-python-client", "generate", "--path", "openapi.json", "--config",
         "openapi_python_client.yaml", "--output-path", "generated/openapi-python-client"),
        in_slice=True,
    ),
    Generator(
        "openapi-generator python", "with_openapi_generator",
        openapi_generator("python", "--package-name", "roster_api"), needs_java=True,
    ),
)  # fmt: skip


class Workshop:
    """A directory with the sources, the packages and the description of one service."""

    def __init__(self, place, service, key):
        python = subprocess.run([SOURCES / "packages.sh"], stdout=subprocess.PIPE, text=True)
        if python.returncode:
            raise Fault("the packages could not be installed")
        self.python, self.place = Path(python.stdout.strip()), place
        shutil.copytree(SOURCES, place, dirs_exist_ok=True)
        (place / "generated").mkdir()
        modules = self.python.parents[1] / "node_modules"
        (place / "node_modules").symlink_to(modules)
        url = f"http://{service.address[0]}:{service.address[1]}"
        libraries = [place / "generated" / name for name in ("openapi-python-client", "python")]
        self.environment = {
            **os.environ,
            "PATH": f"{self.python.parent}:{os.environ['PATH']}",
            "PYTHONPATH": ":".join(str(library) for library in libraries),
            "SERVICE_URL": url,
            "SERVICE_KEY": key,
        }

    def run(self, *command):
        """The output of a command. Its failure is an error."""
        done = subprocess.run(
            [str(part) for part in command], cwd=self.place, env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=WITHIN_SECONDS,
        )  # fmt: skip
        if done.returncode:
            raise Fault(f"{' '.join(map(str, command))} failed:\n{done.stdout[-8000:]}")
        return done.stdout

    def generate(self, generator):
        printed = self.run(*generator.command)
        lines = [line for line in printed.splitlines() if not INFORMATION.match(line)]
        warnings = [
            line for line in lines
            if WARNING.search(line) and not any(known in line for known in KNOWN)
        ]  # fmt: skip
        if warnings:
            raise Fault(f"{generator.name} warns: {warnings[:10]}")

    def compile(self, generators):
        adapters = [generator.adapter for generator in generators if generator.is_typescript]
        if adapters:
            sources = [f"{adapter}.ts" for adapter in [*adapters, "types"]]
            config = (self.place / "tsconfig.json").read_text().rstrip().removesuffix("}")
            config += f', "files": {sources}}}'.replace("'", '"')
            (self.place / "tsconfig.json").write_text(config)
            self.run(f"{NODE}/tsc", "-p", ".")
            print(self.run("node", "compiled/types.js", *adapters).rstrip())
        self.run(self.python, "-m", "compileall", "-q", "generated")

    def use_progenitor(self, description):
        """Makes, compiles and uses the client of the description in OpenAPI 3.0."""
        path = self.place / "openapi-3.0.json"
        path.write_bytes(description)
        built = SOURCES.parents[2] / "target" / "clients-progenitor"
        self.environment |= {"DESCRIPTION": str(path), "CARGO_TARGET_DIR": str(built)}
        manifest = SOURCES / "progenitor" / "Cargo.toml"
        service = [self.environment[name] for name in ("SERVICE_URL", "SERVICE_KEY")]
        command = ("cargo", "run", "--quiet", "--locked", "--manifest-path", manifest, "--")
        printed = self.run(*command, *service)
        if "passed" not in printed.splitlines() or WARNING.search(printed):
            raise Fault(f"progenitor did not finish: {printed[-4000:]}")

    def use(self, generator):
        program = (
            ("node", f"compiled/{generator.adapter}.js") if generator.is_typescript
            else (self.python, f"{generator.adapter}.py")
        )  # fmt: skip
        printed = self.run(*program)
        if "passed" not in printed.splitlines():
            raise Fault(f"{generator.name} did not finish: {printed}")
        print(printed.replace("passed\n", ""), end="")


def make_key(connection):
    body = {"name": "generated clients", "scopes": ["users:read", "users:write"]}
    answer = connection.request("POST", "/keys", body)
    if answer.status != 201:
        raise Fault(f"a key was answered {answer}")
    return answer.json()["key"]


def main():
    options = arguments(__doc__, engines=True)
    generators = [one for one in GENERATORS if one.in_slice or not options.slice]
    if any(one.needs_java for one in generators) and not shutil.which("java"):
        raise Fault(JAVA)
    began = time.monotonic()
    with engine(options) as store, Workplace("clients") as place:
        service = store.service(options.binary, place / "data")
        service.start()
        try:
            connection = service.connect()
            description = connection.request("GET", "/openapi.json").body
            workshop = Workshop(place / "work", service, make_key(connection))
            (workshop.place / "openapi.json").write_bytes(description)
            for generator in generators:
                workshop.generate(generator)
            workshop.compile(generators)
            for generator in generators:
                workshop.use(generator)
            if not options.slice:
                older = connection.request("GET", "/openapi-3.0.json").body
                workshop.use_progenitor(older)
        finally:
            service.stop()
    names = [generator.name for generator in generators]
    names = ", ".join(names if options.slice else [*names, "progenitor"])
    print(f"clients ({options.engine}): {names}; 0 faults, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    try:
        main()
    except Fault as fault:
        sys.exit(f"clients: {fault}")

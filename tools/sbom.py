#!/usr/bin/env python3
"""Writes the software bill of materials of the binary as CycloneDX 1.5 JSON to standard output.

    tools/sbom.py [--target TRIPLE] > roster-sbom.json

It lists each crate of which code can be in the binary on this target: name, version, licence, the
checksum of Cargo.lock, and its dependencies. Crates that only tests or builds need are left out,
except build scripts, whose output may be in the binary. Needs cargo, and nothing of the network once
`cargo fetch` ran.
"""

import argparse
import json
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, kind, checksums):
    described = {
        "type": kind,
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        "purl": purl(package),
    }
    if package.get("description"):
        described["description"] = " ".join(package["description"].split())
    if package.get("license"):
        # Cargo accepts the old separator / for OR.
        described["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    checksum = checksums.get((package["name"], package["version"]))
    if checksum:
        described["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return described


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--target", default="x86_64-unknown-linux-gnu")
    target = arguments.parse_args().target
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    checksums = {(one["name"], one["version"]): one.get("checksum") for one in locked}
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    is_binary = lambda package: package["name"] == "roster" and package["source"] is None
    root = next(package for package in packages.values() if is_binary(package))

    needed = {}
    waiting = [root["id"]]
    while waiting:
        current = waiting.pop()
        if current in needed:
            continue
        used = [
            dependency["pkg"]
            for dependency in nodes[current]["deps"]
            if any(kind["kind"] in (None, "build") for kind in dependency["dep_kinds"])
        ]
        needed[current] = used
        waiting.extend(used)

    reference = lambda package: purl(packages[package])
    in_order = sorted(needed, key=reference)
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(root, "application", checksums)},
        "components": [
            component(packages[package], "library", checksums)
            for package in in_order
            if package != root["id"]
        ],
        "dependencies": [
            {"ref": reference(package), "dependsOn": sorted(set(map(reference, needed[package])))}
            for package in in_order
        ],
    }
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False)
    print()


if __name__ == "__main__":
    main()

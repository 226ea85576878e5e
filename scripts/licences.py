#!/usr/bin/env python3
"""Checks the crates of Cargo.lock: their licences, where they come from, what must not be among them, and
that docs/dependencies.md explains each direct one.

What `cargo deny` would check without its database of advisories, in a second instead of the minutes
that building it takes.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

ALLOWED = {
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    # Root certificates, as data.
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "PostgreSQL",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}
# TLS is rustls, so that a binary runs wherever it is copied to.
BANNED = {"native-tls", "openssl-sys"}
# Two of one of these do not work together: a router of the one is no router of the other.
ONLY_ONE = {"axum", "hyper", "sqlx", "tokio", "utoipa"}


def is_allowed(expression: str) -> bool:
    """Whether an SPDX expression can be met with the allowed licences."""
    # An exception only adds permissions.
    expression = re.sub(r" WITH \S+", "", expression.replace("/", " OR "))
    words = {"OR": "or", "AND": "and", "(": "(", ")": ")"}
    tokens = re.findall(r"[()]|[^\s()]+", expression)
    return bool(tokens) and eval(" ".join(words.get(t, str(t in ALLOWED)) for t in tokens))


metadata = subprocess.run(
    ["cargo", "metadata", "--locked", "--format-version", "1"], check=True, stdout=subprocess.PIPE
)
everything = json.loads(metadata.stdout)["packages"]
packages = [p for p in everything if p["source"]]
faults = []
for package in packages:
    name = f"{package['name']} {package['version']}"
    if not is_allowed(package["license"] or ""):
        faults.append(f"{name}: the licence {package['license']} is not among the allowed")
    if not package["source"].startswith("registry+"):
        faults.append(f"{name}: comes from {package['source']}, not from the registry")
    if package["name"] in BANNED:
        faults.append(f"{name}: is banned")
for name in sorted(ONLY_ONE):
    versions = [p["version"] for p in packages if p["name"] == name]
    if len(versions) != 1:
        faults.append(f"{name}: is there in {len(versions)} versions: {', '.join(versions)}")

direct = {d["name"] for p in everything if not p["source"] for d in p["dependencies"]}
table = re.findall(r"^\| ([a-z0-9_, -]+) \|", Path("docs/dependencies.md").read_text(), re.MULTILINE)
explained = {name for row in table for name in row.split(", ")} - {"crate"}
faults += [f"{name}: is not in docs/dependencies.md" for name in sorted(direct - explained)]
faults += [f"{name}: is in docs/dependencies.md only" for name in sorted(explained - direct)]

print(f"{len(packages)} crates, {len(faults)} faults", *faults, sep="\n")
sys.exit(bool(faults))

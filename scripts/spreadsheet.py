#!/usr/bin/env python3
"""The part of spreadsheet.sh that talks to the service, whose address is SERVICE_URL."""

import csv
import io
import json
import os
import subprocess
import tempfile
import urllib.request
from pathlib import Path

API = os.environ["SERVICE_URL"] + "/api/v1"
NAMES = [
    "=1+1", "+1", "-1", "@SUM(A1)", "'quoted", "''", "=HYPERLINK(\"https://x.example\")",
    'Lee, "Ann"', "a;b|c", "<b>bold</b>", "＝1+1", "007", "1e5", "1/2", "TRUE", "Müller", "😀",
    "a\u2028b", "%s", "#REF!", "{=1}",
]
# Separator, quote, UTF-8, first line; each column as text.
AS_TEXT = "CSV:44,34,76,1," + "/".join(f"{column}/2" for column in range(1, 30))
AS_IT_LIKES = "CSV:44,34,76,1"
TO_CSV = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false"


def post(path, body):
    request = urllib.request.Request(
        API + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return answer.headers["Location"].removeprefix("/api/v1")


def get(path, form):
    with urllib.request.urlopen(f"{API}{path}?format={form}") as answer:
        return answer.read().decode()


def unquoted(text):
    """A cell without the quote that keeps it from being read as a formula."""
    return text.removeprefix("'")


def compare(what, records, rows):
    header, *records = records
    assert len(records) == len(rows), f"{what}: {len(records)} records, {len(rows)} rows"
    for record, row in zip(records, rows):
        assert list(row) == header, f"{what}: {header}"
        for name, text in zip(header, record):
            value, text = row[name], unquoted(text)
            if value is None:
                same = text == ""
            elif isinstance(value, str):
                same = text == value
            else:
                same = json.loads(text) == value
            assert same, f"{what}: {name} is {text!r}, and was {value!r}"
    print(f"{what}: {len(rows)} rows, each as it was")


def convert(work, source, target, import_as):
    subprocess.run(
        ["soffice", "--headless", f"-env:UserInstallation=file://{work}/profile",
         f"--infilter={import_as}", "--convert-to", target, "--outdir", f"{work}/out", source],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )


def main():
    for number, name in enumerate(NAMES):
        tags = ["Bristol, UK", '"', f"=t{number}"]
        member = post("/members", {"name": name, "tags": tags, "attributes": {"a": [1, None, name]}})
        post(f"{member}/mail-records", {"subject": name, "recipient": "a@example.org"})
    for path in ["/members", "/mail-records"]:
        text = get(path, "csv")
        rows = [json.loads(line) for line in get(path, "ndjson").split("\n") if line]
        compare(f"{path} by Python", list(csv.reader(io.StringIO(text, newline=""))), rows)
        with tempfile.TemporaryDirectory() as work:
            source = Path(work, "list.csv")
            source.write_text(text, encoding="utf-8", newline="")
            convert(work, source, "fods", AS_IT_LIKES)
            sheet = Path(work, "out", "list.fods").read_text(encoding="utf-8")
            assert "<table:table-cell" in sheet and "table:formula" not in sheet, path
            print(f"{path} by LibreOffice: nothing evaluated")
            convert(work, source, TO_CSV, AS_TEXT)
            with open(Path(work, "out", "list.csv"), encoding="utf-8", newline="") as file:
                compare(f"{path} by LibreOffice", list(csv.reader(file)), rows)


main()

#!/usr/bin/env python3
"""The part of nginx.sh that talks to the service, whose address is SERVICE_URL."""

import http.client
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

SERVICE = os.environ["SERVICE_URL"]
CONFIGURATION = """
daemon off;
pid {work}/pid;
error_log {work}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {work}/body;
    proxy_temp_path {work}/proxy;
    fastcgi_temp_path {work}/fastcgi;
    uwsgi_temp_path {work}/uwsgi;
    scgi_temp_path {work}/scgi;
    server {{
        listen 127.0.0.1:{port};
        location / {{ proxy_pass {service}; }}
    }}
}}
"""
MEDIA_TYPES = ["application/x-ndjson", "text/csv", "text/event-stream"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def open_list(address, media_type, query=""):
    connection = http.client.HTTPConnection(address, timeout=60)
    headers = {"Accept": media_type, "Host": "localhost"}
    connection.request("GET", f"/api/v1/members{query}", headers=headers)
    answer = connection.getresponse()
    assert answer.status == 200, answer.status
    return connection, answer


def backends(*states):
    """The processes of Postgres that are at work for the service, by their titles."""
    titles = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True).stdout
    lines = [line.split(None, 1) for line in titles.splitlines()]
    return [int(pid) for pid, title in lines if title.startswith("postgres:") and title.endswith(states)]


def fill():
    """Makes the rows so long that a list does not fit into what lies between."""
    for start in range(0, 40):
        items = [
            {"name": f"Long {start}-{n}", "attributes": {"pad": "x" * 9000}} for n in range(100)
        ]
        body = json.dumps({"items": items}).encode()
        request = urllib.request.Request(
            f"{SERVICE}/api/v1/members/batch", body, {"Content-Type": "application/json"}
        )
        urllib.request.urlopen(request).read()


def main():
    fill()
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)
        port = free_port()
        configuration = Path(work, "nginx.conf")
        configuration.write_text(CONFIGURATION.format(work=work, port=port, service=SERVICE))
        nginx = subprocess.Popen(["nginx", "-c", str(configuration), "-p", work])
        try:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except ConnectionRefusedError:
                    time.sleep(0.05)
            check(f"127.0.0.1:{port}")
        finally:
            nginx.send_signal(signal.SIGQUIT)
            nginx.wait()


def check(address):
    direct = SERVICE.removeprefix("http://")
    for media_type in MEDIA_TYPES:
        connection, answer = open_list(direct, media_type)
        whole = answer.read()
        connection.close()
        connection, answer = open_list(address, media_type)
        first = answer.readline()
        # The rest waits in the database until it is read: nothing between keeps all of it.
        running = backends("SELECT", "idle in transaction")
        assert running, f"{media_type}: the list was over when its first line arrived"
        assert first + answer.read() == whole, f"{media_type}: not the same behind nginx"
        connection.close()
        print(f"{media_type}: arrives as it is sent, and whole")

        connection, answer = open_list(address, media_type)
        answer.readline()
        for pid in backends("SELECT", "idle in transaction"):
            os.kill(pid, signal.SIGTERM)
        try:
            rest = answer.read()
        except (http.client.IncompleteRead, ConnectionResetError):
            print(f"{media_type}: broken off, and seen to be")
        else:
            raise AssertionError(f"{media_type}: {len(rest)} bytes, and a clean end")
        connection.close()


main()

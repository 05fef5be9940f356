"""A small application with rows to work through: the Python standard library alone.

It makes `shop.db` with ten images that have no thumbnail yet, and has one route that makes one. Soloist calls the
route once for each row; the signature says that it was Soloist who called.
"""

import base64
import hashlib
import hmac
import json
import os
import sqlite3
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["APP_SIGNING_SECRET"].encode()  # the same text that soloist.toml names
DATABASE = "shop.db"


def is_genuine(headers, body):
    """After the Standard Webhooks specification: HMAC-SHA256 over id, time and body."""
    identity, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "0")
    if not timestamp.isdigit() or abs(time.time() - int(timestamp)) > 300:
        return False  # an old call, sent again
    wanted = hmac.new(SECRET, f"{identity}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    wanted = "v1," + base64.b64encode(wanted).decode()
    given = headers.get("webhook-signature", "").split()
    return any(hmac.compare_digest(wanted, signature) for signature in given)


class Route(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        if not is_genuine(self.headers, body):
            return self.answer(401, "the signature is wrong")
        entry = json.loads(body)
        path = entry["payload"]["path"]
        if not path.endswith(".png"):
            return self.answer(422, f"{path} is no picture")  # failed for good: not called again
        # Here the work is done. idempotency_key is the same on every attempt.
        print(f"thumbnail of {path}\n", end="", flush=True)
        return self.answer(200, "made")

    def answer(self, status, text):
        self.send_response(status)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


def make_rows():
    with sqlite3.connect(DATABASE) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute(
            "CREATE TABLE IF NOT EXISTS images (id INTEGER PRIMARY KEY, path TEXT NOT NULL, "
            "processed BOOLEAN NOT NULL DEFAULT FALSE)"
        )
        if database.execute("SELECT count(*) FROM images").fetchone() == (0,):
            database.executemany("INSERT INTO images (path) VALUES (?)", [(f"{n}.png",) for n in range(1, 11)])


if __name__ == "__main__":
    make_rows()
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8000"))), Route)
    print("ready", flush=True)
    server.serve_forever()

"""A worker of the task `render`: the Python standard library alone. Start as many as you like, on as many hosts.

It claims one entry at a time, extends the claim while it works, and says what came of it. Killed, it loses its claim
when the lease ends, and another worker gets the entry; SIGTERM ends it after the entry that it works.
"""

import json
import os
import signal
import sys
import threading
import time
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import Request, urlopen

API = os.environ.get("SOLOIST_URL", "http://127.0.0.1:7070") + "/api/v1"
HEADERS = {"Authorization": "Bearer " + os.environ["SOLOIST_TOKEN"], "Content-Type": "application/json"}
LEASE = float(os.environ.get("LEASE", "30"))
state = {"idle": True, "stopping": False}


def render(entry):
    """Here the work is done. Twice under one idempotency key must come to the same: a name of its own, one rename."""
    print("start", entry["id"], entry["attempt"], flush=True)
    time.sleep(entry["payload"].get("seconds", 0))
    name = os.path.join("frames", entry["idempotency_key"])
    with open(name + ".part", "w") as file:
        file.write(f"frame {entry['payload']['frame']}\n")
    os.replace(name + ".part", name)
    return {"file": name}


def call(path, **body):
    """Calls until there is an answer: saying it again is safe. 4xx is for good; 409: somebody else has the entry."""
    while True:
        try:
            with urlopen(Request(API + path, json.dumps(body).encode(), HEADERS), timeout=90) as answer:
                return json.load(answer)
        except HTTPError as error:
            print(path, error.code, error.read().decode(), file=sys.stderr, flush=True)
            if error.code < 500:
                return None
        except (OSError, HTTPException) as error:
            print(path, error, file=sys.stderr, flush=True)
        time.sleep(1)


def keep(path, token, done):
    while not done.wait(LEASE / 3) and call(path + "/extend", token=token, lease=LEASE):
        pass


def work(entry):
    path, token, done = f"/entries/{entry['id']}", entry["token"], threading.Event()
    threading.Thread(target=keep, args=(path, token, done), daemon=True).start()
    try:
        action, said = "complete", {"result": render(entry)}
    except Exception as error:
        action, said = "fail", {"error": repr(error)}
    done.set()
    if call(f"{path}/{action}", token=token, **said):
        print(action, entry["id"], entry["attempt"], flush=True)


def stop(*_):
    state["stopping"] = True
    if state["idle"]:  # it only waits for work
        sys.exit(0)


signal.signal(signal.SIGTERM, stop)
signal.signal(signal.SIGINT, stop)
os.makedirs("frames", exist_ok=True)
while not state["stopping"]:
    state["idle"] = True
    claimed = call("/tasks/render/claim", wait="20s", lease=LEASE) or sys.exit(1)
    state["idle"] = False
    for entry in claimed["entries"]:
        work(entry)

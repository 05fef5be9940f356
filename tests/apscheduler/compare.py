"""Makes the same calls to the real Flask-APScheduler and to a node of Soloist's, and compares the answers.

usage: compare.py PORT TOKEN

Statuses and bodies must be the same, member for member, but for the DIFFERENCES: each is named by the calls that show it.
"""

import json
import logging
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from datetime import datetime, timedelta, timezone

import jobs  # noqa: F401, the real one imports it by name
from flask import Flask
from flask_apscheduler import APScheduler
from werkzeug.serving import make_server

# What is meant to differ, and why. The table of docs/flask-apscheduler.md has these names.
DIFFERENCES = {
    "words": "the words of a refusal name the field and what would be right; the status is the same",
    "json": "an error is JSON everywhere, where Flask answers with a page",
    "kept": "jobs are in the database: a shutdown keeps them, and they are shown and added after it",
    "whole": "a change that is refused changes nothing; the original may have changed the trigger already",
    "task": "func names a task; no module is imported, and arguments are compared with no signature",
    "iso": "dates are ISO 8601; the original reads almost any text as one",
    "cron": "a year, an ISO week and some pairs of day and day_of_week are no cron expression",
    "never": "a job that can never run is refused; the original keeps it as if it were paused",
    "next": "next_run_time of a cron job is what its trigger says: null pauses it",
    "id": "an id names a schedule: letters, digits, _ . -",
    "over": "a job that was never to run again is not there: 404, where the original answers null",
    "paused once": "a date that passes while the job is paused is over; the original runs it when it is resumed",
    "types": "arguments are an array and an object; the original takes whatever Python can make one of",
}

shown = set()


class Server:
    def __init__(self, port, headers):
        self.base, self.headers = f"http://127.0.0.1:{port}", headers

    def call(self, method, path, body=None):
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        headers = {**self.headers, **({"Content-Type": "text/plain"} if data is not None else {})}
        request = urllib.request.Request(self.base + path, data=data, method=method, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()


def real():
    app = Flask("reference")
    app.config.update(SCHEDULER_API_ENABLED=True, SCHEDULER_TIMEZONE="UTC")
    scheduler = APScheduler()
    scheduler.init_app(app)
    scheduler.start()
    server = make_server("127.0.0.1", 0, app, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return Server(server.server_port, {})


def parsed(body):
    if not body:
        return None
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")


def is_near(one, other):
    """Two times that were both worked out from now: those have fractions of a second."""
    try:
        one, other = datetime.fromisoformat(one), datetime.fromisoformat(other)
    except (TypeError, ValueError):
        return False
    worked_out = one.microsecond and other.microsecond and one.utcoffset() == other.utcoffset()
    return worked_out and abs(one - other) < timedelta(seconds=10)


def unlike(place, one, other):
    """Where two answers differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted(one.keys() | other.keys()):
            if name not in one or name not in other:
                yield f"{place}.{name}: only {'the real one' if name in one else 'Soloist'} has it"
            else:
                yield from unlike(f"{place}.{name}", one[name], other[name])
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (a, b) in enumerate(zip(one, other)):
            yield from unlike(f"{place}[{index}]", a, b)
    elif one != other and not is_near(one, other):
        yield f"{place}: {one!r}, Soloist {other!r}"


class Both:
    def __init__(self, reference, soloist):
        self.reference, self.soloist, self.calls = reference, soloist, 0

    def same(self, method, path, body=None):
        """The same status and the same answer. Gives it."""
        (status, one), (other_status, other) = self.ask(method, path, body)
        found = [] if status == other_status else [f"status: {status}, Soloist {other_status}"]
        found += unlike("answer", one, other)
        assert not found, f"{method} {path} {body}:\n  " + "\n  ".join(found) + f"\n  {one!r}\n  {other!r}"
        return status, one

    def differs(self, name, method, path, body=None, real=None, ours=None, words=""):
        """A difference that is meant: the two statuses, and what Soloist says."""
        shown.add(name)
        assert name in DIFFERENCES, name
        (status, one), (other_status, other) = self.ask(method, path, body)
        what = f"{method} {path} {body}: {status} {one!r}, Soloist {other_status} {other!r}"
        assert (status, other_status) == (real, ours), what
        assert words in json.dumps(other, ensure_ascii=False), what
        assert other_status < 400 or set(other) == {"error_message"}, what
        return one, other

    def ask(self, method, path, body):
        self.calls += 1
        answers = [server.call(method, "/scheduler" + path, body) for server in (self.reference, self.soloist)]
        return [(status, parsed(text)) for status, text in answers]


def whole_scheduler(both):
    status, info = both.same("GET", "")
    assert status == 200 and info["current_host"] == socket.gethostname().lower(), info
    for path in ["/pause", "/pause", "/resume", "/resume"]:
        assert both.same("POST", path)[0] == 204
    both.same("POST", "/start")  # 400: it runs already
    both.same("POST", "/jobs", {"id": "held", "func": "jobs:report", "trigger": "interval", "days": 1})
    both.same("POST", "/pause")
    both.same("POST", "/start")  # a paused one runs, too
    assert both.same("GET", "/jobs/held")[1]["next_run_time"], "the scheduler's pause is not the job's"
    both.same("DELETE", "/jobs/held")
    both.same("POST", "/resume")


def shut_down(both):
    """Last: the real one loses its jobs."""
    both.same("POST", "/shutdown", {"wait": False})
    both.same("POST", "/shutdown")  # 400: it does not run
    both.same("POST", "/pause")  # 500
    both.same("POST", "/resume")  # 500
    status, info = both.same("GET", "")
    assert info["running"] is False
    both.differs("kept", "GET", "/jobs/kept", real=404, ours=200)
    job = {"id": "later", "func": "jobs:report", "trigger": "interval", "hours": 1}
    one, other = both.differs("kept", "POST", "/jobs", job, real=200, ours=200)
    assert set(other) - set(one) == {"misfire_grace_time", "max_instances", "next_run_time"}, (one, other)
    both.same("POST", "/start")
    assert both.same("GET", "")[1]["running"] is True
    both.same("GET", "/jobs/later")


def add(both, job_id, trigger=None, **more):
    job = {"id": job_id, "func": "jobs:report", **more}
    if trigger:
        job["trigger"] = trigger
    status, answer = both.same("POST", "/jobs", job)
    assert status == 200, answer
    both.same("GET", f"/jobs/{job_id}")
    return answer


CRON = [
    {"hour": 3},
    {"hour": "3", "minute": "*/5"},
    {"day_of_week": "mon-fri", "hour": 9, "minute": 30},
    {"day_of_week": 0},
    {"day_of_week": "0,6", "hour": "*/6"},
    {"day_of_week": "*/2", "hour": 1},
    {"day_of_week": "SAT,Sun"},
    {"day_of_week": "4/2"},
    {"day": "last"},
    {"day": "1st mon"},
    {"day": "last fri, 2nd sun", "hour": 12},
    {"day": "1,15", "month": "*/3"},
    {"day": "3rd tue,10,*/9"},
    {"day": "1-7", "day_of_week": "mon"},
    {"day": "15,1", "day_of_week": "mon-fri"},
    {"day": "*/2", "day_of_week": "wed"},
    {"day": "1-20", "day_of_week": "sun,tue"},
    {"day": "*", "hour": "*"},
    {"month": 3},
    {"month": "jan-mar,7,Dec", "day": "31"},
    {"month": "2", "day": "29"},
    {"year": "*", "week": "*", "hour": "22-23"},
    {"second": 30, "minute": "*"},
    {"second": "10-50/20", "minute": 0, "hour": 0},
    {"minute": "0,15,30-40/3"},
    {"hour": "17", "timezone": "Asia/Tokyo"},
    {"hour": "17", "start_date": "2099-01-01", "end_date": "2099-12-31 12:00:00"},
    {"hour": "17", "start_date": "2099-01-01T00:00:00+05:00", "timezone": "Asia/Kolkata"},
    {"hour": "17", "end_date": "2099-01-01T00:00:00.250000"},
]


def cron(both):
    for number, fields in enumerate(CRON):
        add(both, f"cron{number}", "cron", **fields)
    for fields, words in [
        ({"hour": 24}, "0-23"),
        ({"minute": "*/60"}, "step"),
        ({"minute": "5-1"}, "begins after its end"),
        ({"day_of_week": 7}, "0-6"),
        ({"day_of_week": "monday-tuesday"}, "cannot be read"),
        ({"hour": "x"}, "hour"),
        ({"hour": 3, "hours": 3}, "hours: is not known here"),
        ({"hour": 3, "timezone": "Europe/Berln"}, "Europe/Berlin"),
        ({"hour": 3, "start_date": "31st of June"}, "start_date"),
    ]:
        body = {"id": "wrong", "func": "jobs:report", "trigger": "cron", **fields}
        both.differs("words", "POST", "/jobs", body, real=500, ours=500, words=words)
    for name, fields, words in [
        ("cron", {"year": 2099}, "no year"),
        ("cron", {"week": 5}, "no ISO week"),
        ("cron", {"day": 13, "day_of_week": "fri"}, "both must match"),
        ("never", {"month": 2, "day": 30}, "never comes"),
        ("never", {"hour": 1, "start_date": "2099-01-01", "end_date": "2098-01-01"}, "end_date"),
        ("iso", {"hour": 3, "start_date": "1 Jan 2099, 10am"}, "start_date"),
    ]:
        body = {"id": "differs", "func": "jobs:report", "trigger": "cron", **fields}
        both.differs(name, "POST", "/jobs", body, real=200, ours=500, words=words)
        both.reference.call("DELETE", "/scheduler/jobs/differs")


def interval_and_date(both):
    for number, fields in enumerate(
        [
            {"seconds": 90},
            {"weeks": 1, "days": 1, "hours": 25, "minutes": 61, "seconds": 1},
            {"hours": 0.5},
            {"minutes": 5, "start_date": "2099-01-01 00:00:00"},
            {"minutes": 5, "start_date": "2020-01-01 00:00:00", "end_date": "2099-01-01"},
            {"hours": 4, "timezone": "America/Bogota"},
            {"hours": 4, "jitter": None, "start_date": "2099-01-01T00:00:00-03:00"},
            {"days": 1, "next_run_time": "2099-05-05 05:05:05"},
        ]
    ):
        add(both, f"interval{number}", "interval", **fields)
    for number, fields in enumerate(
        [
            {"run_date": "2099-01-01"},
            {"run_date": "2099-01-01 10:00", "timezone": "Asia/Tokyo"},
            {"run_date": "2099-01-01T10:00:00.5+05:30"},
            {"run_date": "2099-01-01T10:00:00Z", "next_run_time": "2099-01-02T10:00:00"},
        ]
    ):
        add(both, f"date{number}", "date", **fields)
    add(both, "inside", {"type": "interval", "hours": 2})
    add(both, "inside-date", {"run_date": "2099-02-02"})
    for trigger, fields, words in [
        ("interval", {"hours": "4"}, "hours"),
        ("interval", {"hour": 4}, "did you mean “hours”"),
        ("date", {"run_date": 7}, "run_date"),
        ("date", {"hours": 7}, "hours"),
        ("weekly", {"hours": 7}, "date, interval or cron"),
    ]:
        body = {"id": "wrong", "func": "jobs:report", "trigger": trigger, **fields}
        both.differs("words", "POST", "/jobs", body, real=500, ours=500, words=words)


def fields_of_a_job(both):
    job = add(
        both,
        "full",
        "interval",
        days=1,
        name="Full of fields",
        args=[1, "two", None, [3.5], {"four": True}],
        kwargs={"a": "ä", "b": 12345678901234567890},
        misfire_grace_time=None,
        coalesce=False,
        max_instances=3,
        executor="default",
        jobstore="default",
        replace_existing=False,
    )
    assert (job["name"], job["max_instances"], job["misfire_grace_time"]) == ("Full of fields", 3, None), job
    add(both, "plain", "interval", days=1, name=None, args=None, kwargs=None, misfire_grace_time=60)
    add(both, "born-paused", "cron", hour=1, next_run_time=None)
    add(both, "born-paused-date", "date", run_date="2099-01-01", next_run_time=None)
    both.same("POST", "/jobs", {"id": "full", "func": "jobs:report", "trigger": "cron"})  # 409
    both.same("POST", "/jobs", {"id": "full", "func": "jobs:mail", "trigger": "cron", "hour": 5, "replace_existing": True})
    both.same("GET", "/jobs/full")
    for body, words in [
        ({"func": "jobs:report"}, "id: is missing"),
        ({"id": "x"}, "func: is missing"),
        ({"id": 7, "func": "jobs:report"}, "id"),
        ({"id": "x", "func": 7}, "func"),
        ({"id": "x", "func": "jobs:reprot", "trigger": "cron"}, "did you mean \\\"report\\\""),
        ({"id": "x", "func": "jobs:report", "max_instances": 0}, "max_instances"),
        ({"id": "x", "func": "jobs:report", "misfire_grace_time": 0}, "misfire_grace_time"),
        ({"id": "x", "func": "jobs:report", "misfire_grace_time": 1.5}, "misfire_grace_time"),
        ({"id": "x", "func": "jobs:report", "kwargs": 5}, "kwargs"),
        ([1], "an object is expected"),
    ]:
        both.differs("words", "POST", "/jobs", body, real=500, ours=500, words=words)
    both.differs("json", "POST", "/jobs", b"{", real=400, ours=400, words="not JSON")
    both.differs("json", "PATCH", "/jobs/full", b"", real=400, ours=400, words="not JSON")
    later = {"trigger": "date", "run_date": "2099-01-01"}
    both.differs("id", "POST", "/jobs", {"id": "a b", "func": "jobs:report", **later}, real=200, ours=500, words="id")
    both.reference.call("DELETE", "/scheduler/jobs/a%20b")
    text = {"id": "text", "func": "jobs:report", "args": "ab", **later}
    both.differs("types", "POST", "/jobs", text, real=200, ours=500, words="args: is an array")
    both.reference.call("DELETE", "/scheduler/jobs/text")
    task = {"id": "task", "func": "report", **later}
    both.differs("task", "POST", "/jobs", task, real=500, ours=200, words='"func": "report"')
    both.soloist.call("DELETE", "/scheduler/jobs/task")


def changes(both):
    add(both, "c", "interval", hours=1, args=[1], kwargs={"a": 1})
    for body in [
        {"name": "Changed"},
        {"args": [2, 3]},
        {"kwargs": {"b": [1]}, "max_instances": 2},
        {"misfire_grace_time": 30, "coalesce": False},
        {"func": "jobs:mail", "executor": "default"},
        {"trigger": "interval", "minutes": 10, "start_date": "2099-01-01"},
        {"trigger": "cron", "hour": "4", "day_of_week": "mon", "name": "On Mondays"},
        {"trigger": {"type": "date", "run_date": "2099-01-01T00:00:00+01:00"}},
        {"next_run_time": None},
        {"name": "Still paused"},
        {"trigger": "interval", "hours": 3},
        {"trigger": "interval", "hours": 3, "next_run_time": "2099-01-01T00:00:00"},
        {},
    ]:
        both.same("PATCH", "/jobs/c", body)
        both.same("GET", "/jobs/c")
    before = both.soloist.call("GET", "/scheduler/jobs/c")
    for body, words in [
        ({"hours": 7}, "a part of a trigger"),
        ({"id": "d"}, "cannot be changed"),
        ({"name": ""}, "name"),
        ({"args": None}, "args"),
        ({"max_instances": None}, "max_instances"),
        ({"nam": "x"}, "did you mean “name”"),
        ({"func": "jobs:nothing"}, "nothing"),
        ({"trigger": "sometimes"}, "trigger"),
        ([], "an object is expected"),
    ]:
        both.differs("words", "PATCH", "/jobs/c", body, real=500, ours=500, words=words)
    body = {"trigger": "interval", "hours": 9, "name": 5}
    both.differs("whole", "PATCH", "/jobs/c", body, real=500, ours=500, words="name")
    assert both.soloist.call("GET", "/scheduler/jobs/c") == before, "what was refused changed nothing"
    both.same("PATCH", "/jobs/c", {"trigger": "cron", "hour": 1})
    next_run = {"next_run_time": "2099-01-01T00:00:00"}
    both.differs("next", "PATCH", "/jobs/c", next_run, real=200, ours=500, words="null pauses the job")
    both.same("PATCH", "/jobs/c", {"trigger": "cron", "hour": 1})
    for method, path in [("PATCH", ""), ("GET", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume"), ("POST", "/run")]:
        both.same(method, f"/jobs/nobody{path}", {} if method == "PATCH" else None)  # 404
    for method, path in [("PUT", "/jobs/c"), ("GET", "/jobs/c/run"), ("GET", "/pause"), ("GET", "/nowhere")]:
        (status, _), (other_status, other) = both.ask(method, path, None)
        assert status == other_status in (404, 405), (method, path, status, other_status, other)


def pauses_and_runs(both):
    add(both, "p", "cron", hour="*/2")
    assert both.same("POST", "/jobs/p/pause")[1]["next_run_time"] is None
    both.same("POST", "/jobs/p/pause")
    both.same("GET", "/jobs/p")
    both.same("POST", "/jobs/p/run")  # a paused one, too
    assert both.same("POST", "/jobs/p/resume")[1]["next_run_time"]
    both.same("POST", "/jobs/p/resume")
    both.same("DELETE", "/jobs/p")
    both.same("DELETE", "/jobs/p")  # 404
    # A date is gone when it has run, and its id is free.
    for _ in range(2):
        both.same("POST", "/jobs", {"id": "now", "func": "jobs:report", "kwargs": {"now": 1}, "max_instances": 9})
        deadline = time.monotonic() + 20
        while any(server.call("GET", "/scheduler/jobs/now")[0] != 404 for server in (both.reference, both.soloist)):
            assert time.monotonic() < deadline, "a date that has passed is still there"
            time.sleep(0.05)
        both.same("GET", "/jobs/now")
    # One that passes while it is paused.
    soon = datetime.now(timezone.utc) + timedelta(seconds=0.3)
    both.same("POST", "/jobs", {"id": "soon", "func": "jobs:report", "run_date": soon.isoformat()})
    both.same("POST", "/jobs/soon/pause")
    deadline = time.monotonic() + 20
    while both.soloist.call("GET", "/scheduler/jobs/soon")[0] != 404:
        assert time.monotonic() < deadline, "it is over"
        time.sleep(0.05)
    both.differs("paused once", "GET", "/jobs/soon", real=200, ours=404)
    both.reference.call("DELETE", "/scheduler/jobs/soon")
    # One that has no time left after a change.
    ended = {"trigger": "interval", "hours": 1, "start_date": "2020-01-01", "end_date": "2020-01-02"}
    add(both, "ends", "interval", hours=1)
    both.differs("over", "PATCH", "/jobs/ends", ended, real=200, ours=200)
    both.differs("over", "POST", "/jobs/ends/resume", real=200, ours=404)


def lists(both):
    status, all_jobs = both.same("GET", "/jobs")
    assert status == 200 and len(all_jobs) > 40, all_jobs


def main():
    logging.disable(logging.CRITICAL)
    port, token = sys.argv[1:]
    both = Both(real(), Server(port, {"Authorization": f"Bearer {token}"}))
    assert both.same("GET", "/jobs") == (200, [])
    whole_scheduler(both)
    cron(both)
    interval_and_date(both)
    fields_of_a_job(both)
    changes(both)
    pauses_and_runs(both)
    lists(both)
    add(both, "kept", "cron", hour=7)
    shut_down(both)
    assert shown == set(DIFFERENCES), f"no call shows {set(DIFFERENCES) - shown}"
    print(f"{both.calls} calls are answered alike, but for {len(DIFFERENCES)} differences")


main()

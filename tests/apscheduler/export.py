"""Writes what the real APScheduler's export_jobs() writes.

usage: export.py triggers|jobs|wrong FILE [ID…]   leaves out the jobs of these ids; prints what is expected of the rest
"""

import itertools
import json
import sys
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from types import ModuleType

from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.calendarinterval import CalendarIntervalTrigger
from apscheduler.triggers.combining import OrTrigger
from apscheduler.triggers.cron import CronTrigger
from dateutil.tz import tzoffset, tzutc

DAYS = [None, "1", "last", "1st mon", "last fri,2nd wed", "1-7", "8-14", "22-31", "*/2", "1,15", "15", "3rd tue,10", "*", "29-31"]
WEEKDAYS = [None, "mon", "mon-fri", "sun", "0,6", "*/2", "5/1", "*"]
MONTHS = [None, "*/3", "jan-mar,11", "6-12/2"]
TIMES = [
    {"hour": "3"},
    {"hour": "*/6", "minute": "30"},
    {"hour": "9-17/4", "minute": "0,59", "second": "10-50/20"},
    {"hour": "23", "minute": "*/45"},
    {},
]
# Clocks that are never changed, so that only the triggers are compared.
ZONES = ["UTC", "Asia/Tokyo", "America/Bogota", "Asia/Kolkata"]


def cron_fields():
    times, zones = itertools.cycle(TIMES), itertools.cycle(ZONES)
    for month, day, weekday in itertools.product(MONTHS, DAYS, WEEKDAYS):
        fields = {"month": month, "day": day, "day_of_week": weekday, **next(times)}
        fields = {name: text for name, text in fields.items() if text is not None}
        # A place in the month that is never that day of the week is searched for until the year 9999.
        if fields and (" " not in (day or "") or weekday in (None, "mon-fri", "*")):
            yield fields, next(zones)


def triggers(scheduler, without):
    expected = {}
    for number, (fields, zone) in enumerate(cron_fields()):
        name = f"t{number}"
        trigger = CronTrigger(timezone=zone, **fields)
        at, times = datetime.now(timezone.utc), []
        while len(times) < 4 and (at := trigger.get_next_fire_time(None, at)):
            times.append(at.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"))
            at += timedelta(microseconds=1)
        if name not in without and times:
            scheduler.add_job("jobs:report", trigger, id=name)
            expected[name] = {"fields": fields, "times": times}
    return expected


def some_jobs(scheduler):
    add = scheduler.add_job
    add("jobs:report", "cron", id="nightly", name="Night by night", hour=3, day_of_week="mon-fri", timezone="Europe/Berlin")
    add(
        "jobs:report",
        "interval",
        id="often",
        minutes=90,
        start_date="2099-01-01",
        jitter=5,
        args=[1, "two", (3.5,)],
        kwargs={"a": {"b": None}},
        misfire_grace_time=None,
        coalesce=False,
        max_instances=4,
    )
    add("jobs:report", "date", id="once", run_date=datetime(2099, 1, 1, 10, tzinfo=tzoffset(None, 3600)))
    add("jobs:report", "interval", id="offset", days=1, start_date=datetime(2099, 1, 1, tzinfo=tzutc()))
    end = datetime(2099, 1, 1, tzinfo=timezone(timedelta(hours=1)))
    add("jobs:report", "cron", id="bounded", minute=5, end_date=end)
    add("jobs:report", CronTrigger.from_crontab("0 0 1 * *"), id="crontab")
    add("jobs:report", CronTrigger(hour=1, timezone=timezone(timedelta(hours=-4))), id="fixed")
    add("jobs:report", "cron", id="stopped", hour=1, next_run_time=None)


def wrong_jobs(scheduler):
    module = ModuleType("wrong")
    module.repot = lambda *args, **kwargs: None
    sys.modules["wrong"] = module
    add = scheduler.add_job
    kwargs = {"deep": [{"x": Decimal(1)}]}
    add("jobs:report", "cron", id="arguments", hour=1, args=[1, datetime(2020, 1, 1)], kwargs=kwargs)
    add("jobs:report", CalendarIntervalTrigger(months=1, timezone="UTC"), id="calendar")
    either = OrTrigger([CronTrigger(hour=1, timezone="UTC"), CronTrigger(hour=2, timezone="UTC")])
    add("jobs:report", either, id="either")
    add("wrong:repot", "cron", id="unknown", hour=1)
    add("jobs:report", "cron", id="a b", hour=1)
    add("jobs:report", "cron", id="week", week=5)
    half = timezone(timedelta(hours=5, minutes=30))
    add("jobs:report", CronTrigger(hour=1, timezone=half), id="half-hour")


def main():
    kind, file, *without = sys.argv[1:]
    scheduler = BackgroundScheduler(timezone="UTC")
    scheduler.start(paused=True)
    if kind == "triggers":
        expected = triggers(scheduler, set(without))
    else:
        expected = {"jobs": some_jobs, "wrong": wrong_jobs}[kind](scheduler)
    scheduler.export_jobs(file)
    print(json.dumps(expected))
    scheduler.shutdown()


main()

"""Keeps a claim from waiting for a minute: every request of the run would."""

import schemathesis


@schemathesis.hook
def map_body(context, body):
    if isinstance(body, dict) and isinstance(body.get("wait"), (int, float, str)):
        body["wait"] = "20ms"
    return body

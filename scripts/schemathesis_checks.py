"""`positive_data_acceptance`, but for what no schema can tell, and `negative_data_rejection`, but for
preconditions and the items of a batch.

Whether a valid request is accepted may depend on what the register holds, or on two parameters
together. Those refusals are listed here, each by the place and the code that the problem document
names. Any other refusal of a request that the schema allows is a failure.
"""

import re

import schemathesis
from schemathesis.specs.openapi import checks

NO_SCHEMA_TELLS = {
    # A cursor is given out by the service and bound to one list; it cannot be made up.
    ("cursor", "invalid_cursor"),
    # A page is named by number or by cursor, and by number near the beginning alone.
    ("page", "conflict"),
    ("size", "conflict"),
    ("limit", "conflict"),
    ("cursor", "conflict"),
    ("page", "too_deep"),
    # A stream has no pages, and more rows than a page.
    ("count", "conflict"),
    ("limit", "out_of_range"),
    # An event's id is given out by the service, as a cursor is.
    ("last-event-id", "invalid"),
    # How many letters are left of a term once it is folded.
    ("q", "blank"),
    ("subject", "blank"),
    ("subject", "too_short"),
    # A retry names a mail record that the same member has.
    ("#/retry_of", "mail_record_not_found"),
    # What an item of a batch needs: an atomic one is refused as a whole.
    ("#/member_id", "member_not_found"),
    ("#/email", "email_taken"),
    ("#/external_id", "external_id_taken"),
    ("#/provider_message_id", "provider_message_id_taken"),
    # A member without an address needs a recipient given.
    ("#/recipient", "required"),
    # What has not occurred yet cannot be written down.
    ("#/occurred_at", "in_the_future"),
    # Which views there are is configured, and who may make keys needs none.
    ("#/view", "unknown"),
    ("#/view", "conflict"),
    # The external id in the path is the one that counts.
    ("#/external_id", "mismatch"),
}
# Whether a precondition holds depends on the version that the resource is in, and whether a key is
# free on what it was used for; and an answer is erased with what it told of.
BY_WHAT_WAS_BEFORE = {"precondition_failed", "idempotency_key_reused", "answer_erased"}


@schemathesis.check
def valid_data_is_accepted(ctx, response, case):
    try:
        checks.positive_data_acceptance(ctx, response, case)
    except AssertionError:
        problem = response.json()
        if problem["code"] in BY_WHAT_WAS_BEFORE:
            return
        errors = problem["errors"]
        if any("header" in e and not follows_pattern(case, e["header"]) for e in errors):
            return
        places = {(place(e), e["code"]) for e in errors}
        if not places or not places <= NO_SCHEMA_TELLS:
            raise


def place(error):
    """Where an error lies; in an item of a batch, where in the item."""
    return re.sub(r"^#/items/\d+", "#", error.get("pointer", "")) or error.get("parameter") or error.get("header")


@schemathesis.check
def invalid_data_is_rejected(ctx, response, case):
    try:
        checks.negative_data_rejection(ctx, response, case)
    except AssertionError:
        # A precondition may fail before the body is looked at.
        if response.status_code == 412:
            return
        # Each item of a batch is refused by itself.
        batch = case.operation.path.endswith("/batch") and response.status_code == 200
        if not batch or not response.json()["failed"]:
            raise


def follows_pattern(case, header):
    """Whether a field is what the document allows: the coverage phase also sends others as valid."""
    sent = {name.lower(): value for name, value in case.headers.items()}
    for parameter in case.operation.definition.raw["parameters"]:
        if parameter["in"] == "header" and parameter["name"].lower() == header:
            return re.search(parameter["schema"]["pattern"], sent[header])
    return True

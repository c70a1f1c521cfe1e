"""What `SECURITY.md` says of several sites, against Flower as it comes and against our transport, for `flower.py`."""

from __future__ import annotations

FOLDER = "tests/engines/sites/"
THREATS = [
    (
        "the coordinator has a site compute something else",
        "it sends the code and its settings",
        "it sends neither; settings are agreed by digest",
        "test_site_faults.py::test_a_site_with_other_settings_is_left_out_before_the_first_charge",
    ),
    (
        "the coordinator puts a key of its own in place of a site's",
        "SecAgg+ takes the keys that it hands on",
        "keys are signed by names in a file that it has not made",
        "test_rounds.py::test_a_key_that_its_site_has_not_signed_is_refused",
    ),
    (
        "a site shows another one's key as its own",
        "SecAgg+ refuses keys that are the same",
        "a mask is of two names",
        "test_copied_keys.py::test_a_site_that_shows_the_key_of_another_takes_no_mask_off",
    ),
    (
        "a sum over fewer sites is seen",
        "plain answers, or SecAgg+, whose masks have 32 bits",
        "256-bit secrets; nothing less than all shows anything",
        "test_masking.py::test_nothing_less_than_all_shows_anything",
    ),
    (
        "sums over different sets of sites are subtracted",
        "the strategy's affair",
        "every repeat has fresh noise and is charged; what has no noise is not repeated",
        "test_site_faults.py::test_the_number_of_units_is_added_up_once_whoever_drops_out",
    ),
    (
        "sites are asked again and again",
        "for ever",
        "until what was set aside is spent",
        "../../privacy/test_shares.py::test_what_was_set_aside_can_be_spent_once",
    ),
    (
        "the coordinator tells sites different things",
        "unnoticed",
        "their next digests differ, and nobody sends",
        "test_equivocation.py::test_sites_that_heard_different_totals_send_nothing_more",
    ),
    (
        "colluding sites subtract their noise",
        "noise is the strategy's affair",
        "the others' noise is what is charged",
        "test_collusion.py::test_colluding_sites_win_no_more_than_the_stated_epsilon",
    ),
    (
        "messages of another attempt, round or fit are played again",
        "messages are not signed",
        "round, attempt and all that came before are signed",
        "test_equivocation.py::test_a_key_of_another_fit_is_refused",
    ),
    (
        "somebody else is the coordinator",
        "whoever reaches the Control API",
        "TLS: the certificate that the site was given. Over Flower whoever reaches the port; nobody is believed",
        "test_transport.py::test_another_certificate_is_not_trusted",
    ),
    (
        "somebody else is a site",
        "node authentication: the time, signed, for five minutes",
        "a fresh number, signed, and every answer",
        "test_transport.py::test_who_cannot_sign_for_a_site_is_not_let_in",
    ),
    (
        "garbage, wrongly or rightly signed",
        "an error of the app",
        "its sender is left out, nobody else",
        "test_round_faults.py::test_who_signs_a_key_that_others_refuse_is_left_out_in_their_place",
    ),
    (
        "late answers, and two for one question",
        "matched by number of message",
        "matched by number of question, the first counts",
        "test_transport.py::test_a_late_answer_is_no_answer_to_the_next_question",
    ),
    (
        "callers that say nothing",
        "the web server's affair",
        "must go after ten seconds",
        "test_transport.py::test_who_says_nothing_takes_no_place_from_the_sites",
    ),
    (
        "lies about own data; one person at two sites; time; stopping",
        "not covered",
        "not covered",
        "",
    ),
]  # fmt: skip


def threat_table() -> list[str]:
    lines = ["| threat | Flower as it comes | ours | shown by (`tests/engines/sites/`) |", "|---|---|---|---|"]
    return lines + [
        f"| {threat} | {theirs} | {ours} | {f'`{test}`' if test else ''} |" for threat, theirs, ours, test in THREATS
    ]

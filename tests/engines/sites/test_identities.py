"""The file of keys is the same everywhere, and only the holder of a private key can sign for a site."""

from __future__ import annotations

import json
import os

import pytest
from site_support import directory_of, identities

pytest.importorskip("cryptography")

from private_topics.engines.sites.identities import SiteDirectory, SiteIdentity
from private_topics.engines.sites.messages import GarbageError, Message, unpacked, verified
from private_topics.engines.sites.site import Site
from private_topics.errors import InputError
from private_topics.privacy.shares import NoiseShares


def test_files_come_back_as_they_were(tmp_path):
    known = identities(3)
    directory = directory_of(known, 2)
    directory.write(tmp_path / "sites.json")
    assert SiteDirectory.read(tmp_path / "sites.json") == directory
    assert SiteDirectory.read(tmp_path / "sites.json").digest == directory.digest
    one = known["clinic-01"]
    one.write(tmp_path / "key")
    assert SiteIdentity.read(tmp_path / "key").public_key == one.public_key
    assert os.stat(tmp_path / "key").st_mode & 0o077 == 0
    with pytest.raises(FileExistsError):
        one.write(tmp_path / "key")


def test_the_file_of_keys_can_be_compared_line_by_line(tmp_path):
    """People exchange it by hand, and look whether the key of each site is the one that the site has told them."""
    known = identities(3)
    directory_of(known, 2).write(tmp_path / "sites.json")
    lines = (tmp_path / "sites.json").read_text().splitlines()
    for name, identity in known.items():
        assert sum(f'"{name}": "{identity.public_key.hex()}"' in line for line in lines) == 1
    assert all(sum(name in line for name in known) <= 1 for line in lines)


def test_the_digest_knows_every_key_and_the_number_of_honest_sites():
    known = identities(3)
    digests = {directory_of(known, 2).digest, directory_of(known, 3).digest}
    digests.add(directory_of({**known, "clinic-01": SiteIdentity.new("clinic-01")}, 2).digest)
    assert len(digests) == 3


@pytest.mark.parametrize(
    "stored",
    [
        "no json",
        "[]",
        "{}",
        '{"sites": {"a": "00"}, "honest": 1}',
        '{"sites": {"a": 5, "b": 6}, "honest": 1}',
        json.dumps({"sites": {"a": "00" * 32, "b": "00" * 32}, "honest": 1}),
        json.dumps({"sites": {"a": "00" * 32, "b": "01" * 32}}),
        json.dumps({"sites": {"a": "00" * 32, "b": "01" * 32}, "honest": 3}),
        json.dumps({"sites": {"a": "00" * 32, "b": "01" * 32}, "honest": True}),
        json.dumps({"sites": {"a/b": "00" * 32, "b": "01" * 32}, "honest": 1}),
    ],
)
def test_files_that_are_no_directory_are_refused(stored, tmp_path):
    (tmp_path / "sites.json").write_text(stored)
    with pytest.raises(InputError):
        SiteDirectory.read(tmp_path / "sites.json")


def test_only_the_site_itself_can_sign():
    known = identities(2)
    directory = directory_of(known, 2)
    message = Message("key", {"site": "clinic-00"})
    assert verified(message.signed(known["clinic-00"]), directory, "clinic-00", "key") == message
    for data in (
        message.signed(known["clinic-01"]),
        message.packed(),
        message.packed() + bytes(64),
        Message("key", {"site": "clinic-00", "more": 1}).packed() + message.signed(known["clinic-00"])[-64:],
    ):
        with pytest.raises(GarbageError):
            verified(data, directory, "clinic-00", "key")
    with pytest.raises(GarbageError):  # signed, but for somebody else
        verified(message.signed(known["clinic-00"]), directory, "clinic-01", "key")
    with pytest.raises(GarbageError):
        verified(message.signed(known["clinic-00"]), directory, "clinic-00", "masked")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0",
        b"\xff\xff\xff\xff",
        b"\0\0\0\x02{}",
        b"\0\0\0\x05[1,2]",
        b"\0\0\0\x01[" * 3,
        b"\0\0\0\x08[[[[[[[[",
    ],
)
def test_garbage_is_no_message(data):
    with pytest.raises(GarbageError):
        unpacked(data, "key")


def test_a_site_must_be_in_its_directory_with_its_own_key():
    known = identities(3)
    directory = directory_of(known, 3)
    Site(known["clinic-00"], directory, ["word"])
    for stranger in (SiteIdentity.new("clinic-00"), SiteIdentity.new("clinic-99")):
        with pytest.raises(InputError, match="another key"):
            Site(stranger, directory, ["word"])


@pytest.mark.parametrize("sites", range(2, 12))
def test_coordinator_and_run_agree_on_the_fewest_sites(sites):
    known = identities(sites)
    for honest in range(1, sites + 1):
        assert directory_of(known, honest).fewest == NoiseShares(sites, honest).fewest

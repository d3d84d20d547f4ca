"""The suite itself: every test of it is run."""

from __future__ import annotations

from collections import Counter

import pytest

from sapwood.testing import AsyncDurableStoreContract, DurableStoreContract


@pytest.mark.parametrize("suite", [DurableStoreContract, AsyncDurableStoreContract])
def test_no_test_hides_another_of_the_same_name(suite: type) -> None:
    names = Counter(name for part in suite.__mro__ for name in vars(part) if name[:5] == "test_")
    assert [name for name, count in names.items() if count > 1] == []

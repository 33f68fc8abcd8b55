from tests.fresh_python import fresh_python

# In a process of its own: within that of the tests a thread of an earlier one may be compiling.
CODE = """
import gc
from engine.process import no_collection
first, second = no_collection(), no_collection()
enabled = [gc.isenabled()]
for step in (first.__enter__, second.__enter__, lambda: first.__exit__(None, None, None)):
    step()
    enabled.append(gc.isenabled())
second.__exit__(None, None, None)
print(enabled, gc.isenabled())
"""


def test_that_nothing_is_collected_until_the_last_of_blocks_that_overlap_ends():
    assert fresh_python("-c", CODE) == "[True, False, False, False] True\n"

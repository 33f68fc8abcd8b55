"""What the tests of the contract share: commands, done in this process."""

from tests.engine.commands.conftest import command as command  # a fixture

"""Every task: a new one is its folder beside this, and a line here."""

from typing import Any

from engine.run.task import Task
from engine.tasks.network.task import NETWORK
from engine.tasks.product.task import PRODUCT
from engine.work.chain_task import CHAIN, OPERATION
from engine.work.filter_task import FILTERING

TASKS: dict[str, Task[Any, Any, Any]] = {
    task.problem.task: task for task in (FILTERING, PRODUCT, NETWORK, OPERATION, CHAIN)
}

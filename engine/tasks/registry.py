"""Every task: a new one is its folder beside this, and a line here."""

from engine.run.task import AnyTask
from engine.tasks.network.task import NETWORK
from engine.tasks.product.task import PRODUCT
from engine.work.chain_task import CHAIN, OPERATION
from engine.work.filter_task import FILTERING

TASKS: dict[str, AnyTask] = {
    task.problem.task: task for task in (FILTERING, PRODUCT, NETWORK, OPERATION, CHAIN)
}

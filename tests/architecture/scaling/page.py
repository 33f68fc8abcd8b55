"""The toy task's panel: a table of its runs."""

from engine.host.request import Check, Run
from engine.results.metrics import compared
from gui.page.contract import Page, PageStatus
from gui.page.jobs import RequestedRun
from gui.runs.model import RunsModel
from gui.runs.table import RunsTable
from tests.architecture.scaling.problem import ScaleRequest, Scaling

PROBLEM = Scaling(5, 2.5)


class Scalings(RunsModel):
    def __init__(self):
        super().__init__([Scaling], "in-one-go", ("factor", "variant"))

    def add(self, result):
        self.beginResetModel()
        self._results.append(result)
        self._runs = compared(self._results, self.baseline, self.chosen)
        self.endResetModel()


class ScalePage(Page):
    def __init__(self, services):
        super().__init__()
        self._services = services
        self.model = Scalings()
        self.table = RunsTable(self.model, "Scalings")
        self.fill(self.table, self.table)

    @property
    def status(self):
        return PageStatus("A toy.", has_results=bool(self.model.tried()), run_does="Scales.")

    def run(self):
        request = Check(ScaleRequest(PROBLEM))
        messages = self._services.messages.on(self)
        self._services.jobs.begin("scaling", [RequestedRun("Scaling", request, self._checked)], messages)

    def _checked(self, found):
        able = [entry.variant for entry in found if entry.reason is None]
        jobs = [RequestedRun("Scaling", Run(ScaleRequest(PROBLEM, key), 0.0), self.model.add) for key in able]
        self._services.jobs.add(jobs)


build = ScalePage

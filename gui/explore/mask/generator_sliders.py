"""A mask from a few numbers: a generator, a slider for each number, and its spelling; the picture follows."""

import math
from functools import partial

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QComboBox, QLineEdit, QSlider, QWidget

from engine.errors import EngineError
from engine.mask.analysis import describe_sum
from engine.mask.generator_table import GENERATORS, Generator, MaskParameter
from engine.mask.generators import make
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID, code_font
from gui.widgets.fields import NumberField
from gui.widgets.panel_parts import (
    VerdictLabel,
    boxed,
    column,
    fill_box,
    form,
    icon_button,
    label_for,
    named,
    quiet_label,
    row,
)

_STEPS = 1000
# A range of more times is on a logarithmic scale.
_LOG_FROM = 50.0
_SPELLING_TIP = "The mask as text. It is taken wherever a mask is typed, also by `--mask` and in Python."


class ParameterSlider(QWidget):
    """A slider and a field for one number."""

    changed = Signal(float)

    def __init__(self, parameter: MaskParameter) -> None:
        super().__init__()
        self.parameter = parameter
        self.slider = named(QSlider(Qt.Orientation.Horizontal), parameter.title)
        self.slider.setRange(0, _step_count(parameter))
        self.field = NumberField(parameter.title)
        self.field.setFixedWidth(8 * GRID)
        unit = quiet_label(parameter.unit)
        unit.setFixedWidth(6 * GRID)
        for part in (self.slider, self.field):
            part.setToolTip(f"{parameter.about}\n{parameter.least:g} to {parameter.most:g} {parameter.unit}")
        self.setLayout(row((self.slider, 1), self.field, unit))
        self.slider.valueChanged.connect(lambda at: self.changed.emit(value_at(parameter, at)))
        self.field.entered.connect(self.changed)

    def show_value(self, value: float) -> None:
        """Show a value; no signal is emitted."""
        with QSignalBlocker(self.slider):
            self.slider.setValue(position_of(self.parameter, value))
        self.field.show_number(float(f"{value:.4g}"))


class GeneratorSliders(QWidget):
    """Changes the mask of the workspace at once; all of it since `begin` is one step that can be undone."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        self._times_shown = 0  # all that is slid while the sliders are shown is one step
        self._before = workspace.step
        self._generator = next(iter(GENERATORS.values()))
        # What was chosen, by generator and name; all else follows the defaults.
        self._chosen: dict[str, dict[str, float]] = {}
        self.sliders: dict[str, ParameterSlider] = {}
        self.box = named(QComboBox(), "Generator")
        fill_box(self.box, {key: one.title for key, one in GENERATORS.items()}, self._generator.key)
        self.about = quiet_label(wraps=True)
        self.reset_button = icon_button("restore", "Defaults", "Put all numbers of this generator back.")
        self.spelling = named(QLineEdit(readOnly=True), "Mask as text", _SPELLING_TIP)
        self.spelling.setFont(code_font())
        # Of the mask that is shown; a refusal replaces it until something else is typed.
        self._about_mask = ""
        self.verdict = VerdictLabel()
        self._form = form(GRID)
        head, spelled = row((self.box, 1), self.reset_button), label_for("Text", self.spelling)
        parts = head, self.about, boxed(self._form), row(spelled, (self.spelling, 1)), self.verdict, 1
        self.setLayout(column(*parts))
        self.box.activated.connect(lambda _at: self.choose(GENERATORS[self.box.currentData()]))
        self.reset_button.clicked.connect(self._reset)

    def begin(self, generator: Generator) -> None:
        """Show a generator and its mask, as a new step."""
        self._times_shown += 1
        self._before = self._workspace.step
        self.choose(generator)

    def take_back(self) -> None:
        """Undo that step."""
        if self._workspace.step != self._before:
            self._workspace.undo_stack.undo()

    def choose(self, generator: Generator) -> None:
        """Show a generator, with the numbers that were chosen before."""
        self._generator = generator
        self.box.setCurrentIndex(self.box.findData(generator.key))
        self.about.setText(generator.about)
        while self._form.rowCount():
            self._form.removeRow(0)
        self.sliders = {}
        for parameter in generator.parameters:
            slider = self.sliders[parameter.name] = ParameterSlider(parameter)
            self._form.addRow(parameter.title, slider)
            slider.changed.connect(partial(self._set, parameter.name))
            slider.field.refused.connect(self._say)
        self._show()

    def values(self) -> dict[str, float]:
        """Return the numbers of the generator: those that were chosen, else their defaults."""
        chosen = self._chosen.get(self._generator.key, {})
        values: dict[str, float] = {}
        for side in self._generator.sides:
            # Square until both sides are chosen.
            values[side.name] = chosen.get(side.name, next(iter(values.values()), side.default))
        longest = int(max(values.values()))
        for number in self._generator.numbers:
            values[number.name] = chosen.get(number.name, number.default_for(longest))
        return values

    def _set(self, name: str, value: float) -> None:
        self._chosen.setdefault(self._generator.key, {})[name] = value
        self._show()

    def _reset(self) -> None:
        self._chosen.pop(self._generator.key, None)
        self._show()

    def _show(self) -> None:
        values, generator = self.values(), self._generator
        for name, slider in self.sliders.items():
            slider.show_value(values[name])
        self.spelling.setText(generator.spelling(values))
        sides = [values[side.name] for side in generator.sides]
        numbers = [values[number.name] for number in generator.numbers]
        if any(not side.is_integer() for side in sides):
            self._say("A side is a whole number of cells.")
            return
        try:
            mask = make(generator, [int(side) for side in sides], numbers)
        except EngineError as error:
            self._say(str(error))
        else:
            self._about_mask = f"{mask.rows} × {mask.columns} cells. {describe_sum(mask).short}."
            self._say()
            merge_key = "generate", self._times_shown
            self._workspace.set_mask(mask, f"Generate {generator.title}", merge_key, is_new=True)

    def _say(self, refusal: str = "") -> None:
        self.verdict.say(refusal or self._about_mask, is_bad=bool(refusal))


def _step_count(parameter: MaskParameter) -> int:
    if parameter.step:
        return int((parameter.most - parameter.least) // parameter.step)
    return int(parameter.most - parameter.least) if parameter.unit == "°" else _STEPS


def _is_log(parameter: MaskParameter) -> bool:
    return not parameter.step and parameter.least > 0 and parameter.most / parameter.least > _LOG_FROM


def value_at(parameter: MaskParameter, position: int) -> float:
    """Return the number at a position of its slider, with three digits."""
    share = position / _step_count(parameter)
    if _is_log(parameter):
        value = parameter.least * (parameter.most / parameter.least) ** share
    else:
        value = parameter.least + (parameter.most - parameter.least) * share
    return float(round(value)) if parameter.step else float(f"{value:.3g}")


def position_of(parameter: MaskParameter, value: float) -> int:
    """Return the position of a slider that is nearest to a number."""
    value = min(max(value, parameter.least), parameter.most)
    if _is_log(parameter):
        share = math.log(value / parameter.least) / math.log(parameter.most / parameter.least)
    else:
        share = (value - parameter.least) / (parameter.most - parameter.least)
    return round(share * _step_count(parameter))

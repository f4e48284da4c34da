"""docutils states that find the outermost blocks of a file and run no directive.

docutils' state machine walks the lines as usual; the states below keep it on the outermost level. As no
directive is run, nothing is included, inserted or downloaded, and directives of Sphinx are accepted too.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

from docutils import frontend, nodes, utils
from docutils.parsers.rst import Parser, states
from docutils.statemachine import StateMachineWS, StringList

#: lowest level of docutils' messages that are reported: errors
REPORTED_LEVEL = 3
#: above all levels, so that nothing is printed or raised
SILENT_LEVEL = 5
WHITE_SPACE = str.maketrans("\v\f", "  ")


class Directive(nodes.General, nodes.Element):
    """A directive that was not run: its name, and the argument on its first line."""


class Problems:
    """docutils' errors in the order of their reports."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def note(self, message: Any) -> None:
        """Store an error; an observer of docutils' reporter."""
        if message["level"] >= REPORTED_LEVEL:
            what = next(iter(message.astext().splitlines()), "").partition(") ")[2]
            self.sentences.append(f"line {message.get('line', '?')}: {what}")


class _TailView(Sequence[Any]):
    """View of a sequence from `start` on, without a copy: docutils slices the rest of a text at each list.

    Copies take quadratic time: 22,500 lists in 1.6 MB take 62 s, with views 6 s.
    """

    def __init__(self, whole: Any, start: int) -> None:
        self._whole, self._start = whole, start
        if isinstance(whole, _TailView):
            self._whole, self._start = whole._whole, whole._start + start

    def __len__(self) -> int:
        return max(0, len(self._whole) - self._start)

    def __getitem__(self, at: Any) -> Any:
        if not isinstance(at, slice):
            return self._whole[at + self._start if at >= 0 else at]
        start, stop, _ = at.indices(len(self))
        return self._whole[start + self._start : stop + self._start]


class _Lines(StringList):
    """docutils' lines, where a slice to the end is a view instead of a copy."""

    data: Any
    items: Any

    def __getitem__(self, at: Any) -> Any:
        if not isinstance(at, slice) or at.stop is not None or not at.start:
            return super().__getitem__(at)
        rest = _Lines(parent=self, parent_offset=at.start)
        rest.data, rest.items = _TailView(self.data, at.start), _TailView(self.items, at.start)
        return rest

    def replace(self, old: str, new: str) -> None:
        self.data = [line.replace(old, new) for line in self.data]


class _LazyStates(dict[str, Any]):
    """The states of a machine by name, each created at its first use: a list needs two of fifteen."""

    def __init__(self, machine: Any, classes: Mapping[str, Any]) -> None:
        super().__init__()
        self._machine, self._classes = machine, classes

    def __missing__(self, name: str) -> Any:
        state = self[name] = self._classes[name](self._machine)
        if self._machine.memo is not None:  # the machine is running
            state.runtime_init()
        return state


class _ListMachine(states.NestedStateMachine):
    """docutils' machine for nested text."""

    def __init__(self, state_classes: Sequence[Any], initial_state: str, **options: Any) -> None:
        super().__init__([], initial_state, **options)
        self.memo: Any = None
        self.states = _LazyStates(self, {each.__name__: each for each in state_classes})


if TYPE_CHECKING:
    State = states.Body
else:
    State = object  # `build_states` adds docutils' own class


class _FlatState(State):
    """Base of all states: nested text is not parsed, titles are recorded with their lines."""

    state_machine: "StateMachineWS[Any]"

    def __init__(self, state_machine: Any, debug: bool = False) -> None:
        super().__init__(state_machine, debug)
        self.nested_sm = _ListMachine
        self.nested_sm_kwargs = {"state_classes": STATES, "initial_state": "Body"}

    def nested_parse(
        self, block: Any, input_offset: int, node: Any = None, *args: Any, **options: Any
    ) -> int:
        if "state_machine_kwargs" not in options:
            return input_offset
        # quoted literal blocks need it to find their end
        return int(super().nested_parse(block, input_offset, node, *args, **options))

    def inline_text(self, text: str, lineno: int) -> tuple[list[Any], list[Any]]:
        return [nodes.Text(text)], []

    def section(self, title: str, source: str, style: Sequence[str], lineno: int, messages: Any) -> None:
        styles = self.memo.title_styles
        if style not in styles:
            styles.append(style)
        inline, _ = super().inline_text(title, lineno)
        heading = nodes.title(title, "", *inline, level=styles.index(style) + 1, end=lineno + 1)
        heading.line = lineno - (len(style) == 2)  # a style of two characters has an overline too
        self.document += heading

    def explicit_construct(self, match: Any) -> tuple[list[Any], bool]:
        start = self.state_machine.abs_line_number()
        found, blank_finish = super().explicit_construct(match)  # type: ignore[no-untyped-call]  # docutils has few types
        for node in found:
            node.line = start
        return found, blank_finish

    def directive(self, match: Any, **_: Any) -> tuple[list[Any], bool]:
        machine = self.state_machine
        start = machine.abs_line_number()
        indented, *_others, blank_finish = machine.get_first_known_indented(match.end(), strip_top=False)
        node = Directive(name=match.group(1).lower(), argument=indented[0].strip() if indented else "")
        node.line = start
        return [node], blank_finish or machine.is_next_line_blank()


def build_states(base: Any) -> tuple[Any, ...]:
    """Return docutils' states with `base` before their own class, whose `directive` reads directives."""
    base.explicit = copy(states.Body.explicit)
    base.explicit.constructs = [
        (base.directive if method is states.Body.directive else method, pattern)
        for method, pattern in states.Body.explicit.constructs
    ]
    return tuple(type(state.__name__, (base, state), {}) for state in states.state_classes)


STATES = build_states(_FlatState)


def outermost_nodes(lines: Sequence[str], problems: Problems) -> list[nodes.Element]:
    """Return the outermost elements of the text that have a `line` (from 1), in document order.

    A title has its `level` (from 1, in the order in which the styles of underlining occur) and its `end`,
    the line of its underline.
    """
    document = new_document()
    document.reporter.attach_observer(problems.note)
    machine = states.RSTStateMachine(state_classes=STATES, initial_state="Body")
    # normalised as docutils does, whose own splitting of lines would number them differently
    readable = [line.translate(WHITE_SPACE).expandtabs(8).rstrip() for line in lines]
    machine.run(_Lines(readable, "text"), document, inliner=build_inliner(_role))
    return [node for node in document.children if isinstance(node, nodes.Element) and node.line]


def new_document() -> nodes.document:
    """Return an empty document whose parser reads no file, and prints and raises nothing."""
    settings = frontend.get_default_settings(Parser)
    settings.file_insertion_enabled = settings.raw_enabled = False
    settings.report_level = settings.halt_level = SILENT_LEVEL
    settings.warning_stream = False
    return utils.new_document("text", settings)


def build_inliner(read_role: Any) -> states.Inliner:
    """Return an inliner that replaces every role, known or not, by what `read_role` returns."""
    inliner = states.Inliner()
    inliner.interpreted = read_role  # type: ignore[method-assign]  # it can't be subclassed
    return inliner


def _role(rawsource: str, text: str, role: str, lineno: int) -> Any:
    return [nodes.inline(rawsource, role_text(text))], []


def role_text(text: str) -> str:
    """Return what `text <target>`, `~package.Name` and `!name` show, as Sphinx' roles have them."""
    shown, _, target = text.rpartition("<")
    if shown.strip() and target.find(">") == len(target) - 1:
        return shown.rstrip()
    return text[1:].rpartition(".")[2] if text.startswith("~") else text.removeprefix("!")

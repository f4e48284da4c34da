"""How a worker ends a message: the credit that the message took comes back, whatever Redis does."""

from typing import Any, Final

from celery import Task
from celery.worker.request import Request
from kombu.transport.virtual import QoS

from kebab.observability import tracing
from kebab.observability.log_context import about, request_id

#: Headers of messages.
REQUEST_ID: Final = "kebab_request_id"
TRACE: Final = "kebab_traceparent"


class HintRequest(Request):
    """A request whose credit does not depend on its acknowledgement.

    kombu keeps the credit of a message that it could not acknowledge. A worker that was busy in every slot
    when Redis went is left with none: it waits for no message, so it never sees that its connection is gone,
    and does nothing until the watchdog ends it. A hint needs no acknowledgement; the sweep sends another.
    """

    def acknowledge(self) -> None:
        """Acknowledge the message, or at least make room for the next one."""
        super().acknowledge()
        if not self.message.acknowledged and self.message.channel is not None:
            QoS.ack(self.message.channel.qos, self.message.delivery_tag)


class HintTask(Task):
    """The base of all tasks."""

    abstract = True
    Request = HintRequest

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Work, known by what caused it: a hint is sent for a request, or for none."""
        cause = getattr(self.request, REQUEST_ID, None) or ""
        trace = getattr(self.request, TRACE, None) or ""
        with about(task=self.name, request_id=cause), tracing.span(f"task {self.name}", cause=trace):
            return super().__call__(*args, **kwargs)


def causes() -> dict[str, str]:
    """Return the headers of a message that say what causes it."""
    found = {REQUEST_ID: request_id(), TRACE: tracing.traceparent()}
    return {name: value for name, value in found.items() if value}

"""Base classes of Celery tasks and requests: prefetch credit that survives Redis failures, log context."""

from typing import Any, Final

from celery import Task
from celery.worker.request import Request
from kombu.transport.virtual import QoS

from kebab.observability import tracing
from kebab.observability.log_formats import bind_log_fields, request_id

#: Message headers.
REQUEST_ID: Final = "kebab_request_id"
TRACE: Final = "kebab_traceparent"


class HintRequest(Request):
    """A request whose prefetch credit is returned even if its acknowledgement fails.

    kombu holds the credit of a message that it could not acknowledge. A worker that was busy in every slot
    when Redis failed is left with none: it waits for no message, so it never sees that its connection is
    lost, and idles until the watchdog ends it. A hint needs no acknowledgement; the sweep sends another.
    """

    def acknowledge(self) -> None:
        """Acknowledge the message, or at least return its credit."""
        super().acknowledge()
        if not self.message.acknowledged and self.message.channel is not None:
            QoS.ack(self.message.channel.qos, self.message.delivery_tag)


class HintTask(Task):  # type: ignore[type-arg]  # the class itself is not generic
    """The base of all tasks."""

    abstract = True
    Request = HintRequest  # type: ignore[assignment]  # Celery takes a class, too

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the task with the request id and trace of the request that sent its hint, if any."""
        cause = getattr(self.request, REQUEST_ID, None) or ""
        trace = getattr(self.request, TRACE, None) or ""
        with (
            bind_log_fields(task=self.name, request_id=cause),
            tracing.span(f"task {self.name}", cause=trace),
        ):
            return super().__call__(*args, **kwargs)


def cause_headers() -> dict[str, str]:
    """Return the message headers with the current request id and trace, as far as there are any."""
    found = {REQUEST_ID: request_id(), TRACE: tracing.traceparent()}
    return {name: value for name, value in found.items() if value}

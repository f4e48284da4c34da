"""How a worker ends a message: the credit that the message took comes back, whatever Redis does."""

from celery import Task
from celery.worker.request import Request
from kombu.transport.virtual import QoS


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

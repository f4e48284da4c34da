"""Limits of client connections of a web process.

Limits of bodies are in `request_bodies.py` and `body_budget.py`, of concurrent requests in `fair_queue.py`,
of requests per minute in `kebab.http.rate_limits`.
"""

from typing import Final

#: All lines of a request's head, plus at most as much again that is read at once; a longer head is answered
#: with 431, as are more than 100 headers.
HEAD_BYTES: Final = 65_536
#: Time to send the whole head, from the start of the connection or the end of the previous request.
HEAD_TIMEOUT_S: Final = 15
#: Time without progress while a response is sent.
SEND_TIMEOUT_S: Final = 30
#: Most connections of one process; further ones wait to be accepted.
CONNECTIONS: Final = 8_192
#: Most connections of one process from one address, or one /64 of IPv6; a trusted proxy has no limit.
CONNECTIONS_OF_ADDRESS: Final = 1_024
#: Time during which all slots that a caller or all may have are in use and none is released: after the first
#: the process is not ready, after the second it exits to be restarted.
STALLED_S, ENDED_S = 60, 120
#: Time for which refusals of a busy process are held back, their `Retry-After`: those who send again at once
#: would keep it busy with refusals.
REFUSAL_S: Final = 1.0

"""What a client may ask of a web process before and besides any request: the limits of its connections.

Limits of bodies are in `bodies.py`, of requests under way in `turns.py`, of requests a minute in
`kebab.http.rate_limits`.
"""

from typing import Final

#: All lines of a request's head, beside what is read at once, as much again at most; a longer one is answered
#: 431, as are more than 100 headers.
HEAD_BYTES: Final = 65_536
#: To send the whole head, from the beginning of the connection or the end of the request before.
HEAD_S: Final = 15
#: Without progress while an answer is sent.
SENDING_S: Final = 30
#: Connections of one process; further ones wait to be accepted.
CONNECTIONS: Final = 8_192
#: Connections of one process from one address, or one /64 of IPv6; a trusted proxy may have any number.
CONNECTIONS_OF_ADDRESS: Final = 1_024
#: All turns of a kind lent, and none given back: the process is not ready, and then ends to be started again.
STALLED_S, ENDED_S = 60, 120

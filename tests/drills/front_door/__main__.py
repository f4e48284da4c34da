"""Command that plays all attacks on a running stack, and compares others' latencies with those just before.

`python -m tests.drills.front_door URL PID WORKSPACE TOKEN OTHER TOKEN [ATTACK …]`: PID is the web process in
`kebab status`; the attackers' token may search and ingest in WORKSPACE, that of the others in OTHER. Behind a
proxy URL is the proxy's. Without names all attacks are played.
"""

import sys
from collections import Counter
from dataclasses import replace
from urllib.parse import urlsplit

import httpx

from tests.drills.front_door.attack_run import RECOVERY_S, AttackResult, play, start_threads
from tests.drills.front_door.attacks import ATTACKS, together
from tests.drills.front_door.bystander import Bystander, BystanderAnswers, WebProcesses
from tests.drills.front_door.target import LARGE_FILE, Target
from tests.support.stack import eventually

_SENTENCE = "The wombat digs a long burrow. "
_MOST = 2.0


def main(url: str, pid: str, workspace: str, token: str, other: str, other_token: str, *names: str) -> int:
    """Play the attacks, and return 1 when some affected other clients too much or left resources behind."""
    bystander = Bystander(url, other, other_token)
    processes = WebProcesses(url, int(pid))
    anybody = Target(port=urlsplit(url).port or 80, large=LARGE_FILE, workspace=workspace)
    large = _large_document(url, f"/api/v1/workspaces/{workspace}", token)
    somebody = replace(anybody, token=token, large=large)
    start_threads(somebody, bystander)
    processes.wait_until_idle(RECOVERY_S)
    attacks = [each for each in (*ATTACKS, together) if not names or each.__name__ in names]
    n_wrong = 0
    for attack in attacks:
        for target in (anybody, somebody):
            usual = bystander.ask(seconds=5, least=80)
            played = play(attack, target, bystander, processes)
            ratios = {what: played.answers.p95_ms(what) / usual.p95_ms(what) for what in usual.seconds}
            faults = [*played.faults, *(f"{what}: × {r:.1f}" for what, r in ratios.items() if r > _MOST)]
            n_wrong += bool(faults)
            _print(_line(played, usual, bool(target.token), faults))
    _print(f"{n_wrong} of {2 * len(attacks)} attacks were noticed or left something")
    return 1 if n_wrong else 0


def _line(played: AttackResult, usual: BystanderAnswers, has_token: bool, faults: list[str]) -> str:
    grown = (played.after.memory_bytes - played.before.memory_bytes) / 2**20
    waited = ", ".join(
        f"{what} {usual.p95_ms(what):.0f} → {played.answers.p95_ms(what):.0f} ms" for what in usual.seconds
    )
    who = "token" if has_token else "nobody"
    answered = _statuses(played.answers)
    end = "; ".join(faults) or "well"
    largest = played.during.largest_bytes / 2**20
    memory = f"memory {grown:+5.0f} MB, largest {largest:.0f} MB"
    return f"{played.name:22} {who:7} {answered:12} {waited:60} {memory}  {end}"


def _statuses(answers: BystanderAnswers) -> str:
    found = Counter[int]()
    for (_, status), n in answers.statuses.items():
        found[status] += n
    return " ".join(f"{status}:{n}" for status, n in sorted(found.items()))


def _large_document(url: str, base: str, token: str) -> str:
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
        body = {"path": "front-door.txt", "text": f"# Large\n\n{_SENTENCE * 230_000}"}
        accepted = client.post(f"{base}/documents", json=body).raise_for_status().json()
        document = f"{base}/documents/{accepted['document']['id']}"
        eventually(lambda: client.get(document).is_success, "the large document is there", 120, 1.0)
        return f"{document}/content"


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

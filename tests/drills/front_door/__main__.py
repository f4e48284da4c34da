"""Command that plays all attacks on a running stack, and compares other clients' latencies with usual ones.

`python -m tests.drills.front_door URL PID WORKSPACE TOKEN`: PID is the web process in `kebab status`, TOKEN
may search and ingest in WORKSPACE. Behind a proxy URL is the proxy's.
"""

import sys
from dataclasses import replace
from urllib.parse import urlsplit

import httpx

from tests.drills.front_door.attack_run import RECOVERY_S, AttackResult, play
from tests.drills.front_door.attacks import ATTACKS, LARGE_FILE, Target, read_nothing, run_attack
from tests.drills.front_door.bystander import Bystander, BystanderAnswers, WebProcesses
from tests.support.stack import eventually

_SENTENCE = "The wombat digs a long burrow. "
_MOST = 2.0


def main(url: str, pid: str, workspace: str, token: str) -> int:
    """Play the attacks, and return 1 when some affected other clients too much or left resources behind."""
    base = f"/api/v1/workspaces/{workspace}"
    bystander = Bystander(url, f"{base}/search?q=wombat", token)
    processes = WebProcesses(url, int(pid))
    anybody = Target(port=urlsplit(url).port or 80, large=LARGE_FILE)
    somebody = replace(anybody, token=token, large=_large_document(url, base, token))
    with run_attack(read_nothing, anybody):  # starts all threads
        bystander.ask(seconds=2, least=50)
    processes.wait_until_idle(RECOVERY_S)
    usual = bystander.ask(seconds=10, least=200)
    _print(f"usual: log in {usual.p95_ms('log in'):.0f} ms, search {usual.p95_ms('search'):.0f} ms (p95)")
    n_wrong = 0
    for attack in ATTACKS:
        for target in (anybody, somebody):
            played = play(attack, target, bystander, processes)
            ratios = {what: played.answers.p95_ms(what) / usual.p95_ms(what) for what in usual.seconds}
            faults = [*played.faults, *(f"{what}: × {r:.1f}" for what, r in ratios.items() if r > _MOST)]
            n_wrong += bool(faults)
            _print(_line(played, bool(target.token), ratios, faults))
    _print(f"{n_wrong} of {2 * len(ATTACKS)} attacks were noticed or left something")
    return 1 if n_wrong else 0


def _line(played: AttackResult, has_token: bool, ratios: dict[str, float], faults: list[str]) -> str:
    grown = (played.after.memory_bytes - played.before.memory_bytes) / 2**20
    waited = ", ".join(f"{what} × {ratio:.1f}" for what, ratio in ratios.items())
    who = "token" if has_token else "nobody"
    answered = _statuses(played.answers)
    end = "; ".join(faults) or "well"
    return f"{played.name:22} {who:7} {answered:12} {waited:30} memory {grown:+5.0f} MB  {end}"


def _statuses(answers: BystanderAnswers) -> str:
    return " ".join(f"{status}:{n}" for status, n in sorted(answers.statuses.items()))


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

"""The Python client of openapi-generator: `python_client.py URL WORKSPACE TOKEN`."""

import sys
import time

import openapi_client as kebab

TEXTS = {
    "leave.md": "# Leave\n\nAnnual leave is thirty days.\n",
    "sick.md": "# Sick leave\n\nSick leave needs a note of a doctor.\n",
}

url, workspace, token = sys.argv[1:]
client = kebab.ApiClient(kebab.Configuration(host=url, access_token=token))
documents, jobs = kebab.DocumentsApi(client), kebab.JobsApi(client)
search, ask = kebab.SearchApi(client), kebab.AskApi(client)

for name, text in TEXTS.items():
    job = documents.document_file_post(workspace, file=(name, text.encode())).job
    while job.state in ("queued", "running"):
        time.sleep(0.2)
        job = jobs.one_job_get(job.id, workspace)
    sys.stdout.write(f"{job.path} {job.state.value}\n")
page = search.search_post(workspace, kebab.SearchBodyRequest(q="leave", k=1))
while page.hits:
    sys.stdout.write(f"hit {page.hits[0].rank} {page.hits[0].citation.uri}\n")
    if page.next_cursor is None:
        break
    page = search.search_post(workspace, kebab.SearchBodyRequest(cursor=page.next_cursor))
answer = ask.ask_post(workspace, kebab.AskBodyRequest(question="How many days of annual leave?"))
sys.stdout.write(f"{answer.state} {answer.text} {answer.citations[0].uri}\n")

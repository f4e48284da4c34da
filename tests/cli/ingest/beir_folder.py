"""A small judged set in BEIR's layout."""

import json

_SENTENCE = "The committee met again and adjourned without deciding anything of note. "
DOCUMENTS = [
    {"_id": "apples", "title": "Apples", "text": "apple harvest in autumn"},
    {"_id": "pears/1", "title": "", "text": "pear harvest in late summer"},
    {"_id": "empty", "title": "", "text": ""},
    {"_id": "long", "title": "Minutes", "text": _SENTENCE * 60 + "A quince was mentioned in the end."},
]
QUERIES = {"q1": "apple harvest", "q2": "quince", "q3": "pear summer", "unjudged": "nothing"}
QRELS = "query-id\tcorpus-id\tscore\nq1\tapples\t1\nq2\tlong\t1\nq3\tpears/1\t1\n"


def write_beir(folder, documents, queries, qrels):
    """Write the three files of a judged set, and return the folder."""
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)))
    rows = [json.dumps({"_id": id_, "text": text}) for id_, text in queries.items()]
    (folder / "queries.jsonl").write_text("\n".join(rows))
    (folder / "qrels" / "test.tsv").write_text(qrels)
    return folder

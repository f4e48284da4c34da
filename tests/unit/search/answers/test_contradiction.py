"""A text with another number of the kind that a question has contradicts it."""

from search.answers.contradiction import Agreement, AskedNumbers


def test_text_is_judged_by_the_numbers_of_the_question(subtests):
    clause = "Within how many days must the supplier report under clause 5.6?"
    klausel = "Innerhalb wie vieler Tage muss der Lieferant nach Ziffer 5.6 berichten?"
    cases = [
        (clause, "Clause 5.6 obliges the supplier to report within 32 days.", Agreement.IS_ABOUT),
        (clause, "The supplier reports in 32 days, as clause 5.6 says.", Agreement.MENTIONS),
        (clause, "Clause 6.5 obliges the supplier to report within 37 days.", Agreement.CONTRADICTS),
        (clause, "| 6.5 | reports | 37 days |", Agreement.CONTRADICTS),
        (clause, "5.6.1 Reports of the supplier", Agreement.IS_ABOUT),
        (clause, "Reports have 2.5 pages at most.", Agreement.SILENT),
        (clause, "The supplier reports.", Agreement.SILENT),
        (klausel, "Ziffer 6.5 verpflichtet den Lieferanten.", Agreement.CONTRADICTS),
        ("Which service runs on 10.2.1.2?", "Host 10.1.2.1 runs the mail.", Agreement.CONTRADICTS),
        ("Welcher Dienst läuft auf 10.2.1.2?", "Der Rechner 010.002.001.002 hat Post.", Agreement.MENTIONS),
        ("Who came on February 19, 2026?", "Datum: 19.02.2026", Agreement.IS_ABOUT),
        ("Qui est venu le 19 février 2026 ?", "Réunion du 20.02.2026", Agreement.CONTRADICTS),
        ("Who came on February 19?", "2026-02-19", Agreement.IS_ABOUT),
        ("Who has come since February 19, 2026?", "2026-02-20: Ada", Agreement.SILENT),
        ("What is the total of INV-2024-0117?", "Rechnung INV20240117", Agreement.IS_ABOUT),
        ("What is the total of INV-2024-0117?", "The total of INV 2024 0171 is 4.", Agreement.CONTRADICTS),
        ("What does the part PC200 weigh?", "Part PC200X weighs 4 g.", Agreement.IS_ABOUT),
        ("What does the part PC200 weigh?", "The part ZX300 weighs 4 g.", Agreement.CONTRADICTS),
        ("What is new?", "Version 3.2.1 is new.", Agreement.SILENT),
    ]  # fmt: skip
    for question, text, agreement in cases:
        with subtests.test(question=question, text=text):
            assert AskedNumbers.of(question).judge(text) is agreement


def test_figures_of_a_passage_about_the_number_contradict_nothing():
    asked = AskedNumbers.of("When is the launch by the minutes of 2026-01-25?")
    assert asked.judge("The launch moves to 2026-03-02.", is_within=True) is Agreement.SILENT
    assert asked.judge("Date: 2026-01-27", is_within=True) is Agreement.CONTRADICTS

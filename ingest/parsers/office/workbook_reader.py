"""openpyxl's reader, but for sheets that a workbook lists more than once."""

import io

from openpyxl.reader.excel import ExcelReader


class WorkbookReader(ExcelReader):
    """A reader of values, or of formulas, that opens each sheet once.

    openpyxl searches a sheet for its dimensions each time that it is listed.
    """

    def __init__(self, content: bytes, *, data_only: bool) -> None:
        super().__init__(io.BytesIO(content), read_only=True, data_only=data_only, keep_links=False)
        #: positions in the list of sheets that repeat earlier ones, from 1
        self.repeated: list[int] = []

    def read_worksheets(self) -> None:
        """Open the sheets in order."""
        listed, parts = self.parser.sheets, set()
        self.parser.sheets = []
        for number, sheet in enumerate(listed, start=1):
            part = self.parser.rels[sheet.id].target if sheet.id else None
            if part is not None and part in parts:
                self.repeated.append(number)
            else:
                self.parser.sheets.append(sheet)
                parts.add(part)
        super().read_worksheets()

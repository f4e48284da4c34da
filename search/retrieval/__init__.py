"""The pure core of search: types, query compilation, fusion, citations, packing. No Django."""

"""Equations of Office files (ECMA-376 part 1, section 22.1) as text in which their parts are apart."""

from typing import Any, Final

MATH: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_SIGN: Final = f"{MATH}val"
_MATHML: Final = "{http://www.w3.org/1998/Math/MathML}"
#: More than any equation; deeper elements are read without structure.
_MAX_DEPTH: Final = 50


def equation_text(element: Any, depth: int = 0) -> str:
    """Return an equation as `(a+b)/2`, `x^2`, `x_1`, `√(x)`, `∑_(i=1)^n i`."""
    if depth > _MAX_DEPTH:
        return "".join(each.text or "" for each in element.iter(f"{MATH}t"))
    parts = {
        child.tag.removeprefix(MATH): child for child in element.iterchildren() if isinstance(child.tag, str)
    }

    def part(name: str) -> str:
        return equation_text(parts[name], depth + 1).strip() if name in parts else ""

    match element.tag.removeprefix(MATH):
        case "t":
            return element.text or ""
        case "f":
            return f"{_grouped(part('num'))}/{_grouped(part('den'))}"
        case "sSup" | "sSub" | "sSubSup":
            return part("e") + _scripts(part("sub"), part("sup"))
        case "sPre":
            return _scripts(part("sub"), part("sup")) + part("e")
        case "limLow":
            return part("e") + _scripts(part("lim"), "")
        case "func":
            return f"{part('fName')} {part('e')}"
        case "acc":
            sign = element.find(f"{MATH}accPr/{MATH}chr")
            return part("e") + ("\u0302" if sign is None else sign.get(_SIGN) or "")
        case "rad":
            return f"{_grouped(part('deg')) if part('deg') else ''}√({part('e')})"
        case "nary":
            sign = element.find(f"{MATH}naryPr/{MATH}chr")
            drawn = "∫" if sign is None else sign.get(_SIGN) or ""
            return f"{drawn}{_scripts(part('sub'), part('sup'))} {part('e')}"
        case "d":
            inner = ", ".join(equation_text(each, depth + 1) for each in element.iterchildren(f"{MATH}e"))
            signs = (element.find(f"{MATH}dPr/{MATH}{name}") for name in ("begChr", "endChr"))
            opening, closing = (None if sign is None else sign.get(_SIGN) for sign in signs)
            return f"{'(' if opening is None else opening}{inner}{')' if closing is None else closing}"
        case "mr":
            return " ".join(equation_text(each, depth + 1) for each in element.iterchildren(f"{MATH}e"))
        case "eqArr":
            return "; ".join(equation_text(each, depth + 1) for each in element.iterchildren(f"{MATH}e"))
        case "m":
            return "; ".join(equation_text(each, depth + 1) for each in element.iterchildren(f"{MATH}mr"))
        case _:
            return "".join(
                equation_text(each, depth + 1) for each in element.iterchildren() if isinstance(each.tag, str)
            )


def mathml_text(element: Any, depth: int = 0) -> str:
    """Return an equation in MathML in the same way; '' for an element of another kind."""
    children = [child for child in element.iterchildren() if isinstance(child.tag, str)]
    if not element.tag.startswith(_MATHML) or depth > _MAX_DEPTH:
        return ""
    name = element.tag.removeprefix(_MATHML)
    if not children:
        return "".join((element.text or "").split())
    parts = [mathml_text(child, depth + 1) for child in children]
    match name, parts:
        case "semantics", [first, *_]:
            return first
        case "mfrac", [above, below]:
            return f"{_grouped(above)}/{_grouped(below)}"
        case (("msup" | "mover"), [base, above]):
            return base + _scripts("", above)
        case (("msub" | "munder"), [base, below]):
            return base + _scripts(below, "")
        case (("msubsup" | "munderover"), [base, below, above]):
            return base + _scripts(below, above)
        case "msqrt", _:
            return f"√({''.join(parts)})"
        case "mroot", [base, degree]:
            return f"{_grouped(degree)}√({base})"
        case "mtable", _:
            return "; ".join(parts)
        case (("mtr" | "mlabeledtr"), _):
            return " ".join(parts)
        case _:
            return "".join(parts)


def _grouped(text: str) -> str:
    return text if len(text) == 1 or text.isdecimal() else f"({text})"


def _scripts(below: str, above: str) -> str:
    return (f"_{_grouped(below)}" if below else "") + (f"^{_grouped(above)}" if above else "")

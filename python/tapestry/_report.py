"""The result of a check, as text, for notebooks, and for programs."""

import html
import json
import re

_COLOURS = {"PASS": "#1a7f37", "INCONCLUSIVE": "#9a6700", "FAIL": "#cf222e"}


class GradientError(AssertionError):
    """A gradient that is wrong; its text is the whole report, `report` the report."""

    def __init__(self, report):
        super().__init__(str(report))
        self.report = report


class Report:
    """A verdict and its reasons. True if the verdict is PASS."""

    def __init__(self, verdict, text, as_json):
        self.verdict = verdict
        """ "PASS", "INCONCLUSIVE" or "FAIL" """
        self._text = text
        self._json = as_json

    def __bool__(self):
        return self.verdict == "PASS"

    def __str__(self):
        return self._text

    def __repr__(self):
        return f"<tapestry.Report: {self._text.splitlines()[0]}>"

    def raise_if_wrong(self, *, undecided=False):
        """Raise GradientError, an AssertionError with the whole report as its text, if the verdict is FAIL;
        with undecided=True also if it is INCONCLUSIVE. Otherwise return the report."""
        if self.verdict == "FAIL" or (undecided and self.verdict == "INCONCLUSIVE"):
            raise GradientError(self)
        return self

    def to_dict(self):
        """The report as dictionaries, lists, numbers and strings; NaN and infinities are strings."""
        return json.loads(self._json)

    def to_json(self):
        return self._json

    def _repr_html_(self):
        first, _, rest = html.escape(self._text).partition("\n")
        first = first.replace(
            self.verdict,
            f'<b style="color: {_COLOURS[self.verdict]}">{self.verdict}</b>',
            1,
        )
        return f'<pre style="white-space: pre-wrap">{first}\n{rest}</pre>'


def with_names(report, names):
    """The report with names for "input 0", or "x", and so on."""
    if names is None:
        return report

    def name_of(match):
        return names[int(match[1])] if int(match[1]) < len(names) else match[0]

    def named(text):
        if len(names) == 1:
            start = r"^(  (?:worst: |[A-Z]+ +))x(?= )"
            return re.sub(start, lambda m: m[1] + names[0], text, flags=re.MULTILINE)
        text = re.sub(r"\binput (\d+)\b", name_of, text)
        return re.sub(r"^(    gradient of +operand (\d+))", lambda m: f"{m[1]} ({names[int(m[2])]})", text,
                      flags=re.MULTILINE)  # fmt: skip

    found = report.to_dict()
    for i, name in zip(found.get("inputs", ()), names):
        i["name"] = name
    return Report(report.verdict, named(str(report)), json.dumps(found))


def with_findings(report, wrong, notes=()):
    """The report with further complaints, which make it FAIL, and with notes, which do not."""
    if not wrong and not notes:
        return report
    first, *rest = str(report).splitlines()
    if wrong:
        first = "FAIL  " + first.partition("  ")[2]
    lines = [first, *(f"  {line}" for line in wrong), *rest, *(f"  note: {line}" for line in notes)]
    found = report.to_dict()
    found["complaints"] = [*wrong, *found.get("complaints", ()), *(f"note: {line}" for line in notes)]
    if wrong:
        found.update(verdict="FAIL", reason="none")
    return Report("FAIL" if wrong else report.verdict, "\n".join(lines), json.dumps(found))


def with_lines(report, lines):
    """The report with these lines after its first."""
    if not lines:
        return report
    first, *rest = str(report).splitlines()
    found = report.to_dict()
    found["complaints"] = [*lines, *found.get("complaints", ())]
    text = "\n".join([first, *(f"  {line}" for line in lines), *rest])
    return Report(report.verdict, text, json.dumps(found))


def with_culprit(report, culprit):
    """The report of a function one part of which is wrong: with the part's name and its own report in place
    of the cause of the whole."""
    line = f"the first wrong Function in its graph: {culprit.name}"
    if culprit.others:
        line += f"; also {', '.join(culprit.others)}"
    text = str(with_lines(report, [line]))
    for block in ("\n  first wrong op: ", "\n    looks like "):
        text = text.partition(block)[0]
    text += f"\n  {culprit.name} alone: " + str(culprit.report).replace("\n", "\n  ")
    found = with_lines(report, [line]).to_dict()
    found.pop("cause", None)
    found.pop("first_wrong", None)
    own = culprit.report.to_dict()
    if "first_wrong" in own:
        found["first_wrong"] = {**own["first_wrong"], "op": culprit.name}
    return Report(report.verdict, text, json.dumps(found))

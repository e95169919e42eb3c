"""The result of a check, as text, for notebooks, and for programs."""

import html
import json

_COLOURS = {"PASS": "#1a7f37", "INCONCLUSIVE": "#9a6700", "FAIL": "#cf222e"}


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

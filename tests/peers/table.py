"""The lines of the table that `run` prints."""
import statistics

DISTURBED = 0.05  # of all processors' time, by other programs


class Row:
    """One line of the table: seconds, (median, second) of each round for each that ran it. The
    second is the fastest, or another quantile."""

    def __init__(self, work, dtype="f32", second="fastest"):
        self.work, self.dtype, self.second = work, dtype, second
        self.flops = 0
        self.others = 0
        self.rounds = {"ours": [], "torch": [], "library": []}

    def add(self, who, median, second):
        self.rounds[who].append((median, second))

    def of(self, who):
        if not self.rounds[who]:
            return None
        medians, seconds = zip(*self.rounds[who])
        best = min if self.second == "fastest" else statistics.median
        return statistics.median(medians), best(seconds)

    def ratios(self, who):
        theirs = self.of(who)
        return theirs and [t / o for o, t in zip(self.of("ours"), theirs)]

    def shares(self, peaks):
        return self.flops and [self.flops / s / peaks[self.dtype] for s in self.of("ours")]

    def values(self, peaks):
        """The row of docs/performance.json; times in seconds."""
        found = {"work": self.work}
        for who in self.rounds:
            if self.of(who):
                found[who] = dict(zip(("median", self.second), self.of(who)))
        if self.flops:
            found["share"] = round(self.shares(peaks)[0], 3)
        if self.others > DISTURBED:
            found["others"] = round(self.others, 3)
        return found

    def text(self, peaks):
        mark = f" ({100 * self.others:.0f}%)" if self.others > DISTURBED else ""
        return line_of([self.work + mark, time_text(self.of("ours")), time_text(self.of("torch")),
                        ratio_text(self.ratios("torch")), share_text(self.shares(peaks)),
                        time_text(self.of("library")), ratio_text(self.ratios("library"))])


def mean_text(rows, peaks):
    """What a table's line says of many: geometric means of ratios, shares' plain ones."""
    def ratios(who):
        found = [row.ratios(who) for row in rows if row.of(who)]
        return ratio_text(found and map(statistics.geometric_mean, zip(*found)))

    shares = map(statistics.mean, zip(*(row.shares(peaks) for row in rows)))
    return line_of([f"mean of these {len(rows)}", "", "", ratios("torch"), share_text(shares), "",
                    ratios("library")])


def line_of(cells):
    return "| " + " | ".join(cells) + " |"


def ratio_text(pair):
    return ", ".join(f"{ratio:.2f}" for ratio in pair) if pair else "-"


def share_text(pair):
    return ", ".join(f"{100 * share:.0f}%" for share in pair) if pair else "-"


def time_text(pair):
    if pair is None:
        return "-"
    unit, factor = next(((u, f) for u, f in (("s", 1), ("ms", 1e3)) if pair[0] * f >= 1),
                        ("us", 1e6))
    return ", ".join(f"{s * factor:.4g}" for s in pair) + f" {unit}"

// How much is decided and how many pods wait, now and in the last half hour.
(function (berth) {
    "use strict";
    const el = berth.el;
    berth.pages = berth.pages || {};

    const RATES = [["scheduled", "scheduled"], ["unschedulable", "found no node"], ["preemptions", "preemptions"], ["error", "errors"]];
    const QUEUES = [["active", "active"], ["backoff", "in backoff"], ["unschedulable", "unschedulable"], ["gated", "gated"]];

    berth.timeText = function (seconds) {
        return new Date(seconds * 1000).toLocaleTimeString("en-GB");
    };

    function tilesOf(page) {
        const waiting = QUEUES.reduce((sum, [key]) => sum + page.queue[key], 0);
        return berth.tiles([
            [berth.number(page.rates.scheduled), "scheduled per second"],
            [berth.number(page.totals.scheduled), "scheduled since the start"],
            [berth.number(waiting), "pods wait"],
            [berth.number(page.queue.unschedulable), "unschedulable", page.queue.unschedulable ? "warn" : "good"],
            [berth.number(page.queue.gated), "gated"],
            [berth.number(page.totals.error), "errors", page.totals.error ? "bad" : ""],
        ]);
    }

    const chart = (caption, names, page, values) => ({
        caption, xText: berth.timeText, x: page.samples.time,
        series: names.map(([key, name]) => ({ name, values: values[key] })),
    });
    const ratesChart = (page) => chart("Attempts per second", RATES, page, page.samples.rates);
    const queueChart = (page) => chart("Pods that wait, by queue", QUEUES, page, page.samples.queue);

    berth.pages.overview = function (root) {
        const tiles = el("div", {});
        const early = el("p", { class: "note" }, "The charts begin with the second sample, ", el("strong", {}, "ten seconds"),
            " after the start of the scheduler.");
        const charts = el("div", { class: "pair" }, early);
        let rates = null, queue = null;
        root.append(tiles, berth.section("activity", "The last half hour", charts));
        const showTiles = berth.changed((page) => tiles.replaceChildren(tilesOf(page)));
        return [berth.poll("debug/berth/rates", { every: 2, on: (page) => {
            showTiles({ rates: page.rates, queue: page.queue, totals: page.totals });
            if (page.samples.time.length < 2)
                return;
            if (!rates) {
                rates = berth.lines(ratesChart(page));
                queue = berth.lines(queueChart(page));
                charts.replaceChildren(rates, queue);
            }
            rates.update(ratesChart(page));
            queue.update(queueChart(page));
        } })];
    };
})(window.berth = window.berth || {});

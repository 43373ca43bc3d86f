// One pod: where it is, its last attempts, and what would be decided now.
(function (berth) {
    "use strict";
    const el = berth.el;
    berth.pages = berth.pages || {};
    const TONES = { bound: "good", placed: "good", unschedulable: "warn", error: "bad", "binding failed": "bad" };

    function stateOf(page) {
        if (page.state === "bound")
            return [el("span", { class: "badge good" }, "bound"), " to ", el("a", { href: "#/nodes/" + encodeURIComponent(page.node) }, page.node)];
        if (page.state !== "queued")
            return [el("span", { class: "badge" }, page.state), page.node ? " to " + page.node : ""];
        const queue = page.queue;
        return [el("span", { class: "badge warn" }, queue.queue), " for " + berth.duration(queue.seconds) + ", after " +
            berth.counted(queue.attempts, "attempt"), queue.backoffSeconds ? ", tried again in " + berth.duration(queue.backoffSeconds) : "",
        queue.gate ? ", held back by " + queue.gate : ""];
    }

    const withoutZeros = (names, rows) => names.filter((name) => rows.some((row) => row.scores && row.scores[name]));

    // Nodes with their scores as bars; the first one is the chosen one.
    function scores(caption, rows) {
        const all = [...new Set(rows.flatMap((row) => Object.keys(row.scores || {})))];
        const names = withoutZeros(all, rows);
        if (!names.length)
            return null;
        return berth.stackedBars({ caption, names, title: "Node",
            rows: rows.map((row) => ({ label: row.node, strong: row.strong, total: berth.number(row.total), values: names.map((name) => row.scores[name] || 0) })) });
    }

    // The same answer of many nodes is one row.
    function verdicts(rows) {
        return berth.table({ caption: "Why nodes were rejected", filter: false, rows, sort: [0, "descending"], columns: [
            { title: "Nodes", numeric: true, value: (row) => row.nodes },
            { title: "Plugin", value: (row) => row.plugin || null },
            { title: "Reasons", value: (row) => row.reasons.join(", ") || null, class: "wide" },
            { title: "Preemption", value: (row) => row.status === "UnschedulableAndUnresolvable" ? "cannot help" : "may help" },
        ] });
    }

    function attempt(one) {
        const rejected = (one.verdicts || []).filter((verdict) => verdict.nodes && verdict.status !== "Success");
        return el("li", { class: "attempt" },
            el("p", {}, el("span", { class: "badge " + (TONES[one.outcome] || "") }, one.outcome), " at ", el("time", { datetime: one.time },
                new Date(one.time).toLocaleTimeString("en-GB")), one.node ? [" on ", el("strong", {}, one.node)] : "",
            el("span", { class: "note" }, " · " + berth.number(one.feasible) + " of " + berth.counted(one.examined, "node") + " feasible" +
                (one.microseconds ? " · decided in " + berth.number(one.microseconds) + " µs" : ""))),
            one.message ? el("p", { class: "message" }, one.message) : null,
            one.best && one.best.length ? scores("Scores of the best nodes", one.best.map((row, i) => ({ ...row, strong: i === 0 }))) : null,
            rejected.length ? verdicts(rejected) : null);
    }

    // The sections of a report of `berth explain`, about the present.
    function now(page) {
        if (!page.now)
            return [berth.section("now", "What would be decided now", el("p", { class: "note" }, page.notNow || "It is not evaluated."))];
        const lead = page.now.asIfPending ? "What would be decided now, if it were pending" : "What would be decided now";
        return [el("h2", { class: "lead-in" }, lead), ...berth.explanationSections(page.now, "now-")];
    }

    function wakes(page) {
        const found = page.queue && page.queue.wakes || [];
        const plugins = [...new Set(found.map((wake) => wake.plugin))];
        return el("ul", {}, plugins.map((plugin) => el("li", {}, el("strong", {}, plugin), ": " +
            found.filter((wake) => wake.plugin === plugin).map((wake) => wake.event).join(", "))));
    }

    // The condition of the pod is what the last attempt said, unless that is forgotten or of another scheduler.
    function isNews(page) {
        return page.queue && page.queue.message && !(page.attempts[0] && page.attempts[0].message === page.queue.message);
    }

    function content(page) {
        return [
            el("p", { class: "state" }, stateOf(page)),
            isNews(page) ? el("p", { class: "message" }, page.queue.message) : null,
            berth.section("attempts", "Last attempts", page.attempts.length ?
                el("ol", { class: "attempts" }, page.attempts.map(attempt)) : el("p", { class: "note" }, "None are remembered.")),
            page.queue && (page.queue.wakes || []).length ? berth.section("wakes", "What may wake it", wakes(page)) : null,
            ...now(page),
        ].filter(Boolean);
    }

    // What changes with time alone is no reason to draw it anew.
    function lasting(page) {
        return JSON.stringify(page, (key, value) =>
            ["time", "seconds", "secondsAgo", "secondsSinceFirst", "backoffSeconds", "cost", "microseconds"].includes(key) ? undefined : value);
    }

    berth.pages.pod = function (root, namespace, name) {
        const place = el("div", {}, el("p", { class: "note" }, "Asking…"));
        let before = null;
        root.append(el("h2", { class: "pod-name" }, namespace + "/" + name), place);
        return [berth.poll("debug/berth/explain?pod=" + encodeURIComponent(namespace) + "/" + encodeURIComponent(name), {
            every: 4,
            on: (page) => {
                const text = lasting(page);
                if (text !== before)
                    place.replaceChildren(...content(page));
                else
                    place.querySelector(".state").replaceChildren(...stateOf(page));
                before = text;
            },
            missing: (text) => {
                before = null;
                place.replaceChildren(el("p", { class: "message" }, text));
            },
        })];
    };
})(window.berth = window.berth || {});

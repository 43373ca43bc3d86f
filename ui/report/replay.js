// The document Replay of `berth replay`: were the recorded decisions repeated, or what would another configuration have
// decided instead; decisions over time.
(function (berth) {
    "use strict";
    const el = berth.el;

    function seconds(time) {
        return Date.parse(time) / 1000;
    }
    // The time of day, as exactly as a span of so many seconds needs.
    function clock(span) {
        return (at) => new Date(Math.round(at * 1000)).toISOString().slice(11, span < 20 ? 23 : 19);
    }

    // ---- the same configuration ----

    function resultSection(doc) {
        if (doc.exact === null)
            return null;
        const parts = [el("p", { class: "verdict " + (doc.exact ? "good" : "bad") }, doc.exact ?
            "All " + berth.counted(doc.decisions, "decision") + " came out as recorded." :
            "Decision " + berth.number(doc.difference.decision) + " is another one here; the " + berth.number(doc.difference.decision - 1) + " before it were repeated exactly.")];
        if (doc.difference)
            parts.push(el("dl", { class: "facts" }, [["Time", doc.difference.time], ["Recorded", doc.difference.recorded], ["Here", doc.difference.here]]
                .map(([name, text]) => el("div", {}, el("dt", {}, name), el("dd", {}, text)))));
        if (doc.digest)
            parts.push(el("p", { class: "dim" }, "Digest of the decisions: ", el("code", {}, doc.digest)));
        return berth.section("result", "Result", parts);
    }

    // ---- another configuration or release ----

    // [[member of the summary, words, class], ...]: what became of the pods.
    const FATES = [["sameNode", "the same node", "series-0"], ["otherNode", "another node", "series-1"],
        ["onlyHere", "a node only here", "series-2"], ["onlyRecorded", "a node only as recorded", "series-7"], ["neither", "wait in both", "series-8"]];

    function sidesSection(doc) {
        const sum = doc.summary;
        if (!sum)
            return null;
        const both = sum.sameNode + sum.otherNode;
        const rows = [["pods with a node", both + sum.onlyRecorded, both + sum.onlyHere], ["nodes that got pods", sum.nodes.recorded, sum.nodes.here],
            ["tries", sum.tries.recorded, sum.tries.here], ["evictions", sum.evictions.recorded, sum.evictions.here]];
        const signed = (row) => (row[2] > row[1] ? "+" : "") + berth.number(row[2] - row[1]);
        return berth.section("sides", "Side by side",
            berth.stackedBars({
                caption: "What becomes of " + berth.counted(sum.pods, "pod") + " that waited for a node", title: "Pods", parts: true,
                names: FATES.map((fate) => fate[1]), classes: FATES.map((fate) => fate[2]),
                rows: [{ label: "pods", values: FATES.map((fate) => sum[fate[0]]), total: berth.number(sum.pods) }],
            }),
            berth.table({
                caption: "Recorded and here", rows, filter: false, columns: [{ title: "Summary", value: (row) => row[0] },
                    { title: "Recorded", value: (row) => row[1], numeric: true }, { title: "Here", value: (row) => row[2], numeric: true },
                    { title: "Difference", value: (row) => row[2] - row[1], text: signed, numeric: true }],
            }),
            sum.leftOut ? el("p", { class: "dim" }, berth.counted(sum.leftOut, "pod") + " left out: the configuration has no profile for the scheduler of these pods.") : null);
    }

    function nodesSection(doc) {
        if (!doc.pods)
            return null;
        const nodes = new Map();
        for (const pod of doc.pods) {
            for (const side of ["recorded", "here"]) {
                const name = pod[side].node;
                if (!name)
                    continue;
                if (!nodes.has(name))
                    nodes.set(name, { name, recorded: 0, here: 0 });
                nodes.get(name)[side]++;
            }
        }
        const rows = [...nodes.values()].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
        if (!rows.length)
            return null;
        const most = Math.max(...rows.map((row) => Math.max(row.recorded, row.here)));
        const describe = (index) => [rows[index].name, "recorded: " + berth.counted(rows[index].recorded, "pod"), "here: " + berth.counted(rows[index].here, "pod")];
        const selected = el("p", { class: "dim", "aria-live": "polite" }, "A node is the darker the more pods it got; at most " + berth.number(most) + ".");
        const maps = [["recorded", "As recorded"], ["here", "Here"]].map(([side, words]) => [words, berth.heatMap({
            label: words + ": nodes by pods", groups: [{ name: "", items: rows.map((row, i) => i) }], describe,
            colour: (index) => rows[index][side] ? berth.heat(rows[index][side] / most) : berth.colour("heat-none"),
            onselect: (index) => {
                maps.forEach(([, map]) => map.select(index));
                selected.textContent = describe(index).join(", ");
            },
        })]);
        const signed = (row) => (row.here > row.recorded ? "+" : "") + berth.number(row.here - row.recorded);
        return berth.section("nodes", "Nodes", el("div", { class: "pair" }, maps.map(([words, map]) => el("figure", {}, el("figcaption", {}, words), map))), selected,
            berth.table({
                caption: "Pods by node", rows, columns: [{ title: "Node", value: (row) => row.name },
                    { title: "Recorded", value: (row) => row.recorded, numeric: true }, { title: "Here", value: (row) => row.here, numeric: true },
                    { title: "Difference", value: (row) => row.here - row.recorded, text: signed, numeric: true }] }));
    }

    function differencesSection(doc) {
        if (!doc.pods)
            return null;
        const rows = doc.pods.filter((pod) => !pod.same);
        const side = (name) => ({ value: (pod) => pod[name].node, text: (pod) => pod[name].node || (pod[name].tries ? "waits" : "was not tried"),
            cell: (pod) => pod[name].node || el("span", { class: "warn" }, pod[name].tries ? "waits" : "was not tried") });
        return berth.section("differences", "Pods that differ", berth.table({
            caption: "Pods that differ", rows, empty: "Every pod is on the same node, or waits in both.", columns: [
                { title: "Pod", value: berth.podName }, { title: "Recorded", ...side("recorded") }, { title: "Here", ...side("here") },
                { title: "Tries recorded", value: (pod) => pod.recorded.tries, numeric: true }, { title: "Tries here", value: (pod) => pod.here.tries, numeric: true },
                { title: "Message", value: (pod) => pod.here.message || pod.recorded.message, class: "wide" }],
        }));
    }

    // ---- over time ----

    // Steps: [[time, series, amount], ...] added up: { x, series: [[...], ...] }.
    function addUp(steps, len) {
        steps.sort((a, b) => a[0] - b[0]);
        const x = [], series = Array.from({ length: len }, () => []), sums = new Array(len).fill(0);
        for (const [at, index, amount] of steps) {
            sums[index] += amount;
            if (x.length && x[x.length - 1] === at) {
                series.forEach((values, i) => { values[values.length - 1] = sums[i]; });
                continue;
            }
            x.push(at);
            series.forEach((values, i) => values.push(sums[i]));
        }
        return { x, series };
    }

    function timeSection(doc) {
        const compared = Boolean(doc.pods), log = (doc.log || []).filter((entry) => entry.pod && !entry.explanation);
        const steps = compared ? doc.pods.flatMap((pod) => ["recorded", "here"].flatMap((side, i) =>
            pod[side].placed ? [[seconds(pod[side].placed), i, 1]] : [])) : log.map((entry) => [seconds(entry.time), entry.node ? 0 : 1, 1]);
        if (!steps.length)
            return null;
        const { x, series } = addUp(steps, 2);
        const names = compared ? ["placed as recorded", "placed here"] : ["pods placed", "tries without a node"];
        return berth.section("time", "Over time", berth.lines({
            caption: compared ? "Pods that have got a node" : "Decisions, added up", x, xText: clock(x[x.length - 1] - x[0]), xTitle: "Time (UTC)",
            series: names.map((name, i) => ({ name, values: series[i] })),
        }));
    }

    function explanationOf(entry) {
        return el("div", { class: "nested" }, el("h3", {}, entry.decision), berth.explanationSections(entry.explanation, "explained-"));
    }

    function logSections(doc) {
        const log = doc.log || [], plain = log.filter((entry) => !entry.explanation), explained = log.filter((entry) => entry.explanation);
        const found = [];
        if (explained.length) {
            const place = el("div", { "aria-live": "polite" }, explanationOf(explained[0]));
            found.push(berth.section("explained", "Explained decisions", berth.table({
                caption: "Explained decisions", rows: explained, onselect: (entry) => place.replaceChildren(explanationOf(entry)), shown: 6, columns: [
                    { title: "Time", value: (entry) => entry.time }, { title: "Decision", value: (entry) => entry.decision, class: "wide" }],
            }), place));
        }
        if (plain.length)
            found.push(berth.section("decisions", "Decisions", berth.table({
                caption: "Decisions", rows: plain, columns: [{ title: "Time", value: (entry) => entry.time },
                    { title: "Pod", value: (entry) => entry.pod && berth.podName(entry.pod) }, { title: "Node", value: (entry) => entry.node },
                    { title: "Score", value: (entry) => entry.node ? entry.score : null, numeric: true },
                    { title: "Feasible", value: (entry) => entry.feasible, numeric: true }, { title: "Examined", value: (entry) => entry.examined, numeric: true },
                    { title: "Message", value: (entry) => entry.message, class: "wide" }],
            }), doc.logLeftOut ? el("p", { class: "dim" }, berth.counted(doc.logLeftOut, "later decision") + " left out; --from and --until choose others.") : null));
        return found;
    }

    function view(doc) {
        const number = berth.number, sum = doc.summary;
        const other = [doc.configuration, doc.release !== doc.recordedRelease ? "Kubernetes " + doc.release + " instead of " + doc.recordedRelease : null].filter(Boolean);
        return {
            title: sum ? "Replay with " + other.join(" and ") : document.title,
            lead: ["Recording " + doc.recording + " of berth " + doc.version + ", " + doc.from + " to " + doc.to + ", Kubernetes " + doc.recordedRelease + ".",
                ...doc.cut ? [doc.cut] : []],
            tiles: sum ? [[number(sum.pods), "pods"], [number(sum.sameNode), "go to the same node"], [number(sum.otherNode), "go to another node", sum.otherNode ? "warn" : ""],
                [number(sum.onlyHere), "have a node only here", sum.onlyHere ? "good" : ""], [number(sum.onlyRecorded), "had a node, wait here", sum.onlyRecorded ? "bad" : ""]] :
                [[doc.exact ? "exact" : "differs", "as recorded", doc.exact ? "good" : "bad"], [number(doc.decisions), "decisions"], [number(doc.placements), "placements"],
                    [number(doc.entries), "entries"], [number(doc.configurationChanges), "configuration changes"]],
            sections: [resultSection(doc), sidesSection(doc), nodesSection(doc), differencesSection(doc), timeSection(doc), ...logSections(doc)].filter(Boolean),
        };
    }
    berth.views = { ...berth.views, Replay: view };
})(window.berth = window.berth || {});

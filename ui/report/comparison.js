// The document Comparison of `berth simulate --compare`: several configurations on the same cluster, side by side.
(function (berth) {
    "use strict";
    const el = berth.el;

    function nameOf(configuration) {
        return configuration.config === null ? "defaults" : configuration.config;
    }

    function tenths(share) {
        return (share * 100).toFixed(1) + " %";
    }

    // [words, value, how it is written, which is better: 1 more, -1 less, 0 neither]
    const FACTS = [
        ["pods placed", (c) => c.placed, berth.number, 1],
        ["pods pending", (c) => c.pending, berth.number, -1],
        ["pods of other schedulers", (c) => c.ofOtherSchedulers, berth.number, 0],
        ["pods preempted", (c) => c.preempted, berth.number, -1],
        ["decisions", (c) => c.decisions, berth.number, 0],
        ["nodes without pods", (c) => c.emptyNodes, berth.number, 1],
        ["imbalance of cpu", (c) => c.imbalance.cpu, tenths, -1],
        ["imbalance of memory", (c) => c.imbalance.memory, tenths, -1],
        ["cost per hour", (c) => c.costPerHour, berth.number, -1],
        ["nodes in use without a price", (c) => c.costPerHour === null ? 0 : c.nodesWithoutPrice, berth.number, 0],
    ];

    // A difference in words of the fact, and whether it is better than the first configuration.
    function cellOf(fact, configuration, first) {
        const [, value, text, better] = fact, mine = value(configuration), other = value(first);
        if (mine === null || mine === undefined)
            return "–";
        const gain = configuration === first || other === null ? 0 : (mine - other) * better;
        const close = Math.abs(mine - other) < 1e-9;
        return el("span", { class: close ? null : gain > 0 ? "good" : gain < 0 ? "bad" : null }, text(mine));
    }

    function sidesSection(doc) {
        const first = doc.configurations[0];
        const facts = FACTS.filter(([, value]) => doc.configurations.some((configuration) => value(configuration)));
        return berth.section("sides", "Side by side",
            berth.stackedBars({
                caption: "What becomes of the pods that wait for a node", title: "Configuration", names: ["placed", "pending"], classes: ["series-0", "series-7"],
                rows: doc.configurations.map((configuration) => ({ label: nameOf(configuration), values: [configuration.placed, configuration.pending],
                    total: berth.number(configuration.placed) + " of " + berth.number(configuration.placed + configuration.pending) })),
            }),
            berth.table({
                caption: "Configurations", rows: facts, filter: false, columns: [{ title: "Summary", value: (fact) => fact[0] },
                    ...doc.configurations.map((configuration) => ({ title: nameOf(configuration), value: (fact) => fact[1](configuration), numeric: true,
                        cell: (fact) => cellOf(fact, configuration, first) }))],
            }),
            el("p", { class: "dim" }, "Green is better and red is worse than " + nameOf(first) +
                ". The imbalance is the standard deviation of the requested share over the nodes. Nodes without pods may have those of DaemonSets."));
    }

    // How many of the pods that differ each node got, with every configuration.
    function nodesSection(doc) {
        const names = [...new Set(doc.pods.flatMap((row) => row.nodes.filter(Boolean)))].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
        if (!names.length)
            return null;
        const places = new Map(names.map((name, i) => [name, i]));
        const counts = doc.configurations.map((configuration, c) => {
            const pods = new Array(names.length).fill(0);
            for (const row of doc.pods)
                if (row.nodes[c])
                    pods[places.get(row.nodes[c])]++;
            return pods;
        });
        const most = Math.max(1, ...counts.map((pods) => Math.max(...pods)));
        const describe = (index) => [names[index], ...doc.configurations.map((configuration, c) => nameOf(configuration) + ": " + berth.counted(counts[c][index], "pod"))];
        const selected = el("p", { class: "dim", "aria-live": "polite" }, "A node is the darker the more of the pods that differ it got; at most " + berth.number(most) + ".");
        const maps = doc.configurations.map((configuration, c) => berth.heatMap({
            label: nameOf(configuration) + ": nodes by pods that differ", groups: [{ name: "", items: names.map((name, i) => i) }], describe,
            colour: (index) => counts[c][index] ? berth.heat(counts[c][index] / most) : berth.colour("heat-none"),
            onselect: (index) => {
                maps.forEach((map) => map.select(index));
                selected.textContent = describe(index).join(", ");
            },
        }));
        return berth.section("nodes", "Nodes of the pods that differ",
            el("div", { class: "pair" }, maps.map((map, c) => el("figure", {}, el("figcaption", {}, nameOf(doc.configurations[c])), map))), selected,
            berth.table({
                caption: "Pods that differ, by node", rows: names.map((name, i) => i), columns: [{ title: "Node", value: (i) => names[i] },
                    ...doc.configurations.map((configuration, c) => ({ title: nameOf(configuration), value: (i) => counts[c][i], numeric: true }))] }));
    }

    function podsSection(doc) {
        return berth.section("pods", "Pods that differ", berth.table({
            caption: "Pods that differ", rows: doc.pods, empty: "Every pod is on the same node with all of them, or pending with all.", columns: [
                { title: "Pod", value: (row) => berth.podName(row.pod) },
                ...doc.configurations.map((configuration, c) => ({ title: nameOf(configuration), value: (row) => row.nodes[c], text: (row) => row.nodes[c] || "pending",
                    cell: (row) => row.nodes[c] || el("span", { class: "bad" }, "pending") }))],
        }));
    }

    function view(doc) {
        const number = berth.number, summary = doc.summary;
        return {
            title: document.title,
            lead: [doc.configurations.map(nameOf).join(", ") + ": " + number(summary.differing) + " of " + berth.counted(summary.pods, "pod") +
                (summary.differing === 1 ? " is" : " are") + " not on the same node with all of them."],
            tiles: [[number(summary.differing), "pods differ", summary.differing ? "warn" : "good"], [number(summary.pods), "pods"],
                ...doc.configurations.map((configuration) => [number(configuration.pending), "pending with " + nameOf(configuration), configuration.pending ? "bad" : "good"])],
            sections: [sidesSection(doc), nodesSection(doc), podsSection(doc)].filter(Boolean),
        };
    }
    berth.views = { ...berth.views, Comparison: view };
})(window.berth = window.berth || {});

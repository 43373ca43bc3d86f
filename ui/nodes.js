// Nodes as documents have them: { name, labels, unschedulable, allocatable, before, after, ... }, amounts by resource, cpu
// as "cpuMilli" (docs/OUTPUT.md). Used by reports and by the live page.
(function (berth) {
    "use strict";
    const el = berth.el;
    const ZONE = "topology.kubernetes.io/zone", TYPE = "node.kubernetes.io/instance-type";
    const KNOWN = [[ZONE, "zone"], [TYPE, "instance type"]];
    const FIRST = ["cpuMilli", "memory", "pods"];
    const GROUPS_MAX = 60;

    // "cpuMilli" is the resource cpu, in thousandths.
    berth.resource = function (key) {
        return key === "cpuMilli" ? "cpu" : key;
    };
    berth.resourceAmount = function (key, value) {
        const resource = berth.resource(key), text = berth.amount(resource, value);
        return berth.unit(resource) && text !== "–" ? text + " " + berth.unit(resource) : text;
    };

    // The resources that a node has: cpu, memory and pods first.
    berth.resourceKeys = function (nodes) {
        const found = new Set();
        for (const node of nodes)
            for (const [key, amount] of Object.entries(node.allocatable))
                if (amount > 0)
                    found.add(key);
        const rank = (key) => FIRST.includes(key) ? FIRST.indexOf(key) : FIRST.length;
        return [...found].sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
    };

    function usedOf(node, use, key) {
        return node[use] ? node[use][key] || 0 : null;
    }

    // Used of what there is; null where the node does not have the resource, or was not there: a node that is added has no
    // use before.
    berth.share = function (node, use, key) {
        const used = usedOf(node, use, key), all = node.allocatable[key] || 0;
        return used === null ? null : all > 0 ? used / all : used > 0 ? Infinity : null;
    };

    // Labels by which nodes can be grouped: [label, words], those that people look for first.
    berth.groupings = function (nodes) {
        const values = new Map();
        for (const node of nodes) {
            for (const [label, value] of Object.entries(node.labels)) {
                if (!values.has(label))
                    values.set(label, new Set());
                if (values.get(label).size <= GROUPS_MAX)
                    values.get(label).add(value);
            }
        }
        const useful = (label) => values.has(label) && values.get(label).size <= GROUPS_MAX &&
            (values.get(label).size < nodes.length || nodes.length < 3);
        const known = KNOWN.filter(([label]) => useful(label));
        const others = [...values.keys()].filter((label) => useful(label) && values.get(label).size > 1 &&
            !KNOWN.some(([name]) => name === label)).sort();
        return known.concat(others.map((label) => [label, label]));
    };

    // [{ name, items: [index, ...] }, ...]; without a label one group of all.
    berth.groupNodes = function (nodes, label) {
        const groups = new Map();
        nodes.forEach((node, i) => {
            const value = label ? node.labels[label] : "";
            const name = !label ? "" : value === undefined ? "(without the label)" : value || "(empty)";
            if (!groups.has(name))
                groups.set(name, []);
            groups.get(name).push(i);
        });
        return [...groups].map(([name, items]) => ({ name, items }))
            .sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
    };

    // Selects for the resource and the grouping of maps; onchange gets { resource, label }.
    berth.nodeControls = function (nodes, chosen, onchange) {
        const groupings = berth.groupings(nodes);
        const change = (name) => (value) => {
            chosen[name] = value;
            onchange(chosen);
        };
        const labels = groupings.filter(([label]) => !KNOWN.some(([known]) => known === label));
        const options = [...groupings.filter(([label]) => KNOWN.some(([known]) => known === label)), ["", "nothing"]];
        if (labels.length)
            options.push({ group: "Label", options: labels });
        return el("div", { class: "controls" },
            chosen.resource ? berth.choice("Resource", berth.resourceKeys(nodes).map((key) => [key, berth.resource(key)]),
                chosen.resource, change("resource")) : null,
            berth.choice("Group by", options, chosen.label, change("label")));
    };

    berth.defaultGrouping = function (nodes) {
        const groupings = berth.groupings(nodes);
        return groupings.length && KNOWN.some(([label]) => label === groupings[0][0]) ? groupings[0][0] : "";
    };

    // What a map says about a node.
    berth.describeNode = function (node, uses, key) {
        const resource = berth.resource(key), lines = [node.name + (node.unschedulable ? " (cordoned)" : "")];
        for (const [use, words] of uses)
            lines.push((words ? words + ": " : "") + (node[use] ? resource + " " + berth.amount(resource, usedOf(node, use, key)) + " of " +
                berth.resourceAmount(key, node.allocatable[key] || 0) + " (" + berth.percent(berth.share(node, use, key)) + ")" : "not there"));
        return lines;
    };

    // Maps of all nodes side by side, one per use: berth.nodeMaps({ nodes, uses: [["before", "Before"], ["after", "After"]],
    // onselect: (index) => ... }).
    berth.nodeMaps = function (options) {
        const nodes = options.nodes;
        const chosen = { resource: berth.resourceKeys(nodes)[0], label: berth.defaultGrouping(nodes) };
        const select = (index) => {
            maps.forEach((map) => map.select(index));
            options.onselect(index);
        };
        const changes = ([use, words]) => ({
            label: (words ? words + ": " : "") + "nodes by use of " + berth.resource(chosen.resource),
            groups: berth.groupNodes(nodes, chosen.label),
            colour: (index) => berth.heat(berth.share(nodes[index], use, chosen.resource)),
            describe: (index) => berth.describeNode(nodes[index], options.uses, chosen.resource),
        });
        const maps = options.uses.map((use) => berth.heatMap({ ...changes(use), onselect: select }));
        const controls = berth.nodeControls(nodes, chosen, () => {
            maps.forEach((map, i) => map.update(changes(options.uses[i])));
            captions.forEach((caption, i) => { caption.textContent = captionOf(options.uses[i]); });
        });
        const captionOf = ([use, words]) => {
            const there = nodes.filter((node) => node[use]);
            const sum = (part) => there.reduce((total, node) => total + (usedOf(node, part, chosen.resource) || 0), 0);
            return (words ? words + ": " : "") + berth.percent(sum(use) / sum("allocatable")) + " of " +
                berth.resource(chosen.resource) + " requested";
        };
        const captions = options.uses.map((use) => el("span", {}, captionOf(use)));
        const root = el("div", { class: "node-maps" }, controls, berth.heatLegend(),
            el("div", { class: "pair" }, maps.map((map, i) => el("figure", {}, el("figcaption", {}, captions[i]), map))));
        root.update = (changed) => {
            Object.assign(options, changed);
            maps.forEach((map, i) => map.update(changes(options.uses[i])));
        };
        return root;
    };

    // A share as a bar with its percentage.
    berth.meter = function (share) {
        const width = share === null ? 0 : Math.min(1, share) * 100;
        return el("span", { class: "metered" }, el("span", { class: "meter", "aria-hidden": "true" },
            el("span", { class: share > 1 ? "over" : null, style: { width: width + "%" } })), el("span", { class: "metered-text" }, berth.percent(share)));
    };

    // Columns for the zone and the instance type, where nodes have them; `nodeOf` finds the node of a row.
    berth.placeColumns = function (nodes, nodeOf) {
        return KNOWN.filter(([label]) => nodes.some((node) => node.labels[label]))
            .map(([label, words]) => ({ title: words[0].toUpperCase() + words.slice(1), value: (row) => nodeOf(row).labels[label] }));
    };

    // All nodes, with the share of each resource in the last use.
    berth.nodeTable = function (options) {
        const keys = berth.resourceKeys(options.nodes).slice(0, 6), use = options.uses[options.uses.length - 1][0];
        const columns = [{ title: "Node", value: (node) => node.name }, ...berth.placeColumns(options.nodes, (node) => node)];
        for (const key of keys)
            columns.push({
                title: berth.resource(key), value: (node) => berth.share(node, use, key),
                text: (node) => berth.percent(berth.share(node, use, key)), cell: (node) => berth.meter(berth.share(node, use, key)), numeric: true,
            });
        if (options.nodes.some((node) => node.unschedulable))
            columns.push({ title: "Cordoned", value: (node) => node.unschedulable ? "yes" : null });
        if (options.nodes.some((node) => node.change))
            columns.push({ title: "Change", value: (node) => node.change });
        return berth.table({ caption: options.caption || "Nodes", columns, rows: options.nodes, onselect: options.onselect, sort: [0] });
    };

    // All that is known about one node: amounts, labels, and what `more` adds.
    berth.nodeDetails = function (node, uses, more) {
        const rows = Object.keys(node.allocatable).filter((key) => node.allocatable[key] > 0 || uses.some(([use]) => usedOf(node, use, key) > 0));
        const columns = [{ title: "Resource", value: (key) => berth.resource(key) },
            { title: "Allocatable", value: (key) => node.allocatable[key], text: (key) => berth.resourceAmount(key, node.allocatable[key]), numeric: true }];
        for (const [use, words] of uses) {
            columns.push({ title: words || "Requested", value: (key) => usedOf(node, use, key), text: (key) => berth.resourceAmount(key, usedOf(node, use, key)), numeric: true });
            columns.push({ title: (words || "") + " %", value: (key) => berth.share(node, use, key), cell: (key) => berth.meter(berth.share(node, use, key)), numeric: true });
        }
        return el("div", { class: "details" }, el("h3", {}, node.name, node.unschedulable ? el("span", { class: "warn" }, " cordoned") : null),
            el("div", { class: "columns" }, el("div", {}, berth.table({ caption: "Resources of " + node.name, columns, rows, filter: false }), more),
                el("ul", { class: "labels", "aria-label": "Labels" }, Object.entries(node.labels).map(([key, value]) =>
                    el("li", {}, el("code", {}, value ? key + "=" + value : key))))));
    };
})(window.berth = window.berth || {});

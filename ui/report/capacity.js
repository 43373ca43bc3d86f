// The document Capacity of `berth capacity`: how many more copies of each template fit, where they go, what stops the next.
(function (berth) {
    "use strict";
    const el = berth.el;

    function nameOf(template) {
        return template.namespace + "/" + template.name;
    }

    function requestsOf(template) {
        return Object.entries(template.requests).map(([key, value]) => berth.resource(key) + " " + berth.resourceAmount(key, value)).join(", ") || "nothing";
    }

    // Of the groups of nodes that reject the next copy the largest of those that could take it in other circumstances: a
    // taint or a label is no limit that copies use up.
    function decidingReason(stop) {
        return stop.reasons.find((reason) => reason.status === "Unschedulable") || stop.reasons[0] || null;
    }

    // What stops the next copy, in a few words.
    function limitOf(template) {
        const stop = template.stop;
        if (template.limited)
            return "the limit that was given (--max)";
        if (!stop)
            return null;
        const reason = stop.failedBy ? null : decidingReason(stop);
        return reason ? reason.reasons.join("; ") : berth.why(stop);
    }

    function fitsSection(doc) {
        return berth.section("fits", "How many fit",
            doc.templates.length > 1 ? berth.stackedBars({
                caption: doc.sets === null ? "Copies that fit, each template alone" : "Copies that fit, all templates together",
                title: "Template", names: ["copies"], rows: doc.templates.map((template) => ({ label: nameOf(template), values: [template.fits] })),
            }) : null,
            berth.table({
                caption: "Templates", rows: doc.templates, columns: [{ title: "Template", value: nameOf }, { title: "Kind", value: (template) => template.kind },
                    { title: "A copy requests", value: requestsOf, class: "wide" },
                    { title: "Copies that fit", value: (template) => template.fits, numeric: true },
                    { title: "Nodes that get some", value: (template) => template.nodes.length, numeric: true },
                    { title: "Stopped by", value: limitOf, class: "wide" }],
            }));
    }

    // ---- what stops the next copy ----

    function scarcity(scarce) {
        const resource = berth.resource(scarce.resource), amount = (value) => berth.resourceAmount(scarce.resource, value);
        return "A copy needs " + amount(scarce.needs) + " of " + resource + ". " + berth.counted(scarce.nodes, "node") +
            (scarce.nodes === 1 ? " has" : " have") + " less left" + (scarce.free ? ": " + amount(scarce.free) + " together, but at most " +
            amount(scarce.mostFree) + (scarce.mostFreeNode ? " on one node (" + scarce.mostFreeNode + ")" : "") : "") + ".";
    }

    function decidingSentence(stop) {
        const reason = stop.failedBy ? null : decidingReason(stop);
        return reason ? el("p", { class: "verdict" }, berth.counted(reason.nodes, "node") + ": " + reason.sentence + ".") : null;
    }

    function stopSection(doc) {
        const stopped = doc.templates.filter((template) => template.stop);
        if (!stopped.length)
            return null;
        const names = [...new Set(stopped.flatMap((template) => template.stop.reasons.map((reason) => reason.reasons.join("; "))))];
        const nodes = (template, name) => template.stop.reasons.reduce((sum, reason) => sum + (reason.reasons.join("; ") === name ? reason.nodes : 0), 0);
        return berth.section("stop", "What stops the next copy",
            berth.stackedBars({
                caption: "Nodes by what rejects the next copy", title: "Template", names,
                rows: stopped.map((template) => ({ label: nameOf(template), values: names.map((name) => nodes(template, name)) })),
            }),
            stopped.map((template) => [stopped.length > 1 ? el("h3", {}, nameOf(template)) : null,
                decidingSentence(template.stop), template.stop.scarce ? el("p", {}, scarcity(template.stop.scarce)) : null,
                el("p", { class: template.stop.failedBy ? "verdict bad" : "dim" }, berth.why(template.stop)),
                template.stop.victims ? el("p", {}, "It would fit if " + berth.counted(template.stop.victims, "pod") + " of lower priority left.") : null,
                berth.table({ caption: "What rejects the next copy of " + nameOf(template), rows: template.stop.reasons, columns: [
                    { title: "Plugin", value: (reason) => reason.plugin }, { title: "Why", value: (reason) => reason.sentence, class: "wide" },
                    { title: "Nodes", value: (reason) => reason.nodes, numeric: true }, { title: "Such as", value: (reason) => reason.example }] })]));
    }

    // ---- one more node ----

    function moreSection(doc) {
        const grown = doc.templates.filter((template) => template.oneMore.length);
        if (!grown.length)
            return null;
        const type = (row) => [row.nodeType || "like " + row.example, row.zone, ...row.taints].filter(Boolean).join(", ");
        const part = (template) => {
            const useful = template.oneMore.filter((row) => row.adds).sort((a, b) => b.adds - a.adds).slice(0, 20);
            const useless = template.oneMore.filter((row) => !row.adds);
            return [useful.length ? berth.stackedBars({
                caption: "Copies of " + nameOf(template) + " that one more node adds", title: "Type of node", names: ["copies"],
                rows: useful.map((row) => ({ label: type(row), values: [row.adds] })),
            }) : null, useless.length ? el("p", { class: "dim" }, (useful.length ? "Nodes of these types add none: " :
                "No type of node adds a copy of " + nameOf(template) + ": ") + useless.map(type).join("; ") + ".") : null];
        };
        return berth.section("more", "One more node", el("p", { class: "dim" },
            "How many more copies fit when one node like the others of its type joins the full cluster."), grown.map(part));
    }

    // ---- where ----

    function copiesOf(doc, template) {
        const places = new Map(doc.nodes.map((node, i) => [node.name, i])), copies = new Array(doc.nodes.length).fill(0);
        for (const node of template.nodes)
            if (places.has(node.name))
                copies[places.get(node.name)] = node.copies;
        return copies;
    }

    function placesSection(doc) {
        const nodes = doc.nodes, chosen = { label: berth.defaultGrouping(nodes) };
        let template = doc.templates[0], copies = copiesOf(doc, template);
        const most = () => Math.max(1, ...copies);
        const selected = el("p", { class: "dim", "aria-live": "polite" });
        const describe = (index) => [nodes[index].name, (copies[index] === 1 ? "1 more copy of " : berth.number(copies[index]) + " more copies of ") + nameOf(template)];
        const changes = () => ({
            label: "Nodes by copies of " + nameOf(template) + " that fit", groups: berth.groupNodes(nodes, chosen.label), describe,
            colour: (index) => copies[index] ? berth.heat(copies[index] / most()) : berth.colour("heat-none"),
        });
        const map = berth.heatMap({ ...changes(), onselect: (index) => {
            map.select(index);
            selected.textContent = describe(index).join(": ") + ".";
        } });
        const side = el("div", {}), caption = el("span", {});
        const draw = () => {
            caption.textContent = "A node is the darker the more copies fit; at most " + berth.number(most());
            side.replaceChildren(chosen.label ? berth.stackedBars({
                caption: "Copies by " + chosen.label.split("/").pop(), title: chosen.label, names: ["copies"],
                rows: berth.groupNodes(nodes, chosen.label).map((group) => ({ label: group.name, values: [group.items.reduce((sum, i) => sum + copies[i], 0)] })),
            }) : "");
            table.update(nodes.map((node, i) => ({ node, copies: copies[i] })));
        };
        const columns = [{ title: "Node", value: (row) => row.node.name }, ...berth.placeColumns(nodes, (row) => row.node),
            { title: "Copies that fit", value: (row) => row.copies, numeric: true }];
        const table = berth.table({ caption: "Copies by node", rows: [], filter: true, sort: [columns.length - 1, "descending"], columns });
        const redraw = () => {
            map.update(changes());
            draw();
        };
        const picker = doc.templates.length > 1 ? berth.choice("Template", doc.templates.map((one, i) => [i, nameOf(one)]), 0, (i) => {
            template = doc.templates[i];
            copies = copiesOf(doc, template);
            redraw();
        }) : null;
        draw();
        const controls = berth.nodeControls(nodes, chosen, redraw);
        if (picker)
            controls.prepend(picker);
        return berth.section("places", "Where they go", controls,
            el("div", { class: "pair" }, el("figure", {}, el("figcaption", {}, caption), map), side), selected, table);
    }

    function usesSection(doc) {
        const uses = doc.nodes.some((node) => node.after) ? [["before", "Before"], ["after", "With all copies"]] : [["before", "As it is"]];
        const details = el("div", { "aria-live": "polite" });
        const show = (node) => details.replaceChildren(berth.nodeDetails(node, uses));
        return berth.section("nodes", "Nodes", berth.nodeMaps({ nodes: doc.nodes, uses, onselect: (index) => show(doc.nodes[index]) }), details,
            berth.nodeTable({ nodes: doc.nodes, uses, onselect: show }));
    }

    function view(doc) {
        const number = berth.number, summary = doc.summary;
        return {
            title: document.title,
            lead: [berth.counted(summary.running, "running pod") + " on " + berth.counted(summary.nodes, "node") +
                (summary.placedFirst ? "; " + berth.counted(summary.placedFirst, "pod") + " that waited " + (summary.placedFirst === 1 ? "was" : "were") + " placed first" : "") + "."],
            tiles: [...doc.sets !== null ? [[number(doc.sets), "complete sets fit", doc.sets ? "good" : "bad"]] : [],
                ...doc.templates.slice(0, 5).map((template) => [number(template.fits) + (template.limited ? "+" : ""), "more of " + nameOf(template) + " fit", template.fits ? "good" : "bad"]),
                ...summary.pending ? [[number(summary.pending), "pods wait already", "warn"]] : []],
            sections: [fitsSection(doc), stopSection(doc), placesSection(doc), moreSection(doc), usesSection(doc)].filter(Boolean),
        };
    }
    berth.views = { ...berth.views, Capacity: view };
})(window.berth = window.berth || {});

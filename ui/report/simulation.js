// The document Simulation of `berth simulate`: where pods went, who waits and why, how full nodes got.
(function (berth) {
    "use strict";
    const el = berth.el;
    const USES = [["before", "Before"], ["after", "After"]];

    function podName(pod) {
        return pod.namespace + "/" + pod.name;
    }
    berth.podName = podName;

    function workloadName(workload) {
        return workload.name === null ? workload.namespace + " (no controller)" : workload.namespace + "/" + workload.name;
    }

    function tilesOf(doc) {
        const summary = doc.summary, number = berth.number;
        const use = (key) => {
            const total = doc.resources[key];
            return total ? [[berth.percent(total.before / (total.allocatableBefore || total.allocatable)) + " → " + berth.percent(total.after / total.allocatable),
                berth.resource(key) + " requested"]] : [];
        };
        return [
            [number(summary.scheduled), "placements", "good"],
            [number(summary.pending), "pods wait", summary.pending ? "bad" : ""],
            ...summary.preempted ? [[number(summary.preempted), "pods preempted", "warn"]] : [],
            [number(summary.nodes), "nodes"],
            [number(summary.emptyNodes), "nodes without pods"],
            ...use("cpuMilli"), ...use("memory"),
        ];
    }

    // ---- nodes ----

    function nodesSection(doc) {
        const comes = new Map(doc.nodes.map((node) => [node.name, []]));
        for (const workload of doc.workloads)
            for (const [node, pods] of Object.entries(workload.nodes))
                if (comes.has(node))
                    comes.get(node).push([workload, pods]);
        const details = el("div", { "aria-live": "polite" }, el("p", { class: "dim" }, "Select a node for its amounts, labels and pods."));
        const show = (node) => {
            const list = comes.get(node.name);
            const pods = list.length ? el("p", {}, "Pods that came: " + list.map(([workload, count]) =>
                workloadName(workload) + (count > 1 ? " (" + berth.number(count) + ")" : "")).join(", ") + ".") : el("p", { class: "dim" }, "No pod came.");
            details.replaceChildren(berth.nodeDetails(node, USES, pods));
        };
        return berth.section("nodes", "Nodes", berth.nodeMaps({ nodes: doc.nodes, uses: USES, onselect: (index) => show(doc.nodes[index]) }),
            details, el("h3", {}, "All nodes, after"), berth.nodeTable({ nodes: doc.nodes, uses: USES, onselect: (node) => {
                show(node);
                details.scrollIntoView({ block: "nearest" });
            } }));
    }

    function resourcesSection(doc) {
        const rows = Object.entries(doc.resources).map(([key, total]) => ({ key, ...total }));
        const amount = (name) => ({ value: (row) => row[name], text: (row) => berth.resourceAmount(row.key, row[name]), numeric: true });
        const share = (name, whole) => {
            const value = (row) => row[name] / (row[whole] || row.allocatable);
            return { value, numeric: true, text: (row) => berth.percent(value(row)), cell: (row) => berth.meter(value(row)) };
        };
        return berth.section("resources", "Resources", berth.table({
            caption: "Resources over all nodes", rows, filter: false, columns: [
                { title: "Resource", value: (row) => berth.resource(row.key) },
                { title: "Allocatable", ...amount("allocatable") },
                { title: "Before", ...amount("before") }, { title: "Before %", ...share("before", "allocatableBefore") },
                { title: "After", ...amount("after") }, { title: "After %", ...share("after") },
                { title: "Free", help: "on nodes that are not cordoned", ...amount("free") },
                { title: "Largest hole", help: "the most that one node has left", ...amount("largestHole") },
                { title: "On", value: (row) => row.largestHoleNode },
            ],
        }));
    }

    // ---- changes ----

    const RESULTS = { placed: "", pending: "waits", lost: "lost: no controller makes it again", gone: "not wanted any more" };

    function changesSection(doc) {
        if (!doc.changes || !doc.changes.length)
            return null;
        const name = (change) => (change.namespace ? change.namespace + "/" : "") + change.name;
        const words = (change) => change.of ? "like " + change.of : change.after !== undefined ? berth.number(change.before) + " → " + berth.number(change.after) : null;
        const parts = [
            doc.answer ? el("p", { class: "verdict " + (doc.answer.possible ? "good" : "bad") }, doc.answer.text) : null,
            berth.table({ caption: "Changes", rows: doc.changes, shown: 8, columns: [
                { title: "Change", value: (change) => change.change }, { title: "Kind", value: (change) => change.kind },
                { title: "Name", value: name }, { title: "How", value: words }] }),
        ];
        if (doc.moved.length)
            parts.push(el("h3", {}, "Pods that leave their nodes"), berth.table({ caption: "Pods that leave", rows: doc.moved, columns: [
                { title: "Pod", value: (move) => podName(move.pod) }, { title: "Because of", value: (move) => move.cause },
                { title: "From", value: (move) => move.from },
                { title: "To", value: (move) => move.to || RESULTS[move.result] || move.result,
                    cell: (move) => move.to || el("span", { class: move.result === "gone" ? "dim" : "bad" }, RESULTS[move.result] || move.result) },
                { title: "Message", value: (move) => move.message, class: "wide" }] }));
        if (doc.budgets.length)
            parts.push(el("h3", {}, "Disruption budgets"), berth.table({ caption: "Disruption budgets", rows: doc.budgets, columns: [
                { title: "Budget", value: podName }, { title: "Pods evicted", value: (budget) => budget.pods.length, numeric: true },
                { title: "Allowed at once", value: (budget) => budget.allowed, numeric: true }, { title: "Verdict", value: (budget) => budget.verdict }] }));
        if (doc.unmanaged.length)
            parts.push(el("p", { class: "warn" }, "Without a controller, and lost when they leave: " + doc.unmanaged.slice(0, 20).map(podName).join(", ") +
                (doc.unmanaged.length > 20 ? " and " + berth.number(doc.unmanaged.length - 20) + " more" : "") + "."));
        return berth.section("changes", "Changes", parts);
    }

    // How many nodes are needed, and which could go.
    const KEPT = { pending: "a pod would have no node", unmanaged: "a pod without a controller", budget: "a disruption budget",
        otherScheduler: "a pod of another scheduler", controlPlane: "the control plane" };

    function growthSection(doc) {
        const growth = doc.growth;
        return growth ? berth.section("growth", "More nodes", el("p", { class: "verdict " + (growth.enough ? "good" : "warn") }, growth.text),
        berth.table({ caption: "Numbers of nodes that were tried", rows: growth.trials, sort: [0], filter: false, columns: [
            { title: "More nodes", value: (trial) => trial.nodes, numeric: true }, { title: "Pods that wait", value: (trial) => trial.pending, numeric: true }] })) : null;
    }

    function removableSection(doc) {
        const found = doc.removable;
        return found ? berth.section("removable", "Nodes that could go", el("p", { class: "verdict" },
            berth.counted(found.count, "node") + " could go together. On those that stay, pods then request " + berth.percent(found.usedAfter.cpu) +
            " of cpu and " + berth.percent(found.usedAfter.memory) + " of memory."),
        berth.table({ caption: "Nodes that could go", rows: found.nodes, columns: [
            { title: "Node", value: (node) => node.name },
            { title: "Could go", value: (node) => node.removable ? "yes" : "no", cell: (node) => el("span", { class: node.removable ? "good" : null }, node.removable ? "yes" : "no") },
            { title: "Stays because of", value: (node) => node.reason && (KEPT[node.reason] || node.reason) },
            { title: "Pods that would move", value: (node) => node.pods, numeric: true }] })) : null;
    }

    // ---- workloads ----

    // The pods of one workload over the nodes, and over their groups.
    function spread(doc, workload) {
        const nodes = doc.nodes, pods = (index) => workload.nodes[nodes[index].name] || 0;
        const most = Math.max(1, ...Object.values(workload.nodes));
        const chosen = { label: berth.defaultGrouping(nodes) };
        const groups = () => berth.groupNodes(nodes, chosen.label);
        const map = berth.heatMap({
            label: "Pods of " + workloadName(workload) + " over nodes", groups: groups(),
            colour: (index) => pods(index) ? berth.heat(pods(index) / most) : berth.colour("heat-none"),
            describe: (index) => [nodes[index].name, berth.counted(pods(index), "pod") + " of " + workloadName(workload)],
        });
        const bars = el("div", {});
        const draw = () => bars.replaceChildren(chosen.label ? berth.stackedBars({
            caption: "Pods by " + (chosen.label.split("/").pop() || "node"), names: ["pods"], title: chosen.label,
            rows: groups().map((group) => ({ label: group.name, values: [group.items.reduce((sum, index) => sum + pods(index), 0)] })),
        }) : "");
        draw();
        const controls = berth.nodeControls(nodes, chosen, () => {
            map.update({ groups: groups() });
            draw();
        });
        return el("div", {}, el("h3", {}, workloadName(workload) + ": " + berth.counted(workload.placed, "pod") + " on " +
            berth.counted(Object.keys(workload.nodes).length, "node")), controls,
        el("div", { class: "pair" }, el("figure", {}, el("figcaption", {}, "A node is the darker the more of the pods it got; at most " + berth.number(most)), map), bars));
    }

    function workloadsSection(doc) {
        const place = el("div", { "aria-live": "polite" });
        const show = (workload) => place.replaceChildren(spread(doc, workload));
        const table = berth.table({
            caption: "Workloads", rows: doc.workloads, onselect: show, sort: [3, "descending"], shown: 10, columns: [
                { title: "Workload", value: workloadName },
                { title: "Kind", value: (workload) => workload.kind },
                { title: "Placed", value: (workload) => workload.placed, numeric: true },
                { title: "Pending", value: (workload) => workload.pending, numeric: true,
                    cell: (workload) => el("span", { class: workload.pending ? "bad" : null }, berth.number(workload.pending)) },
                { title: "Nodes", value: (workload) => Object.keys(workload.nodes).length, numeric: true },
                { title: "Most on one node", value: (workload) => Math.max(0, ...Object.values(workload.nodes)), numeric: true },
            ],
        });
        // A DaemonSet is everywhere, which is no news.
        const rank = (workload) => workload.placed * (workload.kind === "DaemonSet" ? 0.001 : 1);
        const first = doc.workloads.reduce((best, workload) => !best || rank(workload) > rank(best) ? workload : best, null);
        if (first && first.placed)
            show(first);
        return berth.section("workloads", "Workloads", table, place);
    }

    // ---- pending ----

    // The condition "0/12 nodes are available: 3 Insufficient cpu, 9 ..." in parts: [[nodes, reason], ...].
    berth.rejections = function (message) {
        const found = /^0\/\d+ nodes are available: (.*?)\.(?: preemption: .*| no new claims.*)?$/s.exec(message || "");
        const parts = found ? found[1].split(/, (?=\d+ )/).map((part) => /^(\d+) (.*)$/s.exec(part)) : [];
        return parts.every(Boolean) ? parts.map((part) => [Number(part[1]), part[2]]) : [];
    };

    function byReason(doc) {
        const reasons = new Map();
        for (const entry of doc.pending) {
            const message = berth.why(entry);
            if (!reasons.has(message))
                reasons.set(message, { message, gated: entry.gated, pods: [], parts: berth.rejections(message) });
            reasons.get(message).pods.push(entry.pod);
        }
        return [...reasons.values()].sort((a, b) => b.pods.length - a.pods.length);
    }

    function pendingSection(doc) {
        const reasons = byReason(doc);
        if (!reasons.length)
            return null;
        const label = (reason) => podName(reason.pods[0]) + (reason.pods.length > 1 ? " and " + berth.number(reason.pods.length - 1) + " more" : "");
        const charted = reasons.filter((reason) => reason.parts.length).slice(0, 20);
        const names = [...new Set(charted.flatMap((reason) => reason.parts.map((part) => part[1])))];
        const bars = charted.length ? berth.stackedBars({
            caption: "Which filters rejected how many nodes", names, title: "Pods",
            rows: charted.map((reason) => ({
                label: label(reason), total: berth.counted(reason.pods.length, "pod"),
                values: names.map((name) => (reason.parts.find((part) => part[1] === name) || [0])[0]),
            })),
        }) : null;
        return berth.section("pending", "Pending pods by reason", bars, el("ol", { class: "reasons" }, reasons.slice(0, 50).map((reason) =>
            el("li", {}, el("details", {}, el("summary", {}, el("strong", {}, berth.counted(reason.pods.length, "pod")), " ",
                reason.gated ? "blocked by a scheduling gate: " : "", reason.message || "no reason"),
            berth.table({ caption: "Pods", rows: reason.pods, filter: reason.pods.length > 5, columns: [
                { title: "Pod", value: (pod) => pod.name }, { title: "Namespace", value: (pod) => pod.namespace }] }))))));
    }

    // ---- the queue ----

    // After each decision: how many pods were not tried yet, wait after a rejection, have a node.
    function overTime(doc) {
        const state = new Map(), pods = new Set(doc.placements.map((entry) => podName(entry.pod)));
        const untried = [pods.size], rejected = [0], placed = [0];
        let waiting = 0, done = 0;
        const move = (name, to) => {
            const from = state.get(name);
            waiting += (to === "rejected") - (from === "rejected");
            done += (to === "placed") - (from === "placed");
            state.set(name, to);
        };
        for (const entry of doc.placements) {
            move(podName(entry.pod), entry.node ? "placed" : "rejected");
            for (const victim of entry.victims)
                if (state.has(podName(victim)))
                    move(podName(victim), "preempted");
            untried.push(pods.size - state.size);
            rejected.push(waiting);
            placed.push(done);
        }
        return { untried, rejected, placed };
    }

    function wakingTable(doc) {
        const events = new Map();
        for (const entry of doc.placements) {
            if (!entry.wokenBy)
                continue;
            const row = events.get(entry.wokenBy) || { event: entry.wokenBy, tries: 0, placed: 0 };
            row.tries++;
            row.placed += entry.node ? 1 : 0;
            events.set(entry.wokenBy, row);
        }
        return events.size ? [el("h3", {}, "What woke pods that had been rejected"), berth.table({
            caption: "Wake-ups by event", rows: [...events.values()], sort: [1, "descending"], columns: [
                { title: "Event", value: (row) => row.event }, { title: "Tries", value: (row) => row.tries, numeric: true },
                { title: "Found a node", value: (row) => row.placed, numeric: true }],
        })] : el("p", { class: "dim" }, "No pod was tried again.");
    }

    function preemptionTable(doc) {
        const rows = doc.placements.filter((entry) => entry.victims.length);
        return rows.length ? [el("h3", {}, "Preemptions"), berth.table({
            caption: "Preemptions", rows, columns: [
                { title: "Pod", value: (entry) => podName(entry.pod) }, { title: "Node", value: (entry) => entry.nominated },
                { title: "Victims", value: (entry) => entry.victims.map(podName).join(", "), class: "wide" }],
        })] : null;
    }

    function queueSection(doc) {
        const series = overTime(doc), decisions = doc.placements;
        const chart = berth.lines({
            caption: "Pods in the queue after each decision", xTitle: "Decision",
            x: series.untried.map((value, i) => i), xText: (i) => "decision " + berth.number(Math.round(i)),
            series: [{ name: "not tried yet", values: series.untried }, { name: "rejected, waiting", values: series.rejected },
                { name: "have a node", values: series.placed }],
            describe: (i) => i ? [podName(decisions[i - 1].pod) + (decisions[i - 1].node ? " → " + decisions[i - 1].node : ": no node"),
                ...decisions[i - 1].wokenBy ? ["woken by " + decisions[i - 1].wokenBy + ", attempt " + decisions[i - 1].attempt] : []] : [],
            marks: decisions.map((entry, i) => ({ x: i + 1, text: entry.wokenBy })).filter((mark) => mark.text),
            marksName: "a pod was woken and tried again",
        });
        const table = berth.table({
            caption: "Decisions", rows: decisions.map((entry, i) => ({ ...entry, number: i + 1 })), shown: 12, columns: [
                { title: "#", value: (row) => row.number, numeric: true }, { title: "Pod", value: (row) => podName(row.pod) },
                { title: "Attempt", value: (row) => row.attempt, numeric: true }, { title: "Woken by", value: (row) => row.wokenBy },
                { title: "Node", value: (row) => row.node }, { title: "Message", value: berth.why, class: "wide" }],
        });
        return berth.section("queue", "Queue", chart, wakingTable(doc), preemptionTable(doc), el("h3", {}, "Decisions in order"), table);
    }

    function view(doc) {
        const summary = doc.summary;
        const placed = doc.workloads.reduce((sum, workload) => sum + workload.placed, 0);
        return {
            title: document.title,
            lead: [berth.counted(placed, "pod") + " got a node, " + (summary.pending ? berth.number(summary.pending) + " wait" : "none waits") +
                ". " + berth.counted(summary.decisions, "decision") + " with " + berth.counted(summary.running, "running pod") + " on " +
                berth.counted(summary.nodes, "node") + "."],
            tiles: tilesOf(doc),
            sections: [changesSection(doc), growthSection(doc), removableSection(doc), nodesSection(doc), pendingSection(doc), workloadsSection(doc), resourcesSection(doc), queueSection(doc)].filter(Boolean),
        };
    }
    berth.views = { ...berth.views, Simulation: view };
})(window.berth = window.berth || {});

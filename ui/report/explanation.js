// The document Explanation of `berth explain`: every node by the plugin that refuses it and what it lacks, the scores of
// those that can take the pod, preemption. berth.explanationSections(doc) is also used where an explanation is a part.
(function (berth) {
    "use strict";
    const el = berth.el;
    const BARS_MAX = 20, GROUPS_MAX = 30;
    // Refusals have no green, which is that of nodes that can take the pod.
    const REFUSALS = [0, 1, 4, 3, 5, 6, 8, 7];

    function refusalClass(at) {
        return berth.series(REFUSALS[at % REFUSALS.length]);
    }

    function verdictOf(node) {
        return node.feasible ? "can take it" : node.feasible === null ? "not examined" : node.plugin || "PreFilter";
    }

    function sentences(node) {
        return (node.why || []).map((why) => why.sentence).filter(Boolean);
    }

    // What a node says about itself in one line.
    function shortfall(node) {
        if (node.feasible === null)
            return "not examined: enough other nodes can take the pod";
        return node.feasible ? "can take it, score " + berth.number(node.total) : sentences(node).join("; ") || (node.reasons || []).join("; ");
    }

    // ---- the answer ----

    // The groups of nodes that lack the same, with what it is and which node is closest.
    function rejectionList(doc) {
        const more = doc.rejections.length - GROUPS_MAX;
        return el("ul", { class: "reasons" }, doc.rejections.slice(0, GROUPS_MAX).map((group) => el("li", { class: "with-count" },
            el("strong", {}, berth.counted(group.nodes, "node")),
            el("div", {}, el("div", {}, el("strong", {}, group.plugin || "PreFilter"), group.plugin ? " refuses" : " chose other nodes",
                group.closest && group.nodes > 1 ? ["; closest is ", group.closest] : group.closest ? [" ", group.closest] : null),
            el("div", {}, group.sentence)))),
        more > 0 ? el("li", { class: "dim" }, "and " + berth.counted(more, "more group") + ", of which the table below has every node") : null);
    }

    function answerSection(doc, prefix) {
        const best = doc.best, parts = [];
        if (doc.preEnqueue)
            parts.push(el("p", { class: "verdict bad" }, "A scheduling gate blocks it: " + (doc.preEnqueue.reasons || []).join("; ")));
        if (doc.preFilter && doc.preFilter.status !== "Success")
            parts.push(el("p", { class: "verdict bad" }, doc.preFilter.plugin + " rejects it before any node is looked at: " + (doc.preFilter.reasons || [])
                .concat((doc.preFilter.why || []).map(lack => lack.sentence)).join("; ")));
        if (best.length)
            parts.push(el("p", { class: "verdict" }, best.length === 1 ? "It goes to " : "It goes to one of " + berth.counted(best.length, "equal node") + ": ",
                el("strong", {}, best.slice(0, 5).join(", ") + (best.length > 5 ? " and " + berth.number(best.length - 5) + " more" : "")), "."));
        else if (doc.message)
            parts.push(el("p", { class: "verdict bad" }, berth.why(doc)));
        if (doc.podsBefore)
            parts.push(el("p", {}, berth.counted(doc.podsBefore, "waiting pod") + (doc.podsBefore === 1 ? " comes" : " come") +
                " before it in the queue, and may change this."));
        if (doc.rejections.length)
            parts.push(el("h3", {}, "Why nodes are rejected"), rejectionList(doc));
        return berth.section(prefix + "answer", "Answer", parts);
    }

    // ---- one node (--node) ----

    const isRejection = (answer) => answer.status !== "Success" && answer.status !== "Skip";

    function nodeVerdict(doc, node) {
        const rejecting = node.filters.filter(isRejection).length, found = doc.nodes.find((row) => row.name === node.name);
        if (node.feasible)
            return node.name + " can take it, " + (doc.best.includes(node.name) ? "and no node is better." : "but others are better.");
        if (found && found.feasible === null && !rejecting)
            return "Every plugin accepts " + node.name + ".";
        return node.name + " cannot take it: " + [
            rejecting ? berth.number(rejecting) + " of " + berth.counted(node.filters.length, "plugin") + (rejecting === 1 ? " rejects it" : " reject it") : null,
            node.otherwise ? (node.otherwise.plugin || "PreFilter") + ": " + node.otherwise.reasons.join("; ") : null].filter(Boolean).join("; ") + ".";
    }

    // What every plugin answers about the node, and its scores beside those of the best.
    function nodeSection(doc, prefix) {
        const node = doc.node;
        if (!node)
            return null;
        const asked = node.filters.filter((answer) => answer.status !== "Skip"), idle = node.filters.filter((answer) => answer.status === "Skip");
        const word = (answer) => isRejection(answer) ? "rejects" : "fits";
        const scored = doc.nodes.find((row) => row.name === node.name && row.feasible), best = doc.nodes.find((row) => row.name === doc.best[0]);
        const victims = doc.preemption && doc.preemption.candidates[node.name];
        return berth.section(prefix + "node", "Node " + node.name,
            el("p", { class: "verdict " + (node.feasible === false ? "bad" : "good") }, nodeVerdict(doc, node)),
            victims ? el("p", {}, "It would fit if these pods of lower priority were evicted: " + victims.victims.join(", ") + ".") : null,
            asked.length ? berth.table({ caption: "Plugins about " + node.name, rows: asked, whole: 40, filter: false, columns: [
                { title: "Plugin", value: (answer) => answer.plugin },
                { title: "Answer", value: word, cell: (answer) => el("span", { class: isRejection(answer) ? "bad" : "good" }, word(answer)) },
                { title: "Why", value: (answer) => isRejection(answer) ? sentences(answer).join("; ") : "", class: "wide" }] }) : null,
            idle.length ? el("p", { class: "dim" }, "Nothing to check for this pod: " + idle.map((answer) => answer.plugin).join(", ") + ".") : null,
            scored && !doc.best.includes(node.name) ? duel("The best node against " + node.name, scorers(doc), best, scored) : null);
    }

    // ---- nodes by plugins ----

    // Plugins that refuse a node, in the order in which they are asked.
    function refusing(doc) {
        const found = new Set(doc.nodes.filter((node) => node.feasible === false).map(verdictOf));
        const order = doc.filters || [];
        return [...found].sort((a, b) => order.indexOf(a) - order.indexOf(b));
    }

    function cellOf(doc, columns, node, at) {
        const verdict = verdictOf(node), refusedAt = columns.indexOf(verdict);
        const state = at === refusedAt ? "refused" : node.feasible || refusedAt > at ? "passed" : "unasked";
        const words = { refused: "refuses it: " + shortfall(node), passed: "lets it pass", unasked: "not asked" }[state];
        return el("span", {
            class: "cell " + state + (state === "refused" ? " " + refusalClass(at) : ""),
            onmousemove: (event) => berth.hint([node.name, columns[at] + " " + words], event.clientX, event.clientY),
            onmouseleave: () => berth.hint(null),
        }, el("span", { class: "unseen" }, words), state === "refused" ? el("span", { "aria-hidden": "true" }, "✕") : null);
    }

    function nodeDetails(node) {
        const lines = sentences(node);
        return el("div", { class: "details" }, el("h3", {}, node.name), node.feasible === null ? el("p", {}, shortfall(node)) : node.feasible ?
            el("p", {}, "It can take the pod, with a score of " + berth.number(node.total) + ": " +
                Object.entries(node.scores).map(([plugin, score]) => plugin + " " + berth.number(score)).join(", ") + ".") :
            [el("p", {}, el("strong", {}, verdictOf(node)), " refuses it: " + (node.reasons || []).join("; ")),
                lines.length ? el("ul", {}, lines.map((line) => el("li", {}, line))) : null]);
    }

    function matrix(doc, columns, show) {
        // Nodes that can take the pod first, the best of them at the top.
        const most = Math.max(1, ...doc.nodes.map((node) => Math.abs(node.total || 0)));
        const rank = (node) => node.feasible ? columns.length + 1 + node.total / most : columns.indexOf(verdictOf(node));
        return berth.table({
            caption: "Nodes by plugins", class: "matrix", rows: doc.nodes, onselect: show, sort: [columns.length + 1, "descending"], columns: [
                { title: "Node", value: (node) => node.name },
                ...columns.map((plugin, at) => ({
                    title: plugin, value: (node) => at === columns.indexOf(verdictOf(node)) ? 1 : 0, numeric: true, class: "matrix-cell",
                    text: (node) => at === columns.indexOf(verdictOf(node)) ? plugin : "", cell: (node) => cellOf(doc, columns, node, at),
                })),
                { title: "Verdict", value: rank, numeric: false, class: "wide", text: shortfall,
                    cell: (node) => el("span", { class: node.feasible ? "good" : null, title: shortfall(node) }, shortfall(node)) },
            ],
        });
    }

    function matrixSection(doc, prefix) {
        if (!doc.nodes.length)
            return null;
        const columns = refusing(doc), details = el("div", { "aria-live": "polite" });
        const verdicts = ["can take it", ...columns, "not examined"].filter((verdict) => doc.nodes.some((node) => verdictOf(node) === verdict));
        const classes = new Map(verdicts.map((verdict) => [verdict, verdict === "can take it" ? "open" : verdict === "not examined" ? "heat-none" :
            refusalClass(columns.indexOf(verdict))]));
        const colours = new Map();
        const colour = (index) => {
            const name = classes.get(verdictOf(doc.nodes[index]));
            return berth.colour(name);
        };
        const show = (node) => details.replaceChildren(nodeDetails(node));
        const map = berth.heatMap({
            label: "Nodes by the plugin that refuses the pod first", height_px: 220, colour, onselect: (index) => {
                map.select(index);
                show(doc.nodes[index]);
            },
            groups: verdicts.map((verdict) => ({ name: verdict, items: doc.nodes.map((node, i) => i).filter((i) => verdictOf(doc.nodes[i]) === verdict) })),
            describe: (index) => [doc.nodes[index].name, (doc.nodes[index].feasible === false ? verdictOf(doc.nodes[index]) + ": " : "") + shortfall(doc.nodes[index])],
        });
        const passing = (doc.filters || []).filter((plugin) => !columns.includes(plugin));
        return berth.section(prefix + "nodes", "Nodes by plugins",
            berth.legend(verdicts.map((verdict) => [classes.get(verdict), verdict])), map, details,
            columns.length ? matrix(doc, columns, show) : null,
            passing.length ? el("p", { class: "dim" }, "Also asked, and refusing none: " + passing.join(", ") + ".") : null);
    }

    // ---- scores ----

    function feasibleNodes(doc) {
        return doc.nodes.filter((node) => node.feasible).sort((a, b) => b.total - a.total || a.name.localeCompare(b.name, "en", { numeric: true }));
    }

    // The plugins that give some node a score.
    function scorers(doc) {
        const nodes = doc.nodes.filter((node) => node.feasible);
        return [...new Set(nodes.flatMap((node) => Object.keys(node.scores)))].filter((plugin) => nodes.some((node) => node.scores[plugin]));
    }

    function duel(caption, plugins, first, second) {
        const rows = plugins.map((plugin) => ({ plugin, first: first.scores[plugin] || 0, second: second.scores[plugin] || 0 }))
            .map((row) => ({ ...row, lead: row.first - row.second })).filter((row) => row.first || row.second);
        const lead = first.total - second.total;
        const deciding = rows.filter((row) => row.lead > 0).sort((a, b) => b.lead - a.lead).slice(0, 2).map((row) => row.plugin);
        const signed = (value) => (value > 0 ? "+" : "") + berth.number(value);
        return [el("h3", {}, first.name + " against " + second.name),
            el("p", {}, lead ? "Ahead by " + berth.number(lead) + (deciding.length ? ", most of it from " + deciding.join(" and ") : "") + "." :
                "Equal: the scheduler chooses one of the best at random."),
            berth.table({ caption, rows, sort: [3, "descending"], filter: false, columns: [
                { title: "Plugin", value: (row) => row.plugin },
                { title: first.name, value: (row) => row.first, numeric: true }, { title: second.name, value: (row) => row.second, numeric: true },
                { title: "Difference", value: (row) => row.lead, text: (row) => signed(row.lead), numeric: true,
                    cell: (row) => el("span", { class: row.lead > 0 ? "good" : row.lead < 0 ? "bad" : null }, signed(row.lead)) }] })];
    }

    function scoreSection(doc, prefix) {
        const nodes = feasibleNodes(doc);
        if (!nodes.length)
            return null;
        const best = new Set(doc.best), extended = nodes.some((node) => node.extenders);
        const plugins = scorers(doc), names = plugins.concat(extended ? ["extenders"] : []);
        const values = (node) => plugins.map((plugin) => node.scores[plugin] || 0).concat(extended ? [node.extenders || 0] : []);
        const next = nodes.find((node) => !best.has(node.name)) || nodes[1];
        const bars = berth.stackedBars({
            caption: nodes.length > BARS_MAX ? "The " + BARS_MAX + " best of " + berth.number(nodes.length) + " nodes by score" : "Nodes by score",
            title: "Node", names, rows: nodes.slice(0, BARS_MAX).map((node) => ({
                label: node.name, values: values(node), strong: best.has(node.name), total: berth.number(node.total) })),
        });
        const table = nodes.length > BARS_MAX ? [el("h3", {}, "All nodes that can take it"), berth.table({
            caption: "Scores", rows: nodes, sort: [names.length + 1, "descending"], columns: [{ title: "Node", value: (node) => node.name },
                ...names.map((name, i) => ({ title: name, value: (node) => values(node)[i], numeric: true })),
                { title: "Total", value: (node) => node.total, numeric: true }] })] : null;
        return berth.section(prefix + "scores", "Scores", bars, nodes.length > 1 ? duel("The best node against the next", plugins, nodes[0], next) : null, table, weightTable(doc));
    }

    function weightTable(doc) {
        return doc.weights && doc.weights.length ? [el("h3", {}, "Weights that a plugin has set"), berth.table({
            caption: "Weights", rows: doc.weights, columns: [
                { title: "Plugin", value: (row) => row.plugin }, { title: "Weight", value: (row) => row.weight, numeric: true },
                { title: "Configured", value: (row) => row.configured, numeric: true }, { title: "By", value: (row) => row.by },
                { title: "Why", value: (row) => row.reason, class: "wide" }] })] : null;
    }

    // ---- preemption, cost ----

    function preemptionSection(doc, prefix) {
        const found = doc.preemption;
        if (!found)
            return null;
        const nominated = new Set(found.nominated), candidates = Object.entries(found.candidates);
        return berth.section(prefix + "preemption", "Preemption",
            el("p", {}, found.message ? found.message.replace(/^preemption: /, "") : (nominated.size ? "Pods of lower priority would leave " + [...nominated].slice(0, 3).join(", ") +
                (nominated.size > 3 ? " or one of " + berth.number(nominated.size - 3) + " more" : "") + "." : "")),
            candidates.length ? berth.table({
                caption: "Candidates", rows: candidates, columns: [
                    { title: "Node", value: ([node]) => node, cell: ([node]) => nominated.has(node) ? el("strong", {}, node) : node },
                    { title: "Victims", value: ([, row]) => row.victims.length, numeric: true },
                    { title: "PDB violations", value: ([, row]) => row.pdbViolations, numeric: true },
                    { title: "Pods that would leave", value: ([, row]) => row.victims.join(", "), class: "wide" }] }) : null);
    }

    function costSection(doc, prefix) {
        if (!doc.cost)
            return null;
        return berth.section(prefix + "cost", "Time",
            el("p", {}, "The evaluation took " + berth.duration(doc.cost.microseconds / 1e6) + "."),
            berth.table({ caption: "Time by plugin", rows: doc.cost.plugins, sort: [3, "descending"], columns: [
                { title: "Plugin", value: (row) => row.plugin },
                { title: "Where", value: (row) => [].concat(row.points).join(", ") },
                { title: "Calls", value: (row) => row.calls, numeric: true },
                { title: "µs", value: (row) => row.microseconds, numeric: true },
                { title: "Share", value: (row) => row.share, text: (row) => berth.percent(row.share), cell: (row) => berth.meter(row.share), numeric: true }] }));
    }

    // `prefix`: of the ids, where the page has others.
    berth.explanationSections = function (doc, prefix = "") {
        return [answerSection, nodeSection, matrixSection, scoreSection, preemptionSection, costSection].map((part) => part(doc, prefix)).filter(Boolean);
    };

    function view(doc) {
        const number = berth.number, feasible = doc.nodes.filter((node) => node.feasible), unasked = doc.nodes.filter((node) => node.feasible === null);
        const candidates = doc.preemption ? Object.keys(doc.preemption.candidates).length : 0;
        return {
            title: "Pod " + berth.podName(doc.pod),
            lead: [document.title, "Priority " + number(doc.priority) + ", scheduler " + doc.schedulerName +
                (doc.policy ? ", policy " + (doc.policy.name || doc.policy) : "") + "."],
            tiles: [[number(feasible.length), "nodes can take it", feasible.length ? "good" : "bad"],
                [number(doc.nodes.length - feasible.length - unasked.length), "nodes rejected"],
                ...unasked.length ? [[number(unasked.length), "nodes not examined"]] : [],
                ...feasible.length ? [[number(Math.max(...feasible.map((node) => node.total))), "best score"]] : [],
                ...candidates ? [[number(candidates), candidates === 1 ? "node by preemption" : "nodes by preemption", "warn"]] : []],
            sections: berth.explanationSections(doc),
        };
    }
    // ---- a running scheduler ----

    const OUTCOMES = { placed: "good", bound: "good", unschedulable: "bad", error: "bad", "binding failed": "bad" };

    function stateLines(doc) {
        const lines = [];
        if (doc.queue)
            lines.push("It waits in the queue " + doc.queue.queue + " for " + berth.duration(doc.queue.seconds) + ", after " + berth.counted(doc.queue.attempts, "attempt") + ".");
        if (doc.binding)
            lines.push("It is being bound to " + doc.binding.node + ": " + doc.binding.stage + " for " + berth.duration(doc.binding.seconds) + ".");
        if (doc.node)
            lines.push("It is on " + doc.node + ".");
        return lines.length ? lines : [doc.state];
    }

    function wakesOf(doc) {
        const wakes = doc.queue && doc.queue.wakes || [];
        return wakes.length ? [el("h3", {}, "What may wake it"), berth.table({ caption: "What may wake it", rows: wakes, shown: 8, columns: [
            { title: "Event", value: (row) => row.event }, { title: "Plugin", value: (row) => row.plugin }] })] : null;
    }

    function attemptsTable(doc) {
        return [el("h3", {}, "Its last attempts"), berth.table({
            caption: "Attempts", rows: doc.attempts, empty: "No attempt is known.", columns: [
                { title: "Time", value: (row) => row.time },
                { title: "Outcome", value: (row) => row.outcome, cell: (row) => el("span", { class: OUTCOMES[row.outcome] }, row.outcome) },
                { title: "Feasible", value: (row) => row.feasible, numeric: true }, { title: "Examined", value: (row) => row.examined, numeric: true },
                { title: "µs", value: (row) => row.microseconds, numeric: true }, { title: "Node", value: (row) => row.node },
                { title: "Message", value: (row) => row.message, class: "wide" }] })];
    }

    function liveView(doc) {
        const now = doc.now ? berth.explanationSections(doc.now) : [];
        return {
            title: "Pod " + berth.podName(doc.pod), lead: [document.title + ", " + doc.time],
            tiles: [[doc.state, "state", doc.state === "bound" ? "good" : ""], ...doc.queue ? [[berth.number(doc.queue.attempts), "attempts"]] : []],
            sections: [berth.section("state", "State and attempts", stateLines(doc).map((line) => el("p", { class: "verdict" }, line)),
                doc.notNow ? el("p", { class: "dim" }, "Not evaluated now: " + doc.notNow) : null, attemptsTable(doc), wakesOf(doc)), ...now],
        };
    }
    // ---- all pods that wait ----

    function waitingView(doc) {
        const pods = (rows) => rows.reduce((sum, row) => sum + row.count, 0), number = berth.number;
        const fitting = doc.pods.filter((row) => row.feasible);
        return {
            title: document.title, lead: ["In the order in which they are decided; each row is judged as if its turn were now."],
            tiles: [[number(pods(doc.pods) + doc.left), "pods wait"], [number(pods(fitting)), "would find a node", fitting.length ? "good" : ""],
                [number(pods(doc.pods) - pods(fitting)), "fit on no node", fitting.length < doc.pods.length ? "bad" : ""]],
            sections: [berth.section("waiting", "Why they wait", berth.table({
                caption: "Pods that wait", rows: doc.pods, whole: 40, empty: "No pod waits for a node.", columns: [
                    { title: "Pod", value: berth.podName },
                    { title: "Exists", value: (row) => row.expanded ? "not yet" : "yes", help: "not yet: a controller would create it" }, { title: "Alike", value: (row) => row.count, numeric: true, help: "pods that plugins cannot tell apart" },
                    { title: "Feasible nodes", value: (row) => row.feasible, numeric: true,
                        cell: (row) => el("span", { class: row.feasible ? "good" : "bad" }, number(row.feasible)) },
                    { title: "Why", value: (row) => row.sentence, class: "wide" }],
            }), doc.left ? el("p", { class: "dim" }, "and " + berth.counted(doc.left, "more pod") + "; --top shows more of them") : null,
            doc.ofDaemonSets ? el("p", { class: "dim" }, berth.counted(doc.ofDaemonSets, "pod") + " that DaemonSets would create, one for each node, are not listed.") : null)],
        };
    }
    berth.views = { ...berth.views, Explanation: view, LiveExplanation: liveView, PendingPods: waitingView };
})(window.berth = window.berth || {});

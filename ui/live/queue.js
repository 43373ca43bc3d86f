// Which pods wait, where, for how long and why; and those that are decided and not bound yet.
(function (berth) {
    "use strict";
    const el = berth.el;
    berth.pages = berth.pages || {};
    const LIMIT = 2000;
    const TONES = { unschedulable: "warn", "backoff after an error": "bad" };

    berth.podHash = function (pod) {
        return "#/pod/" + encodeURIComponent(pod.namespace) + "/" + encodeURIComponent(pod.name);
    };

    // How many of the pods each plugin rejected or holds back, the most first.
    function reasonsOf(pods) {
        const counts = new Map();
        for (const pod of pods)
            for (const plugin of new Set([...pod.rejectedBy, ...pod.gate ? [pod.gate] : []]))
                counts.set(plugin, (counts.get(plugin) || 0) + 1);
        return [...counts].sort((a, b) => b[1] - a[1]);
    }

    const reasonText = (pod) => pod.gate && !pod.rejectedBy.includes(pod.gate) ?
        ["held back by " + pod.gate, ...pod.rejectedBy].join(" ") : pod.rejectedBy.join(" ");

    const waitColumns = [
        { title: "Pod", value: (pod) => pod.namespace + "/" + pod.name },
        { title: "Queue", value: (pod) => pod.queue },
        { title: "Age", numeric: true, value: (pod) => pod.seconds, text: (pod) => berth.duration(pod.seconds) },
        { title: "Attempts", numeric: true, value: (pod) => pod.attempts },
        { title: "Priority", numeric: true, value: (pod) => pod.priority },
        { title: "Rejected by", value: (pod) => reasonText(pod) || null },
        { title: "The last attempt said", value: (pod) => pod.message, class: "wide" },
    ];
    const bindColumns = [
        { title: "Pod", value: (pod) => pod.namespace + "/" + pod.name },
        { title: "Stage", value: (pod) => pod.stage },
        { title: "Node", value: (pod) => pod.node },
        { title: "Age", numeric: true, value: (pod) => pod.seconds, text: (pod) => berth.duration(pod.seconds) },
        { title: "Waits for", value: (pod) => pod.waitsFor.map((wait) => wait.plugin +
            (wait.secondsLeft === undefined ? "" : " (" + berth.duration(wait.secondsLeft) + " left)")).join(", ") || null },
    ];

    const go = (pod) => { location.hash = berth.podHash(pod); };

    berth.pages.queue = function (root) {
        const tiles = el("div", {}), reasons = el("div", {}), left = el("p", { class: "note" });
        const waiting = berth.table({ caption: "Pods that wait", columns: waitColumns, rows: [], shown: 18, filter: true,
            empty: "No pod waits.", onselect: go, sort: [2, "descending"] });
        const binding = berth.table({ caption: "Pods on their way", columns: bindColumns, rows: [], shown: 8, onselect: go,
            empty: "No pod is being bound.", filter: false });
        root.append(tiles, berth.section("reasons", "Why they wait", reasons),
            berth.section("waiting", "Pods that wait", waiting, left),
            berth.section("binding", "Decided, and not bound yet", binding));
        const showTiles = berth.changed((counts) => tiles.replaceChildren(berth.tiles(Object.entries(counts).map(([queue, count]) =>
            [berth.number(count), queue, count ? TONES[queue] : ""]))));
        const showReasons = berth.changed((rows) => reasons.replaceChildren(rows.length ? berth.stackedBars({
            caption: "Pods by the plugin that rejected them or holds them back; a pod counts for each", names: ["pods"], title: "Plugin",
            rows: rows.map(([label, count]) => ({ label, values: [count] })) }) : el("p", { class: "note" }, "No plugin has rejected a pod that waits.")));
        return [
            berth.poll("debug/berth/queue?limit=" + LIMIT, { every: 2, on: (page) => {
                showTiles(page.counts);
                showReasons(reasonsOf(page.pods));
                waiting.update(page.pods);
                left.hidden = !page.left;
                left.textContent = "The first " + berth.number(page.pods.length) + " pods are shown; " + berth.number(page.left) + " more wait.";
            } }),
            berth.poll("debug/berth/waiting?limit=" + LIMIT, { every: 2, on: (page) => binding.update(page.pods) }),
        ];
    };
})(window.berth = window.berth || {});

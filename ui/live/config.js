// The configuration in effect, with all defaults: profiles with their plugins, and the document.
(function (berth) {
    "use strict";
    const el = berth.el;
    berth.pages = berth.pages || {};
    const POINTS = ["queueSort", "preEnqueue", "preFilter", "filter", "postFilter", "preScore", "score", "reserve", "permit", "preBind",
        "bind", "postBind"];

    // Plugins in the order of the profile, with their weights.
    function pluginsOf(profile) {
        const plugins = profile.plugins || {};
        const rows = ((plugins.multiPoint || {}).enabled || []).map((plugin) => ({ name: plugin.name, weight: plugin.weight, points: "all that it has" }));
        for (const point of POINTS)
            for (const plugin of (plugins[point] || {}).enabled || [])
                rows.push({ name: plugin.name, weight: plugin.weight, points: point });
        const args = new Set((profile.pluginConfig || []).map((entry) => entry.name));
        return rows.map((row) => ({ ...row, args: args.has(row.name) }));
    }

    function argsOf(profile) {
        return (profile.pluginConfig || []).map((entry) => el("details", {}, el("summary", {}, "Arguments of " + entry.name),
            el("pre", {}, JSON.stringify(entry.args, null, 2))));
    }

    function profileSection(profile, i) {
        const rows = pluginsOf(profile);
        return berth.section("profile-" + i, "Profile " + profile.schedulerName,
            berth.table({ caption: "Plugins of " + profile.schedulerName, rows, filter: false, shown: 30, columns: [
                { title: "Plugin", value: (row) => row.name },
                { title: "Weight", numeric: true, value: (row) => row.weight || null, text: (row) => row.weight ? berth.number(row.weight) : "–" },
                { title: "Extension points", value: (row) => row.points },
            ] }), argsOf(profile));
    }

    berth.pages.config = function (root) {
        const place = el("div", { class: "stack" }, el("p", { class: "note" }, "Asking…"));
        root.append(place);
        const draw = berth.changed((config) => place.replaceChildren(
            ...(config.profiles || []).map(profileSection),
            berth.section("document", "The whole document", el("details", {},
                el("summary", {}, config.apiVersion + ", " + config.kind), el("pre", {}, JSON.stringify(config, null, 2))))));
        return [berth.poll("configz", { every: 10, on: (page) => draw(page.componentconfig || {}) })];
    };
})(window.berth = window.berth || {});

// What every view uses: elements, numbers as people write them, announcements for screen readers, hints at the pointer.
// All scripts of this folder add to one object, `berth`. Nothing is loaded from elsewhere, and styles are only set by
// classes and by element.style, so that a strict Content-Security-Policy holds.
(function (berth) {
    "use strict";

    // el("p", { class: "note", onclick: f, style: { width: "3px" } }, "text", child, ...): attributes that are null or
    // false are left out, "on..." are listeners.
    berth.el = function (tag, attributes, ...children) {
        const element = document.createElement(tag);
        fill(element, attributes, children);
        return element;
    };
    berth.svg = function (tag, attributes, ...children) {
        const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
        fill(element, attributes, children);
        return element;
    };
    function fill(element, attributes, children) {
        for (const [name, value] of Object.entries(attributes || {})) {
            if (value === null || value === undefined || value === false)
                continue;
            if (name.startsWith("on"))
                element.addEventListener(name.slice(2), value);
            else if (name === "style")
                Object.assign(element.style, value);
            else
                element.setAttribute(name, value === true ? "" : String(value));
        }
        for (const child of children.flat(Infinity))
            if (child !== null && child !== undefined)
                element.append(child);
    }

    let ids = 0;
    berth.id = function (prefix) {
        return prefix + "-" + ++ids;
    };

    // ---- numbers ----

    const plain = new Intl.NumberFormat("en-US", { maximumFractionDigits: 2 });
    const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];
    berth.number = function (value) {
        return plain.format(value);
    };
    berth.counted = function (count, noun) {
        return berth.number(count) + " " + noun + (count === 1 ? "" : noun.endsWith("s") ? "es" : "s");
    };
    berth.percent = function (share) {
        if (share === null || !isFinite(share))
            return "–";
        const percent = share * 100;
        return (percent > 0 && percent < 9.95 ? percent.toFixed(1) : Math.round(percent)) + " %";
    };
    berth.bytes = function (value) {
        let unit = 0;
        while (Math.abs(value) >= 1024 && unit < BINARY.length - 1) {
            value /= 1024;
            unit++;
        }
        return (Math.abs(value) >= 100 ? Math.round(value) : plain.format(Math.round(value * 10) / 10)) +
            (unit ? " " + BINARY[unit] + "B" : " B");
    };
    function isBytes(resource) {
        return resource === "memory" || resource.includes("storage") || resource.startsWith("hugepages-");
    }
    // An amount as nodes count it: cpu in thousandths of a core, memory and storage in bytes.
    berth.amount = function (resource, value) {
        if (value === null || value === undefined)
            return "–";
        if (resource === "cpu")
            return plain.format(Math.round(value / 10) / 100);
        return isBytes(resource) ? berth.bytes(value) : berth.number(value);
    };
    berth.unit = function (resource) {
        return resource === "cpu" ? "cores" : "";
    };
    berth.duration = function (seconds) {
        if (seconds < 0.001)
            return Math.round(seconds * 1e6) + " µs";
        if (seconds < 1)
            return Math.round(seconds * 1000) + " ms";
        if (seconds < 120)
            return plain.format(Math.round(seconds * 10) / 10) + " s";
        if (seconds < 7200)
            return Math.round(seconds / 60) + " min";
        return plain.format(Math.round(seconds / 360) / 10) + " h";
    };

    // ---- announcements and hints ----

    let announcer = null;
    // Says a text to screen readers.
    berth.announce = function (text) {
        if (!announcer) {
            announcer = berth.el("div", { class: "unseen", "aria-live": "polite", id: "announcer" });
            document.body.append(announcer);
        }
        announcer.textContent = text;
    };

    let hint = null;
    // Shows lines of text beside a point of the window; no lines: hides them.
    berth.hint = function (lines, x, y) {
        if (!hint) {
            hint = berth.el("div", { class: "hint", "aria-hidden": "true", hidden: true });
            document.body.append(hint);
        }
        hint.hidden = !lines || !lines.length;
        if (hint.hidden)
            return;
        hint.replaceChildren(...lines.map((line, i) => berth.el("div", { class: i ? null : "first" }, line)));
        const box = hint.getBoundingClientRect();
        hint.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 4)) + "px";
        hint.style.top = (y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 10) : y + 18) + "px";
    };
    document.addEventListener("keydown", (event) => {
        if (event.key === "Escape")
            berth.hint(null);
    });
    document.addEventListener("scroll", () => berth.hint(null), true);

    // ---- colours ----

    const drawings = new Set();
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => drawings.forEach((draw) => draw()));
    // Draws once the element is in the document, and again when the colours or its size change, until it is removed.
    berth.drawn = function (element, draw) {
        const observer = new ResizeObserver(() => {
            if (element.isConnected) {
                draw();
            } else {
                observer.disconnect();
                drawings.delete(draw);
            }
        });
        drawings.add(draw);
        observer.observe(element);
    };
    berth.colour = function (name) {
        return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
    };
    const SCALE_LEN = 7;
    let scale = null;
    function readScale() {
        scale = [];
        for (let i = 0; i < SCALE_LEN; i++)
            scale.push(berth.colour("heat-" + i).match(/[0-9a-f]{2}/gi).map((hex) => parseInt(hex, 16)));
    }
    dark.addEventListener("change", () => { scale = null; });
    // The colour of a share: null is "no value", more than 1 "too much".
    berth.heat = function (share) {
        if (share === null || share === undefined || isNaN(share))
            return berth.colour("heat-none");
        if (share > 1.0000001)
            return berth.colour("bad");
        if (!scale)
            readScale();
        const at = Math.max(0, Math.min(1, share)) * (SCALE_LEN - 1);
        const low = Math.min(SCALE_LEN - 2, Math.floor(at));
        const mix = scale[low].map((part, i) => Math.round(part + (scale[low + 1][i] - part) * (at - low)));
        return "rgb(" + mix.join(",") + ")";
    };
    berth.SERIES = 10;
    // The class of a series: "series-3" colours a background, a fill or text by CSS.
    berth.series = function (index) {
        return "series-" + index % berth.SERIES;
    };

    // ---- parts of a page ----

    // A select with a label; options are [value, text] or { group, options }.
    berth.choice = function (label, options, value, onchange) {
        const id = berth.id("choice");
        const option = ([key, text]) => berth.el("option", { value: key, selected: String(key) === String(value) }, text);
        const select = berth.el("select", { id, onchange: () => onchange(select.value) },
            options.map((o) => o.group ? berth.el("optgroup", { label: o.group }, o.options.map(option)) : option(o)));
        return berth.el("span", { class: "choice" }, berth.el("label", { for: id }, label), select);
    };

    // A chart with a caption, and a button that shows its numbers as a table instead. `table` makes the table when it
    // is first asked for.
    berth.figure = function (caption, chart, table) {
        const id = berth.id("alternative");
        const alternative = berth.el("div", { id, hidden: true });
        const button = berth.el("button", {
            type: "button", class: "quiet", "aria-expanded": "false", "aria-controls": id,
            onclick: () => {
                const shown = alternative.hidden;
                if (shown)
                    alternative.replaceChildren(table());
                alternative.hidden = !shown;
                chart.hidden = shown;
                button.setAttribute("aria-expanded", String(shown));
                button.textContent = shown ? "Show as a chart" : "Show as a table";
            },
        }, "Show as a table");
        return berth.el("figure", {}, berth.el("figcaption", {}, berth.el("span", {}, caption), button), chart, alternative);
    };

    // Why something has no node; an error with the plugin or extender that it is of.
    berth.why = (row) => (row.failedBy ? "error of " + row.failedBy + ": " : "") + (row.message || "");

    // Large numbers in a row: [[number, words, tone], ...]; the tone is "good", "warn", "bad" or nothing.
    berth.tiles = function (tiles) {
        return berth.el("dl", { class: "tiles" }, tiles.map(([number, words, tone]) =>
            berth.el("div", { class: "tile " + (tone || "") }, berth.el("dt", {}, words), berth.el("dd", {}, number))));
    };

    // A part of the page with a heading, listed in the navigation.
    berth.section = function (id, title, ...children) {
        return berth.el("section", { id, "aria-labelledby": id + "-title" },
            berth.el("h2", { id: id + "-title" }, title), children);
    };
    berth.navigation = function (sections) {
        return berth.el("nav", { "aria-label": "Parts of this page" }, berth.el("ul", {}, sections.map((section) =>
            berth.el("li", {}, berth.el("a", { href: "#" + section.id }, section.querySelector("h2").textContent)))));
    };
})(window.berth = window.berth || {});

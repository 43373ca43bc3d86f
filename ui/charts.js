// Stacked bars and lines over time, each with its numbers as a table.
//
//     berth.stackedBars({ caption: "Scores", names: ["Fit", "Spread"], rows: [{ label: "n1", values: [3, 4] }], best: 0 })
//     berth.lines({ caption: "Queue", x: [...], xText: (x) => "...", series: [{ name: "waiting", values: [...] }],
//                   marks: [{ x, text }] })
(function (berth) {
    "use strict";
    const el = berth.el, svg = berth.svg;

    // ---- bars ----

    function barTable(options) {
        const columns = [{ title: options.title || "Name", value: (row) => row.label }];
        options.names.forEach((name, i) => columns.push({ title: name, value: (row) => row.values[i], numeric: true }));
        if (!options.parts)
            columns.push({ title: "Total", value: (row) => row.values.reduce((sum, v) => sum + (v || 0), 0), numeric: true });
        return berth.table({ caption: options.caption, columns, rows: options.rows });
    }

    function bar(options, row, most) {
        const total = row.values.reduce((sum, value) => sum + Math.max(0, value || 0), 0);
        const text = (i) => options.names[i] + ": " + (options.text ? options.text(row.values[i]) : berth.number(row.values[i]));
        return el("li", { class: row.strong ? "strong" : null },
            el("span", { class: "bar-label", title: row.label }, row.label),
            el("span", { class: "bar", "aria-hidden": "true" }, row.values.map((value, i) => value > 0 ?
                el("span", {
                    class: "part " + (options.classes ? options.classes[i] : berth.series(i)), style: { width: value / most * 100 + "%" },
                    onmousemove: (event) => berth.hint([row.label, text(i)], event.clientX, event.clientY),
                    onmouseleave: () => berth.hint(null),
                }) : null)),
            el("span", { class: "bar-total" }, row.total !== undefined ? row.total : berth.number(total)),
            el("span", { class: "unseen" }, row.values.map((value, i) => value ? text(i) + ". " : "").join("")));
    }

    berth.stackedBars = function (options) {
        const sum = (row) => row.values.reduce((total, value) => total + Math.max(0, value || 0), 0);
        const most = options.most || Math.max(1e-9, ...options.rows.map(sum));
        const used = options.names.map((name, i) => options.rows.some((row) => row.values[i]));
        const chart = el("div", { class: "bars" },
            options.names.length > 1 ? berth.legend(options.names.map((name, i) =>
                [options.classes ? options.classes[i] : berth.series(i), name]).filter((entry, i) => used[i])) : null,
            el("ol", { "aria-label": options.caption }, options.rows.map((row) => bar(options, row, most))));
        return berth.figure(options.caption, chart, () => barTable(options));
    };

    // ---- lines ----

    const HEIGHT = 220, LEFT = 52, RIGHT = 14, TOP = 12, BOTTOM = 28, POINTS_MAX = 1500, TICK_PX = 96;

    // So many points as can be seen, keeping the least and the most of those between.
    function thin(x, values) {
        if (x.length <= POINTS_MAX)
            return x.map((at, i) => [at, values[i]]);
        const points = [], step = x.length / (POINTS_MAX / 2);
        for (let from = 0; from < x.length; from += step) {
            const a = Math.floor(from), b = Math.min(x.length, Math.max(a + 1, Math.floor(from + step)));
            let low = a, high = a;
            for (let i = a; i < b; i++) {
                low = values[i] < values[low] ? i : low;
                high = values[i] > values[high] ? i : high;
            }
            for (const i of low < high ? [low, high] : [high, low])
                points.push([x[i], values[i]]);
        }
        points.push([x[x.length - 1], values[x.length - 1]]);
        return points;
    }

    // About `count` round numbers from 0 to `most`; of whole things no halves.
    function ticks(most, count, isWhole) {
        const raw = Math.max(most / count, isWhole ? 1 : 1e-9), power = Math.pow(10, Math.floor(Math.log10(raw)));
        const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw);
        const found = [];
        for (let at = 0; at <= most * 1.0001; at += step)
            found.push(at);
        return found;
    }

    function drawLines(options, root) {
        const width = Math.max(240, root.clientWidth), x = options.x;
        const x0 = x[0] || 0, x1 = Math.max(x[x.length - 1] || 0, x0 + 1e-9);
        const most = Math.max(1, ...options.series.map((series) => series.values.reduce((a, b) => Math.max(a, b), 0)));
        const px = (at) => LEFT + (at - x0) / (x1 - x0) * (width - LEFT - RIGHT);
        const py = (value) => HEIGHT - BOTTOM - value / most * (HEIGHT - TOP - BOTTOM);
        const isWhole = options.series.every((series) => series.values.every(Number.isInteger));
        const grid = ticks(most, 4, isWhole).map((value) => [
            svg("line", { x1: LEFT, x2: width - RIGHT, y1: py(value), y2: py(value), class: "grid-line" }),
            svg("text", { x: LEFT - 8, y: py(value) + 4, class: "tick end" }, berth.number(value))]);
        const along = [], parts = Math.max(1, Math.min(4, Math.floor((width - LEFT - RIGHT) / TICK_PX) - 1));
        for (let i = 0; i <= parts; i++) {
            const at = x0 + (x1 - x0) * i / parts, text = options.xText(at);
            if (along.length && along[along.length - 1].textContent === text)
                continue;
            along.push(svg("text", { x: px(at), y: HEIGHT - 8, class: "tick " + (i === 0 ? "start" : i === parts ? "end" : "middle") },
                text));
        }
        const marks = (options.marks || []).slice(0, 400).map((mark) =>
            svg("line", { x1: px(mark.x), x2: px(mark.x), y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM + 6, class: "mark" }));
        const paths = options.series.map((series, s) => {
            let path = "", before = null;
            for (const [at, value] of thin(x, series.values)) {
                path += before === null ? "M" + px(at).toFixed(1) + " " + py(value).toFixed(1) :
                    "H" + px(at).toFixed(1) + "V" + py(value).toFixed(1);
                before = value;
            }
            return svg("path", { d: path, class: "line " + berth.series(s) });
        });
        return svg("svg", { width, height: HEIGHT, viewBox: "0 0 " + width + " " + HEIGHT, role: "img", "aria-label": options.caption },
            grid, along, marks, paths);
    }

    function follow(options, chart) {
        chart.addEventListener("mousemove", (event) => {
            const box = chart.getBoundingClientRect(), x = options.x;
            if (!x.length)
                return;
            const share = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
            const wanted = x[0] + share * (x[x.length - 1] - x[0]);
            let low = 0, high = x.length - 1;
            while (low < high) {
                const middle = Math.ceil((low + high) / 2);
                if (x[middle] <= wanted)
                    low = middle;
                else
                    high = middle - 1;
            }
            berth.hint([options.xText(x[low])].concat(options.describe ? options.describe(low) : [],
                options.series.map((series) => series.name + ": " + berth.number(series.values[low]))), event.clientX, event.clientY);
        });
        chart.addEventListener("mouseleave", () => berth.hint(null));
    }

    berth.lines = function (options) {
        const plot = el("div", { class: "plot" });
        const chart = el("div", { class: "lines" },
            berth.legend(options.series.map((series, i) => [berth.series(i), series.name])
                .concat(options.marks && options.marks.length ? [["mark-key", options.marksName || "marks"]] : [])), plot);
        const draw = () => {
            if (plot.clientWidth)
                plot.replaceChildren(drawLines(options, plot));
        };
        follow(options, plot);
        berth.drawn(plot, draw);
        const figure = berth.figure(options.caption, chart, () => berth.table({
            caption: options.caption, rows: options.x.map((at, i) => i),
            columns: [{ title: options.xTitle || "Time", value: (i) => options.x[i], text: (i) => options.xText(options.x[i]) }]
                .concat(options.series.map((series) => ({ title: series.name, value: (i) => series.values[i], numeric: true }))),
        }));
        figure.update = (changes) => {
            Object.assign(options, changes);
            draw();
        };
        return figure;
    };
})(window.berth = window.berth || {});

// A table that sorts, filters and only has the rows in the document that are seen, so that it may have any number.
//
//     berth.table({
//         caption: "Nodes",
//         columns: [{ title: "Node", value: (row) => row.name }, { title: "CPU", value: (row) => row.cpu, numeric: true,
//                     text: (row) => row.cpu + " m", cell: (row) => element }],
//         rows: [...],
//         sort: [1, "descending"], onselect: (row) => ..., shown: 12, whole: 40, filter: false,
//     })
//
// `value` is what is sorted by, `text` what is shown and searched (the value by default), `cell` an element instead of the
// text. The first column names the row; with `onselect` it is a button. The element has update(rows).
// At most `whole` rows are all in the document, with sentences in full on several lines. Of more rows, `shown` are seen at
// once, each on one line of the same height.
(function (berth) {
    "use strict";
    const el = berth.el;
    const ROW_PX = 30, MARGIN_ROWS = 8;

    function textOf(column, row) {
        const value = column.text ? column.text(row) : column.value(row);
        return value === null || value === undefined ? "–" : typeof value === "number" ? berth.number(value) : String(value);
    }

    function compare(a, b) {
        if (a === b)
            return 0;
        if (a === null || a === undefined)
            return 1;
        if (b === null || b === undefined)
            return -1;
        return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
    }

    // The rows that have all words of the filter, in the order that was chosen.
    function arrange(state) {
        const words = state.words.toLowerCase().split(/\s+/).filter(Boolean);
        let rows = state.rows;
        if (words.length)
            rows = rows.filter((row) => {
                const text = state.columns.map((column) => textOf(column, row)).join(" ").toLowerCase();
                return words.every((word) => text.includes(word));
            });
        const column = state.columns[state.by];
        if (column) {
            const sign = state.descending ? -1 : 1;
            rows = rows.map((row, i) => [column.value(row), i, row]);
            rows.sort((a, b) => {
                const missing = (a[0] === null || a[0] === undefined) - (b[0] === null || b[0] === undefined);
                return missing || sign * compare(a[0], b[0]) || a[1] - b[1];
            });
            rows = rows.map((entry) => entry[2]);
        }
        state.arranged = rows;
    }

    function makeRow(state, row, index) {
        return el("tr", { "aria-rowindex": index + 2, class: index % 2 ? "odd" : null }, state.columns.map((column, i) => {
            let content = column.cell ? column.cell(row) : textOf(column, row);
            if (i === 0 && state.onselect)
                content = el("button", { type: "button", class: "link", onclick: () => state.onselect(row) }, content);
            const title = !column.cell || column.title_text ? textOf(column, row) : null;
            const attributes = { class: (column.numeric ? "numeric " : "") + (column.class || ""), title };
            return i === 0 ? el("th", { scope: "row", ...attributes }, content) : el("td", attributes, content);
        }));
    }

    function draw(state) {
        const scroller = state.scroller, total = state.arranged.length;
        const first = state.isWhole ? 0 : Math.max(0, Math.floor(scroller.scrollTop / ROW_PX) - MARGIN_ROWS);
        const last = state.isWhole ? total : Math.min(total, Math.ceil((scroller.scrollTop + state.height) / ROW_PX) + MARGIN_ROWS);
        if (first === state.first && last === state.last)
            return;
        state.first = first;
        state.last = last;
        const spacer = (rows) => rows ? [el("tr", { "aria-hidden": "true", class: "spacer" },
            el("td", { colspan: state.columns.length, style: { height: rows * ROW_PX + "px" } }))] : [];
        // A button that has the focus and stays in sight keeps it.
        const focused = state.body.contains(document.activeElement) ?
            document.activeElement.closest("tr").getAttribute("aria-rowindex") : null;
        state.body.replaceChildren(...spacer(first),
            ...state.arranged.slice(first, last).map((row, i) => makeRow(state, row, first + i)), ...spacer(total - last));
        if (focused) {
            const button = state.body.querySelector('tr[aria-rowindex="' + focused + '"] button');
            if (button)
                button.focus({ preventScroll: true });
        }
    }

    function refresh(state) {
        arrange(state);
        const total = state.arranged.length;
        state.isWhole = state.rows.length <= state.whole;
        state.height = Math.max(1, Math.min(state.shown, state.rows.length)) * ROW_PX;
        state.table.classList.toggle("whole", state.isWhole);
        state.scroller.style.maxHeight = state.isWhole ? "none" : state.height + ROW_PX + 14 + "px";
        state.table.setAttribute("aria-rowcount", total + 1);
        state.count.textContent = total === state.rows.length ? berth.counted(total, "row") :
            berth.number(total) + " of " + berth.counted(state.rows.length, "row");
        state.heads.forEach((head, i) =>
            head.setAttribute("aria-sort", i !== state.by ? "none" : state.descending ? "descending" : "ascending"));
        state.first = -1;
        draw(state);
        if (!total)
            state.body.replaceChildren(el("tr", {}, el("td", { colspan: state.columns.length, class: "nothing" },
                state.rows.length ? "No row has these words." : state.empty)));
    }

    function sortBy(state, index) {
        // Numbers are first sorted from the largest.
        state.descending = state.by === index ? !state.descending : Boolean(state.columns[index].numeric);
        state.by = index;
        refresh(state);
        berth.announce("Sorted by " + state.columns[index].title + (state.descending ? ", descending" : ", ascending"));
    }

    function head(state, column, index) {
        return el("th", { scope: "col", class: (column.numeric ? "numeric " : "") + (column.class || ""), "aria-sort": "none" },
            el("button", { type: "button", class: "sort", title: column.help, onclick: () => sortBy(state, index) },
                column.title, el("span", { class: "arrow", "aria-hidden": "true" })));
    }

    function filterOf(state, caption) {
        const id = berth.id("filter");
        let timer = 0;
        const input = el("input", {
            id, type: "search", placeholder: "Filter", autocomplete: "off", spellcheck: "false",
            oninput: () => {
                clearTimeout(timer);
                timer = setTimeout(() => {
                    state.words = input.value;
                    state.scroller.scrollTop = 0;
                    refresh(state);
                }, 60);
            },
        });
        return [el("label", { for: id, class: "unseen" }, "Filter " + caption), input];
    }

    berth.table = function (options) {
        const state = {
            columns: options.columns, rows: options.rows, words: "", by: -1, descending: false, first: -1, last: -1,
            shown: options.shown || 14, onselect: options.onselect, empty: options.empty || "There are none.",
        };
        state.whole = options.whole || state.shown;
        if (options.sort)
            [state.by, state.descending] = [options.sort[0], options.sort[1] === "descending"];
        state.heads = state.columns.map((column, i) => head(state, column, i));
        state.body = el("tbody", {});
        state.table = el("table", { class: options.class }, el("caption", { class: "unseen" }, options.caption),
            el("thead", {}, el("tr", { "aria-rowindex": 1 }, state.heads)), state.body);
        state.scroller = el("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": options.caption,
            onscroll: () => draw(state) }, state.table);
        state.count = el("span", { class: "count", role: "status" });
        const isFiltered = options.filter !== undefined ? options.filter : state.rows.length > 5;
        const bar = el("div", { class: "table-bar" }, isFiltered ? filterOf(state, options.caption) : [], state.count);
        const root = el("div", { class: "table" }, isFiltered || state.rows.length > state.whole ? bar : null, state.scroller);
        root.update = (rows) => {
            state.rows = rows;
            refresh(state);
        };
        refresh(state);
        return root;
    };
})(window.berth = window.berth || {});

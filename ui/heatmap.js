// Many things as small squares in groups, coloured by a share or by a category: all nodes of a cluster at a glance.
//
//     berth.heatMap({ label: "Nodes by use of cpu", groups: [{ name: "zone-a", items: [0, 1, 2] }],
//                     colour: (item) => berth.heat(0.5), describe: (item) => ["node-1", "cpu 2 of 4"],
//                     onselect: (item) => ..., height_px: 340 })
//
// One canvas, so that 5,000 nodes cost nothing. With the keyboard: arrow keys go from square to square and screen readers
// hear what it is, Home and End go to the ends, Enter selects. The element has update(changes) and select(item).
(function (berth) {
    "use strict";
    const el = berth.el;
    const TITLE_PX = 20, GROUP_GAP_PX = 10;

    const SIDES = [44, 36, 30, 24, 20, 16, 13, 11, 9, 8, 7, 6], CHAR_PX = 7;

    // Where groups stand with squares of this side; small ones stand side by side.
    function arrange(groups, side, width) {
        const across = Math.max(1, Math.floor(width / side)), titled = groups.length > 1 || groups[0] && groups[0].name;
        const boxes = [];
        let x = 0, y = 0, rowHeight = 0;
        for (const group of groups) {
            const text = group.name + " (" + berth.number(group.items.length) + ")";
            const compact = Math.ceil(Math.sqrt(group.items.length * 2.2));
            const columns = groups.length < 2 || 2 * compact > across ? across : compact;
            const groupWidth = Math.max(columns * side, titled ? text.length * CHAR_PX : 0);
            if (x > 0 && x + groupWidth > width) {
                x = 0;
                y += rowHeight + GROUP_GAP_PX;
                rowHeight = 0;
            }
            const top = y + (titled ? TITLE_PX : 0);
            boxes.push({ group, text: titled ? text : "", x, y, top, columns });
            rowHeight = Math.max(rowHeight, top - y + Math.ceil(group.items.length / columns) * side);
            x += groupWidth + 2 * GROUP_GAP_PX;
        }
        return { boxes, height: y + rowHeight + 4 };
    }

    // The largest squares that take at most the wanted height.
    function layOut(state) {
        const width = Math.max(60, state.root.clientWidth);
        const side = SIDES.find((one) => arrange(state.groups, one, width).height <= state.height_px) || SIDES[SIDES.length - 1];
        const { boxes, height } = arrange(state.groups, side, width);
        state.titles = boxes.filter((box) => box.text);
        state.cells = boxes.flatMap((box) => box.group.items.map((item, i) =>
            ({ item, x: box.x + i % box.columns * side, y: box.top + Math.floor(i / box.columns) * side })));
        Object.assign(state, { side, width, height });
        state.at = new Map(state.cells.map((cell, i) => [cell.item, i]));
    }

    function outline(context, cell, side, colour) {
        context.strokeStyle = colour;
        context.lineWidth = 2;
        context.strokeRect(cell.x + 0.5, cell.y + 0.5, side - 1.5, side - 1.5);
    }

    function draw(state) {
        const canvas = state.canvas;
        if (!canvas.isConnected || !state.root.clientWidth)
            return;
        layOut(state);
        const ratio = window.devicePixelRatio || 1;
        canvas.style.height = state.height + "px";
        canvas.width = Math.round(state.width * ratio);
        canvas.height = Math.round(state.height * ratio);
        const context = canvas.getContext("2d");
        context.scale(ratio, ratio);
        context.font = "12px system-ui, sans-serif";
        context.textBaseline = "top";
        context.fillStyle = berth.colour("text-dim");
        for (const title of state.titles)
            context.fillText(title.text, title.x, title.y + 2);
        const gap = state.side > 12 ? 2 : 1;
        for (const cell of state.cells) {
            context.fillStyle = state.colour(cell.item);
            if (state.side > 15) {
                context.beginPath();
                context.roundRect(cell.x, cell.y, state.side - gap, state.side - gap, 3);
                context.fill();
            } else {
                context.fillRect(cell.x, cell.y, state.side - gap, state.side - gap);
            }
        }
        if (state.selected !== null && state.at.has(state.selected))
            outline(context, state.cells[state.at.get(state.selected)], state.side, berth.colour("text"));
        if (document.activeElement === canvas && state.cells[state.current])
            outline(context, state.cells[state.current], state.side, berth.colour("focus"));
    }

    function find(state, x, y) {
        for (let i = 0; i < state.cells.length; i++) {
            const cell = state.cells[i];
            if (x >= cell.x && x < cell.x + state.side && y >= cell.y && y < cell.y + state.side)
                return i;
        }
        return -1;
    }

    // The nearest square above or below.
    function vertical(state, sign) {
        const from = state.cells[state.current];
        let best = state.current, least = Infinity;
        state.cells.forEach((cell, i) => {
            const down = (cell.y - from.y) * sign;
            const distance = down * 4 + Math.abs(cell.x - from.x);
            if (down > 0 && distance < least) {
                least = distance;
                best = i;
            }
        });
        return best;
    }

    function onKey(state, event) {
        const last = state.cells.length - 1;
        const go = {
            ArrowRight: () => Math.min(last, state.current + 1), ArrowLeft: () => Math.max(0, state.current - 1),
            ArrowDown: () => vertical(state, 1), ArrowUp: () => vertical(state, -1), Home: () => 0, End: () => last,
        }[event.key];
        if (last < 0)
            return;
        if (event.key === "Enter" || event.key === " ") {
            state.onselect(state.cells[state.current].item);
        } else if (go) {
            state.current = go();
            berth.announce(state.describe(state.cells[state.current].item).join(", "));
            draw(state);
            const cell = state.cells[state.current], box = state.canvas.getBoundingClientRect();
            berth.hint(state.describe(cell.item), box.left + cell.x + state.side, box.top + cell.y);
        } else {
            return;
        }
        event.preventDefault();
    }

    function listen(state) {
        const canvas = state.canvas;
        const cellAt = (event) => {
            const box = canvas.getBoundingClientRect();
            return find(state, event.clientX - box.left, event.clientY - box.top);
        };
        canvas.addEventListener("mousemove", (event) => {
            const i = cellAt(event);
            canvas.style.cursor = i < 0 ? "default" : "pointer";
            berth.hint(i < 0 ? null : state.describe(state.cells[i].item), event.clientX, event.clientY);
        });
        canvas.addEventListener("mouseleave", () => berth.hint(null));
        canvas.addEventListener("click", (event) => {
            const i = cellAt(event);
            if (i < 0)
                return;
            state.current = i;
            state.onselect(state.cells[i].item);
        });
        canvas.addEventListener("keydown", (event) => onKey(state, event));
        canvas.addEventListener("focus", () => draw(state));
        canvas.addEventListener("blur", () => {
            berth.hint(null);
            draw(state);
        });
    }

    berth.heatMap = function (options) {
        const canvas = el("canvas", { tabindex: "0", role: "application", "aria-roledescription": "heat map",
            "aria-label": options.label + ". Arrow keys go from one to the next, Enter selects." });
        const root = el("div", { class: "heat-map" }, canvas);
        const state = { onselect: () => {}, current: 0, selected: null, height_px: 340, cells: [], root, canvas, ...options };
        listen(state);
        root.update = (changes) => {
            Object.assign(state, changes);
            if (changes.label)
                canvas.setAttribute("aria-label", changes.label + ". Arrow keys go from one to the next, Enter selects.");
            state.current = Math.min(state.current, Math.max(0, state.groups.reduce((sum, g) => sum + g.items.length, 0) - 1));
            draw(state);
        };
        root.select = (item) => {
            state.selected = item;
            draw(state);
        };
        berth.drawn(root, () => draw(state));
        return root;
    };

    // The colours of berth.heat() from 0 to 100 %, and what is beyond.
    berth.heatLegend = function () {
        const steps = [];
        for (let i = 0; i < 7; i++)
            steps.push(el("span", { class: "step heat-" + i }));
        return el("div", { class: "legend", role: "img", "aria-label": "Colours go from 0 to 100 percent; red is more than there is; grey has none, or is not there" },
            el("span", {}, "0 %"), el("span", { class: "steps" }, steps), el("span", {}, "100 %"),
            el("span", { class: "step over" }), el("span", {}, "more than there is"),
            el("span", { class: "step heat-none" }), el("span", {}, "has none, or is not there"));
    };

    // Categories by colour: [[class, text], ...].
    berth.legend = function (entries) {
        return el("ul", { class: "legend" }, entries.map(([name, text]) =>
            el("li", {}, el("span", { class: "step " + name, "aria-hidden": "true" }), text)));
    };
})(window.berth = window.berth || {});

// The live page: which view is shown, by the part of the address behind "#", and the state of the connection.
(function (berth) {
    "use strict";
    const el = berth.el;
    const TABS = [["overview", "Overview"], ["nodes", "Nodes"], ["queue", "Queue"], ["config", "Configuration"]];
    const STATES = { connecting: "Connecting…", live: "Live", paused: "Paused", lost: "Connection lost", refused: "Not allowed" };
    let running = [], content = null, tabs = null;

    // "#/pod/shop/web-1": ["pod", "shop", "web-1"].
    function route() {
        const parts = location.hash.replace(/^#\/?/, "").split("/").filter(Boolean).map((part) => {
            try {
                return decodeURIComponent(part);
            } catch (_) {
                return part;
            }
        });
        return berth.pages[parts[0]] && (parts[0] !== "pod" || parts.length === 3) ? parts : ["overview"];
    }

    function show() {
        if (location.hash === "#content")
            return;
        const [name, ...words] = route();
        running.forEach((page) => page.stop());
        berth.hint(null);
        content.replaceChildren();
        running = berth.pages[name](content, ...words);
        const current = name === "pod" ? "queue" : name;
        for (const link of tabs.querySelectorAll("a")) {
            if (link.hash === "#/" + current)
                link.setAttribute("aria-current", "page");
            else
                link.removeAttribute("aria-current");
        }
        document.title = "berth: " + (words.length ? words.join("/") : name);
        scrollTo(0, 0);
    }

    function finder() {
        const id = berth.id("find");
        const input = el("input", { id, type: "search", placeholder: "namespace/pod", autocomplete: "off", spellcheck: "false" });
        return el("form", { class: "find", role: "search", onsubmit: (event) => {
            event.preventDefault();
            const text = input.value.trim(), at = text.indexOf("/");
            if (text)
                location.hash = berth.podHash({ namespace: at > 0 ? text.slice(0, at) : "default", name: text.slice(at + 1) });
        } }, el("label", { for: id, class: "unseen" }, "Show a pod"), input);
    }

    function connectionBar() {
        const dot = el("span", { class: "dot", "aria-hidden": "true" });
        const word = el("span", { class: "word", role: "status" }), age = el("span", { class: "age" });
        const banner = el("p", { class: "banner", role: "alert", hidden: true });
        let paused = false, last = {};
        const button = el("button", { type: "button", class: "quiet", "aria-pressed": "false", onclick: () => {
            paused = !paused;
            button.textContent = paused ? "Resume" : "Pause";
            button.setAttribute("aria-pressed", String(paused));
            berth.pause(paused);
        } }, "Pause");
        const showAge = () => {
            const seconds = last.since ? Math.round((Date.now() - last.since) / 1000) : 0;
            age.textContent = last.since && seconds > 4 ? berth.duration(seconds) + " ago" : "";
        };
        berth.onConnection((connection) => {
            last = { ...connection };
            document.body.dataset.connection = connection.state;
            if (word.textContent !== STATES[connection.state])
                word.textContent = STATES[connection.state];
            banner.hidden = !["lost", "refused"].includes(connection.state);
            const text = STATES[connection.state] + ": " + connection.text + (connection.since ? " What is shown is from " +
                new Date(connection.since).toLocaleTimeString("en-GB") + "; trying again." : " Trying again.");
            if (banner.textContent !== text)
                banner.textContent = text;
            showAge();
        });
        setInterval(showAge, 1000);
        return [el("div", { class: "connection" }, dot, word, age, button), banner];
    }

    document.addEventListener("DOMContentLoaded", () => {
        const [bar, banner] = connectionBar();
        tabs = el("nav", { "aria-label": "Views" }, el("ul", {}, TABS.map(([name, title]) => el("li", {}, el("a", { href: "#/" + name }, title)))));
        content = el("main", { id: "content", tabindex: "-1" });
        document.body.append(el("header", { class: "topbar" }, el("a", { class: "brand", href: "#/overview" }, "berth"), tabs, finder(), bar), banner, content);
        window.addEventListener("hashchange", show);
        show();
    });
})(window.berth = window.berth || {});

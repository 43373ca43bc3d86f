// A report: reads the document in the page and shows it with the view of its kind. A view is a function in berth.views that
// takes the document and returns { title, lead, tiles, sections }.
(function (berth) {
    "use strict";
    const el = berth.el;
    berth.views = berth.views || {};

    function show(doc) {
        const view = berth.views[doc.kind] ? berth.views[doc.kind](doc) : {
            title: document.title,
            sections: [berth.section("data", "Data", el("pre", {}, JSON.stringify(doc, null, 2)))],
        };
        document.body.append(
            el("header", {}, el("h1", {}, view.title), (view.lead || []).map((line) => el("p", {}, line)),
                view.tiles ? berth.tiles(view.tiles) : null),
            el("main", { id: "content", tabindex: "-1" },
                view.sections.length > 1 ? berth.navigation(view.sections) : null, view.sections),
            el("footer", {}, document.querySelector('meta[name="generator"]').content +
                ". This file has all of its data in itself and loads nothing."));
        markCurrent(view.sections);
    }

    // The navigation says which part is seen.
    function markCurrent(sections) {
        const seen = new Set();
        const observer = new IntersectionObserver((entries) => {
            for (const entry of entries)
                seen[entry.isIntersecting ? "add" : "delete"](entry.target.id);
            const current = sections.find((section) => seen.has(section.id));
            for (const link of document.querySelectorAll("nav a")) {
                if (current && link.hash === "#" + current.id)
                    link.setAttribute("aria-current", "true");
                else
                    link.removeAttribute("aria-current");
            }
        }, { rootMargin: "-60px 0px -40% 0px" });
        sections.forEach((section) => observer.observe(section));
    }

    // A large document is compressed (src/report/page.c).
    async function read(data) {
        if (data.type === "application/json")
            return JSON.parse(data.textContent);
        const bytes = Uint8Array.from(atob(data.textContent), (letter) => letter.charCodeAt(0));
        return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
    }

    document.addEventListener("DOMContentLoaded", async () => show(await read(document.getElementById("data"))));
})(window.berth = window.berth || {});

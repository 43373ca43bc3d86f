// Pages of the scheduler that are fetched again and again while they are looked at.
//
//     const page = berth.poll("debug/berth/queue?limit=100", { every: 2, on: (document) => ..., missing: (text) => ... })
//     page.stop()
//
// Nothing is fetched while the tab is hidden or the user has paused. A page that takes long is fetched less often. A
// failure is shown in the state of the connection (berth.onConnection), the last answer stays, and it is tried again: a
// scheduler that restarts comes back by itself.
(function (berth) {
    "use strict";
    const RETRY_S = 2, PATIENCE_S = 20, BUSY_SHARE = 10;
    const pages = new Set();
    const connection = { state: "connecting", text: "", since: null, paused: false };
    const listeners = [];

    // The listener gets { state: "connecting" | "live" | "lost" | "refused" | "paused", text, since: time of the last answer }.
    berth.onConnection = function (listener) {
        listeners.push(listener);
        listener(shown());
    };
    function shown() {
        return connection.paused && connection.state === "live" ? { ...connection, state: "paused" } : connection;
    }
    function tell(changes) {
        Object.assign(connection, changes);
        listeners.forEach((listener) => listener(shown()));
    }
    berth.pause = function (paused) {
        tell({ paused });
        pages.forEach((page) => page.wake());
    };
    document.addEventListener("visibilitychange", () => pages.forEach((page) => page.wake()));

    function isResting() {
        return connection.paused || document.visibilityState === "hidden";
    }

    // What the answer says about why it is refused: the message of a Status, or its text.
    async function reasonOf(answer) {
        const text = await answer.text();
        try {
            return JSON.parse(text).message || text;
        } catch (_) {
            return text.trim();
        }
    }

    async function ask(page) {
        const aborted = page.aborter.signal, timer = setTimeout(() => page.aborter.abort(), PATIENCE_S * 1000);
        try {
            const answer = await fetch("../" + page.path, { signal: aborted, cache: "no-store", redirect: "error" });
            if (answer.ok)
                return { found: await answer.json() };
            const reason = await reasonOf(answer);
            if (answer.status === 404 && page.missing)
                return { missing: reason };
            if (answer.status === 401 || answer.status === 403)
                return { state: "refused", text: answer.status === 401 ?
                    "The scheduler does not authenticate this user (401). " + reason : reason };
            return { state: "lost", text: answer.status + ": " + reason };
        } catch (_) {
            return { state: "lost", text: "The scheduler does not answer." };
        } finally {
            clearTimeout(timer);
        }
    }

    async function turn(page) {
        page.timer = 0;
        if (page.stopped || page.busy || isResting())
            return;
        page.busy = true;
        page.aborter = new AbortController();
        const begun = performance.now();
        const answer = await ask(page);
        const took = (performance.now() - begun) / 1000;
        page.busy = false;
        if (page.stopped)
            return;
        if (answer.state) {
            tell({ state: answer.state, text: answer.text });
            later(page, RETRY_S);
            return;
        }
        tell({ state: "live", text: "", since: Date.now() });
        if (answer.found)
            page.on(answer.found);
        else
            page.missing(answer.missing);
        later(page, Math.max(page.every, took * BUSY_SHARE));
    }

    function later(page, seconds) {
        clearTimeout(page.timer);
        page.timer = setTimeout(() => turn(page), seconds * 1000);
    }

    berth.poll = function (path, options) {
        const page = { path, every: 2, timer: 0, busy: false, stopped: false, ...options };
        page.wake = () => later(page, 0);
        page.stop = () => {
            page.stopped = true;
            clearTimeout(page.timer);
            pages.delete(page);
            if (page.busy)
                page.aborter.abort();
        };
        pages.add(page);
        page.wake();
        return page;
    };

    // Calls `draw` with a value only if it differs from the one before, by its JSON.
    berth.changed = function (draw) {
        let before = null;
        return (value) => {
            const text = JSON.stringify(value);
            if (text !== before) {
                before = text;
                draw(value);
            }
        };
    };
})(window.berth = window.berth || {});
